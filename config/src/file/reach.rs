//! How far a change of the configuration may go.

use super::Watch;
use crate::schema::Config;

/// How far a change of the configuration may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// To every option: whoever changes it has shown to be in command of the machine.
    #[default]
    Whole,
    /// Not to what gives power over the machine or over its owner: programs that are run, passwords,
    /// and other files, whose lines a fault would tell.
    Guarded,
}

/// What a change does that needs [`Reach::Whole`], if anything. `known` are the files that were read
/// for `was`, and `read` those for `now`; a configuration with faults is none.
pub(super) fn beyond_guard(
    (was, known): (Option<&Config>, &Watch),
    (now, read): (Option<&Config>, &Watch),
) -> Option<&'static str> {
    if read.files().any(|file| known.files().all(|known| known != file)) {
        return Some("a file that it names");
    }
    // With faults it does not come into force, and the faults are of the text alone.
    let now = now?;
    let default = Config::default();
    let was = was.unwrap_or(&default);
    let programs = |config: &Config| {
        let options = &config.options;
        [
            options.run_online.clone(),
            options.run_offline.clone(),
            options.run_autodial.clone(),
            options.run_fetch.clone(),
            options.run_changed.clone(),
        ]
    };
    if programs(now) != programs(was) {
        return Some("a program that is run");
    }
    let is_same = now.startup.password == was.startup.password
        && now.allowed_users.users == was.allowed_users.users;
    (!is_same).then_some("a password")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::watch::watching;
    use std::path::Path;

    #[test]
    fn what_gives_power_over_the_machine_is_beyond_the_guard() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("wwwoffle.conf");
        let secret = directory.path().join("secret");
        std::fs::write(&secret, "not a pattern, but a secret\n").unwrap();
        let parse = |text: &str, file: &Path| watching(&[], || Config::parse(text, file));
        let list = format!("[offline-options]\nnoise = [{{ file = {secret:?} }}]\n");
        let included = format!("[options]\ninclude = {secret:?}\n");
        let hash = crate::PasswordHash::make("correct horse").unwrap();
        let password = format!("[startup]\npassword = {:?}\n", hash.as_str());
        let run = "[options]\nrun-online = \"/bin/true\"\n";
        for (was, now, want) in [
            ("", "[options]\nlog-level = \"debug\"\n", None),
            ("", run, Some("a program that is run")),
            (run, "", Some("a program that is run")),
            (run, run, None),
            ("", password.as_str(), Some("a password")),
            (&password, "", Some("a password")),
            ("", &list, Some("a file that it names")),
            (&list, &list, None),
            ("", &included, Some("a file that it names")),
            ("", "[options]\nlog-level = 3\n", None),
            ("[options]\nlog-level = 3\n", run, Some("a program that is run")),
        ] {
            let (was_read, known) = parse(was, &file);
            let (now_read, read) = parse(now, &file);
            let (was_read, now_read) = (was_read.ok(), now_read.ok());
            let got = beyond_guard((was_read.as_ref(), &known), (now_read.as_ref(), &read));
            assert_eq!(got, want, "{was:?} -> {now:?}");
        }
    }
}

//! Protection of options against a change of the configuration.

use crate::disk::watch::WatchedFiles;
use crate::edit::{OptionChange, changes};
use crate::schema::{Config, SECTIONS};

/// The options that a change of the configuration may touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangeScope {
    /// Every option. This scope is for the command line, and for callers that use the Unix socket
    /// or give the control password.
    #[default]
    Whole,
    /// Only [ordinary](crate::schema::Protection::Ordinary) options. In addition, the change must
    /// not name a new file, and no file other than the configuration may then have faults: the
    /// messages would quote lines of that file.
    Guarded,
}

/// Returns the first change that needs [`ChangeScope::Whole`], if any. `was` and `now` are the old
/// and the new configuration, each `None` if it is faulty. `known` are the files read for `was`,
/// and `read` the files read for `now`.
pub(super) fn find_protected_change(
    (was, known): (Option<&Config>, &WatchedFiles),
    (now, read): (Option<&Config>, &WatchedFiles),
) -> Option<String> {
    if read.files().any(|file| known.files().all(|known| known != file)) {
        return Some("a file that the configuration names".to_owned());
    }
    // A faulty new text is refused later, with its faults.
    let now = now?;
    let Some(was) = was else {
        // The protected options of a faulty text cannot be compared.
        return Some("a faulty configuration".to_owned());
    };
    let mut differences = now.differences(was).into_iter();
    let (section, option) = differences.find(|(_, option)| option.protection.is_protected())?;
    Some(format!("[{section}] {}", option.key))
}

/// Whether `new`, a whole text, changes protected options of the faulty text `old`. These options
/// may not be in force yet, so a comparison with the configuration in force could miss the change.
/// Returns true if `old` is not TOML.
pub(super) fn drops_protected(old: &str, new: &str) -> bool {
    let is_protected = |change: &OptionChange| {
        let section = SECTIONS.iter().find(|section| section.name == change.section);
        section.is_some_and(|section| {
            let mut options = section.options.iter();
            // Any of the options may be in a rule.
            options.any(|option| {
                [option.key, "for"].contains(&change.key) && option.protection.is_protected()
            })
        })
    };
    old.parse::<toml_edit::DocumentMut>().is_err() || changes(old, new).iter().any(is_protected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::watch::watch_reads;
    use std::path::Path;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test writes the file that is named")]
    fn protected_options_are_beyond_the_guard() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("wwwoffle.conf");
        let secret = directory.path().join("secret");
        std::fs::write(&secret, "not a pattern, but a secret\n").unwrap();
        let parse = |text: &str, file: &Path| watch_reads(&[], || Config::parse(text, file));
        let list = format!("[offline-options]\nnoise = [{{ file = {secret:?} }}]\n");
        let included = format!("[options]\ninclude = {secret:?}\n");
        let hash = crate::PasswordHash::make("correct horse").unwrap();
        let password = format!("[startup]\npassword = {:?}\n", hash.as_str());
        let run = "[options]\nrun-online = \"/bin/true\"\n";
        let browser = "[[fetch-options.for]]\nurl = \"*://a/*\"\nbrowser = \"/bin/a\"\n";
        let ordinary = "[[fetch-options.for]]\nurl = \"*://b/*\"\nimages = false\n";
        let (before, after) = (format!("{ordinary}{browser}"), format!("{browser}{ordinary}"));
        let lower = format!("[options]\nlog-level = \"debug\"\n{browser}");
        let other = browser.replace("://a/", "://c/");
        let hosts = "[allowed-connect-hosts]\nhosts = [\"192.0.2.0/24\"]\n";
        let lower_hosts = format!("[options]\nlog-level = \"debug\"\n{hosts}");
        for (was, now, want) in [
            ("", ordinary, None),
            (browser, before.as_str(), None),
            (browser, &after, None),
            (&before, browser, None),
            (browser, &lower, None),
            (hosts, &lower_hosts, None),
            (browser, &other, Some("[fetch-options] browser")),
            (browser, "", Some("[fetch-options] browser")),
            ("", "[options]\nlog-level = \"debug\"\n", None),
            ("", run, Some("[options] run-online")),
            (run, "", Some("[options] run-online")),
            (run, run, None),
            ("", password.as_str(), Some("[startup] password")),
            (&password, "", Some("[startup] password")),
            ("", &list, Some("a file that the configuration names")),
            (&list, &list, None),
            ("", &included, Some("a file that the configuration names")),
            ("", "[options]\nlog-level = 3\n", None),
            ("[options]\nlog-level = 3\n", "", Some("a faulty configuration")),
            (
                "",
                "[[fetch-options.for]]\nurl = \"*://*/*\"\nbrowser = \"/bin/sh\"\n",
                Some("[fetch-options] browser"),
            ),
        ] {
            let (was_read, known) = parse(was, &file);
            let (now_read, read) = parse(now, &file);
            let (was_read, now_read) = (was_read.ok(), now_read.ok());
            let got =
                find_protected_change((was_read.as_ref(), &known), (now_read.as_ref(), &read));
            assert_eq!(got.as_deref(), want, "{was:?} -> {now:?}");
        }
    }
}

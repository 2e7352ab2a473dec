//! The proxy settings of a Firefox profile.
//!
//! Firefox reads `user.js` at each start, and copies its settings to `prefs.js`. So an undo also
//! restores the former lines of `prefs.js`, which Firefox writes when it ends.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Flock, FlockType, Pid, fcntl_getlk, test_kill_process};
use serde::{Deserialize, Serialize};

use super::change::Undone;
use super::disk;
use super::file::{FileChange, FileReaders};

/// The lines around our settings in `user.js`.
const BEGIN: &str = "// Begin of the settings of `wwwoffle setup`.\n";
const END: &str = "// End of the settings of `wwwoffle setup`.\n";

/// The settings of one profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ProfileChange {
    profile: PathBuf,
    script: FileChange,
    preferences: Vec<PreferenceChange>,
}

/// A setting, as lines of `prefs.js`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PreferenceChange {
    /// The beginning of the line, which names the setting.
    name: String,
    before: Option<String>,
    after: String,
}

impl ProfileChange {
    /// Plans to use the proxy for HTTP, and for HTTPS if the profile trusts the authority.
    pub(super) fn plan(
        profile: &Path,
        proxy: SocketAddr,
        is_trusting: bool,
    ) -> Result<Self, String> {
        let (host, port) = (format!("\"{}\"", proxy.ip()), proxy.port().to_string());
        let mut values = vec![("type", "1"), ("http", host.as_str()), ("http_port", port.as_str())];
        if is_trusting {
            values.extend([("ssl", host.as_str()), ("ssl_port", port.as_str())]);
        }
        let path = profile.join("user.js");
        let former = text_of(&path)?;
        let preferences = text_of(&profile.join("prefs.js"))?;
        let preferences: Vec<PreferenceChange> = values
            .into_iter()
            .map(|(name, value)| {
                let name = format!("user_pref(\"network.proxy.{name}\", ");
                let before = line_of(&preferences, &name).map(str::to_owned);
                let after = format!("{name}{value});");
                PreferenceChange { name, before, after }
            })
            .collect();
        let mut text = without_block(&former);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let lines: String = preferences.iter().map(|one| one.after.clone() + "\n").collect();
        let script = format!("{text}{BEGIN}{lines}{END}");
        let script = FileChange::plan(&path, script.into_bytes(), FileReaders::Owner)?;
        Ok(Self { profile: profile.to_owned(), script, preferences })
    }

    /// Returns the path of the script.
    pub(super) fn path(&self) -> &Path {
        &self.script.path
    }

    /// Whether the script has the settings already.
    pub(super) fn is_done(&self) -> bool {
        self.script.is_done()
    }

    /// Returns the lines that show the change.
    pub(super) fn lines(&self) -> Vec<String> {
        self.script.lines()
    }

    /// Writes the script.
    pub(super) fn apply(&self) -> Result<(), String> {
        self.script.apply()
    }

    /// Restores the script, and the settings that Firefox has copied from it.
    pub(super) fn undo(&self) -> Result<Undone, String> {
        if let Some(process) = running(&self.profile) {
            return Err(format!("Firefox uses this profile ({process}): close it first"));
        }
        let mut undone = self.script.undo()?;
        if matches!(undone, Undone::Kept(_)) {
            let text = text_of(&self.script.path)?;
            if let Some(now) = disk::read(&self.script.path)?
                && text.contains(BEGIN)
            {
                // A person has changed other lines.
                disk::write(&self.script.path, &now.with(without_block(&text).into_bytes()))?;
                undone = Undone::Restored;
            }
        }
        let path = self.profile.join("prefs.js");
        let Some(file) = disk::read(&path)? else { return Ok(undone) };
        let text = text_of(&path)?;
        let restored = self.preferences.iter().fold(text.clone(), |text, one| {
            let now = line_of(&text, &one.name);
            if now != Some(&one.after) || one.before.as_ref() == Some(&one.after) {
                return text;
            }
            let line = one.after.clone() + "\n";
            text.replace(
                &line,
                &one.before.as_ref().map_or(String::new(), |line| line.clone() + "\n"),
            )
        });
        if restored == text {
            return Ok(undone);
        }
        disk::write(&path, &file.with(restored.into_bytes()))?;
        Ok(if undone == Undone::Already { Undone::Restored } else { undone })
    }

    /// Combines this change with the recorded one, which came before.
    pub(super) fn after(mut self, recorded: &Self) -> Self {
        self.script = self.script.after(&recorded.script);
        for one in &mut self.preferences {
            let earlier = recorded.preferences.iter().find(|earlier| earlier.name == one.name);
            if let Some(earlier) = earlier
                && one.before.as_ref() == Some(&earlier.after)
            {
                one.before.clone_from(&earlier.before);
            }
        }
        let is_missing = |earlier: &&PreferenceChange| {
            !self.preferences.iter().any(|one| one.name == earlier.name)
        };
        let missing: Vec<_> = recorded.preferences.iter().filter(is_missing).cloned().collect();
        self.preferences.extend(missing);
        self
    }
}

fn text_of(path: &Path) -> Result<String, String> {
    let found = disk::read(&disk::real(path)?)?;
    let content = found.map(|file| file.content.0).unwrap_or_default();
    String::from_utf8(content).map_err(|_| format!("{} is not UTF-8", path.display()))
}

/// Returns the line that sets a setting. The last one counts.
fn line_of<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().rev().find(|line| line.starts_with(name))
}

/// Removes the settings of an earlier set-up.
fn without_block(text: &str) -> String {
    let block = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some(format!("{before}{after}"))
    });
    block.unwrap_or_else(|| text.to_owned())
}

/// Returns a name of the process of Firefox that uses a profile. It holds a lock, also if it has process
/// numbers of its own as in Flatpak. On file systems without locks, the target of the link `lock`
/// ends in its number, and stays if Firefox crashes.
fn running(profile: &Path) -> Option<String> {
    let whole = Flock::from(FlockType::WriteLock);
    let lock = open(profile.join(".parentlock"), OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    if lock.is_ok_and(|lock| matches!(fcntl_getlk(lock, &whole), Ok(Some(_)))) {
        return Some("it holds .parentlock".to_owned());
    }
    let target = rustix::fs::readlink(profile.join("lock"), Vec::new()).ok()?;
    let (_, number) = target.to_str().ok()?.rsplit_once('+')?;
    let number = number.parse().ok()?;
    test_kill_process(Pid::from_raw(number)?).is_ok().then(|| format!("pid {number}"))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test plays Firefox")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn settings_that_firefox_has_copied_are_restored() {
        let profile = tempfile::tempdir().unwrap();
        let file = |name: &str| profile.path().join(name);
        let former = "user_pref(\"a\", 1);\nuser_pref(\"network.proxy.type\", 4);\n";
        std::fs::write(file("prefs.js"), former).unwrap();
        std::fs::write(file("user.js"), "// mine").unwrap();
        let proxy = "127.0.0.1:8080".parse().unwrap();
        let change = ProfileChange::plan(profile.path(), proxy, true).unwrap();
        change.apply().unwrap();
        let script = std::fs::read_to_string(file("user.js")).unwrap();
        assert!(script.starts_with("// mine\n// Begin"), "{script}");
        assert!(script.contains("user_pref(\"network.proxy.ssl_port\", 8080);\n"), "{script}");
        assert!(ProfileChange::plan(profile.path(), proxy, true).unwrap().is_done());
        // Another port replaces the settings, and the record of both restores the first state.
        let other = ProfileChange::plan(profile.path(), "127.0.0.1:81".parse().unwrap(), true);
        let other = other.unwrap();
        other.apply().unwrap();
        let both = other.after(&change);
        let lines: String = both.preferences.iter().map(|one| one.after.clone() + "\n").collect();
        std::fs::write(file("prefs.js"), format!("user_pref(\"a\", 1);\n{lines}")).unwrap();
        symlink(format!("127.0.1.1:+{}", std::process::id()), file("lock")).unwrap();
        assert!(both.undo().unwrap_err().contains("close it first"));
        std::fs::remove_file(file("lock")).unwrap();
        symlink("127.0.1.1:+2147483647", file("lock")).unwrap();
        assert_eq!(both.undo().unwrap(), Undone::Restored);
        assert_eq!(std::fs::read_to_string(file("user.js")).unwrap(), "// mine");
        assert_eq!(std::fs::read_to_string(file("prefs.js")).unwrap(), former);
    }
}

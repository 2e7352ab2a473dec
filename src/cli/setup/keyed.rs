//! A file of which only some values are set: the configuration, or the policies of a browser.
//!
//! If the file is unchanged since, an undo restores its bytes. Otherwise it restores the former
//! values, and leaves the rest of the file alone.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wwwoffle_config::Config;
use wwwoffle_config::edit::{Edit, apply};

use super::change::Undone;
use super::file::{FileChange, FileReaders};

/// The options that say who may use the proxy.
const ACCESS: [&str; 4] = ["listen", "password", "hosts", "users"];

/// The notation of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Notation {
    /// A configuration of wwwoffle. A key is a section and an option.
    Configuration,
    /// A JSON object. A key is a path of names.
    Json,
}

/// A value to set, in the notation of the file.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeyChange {
    pub(super) key: Vec<String>,
    /// The former value. `None` if it was not set.
    before: Option<String>,
    after: String,
}

/// Does not show the values, which may contain a hash of a password.
impl std::fmt::Debug for KeyChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeyChange({})", self.key.join("."))
    }
}

/// A file and the values to set in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeyedChange {
    notation: Notation,
    pub(super) file: FileChange,
    keys: Vec<KeyChange>,
    /// Whether the former file contains none of our values, so that it can be restored as a whole.
    is_whole: bool,
}

impl KeyedChange {
    /// Plans to set `values` in a file. `before` is the start of a new file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or its text does not have this notation.
    pub(super) fn plan(
        path: &Path,
        notation: Notation,
        before: &str,
        values: &[(&[&str], String)],
        readers: FileReaders,
    ) -> Result<Self, String> {
        let mut file = FileChange::plan(path, Vec::new(), readers)?;
        let old = match file.former() {
            None => before.to_owned(),
            Some(bytes) => String::from_utf8(bytes.to_vec())
                .map_err(|_| format!("{} is not UTF-8", path.display()))?,
        };
        let fault = |why: String| format!("{}: {why}", path.display());
        let (mut text, mut keys) = (old.clone(), Vec::new());
        for (key, after) in values {
            let key: Vec<String> = key.iter().map(|&name| name.to_owned()).collect();
            let before = notation.value(&old, &key).map_err(fault)?;
            if before.as_deref() != Some(after) {
                text = notation.set(&text, &key, Some(after)).map_err(fault)?;
            }
            keys.push(KeyChange { key, before, after: after.clone() });
        }
        file.set_wanted(text.into_bytes());
        Ok(Self { notation, file, keys, is_whole: true })
    }

    /// Whether the file is a configuration of wwwoffle.
    pub(super) fn is_configuration(&self) -> bool {
        self.notation == Notation::Configuration
    }

    /// Whether all values are set already.
    pub(super) fn is_done(&self) -> bool {
        self.keys.iter().all(|key| key.before.as_deref() == Some(&key.after))
    }

    /// Returns the new text of the file.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.file.wanted()).into_owned()
    }

    /// Restores the former file, or the former values if the file was changed since.
    pub(super) fn undo(&self) -> Result<Undone, String> {
        if self.is_whole {
            let whole = self.file.undo()?;
            if !matches!(whole, Undone::Kept(_)) {
                return Ok(whole);
            }
        }
        let path = &self.file.path;
        let Some(now) = super::disk::read(path)? else {
            return Ok(Undone::Kept("it was removed since".to_owned()));
        };
        let fault = |why: String| format!("{}: {why}", path.display());
        let mut text = String::from_utf8(now.content.0.clone())
            .map_err(|_| fault("it is not UTF-8".to_owned()))?;
        let mut kept = Vec::new();
        if self.notation == Notation::Configuration {
            kept = self.changed_access(&text).map_err(fault)?;
            if !kept.is_empty() {
                return Ok(Undone::Kept(format!("{} changed since", kept.join(", "))));
            }
        }
        for KeyChange { key, before, after } in &self.keys {
            let value = self.notation.value(&text, key).map_err(fault)?;
            if value.as_ref() == Some(after) {
                text = self.notation.set(&text, key, before.as_deref()).map_err(fault)?;
            } else if value != *before {
                kept.push(key.join("."));
            }
        }
        if text.as_bytes() != now.content.0 {
            if self.notation.is_empty(&text) && self.file.former().is_none() {
                super::disk::remove(path)?;
                self.file.remove_directories();
            } else {
                if self.notation == Notation::Configuration {
                    let config = Config::parse(&text, path).map_err(|faults| faults.to_string())?;
                    if let Err(open) = config.may_listen(config.startup.listen.as_slice()) {
                        return Ok(Undone::Kept(format!("the daemon would not start: {open}")));
                    }
                }
                let restored = now.with(text.into_bytes());
                super::disk::write(path, &self.file.as_before(&restored))?;
            }
        }
        Ok(match kept.as_slice() {
            [] => Undone::Restored,
            kept => Undone::Kept(format!("{} changed since", kept.join(", "))),
        })
    }

    /// Returns the values about access that were changed since. They belong together: without users
    /// and password, changed addresses or clients would be open to everyone.
    fn changed_access(&self, text: &str) -> Result<Vec<String>, String> {
        let mut changed = Vec::new();
        for KeyChange { key, before, after } in &self.keys {
            let value = self.notation.value(text, key)?;
            let is_access = key.last().is_some_and(|key| ACCESS.contains(&key.as_str()));
            if is_access && value.as_ref() != Some(after) && value != *before {
                changed.push(key.join("."));
            }
        }
        Ok(changed)
    }

    /// Combines this change with the recorded one, which came before.
    pub(super) fn after(mut self, recorded: &Self) -> Self {
        for key in &mut self.keys {
            let Some(earlier) = recorded.keys.iter().find(|earlier| earlier.key == key.key) else {
                continue;
            };
            if key.before.as_ref() == Some(&earlier.after) {
                key.before.clone_from(&earlier.before);
            }
        }
        let missing = recorded
            .keys
            .iter()
            .filter(|earlier| !self.keys.iter().any(|key| key.key == earlier.key));
        let missing: Vec<KeyChange> = missing.cloned().collect();
        self.keys.extend(missing);
        self.is_whole = recorded.is_whole
            && (self.file.former() == Some(recorded.file.wanted())
                || self.file.former() == recorded.file.former());
        self.file = self.file.after(&recorded.file);
        self
    }
}

impl Notation {
    /// Returns the value of a key. `None` if it is not set.
    fn value(self, text: &str, key: &[String]) -> Result<Option<String>, String> {
        match self {
            Self::Configuration => {
                let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
                let [section, option] = key else { return Ok(None) };
                let value = table.get(section).and_then(|section| section.get(option));
                Ok(value.map(ToString::to_string))
            }
            Self::Json => {
                let object = json(text)?;
                let mut at = Some(&object);
                for name in key {
                    at = at.and_then(|value| value.get(name));
                }
                Ok(at.map(ToString::to_string))
            }
        }
    }

    /// Sets a key, or removes it.
    fn set(self, text: &str, key: &[String], value: Option<&str>) -> Result<String, String> {
        match self {
            Self::Configuration => {
                let [section, option] = key else { return Ok(text.to_owned()) };
                let (section, key) = (section.clone(), option.clone());
                let edit = match value {
                    Some(value) => Edit::Set { section, key, value: value.to_owned() },
                    None => Edit::Unset { section, key },
                };
                apply(text, &edit).map(|done| done.text).map_err(|error| error.to_string())
            }
            Self::Json => {
                let value = value.map(serde_json::from_str).transpose();
                let value = value.map_err(|error| error.to_string())?;
                let mut object = json(text)?;
                set_json(&mut object, key, value)?;
                let text = serde_json::to_string_pretty(&object).map_err(|e| e.to_string())?;
                Ok(text + "\n")
            }
        }
    }

    /// Whether the text sets nothing.
    fn is_empty(self, text: &str) -> bool {
        match self {
            Self::Configuration => text.parse::<toml::Table>().is_ok_and(|table| {
                table.values().all(|section| section.as_table().is_some_and(toml::Table::is_empty))
            }),
            Self::Json => json(text).is_ok_and(|object| object == Value::Object(Map::new())),
        }
    }
}

/// Parses a JSON object. An empty text is an empty object.
fn json(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("invalid JSON: {error}"))?;
    if value.is_object() { Ok(value) } else { Err("it is not a JSON object".to_owned()) }
}

/// Sets the value at `key`, and creates missing objects on the way. `None` removes the value, and
/// objects that are then empty.
fn set_json(object: &mut Value, key: &[String], value: Option<Value>) -> Result<(), String> {
    let Some((name, rest)) = key.split_first() else { return Ok(()) };
    let Value::Object(members) = object else {
        return Err(format!("{name:?} is not in a JSON object"));
    };
    if rest.is_empty() {
        match value {
            Some(value) => members.insert(name.clone(), value),
            None => members.remove(name),
        };
        return Ok(());
    }
    let is_removal = value.is_none();
    if is_removal && !members.contains_key(name) {
        return Ok(());
    }
    let inner = members.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
    set_json(inner, rest, value)?;
    if is_removal && inner.as_object().is_some_and(Map::is_empty) {
        members.remove(name);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str) -> Vec<String> {
        path.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn a_value_of_a_json_object_is_set_and_removed() {
        let text = r#"{"policies": {"Proxy": {"Mode": "system"}, "B": 1}}"#;
        for (path, value, want) in [
            ("policies.B", Some("2"), r#"{"policies":{"B":2,"Proxy":{"Mode":"system"}}}"#),
            ("policies.B", None, r#"{"policies":{"Proxy":{"Mode":"system"}}}"#),
            ("policies.Proxy.Mode", None, r#"{"policies":{"B":1}}"#),
            ("a.b", Some("[1]"), r#"{"a":{"b":[1]},"policies":{"B":1,"Proxy":{"Mode":"system"}}}"#),
            ("a.b", None, r#"{"policies":{"B":1,"Proxy":{"Mode":"system"}}}"#),
        ] {
            let set = Notation::Json.set(text, &key(path), value).unwrap();
            let (set, want): (Value, Value) =
                (serde_json::from_str(&set).unwrap(), serde_json::from_str(want).unwrap());
            assert_eq!(set, want, "{path}");
        }
        assert!(Notation::Json.set(text, &key("policies.B.c"), Some("1")).is_err());
        for bad in ["[]", "{", "1", "{} x"] {
            assert!(Notation::Json.set(bad, &key("a"), Some("1")).is_err(), "{bad}");
        }
        let deep = "{\"a\":".repeat(10_000);
        assert!(Notation::Json.value(&deep, &key("a")).is_err());
    }

    #[test]
    fn an_option_of_the_configuration_is_set_and_reset() {
        let text = "# mine\n[startup]\nlisten = ['127.0.0.1:1']\n";
        let option = key("startup.listen");
        let value = Notation::Configuration.value(text, &option).unwrap().unwrap();
        assert_eq!(value, "[\"127.0.0.1:1\"]");
        let new = "[\"127.0.0.1:2\"]";
        let set = Notation::Configuration.set(text, &option, Some(new)).unwrap();
        assert_eq!(Notation::Configuration.value(&set, &option).unwrap().as_deref(), Some(new));
        assert!(set.starts_with("# mine\n"), "{set}");
        let unset = Notation::Configuration.set(&set, &option, None).unwrap();
        assert_eq!(Notation::Configuration.value(&unset, &option).unwrap(), None);
        assert!(Notation::Configuration.is_empty(&unset), "{unset}");
    }
}

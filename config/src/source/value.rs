//! The types of values: how each is written, and what it becomes.

use super::{RawValue, Source, explain::UrlValue};
use crate::pattern::parts::UrlParts;

/// What a JSON schema says of text, and of an array of it.
const STRING: &str = r#"{"type": "string"}"#;
pub(crate) const STRINGS: &str = r#"{"type": "array", "items": {"type": "string"}}"#;

/// What a JSON schema says of a list whose entries may be files of their own.
pub(crate) const STRINGS_AND_FILES: &str =
    r#"{"type": "array", "items": {"type": ["string", "object"]}}"#;

/// The same where a file may have rules for browsers too.
pub(crate) const LISTS_OF_RULES: &str = r#"{"type": "array", "items": {"type": ["string", "object"], "properties": {"file": {"type": "string"}, "hosts": {"type": "string"}, "easylist": {"type": "string"}}, "additionalProperties": false, "minProperties": 1, "maxProperties": 1}}"#;

/// A type that an option may have.
pub(crate) trait Value: Sized {
    /// Its name, under which `docs/options.md` explains it.
    const KIND: &'static str;
    /// How it is written, for `docs/options.md`.
    const MEANING: &'static str;
    /// What a fault says was expected.
    const EXPECTED: &'static str;
    /// Whether a value is shown to nobody, not even in a fault.
    const IS_SECRET: bool = false;
    /// What a JSON schema says of it. What more the reader checks is not in it.
    fn json() -> String {
        STRING.to_owned()
    }
    /// Reads a value, or tells `source` why not.
    fn read(given: &RawValue<'_>, source: &mut Source<'_>) -> Option<Self>;
    /// What of it decides about a URL, for types that are lists of what holds for some URLs.
    fn found(&self, _: &UrlParts<'_>) -> Option<UrlValue> {
        None
    }
}

/// Reads each element of an array. All are read, so that all their faults are told.
pub(crate) fn elements<T>(
    given: &RawValue<'_>,
    source: &mut Source<'_>,
    expected: &'static str,
    mut one: impl FnMut(&RawValue<'_>, &mut Source<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(array) = given.value.as_array() else {
        return source.refuse(given, expected, "");
    };
    let option = given.option;
    let read: Vec<_> = array.iter().map(|value| one(&RawValue { option, value }, source)).collect();
    read.into_iter().collect()
}

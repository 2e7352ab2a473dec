//! The common interface of value types, and their JSON schemas.

use super::{RawValue, ValueSource, explain::UrlValue};
use crate::pattern::parts::UrlParts;

/// The JSON schema of an array of texts.
pub(crate) const STRINGS: &str = r#"{"type": "array", "items": {"type": "string"}}"#;

/// The JSON schema of a list whose entries may be in files.
pub(crate) const STRINGS_AND_FILES: &str =
    r#"{"type": "array", "items": {"type": ["string", "object"]}}"#;

/// The JSON schema of a list whose files may also contain browser rules.
pub(crate) const LISTS_OF_RULES: &str = r#"{"type": "array", "items": {"type": ["string", "object"], "properties": {"file": {"type": "string"}, "hosts": {"type": "string"}, "easylist": {"type": "string"}}, "additionalProperties": false, "minProperties": 1, "maxProperties": 1}}"#;

/// The type of an option's value.
pub(crate) trait Value: Sized {
    /// The name in `docs/options.md`.
    const KIND: &'static str;
    /// The syntax, for `docs/options.md`.
    const MEANING: &'static str;
    /// The expected value, for faults.
    const EXPECTED: &'static str;
    /// Whether a value is never displayed, not even in a fault.
    const IS_SECRET: bool = false;
    /// The JSON schema. The parser may check more than the schema.
    const JSON: &'static str = r#"{"type": "string"}"#;
    /// Parses a value. If it is faulty, the fault is recorded in `source` and the result is `None`.
    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self>;
    /// For types that are lists with values for some URLs: the element that decides about the URL,
    /// or `None` if no element does. Always `None` for other types.
    fn value_for_url(&self, _: &UrlParts<'_>) -> Option<UrlValue> {
        None
    }
}

/// Reads each element of an array. All elements are read, so that all their faults are reported.
/// `None` if any of them is faulty.
pub(crate) fn elements<T>(
    given: &RawValue<'_>,
    source: &mut ValueSource<'_>,
    expected: &'static str,
    mut one: impl FnMut(&RawValue<'_>, &mut ValueSource<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(array) = given.value.as_array() else {
        return source.refuse(given, expected, "");
    };
    let option = given.option;
    let read: Vec<_> = array.iter().map(|value| one(&RawValue { option, value }, source)).collect();
    read.into_iter().collect()
}

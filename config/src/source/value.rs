//! The common interface of value types, and their JSON schemas.

use super::{RawValue, ValueSource, explain::UrlValue};
use crate::pattern::parts::UrlParts;
use toml_edit::Value as Toml;

/// The JSON schema of an array of texts.
pub(crate) const STRINGS: &str = r#"{"type": "array", "items": {"type": "string"}}"#;

/// The JSON schema of a list whose entries may be in files.
pub(crate) const STRINGS_AND_FILES: &str =
    r#"{"type": "array", "items": {"type": ["string", "object"]}}"#;

/// The JSON schema of a list whose files may also contain browser rules.
pub(crate) const LISTS_OF_RULES: &str = r#"{"type": "array", "items": {"type": ["string", "object"], "properties": {"file": {"type": "string"}, "hosts": {"type": "string"}, "easylist": {"type": "string"}}, "additionalProperties": false, "minProperties": 1, "maxProperties": 1}}"#;

/// The type of an option's value. It implements `parse` if a value is given as text, and otherwise
/// `read`.
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
    /// The reason to refuse a number without quotes. Empty if `EXPECTED` says enough.
    const IF_NUMBER: &'static str = "";
    /// Parses a value that is given as text. The error is the reason to refuse it; it is empty if
    /// `EXPECTED` says enough.
    fn parse(_: &str) -> Result<Self, &'static str> {
        Err("")
    }
    /// Parses a value. If it is faulty, the fault is recorded in `source` and the result is `None`.
    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let is_number = matches!(given.value, Toml::Integer(_) | Toml::Float(_));
        let otherwise = Err(if is_number { Self::IF_NUMBER } else { "" });
        let read = given.value.as_str().map_or(otherwise, Self::parse);
        read.map_or_else(|because| source.refuse(given, Self::EXPECTED, because), Some)
    }
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
    let read: Vec<_> =
        array.iter().map(|value| one(&RawValue { value, ..*given }, source)).collect();
    read.into_iter().collect()
}

/// Reads an array of texts. `expected` and `each` are the expected array and its expected elements,
/// for faults. `parse` returns `None` for a faulty text.
pub(crate) fn texts<T>(
    given: &RawValue<'_>,
    source: &mut ValueSource<'_>,
    [expected, each]: [&'static str; 2],
    parse: impl Fn(&str) -> Option<T>,
) -> Option<Vec<T>> {
    elements(given, source, expected, |one, source| {
        one.value.as_str().and_then(&parse).or_else(|| source.refuse(one, each, ""))
    })
}

/// The value of a text that may be empty: `None` if it is, and an error unless it is valid.
pub(crate) fn or_none<'a, T: From<&'a str>>(
    text: &'a str,
    is_valid: bool,
) -> Result<Option<T>, &'static str> {
    match text {
        "" => Ok(None),
        text if is_valid => Ok(Some(text.into())),
        _ => Err(""),
    }
}

//! Conversion between values in a file and values as a person types them.

use toml_edit::{DocumentMut, Value as Toml};

/// The elements of an array, each in the notation of the file; `None` if the value is not an array.
///
/// ```
/// use wwwoffle_config::edit::{elements, unquoted};
///
/// let ports = elements("[443, \"8000-8999\"] # c").unwrap();
/// assert_eq!(ports, ["443", "\"8000-8999\""]);
/// assert_eq!(unquoted(&ports[0]), None);
/// assert_eq!(unquoted(&ports[1]).as_deref(), Some("8000-8999"));
/// ```
#[must_use]
pub fn elements(value: &str) -> Option<Vec<String>> {
    let value = parsed(value)?;
    let plain = |element: &Toml| element.clone().decorated("", "").to_string();
    Some(value.as_array()?.iter().map(plain).collect())
}

/// The content of a quoted text; `None` if the value is not a quoted text.
#[must_use]
pub fn unquoted(value: &str) -> Option<String> {
    parsed(value)?.as_str().map(str::to_owned)
}

/// Parses one value, which a comment may follow. `None` if `value` is not TOML.
fn parsed(value: &str) -> Option<Toml> {
    let mut line: DocumentMut = format!("value = {}\n", value.trim()).parse().ok()?;
    let value = line.remove("value")?.into_value().ok()?;
    line.is_empty().then_some(value)
}

/// Quotes a text for the file.
#[must_use]
pub fn quoted(text: &str) -> String {
    Toml::from(text).to_string()
}

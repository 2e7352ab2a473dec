//! Values of a file in the form in which a person types them, and back.

use toml_edit::{DocumentMut, Value as Toml};

/// The elements of an array, each as a file writes it; `None` when it is no array.
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

/// The text that a value is; `None` when it is another value than a text.
#[must_use]
pub fn unquoted(value: &str) -> Option<String> {
    parsed(value)?.as_str().map(str::to_owned)
}

/// One value, with or without a comment behind it.
fn parsed(value: &str) -> Option<Toml> {
    let mut line: DocumentMut = format!("value = {}\n", value.trim()).parse().ok()?;
    let value = line.remove("value")?.into_value().ok()?;
    line.is_empty().then_some(value)
}

/// A text as a file writes it.
#[must_use]
pub fn quoted(text: &str) -> String {
    Toml::from(text).to_string()
}

//! Values of a file in the form in which a person types them, and back.

use toml_edit::Value as Toml;

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
    let value = value.trim().parse::<Toml>().ok()?;
    let plain = |element: &Toml| element.clone().decorated("", "").to_string();
    Some(value.as_array()?.iter().map(plain).collect())
}

/// The text that a value is; `None` when it is another value than a text.
#[must_use]
pub fn unquoted(value: &str) -> Option<String> {
    value.trim().parse::<Toml>().ok()?.as_str().map(str::to_owned)
}

/// A text as a file writes it.
#[must_use]
pub fn quoted(text: &str) -> String {
    Toml::from(text).to_string()
}

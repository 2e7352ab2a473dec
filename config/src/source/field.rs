//! The types of options: a value, or a value that rules may change.

use super::{
    Source,
    explain::UrlValue,
    rule::{self, UrlRules},
    value::Value,
};
use crate::pattern::parts::UrlParts;

/// The type of an option.
pub(crate) trait Field: Sized {
    /// See [`Value::KIND`].
    const KIND: &'static str;
    /// See [`Value::MEANING`].
    const MEANING: &'static str;
    /// See [`Value::IS_SECRET`].
    const IS_SECRET: bool;
    /// Whether rules may set it.
    const RULES: bool;
    /// See [`Value::json`].
    fn json() -> String;
    /// Reads the option from the text, or its default.
    fn take(
        source: &mut Source<'_>,
        section: &'static str,
        key: &'static str,
        default: &'static str,
    ) -> Self;
    /// The value that a rule selects for a URL, if one does.
    fn found(&self, url: &UrlParts<'_>) -> Option<UrlValue>;
}

impl<T: Value> Field for T {
    const KIND: &'static str = T::KIND;
    const MEANING: &'static str = T::MEANING;
    const IS_SECRET: bool = T::IS_SECRET;
    const RULES: bool = false;

    fn json() -> String {
        T::json()
    }

    fn take(
        source: &mut Source<'_>,
        section: &'static str,
        key: &'static str,
        default: &'static str,
    ) -> Self {
        source.option(section, key, default)
    }

    fn found(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        Value::found(self, url)
    }
}

impl<T: Value> Field for UrlRules<T> {
    const KIND: &'static str = T::KIND;
    const MEANING: &'static str = T::MEANING;
    const IS_SECRET: bool = T::IS_SECRET;
    const RULES: bool = true;

    fn json() -> String {
        T::json()
    }

    fn take(
        source: &mut Source<'_>,
        section: &'static str,
        key: &'static str,
        default: &'static str,
    ) -> Self {
        rule::take(source, section, key, default)
    }

    fn found(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        Self::found(self, url)
    }
}

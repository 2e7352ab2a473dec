//! The types of options: a value, or a value that rules may change.

use super::{
    ValueSource,
    explain::UrlValue,
    rule::{self, UrlRules},
    value::Value,
};
use crate::pattern::parts::UrlParts;

/// The type of an option.
pub(crate) trait OptionType: Sized {
    /// The type of the option's value.
    type Plain: Value;
    /// See [`Value::KIND`].
    const KIND: &'static str = <Self::Plain as Value>::KIND;
    /// See [`Value::MEANING`].
    const MEANING: &'static str = <Self::Plain as Value>::MEANING;
    /// See [`Value::IS_SECRET`].
    const IS_SECRET: bool = <Self::Plain as Value>::IS_SECRET;
    /// See [`Value::JSON`].
    const JSON: &'static str = <Self::Plain as Value>::JSON;
    /// Whether rules may set the option.
    const RULES: bool;
    /// Reads the option from the text. If the text does not set it, returns the default.
    fn take(
        source: &mut ValueSource<'_>,
        section: &'static str,
        key: &'static str,
        default: &'static str,
    ) -> Self;
    /// The value that a rule or an element of the option's list selects for a URL. `None` if none
    /// does.
    fn value_for_url(&self, url: &UrlParts<'_>) -> Option<UrlValue>;
}

impl<T: Value> OptionType for T {
    type Plain = T;
    const RULES: bool = false;

    fn take(
        source: &mut ValueSource<'_>,
        section: &'static str,
        key: &'static str,
        default: &'static str,
    ) -> Self {
        source.option(section, key, default)
    }

    fn value_for_url(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        Value::value_for_url(self, url)
    }
}

impl<T: Value> OptionType for UrlRules<T> {
    type Plain = T;
    const RULES: bool = true;

    fn take(
        source: &mut ValueSource<'_>,
        section: &'static str,
        key: &'static str,
        default: &'static str,
    ) -> Self {
        rule::take(source, section, key, default)
    }

    fn value_for_url(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        Self::value_for_url(self, url)
    }
}

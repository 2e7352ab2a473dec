//! The texts of pages: written in English in the code, and translated into the language of the
//! reader.
//!
//! The English text is the key. A [`Catalogue`] contains translations into another language. Texts
//! without a translation are shown in English. A text may contain
//!
//! - `{name}`, which is replaced by the value of that name, escaped unless it is our own markup;
//! - `[label](name)`, a link to the value of that name;
//! - `` `word` ``, a word that is typed or read by machines.
//!
//! Templates call `t("…", name=…)` and `n(count, "{n} entry", "{n} entries")`; Rust code calls
//! [`tr`], [`count`] and [`count_same`]. The texts of message pages are in
//! `page/message/texts.txt`. A test finds all these texts and checks the catalogues against them.

mod built_in;
mod catalogue;
mod filling;
mod plural;
#[cfg(test)]
mod scan;
#[cfg(test)]
mod unspoken;

use std::fmt;
use std::sync::Arc;

use minijinja::value::{Enumerator, Kwargs, Object, ObjectRepr};
use minijinja::{Environment, Error, ErrorKind, State, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) use built_in::{BUILT_IN, BuiltIn};
pub use catalogue::{Catalogue, CatalogueFault};
use filling::{MarkupPiece, PlaceholderValue, fill, pieces};

use super::escape;

use super::shown::ShownTime;

/// A text that is translated into the language of its page.
///
/// `Display` writes the English text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    english: &'static str,
    /// For a text that depends on a number: the number, and the English text for the number one.
    count: Option<(u64, &'static str)>,
    values: Vec<(&'static str, TextValue)>,
}

/// A value that is filled into a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextValue {
    /// A value that is the same in all languages.
    Plain(String),
    /// A value that is translated into the language of the page.
    Text(Text),
    /// A time, which programs can read too.
    Time(ShownTime),
}

impl From<String> for TextValue {
    fn from(plain: String) -> Self {
        Self::Plain(plain)
    }
}

impl From<&str> for TextValue {
    fn from(plain: &str) -> Self {
        Self::Plain(plain.to_owned())
    }
}

impl From<ShownTime> for TextValue {
    fn from(time: ShownTime) -> Self {
        Self::Time(time)
    }
}

impl From<Text> for TextValue {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

/// A text to be translated, from its English original.
#[must_use]
pub const fn tr(english: &'static str) -> Text {
    Text { english, count: None, values: Vec::new() }
}

/// A text that depends on a number, from its English originals: `one` for the number one, and
/// `other` for any other number. `{n}` stands for the number.
#[must_use]
pub const fn count(number: u64, one: &'static str, other: &'static str) -> Text {
    Text { english: other, count: Some((number, one)), values: Vec::new() }
}

/// A text that depends on a number, but is the same for all numbers in English.
#[must_use]
pub const fn count_same(number: u64, text: &'static str) -> Text {
    count(number, text, text)
}

/// Joins facts to one text; in English they are separated by commas. Returns an empty text if there
/// are no facts.
#[must_use]
pub fn row(facts: impl IntoIterator<Item = TextValue>) -> Text {
    let both = |first: TextValue, next: TextValue| {
        TextValue::Text(tr("{first}, {next}").with("first", first).with("next", next))
    };
    match facts.into_iter().reduce(both) {
        Some(TextValue::Text(text)) => text,
        Some(fact) => tr("{fact}").with("fact", fact),
        None => tr(""),
    }
}

impl Text {
    /// Sets the value that replaces `name` in the text.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<TextValue>) -> Self {
        self.values.push((name, value.into()));
        self
    }

    /// Returns the text, or `None` if it depends on a number, and the number is zero.
    #[must_use]
    pub fn if_any(self) -> Option<Self> {
        let is_zero = self.count.is_some_and(|(number, _)| number == 0);
        (!is_zero).then_some(self)
    }

    /// Writes the English text, or a part of it, for a terminal.
    fn write_english(&self, f: &mut fmt::Formatter<'_>, words: &str) -> fmt::Result {
        for piece in pieces(words) {
            match piece {
                MarkupPiece::Words(words) => f.write_str(words)?,
                MarkupPiece::Code(word) => write!(f, "`{word}`")?,
                MarkupPiece::Link { label, .. } => self.write_english(f, label)?,
                MarkupPiece::Value(name) => {
                    match (self.values.iter().find(|(known, _)| *known == name), self.count) {
                        (Some((_, TextValue::Plain(plain))), _) => f.write_str(plain)?,
                        (Some((_, TextValue::Text(text))), _) => fmt::Display::fmt(text, f)?,
                        (Some((_, TextValue::Time(time))), _) => f.write_str(&time.text)?,
                        (None, Some((number, _))) if name == "n" => write!(f, "{number}")?,
                        (None, _) => write!(f, "{{{name}}}")?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Translates the text into the language of `catalogue`, as HTML.
    fn to_html(&self, catalogue: &Catalogue) -> String {
        use PlaceholderValue::{Markup, Plain};
        let value = |name: &str| {
            let known = self.values.iter().find(|(known, _)| *known == name);
            Ok::<_, fmt::Error>(match (known, self.count) {
                (Some((_, TextValue::Plain(plain))), _) => Plain(plain.clone()),
                (Some((_, TextValue::Text(text))), _) => Markup(text.to_html(catalogue)),
                (Some((_, TextValue::Time(time))), _) => Markup(time.to_html()),
                (None, Some((number, _))) if name == "n" => Plain(number.to_string()),
                // A name without a value is shown unchanged. Only one of our own English texts can
                // have such a name: translations with unknown names are rejected.
                (None, _) => Plain(format!("{{{name}}}")),
            })
        };
        let words = match self.count {
            None => catalogue.plain(self.english),
            Some((number, one)) => catalogue.counted(number, one, self.english),
        };
        fill(words, catalogue.direction(), value).unwrap_or_default()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.count {
            Some((1, one)) => one,
            _ => self.english,
        };
        self.write_english(f, words)
    }
}

impl Object for Text {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::NonEnumerable
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Text {
    /// Templates receive the object itself; other formats receive the English text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Value::from_object(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    /// A text from another program is English and stays unchanged.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|message| tr("{fact}").with("fact", message))
    }
}

/// Makes an environment translate the texts of its templates with `catalogue`.
pub(crate) fn set_language(environment: &mut Environment<'_>, catalogue: &Arc<Catalogue>) {
    environment.add_global("lang", catalogue.tag());
    environment.add_global("direction", catalogue.direction().as_str());
    let known = Arc::clone(catalogue);
    environment.add_function("t", move |text: Value, values: Kwargs| {
        evaluate_text(&known, &text, &values)
    });
    let known = Arc::clone(catalogue);
    environment.add_function("n", move |count: u64, one: &str, other: &str, values: Kwargs| {
        let words = known.counted(count, one, other);
        let html = fill(words, known.direction(), |name| match name {
            "n" if !values.has("n") => Ok(PlaceholderValue::Plain(count.to_string())),
            name => value(&known, &values, name),
        })?;
        Ok::<_, Error>(Value::from_safe_string(html))
    });
    let known = Arc::clone(catalogue);
    environment.set_formatter(move |out, state: &mut State<'_, '_>, value| {
        match value.downcast_object_ref::<Text>() {
            Some(text) => Ok(out.write_str(&text.to_html(&known))?),
            None => escape::write(out, state, value),
        }
    });
}

/// Evaluates `t(text, …)`.
fn evaluate_text(catalogue: &Catalogue, text: &Value, values: &Kwargs) -> Result<Value, Error> {
    if let Some(text) = text.downcast_object_ref::<Text>() {
        return Ok(Value::from_safe_string(text.to_html(catalogue)));
    }
    let english = text.as_str().ok_or_else(|| {
        Error::new(ErrorKind::InvalidOperation, format!("t() takes a text, not {text}"))
    })?;
    let html = fill(catalogue.plain(english), catalogue.direction(), |name| {
        value(catalogue, values, name)
    })?;
    Ok(Value::from_safe_string(html))
}

fn value(catalogue: &Catalogue, values: &Kwargs, name: &str) -> Result<PlaceholderValue, Error> {
    let value: Value = values.get(name)?;
    if value.is_undefined() {
        let message = format!("{name:?} has no value");
        return Err(Error::new(ErrorKind::UndefinedError, message));
    }
    Ok(match value.downcast_object_ref::<Text>() {
        Some(text) => PlaceholderValue::Markup(text.to_html(catalogue)),
        None if value.is_safe() => PlaceholderValue::Markup(value.to_string()),
        None => PlaceholderValue::Plain(value.to_string()),
    })
}

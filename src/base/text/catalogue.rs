//! The translations of one language.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use intl_pluralrules::{PluralCategory, PluralRuleType, PluralRules};
use serde::Deserialize;

use super::BuiltIn;
use super::filling::{MarkupPiece, pieces};

/// Translations of the English texts of pages into one language.
#[derive(Debug)]
pub struct Catalogue {
    tag: String,
    name: Option<String>,
    direction: Option<Direction>,
    plurals: Option<Plurals>,
    texts: BTreeMap<String, Phrase>,
    /// The catalogue for texts that are missing in this one.
    beneath: Option<&'static BuiltIn>,
}

struct Plurals(PluralRules);

impl fmt::Debug for Plurals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plurals").field(self.0.get_locale()).finish()
    }
}

/// The writing direction of a language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From left to right.
    #[default]
    Ltr,
    /// From right to left.
    Rtl,
}

impl Direction {
    /// The value of HTML's `dir`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ltr => "ltr",
            Self::Rtl => "rtl",
        }
    }
}

/// The translation of a text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Phrase {
    /// The same for all numbers.
    One(String),
    /// By plural category (CLDR): `one`, `few`, `many`, `other` …
    Many(BTreeMap<String, String>),
}

impl Phrase {
    fn forms(&self) -> Vec<&str> {
        match self {
            Self::One(text) => vec![text],
            Self::Many(forms) => forms.values().map(String::as_str).collect(),
        }
    }
}

/// The file of a catalogue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    language: LanguageTable,
    #[serde(default)]
    texts: BTreeMap<String, Phrase>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LanguageTable {
    name: Option<String>,
    direction: Option<Direction>,
}

/// A fault of a catalogue, or of one text in it.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueFault {
    /// Its name is not a language tag.
    #[error("{0:?} is no tag of a language, such as de or pt-br")]
    Tag(String),
    /// It is not TOML, or has other tables than `language` and `texts`.
    #[error("it cannot be read")]
    Unreadable(#[source] Box<toml::de::Error>),
    /// A translation names a value that the English does not have.
    #[error(
        "the words for {english:?} name {name:?}, which the English does not; they are left out"
    )]
    UnknownName {
        /// The English text.
        english: String,
        /// The name of a value.
        name: String,
    },
    /// The forms of a translation are not plural categories of CLDR.
    #[error(
        "the words for {english:?} have forms other than zero, one, two, few, many and other, or no other; they are left out"
    )]
    Forms {
        /// The English text.
        english: String,
    },
}

const FORMS: [(&str, PluralCategory); 6] = [
    ("zero", PluralCategory::ZERO),
    ("one", PluralCategory::ONE),
    ("two", PluralCategory::TWO),
    ("few", PluralCategory::FEW),
    ("many", PluralCategory::MANY),
    ("other", PluralCategory::OTHER),
];

impl Catalogue {
    /// The catalogue of English, in which every text is written.
    #[must_use]
    pub fn english() -> Self {
        Self {
            tag: "en".to_owned(),
            name: Some("English".to_owned()),
            direction: Some(Direction::Ltr),
            plurals: None,
            texts: BTreeMap::new(),
            beneath: None,
        }
    }

    /// Parses a catalogue in TOML; `tag` is that of its language, in lower case. Invalid
    /// translations are left out and returned as faults.
    ///
    /// # Errors
    ///
    /// If the whole catalogue is invalid.
    pub fn parse(tag: &str, text: &str) -> Result<(Self, Vec<CatalogueFault>), CatalogueFault> {
        let bad_tag = || CatalogueFault::Tag(tag.to_owned());
        // The parser also accepts `_`, which browsers never send.
        let is_written_so = !tag.contains('_');
        let language: unic_langid::LanguageIdentifier =
            tag.parse().ok().filter(|_| is_written_so).ok_or_else(bad_tag)?;
        let mut plain = language.clone();
        plain.clear_variants();
        (plain.region, plain.script) = (None, None);
        let file: File =
            toml::from_str(text).map_err(|error| CatalogueFault::Unreadable(Box::new(error)))?;
        let mut faults = Vec::new();
        let mut texts = file.texts;
        texts.retain(|english, phrase| match check(english, phrase) {
            Ok(()) => true,
            Err(fault) => {
                faults.push(fault);
                false
            }
        });
        let catalogue = Self {
            tag: tag.to_owned(),
            name: file.language.name,
            direction: file.language.direction,
            // A language unknown to CLDR uses the plural rule of English.
            plurals: PluralRules::create(plain, PluralRuleType::CARDINAL).ok().map(Plurals),
            texts,
            beneath: None,
        };
        Ok((catalogue, faults))
    }

    /// Overrides these translations by those of `other`, of the same language.
    pub(crate) fn overlay(&mut self, other: Self) {
        self.name = other.name.or(self.name.take());
        self.direction = other.direction.or(self.direction);
        self.texts.extend(other.texts);
    }

    /// Overrides those of `built_in`, of the same language, by these, without parsing `built_in`
    /// yet.
    pub(crate) fn over(self, built_in: &'static BuiltIn) -> Self {
        Self { beneath: Some(built_in), ..self }
    }

    /// The tag of the language, such as `de`.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The name of the language in that language.
    #[must_use]
    pub fn name(&self) -> &str {
        let beneath =
            || self.beneath.map_or(self.tag.as_str(), |beneath| beneath.catalogue().name());
        self.name.as_deref().unwrap_or_else(beneath)
    }

    /// The writing direction.
    #[must_use]
    pub fn direction(&self) -> Direction {
        let beneath = || self.beneath.map(|beneath| beneath.catalogue().direction());
        self.direction.or_else(beneath).unwrap_or_default()
    }

    /// Translates an English text.
    pub(super) fn plain<'a>(&'a self, english: &'a str) -> &'a str {
        match self.phrase(english) {
            Some(Phrase::One(text)) => text,
            Some(Phrase::Many(forms)) => forms.get("other").map_or(english, String::as_str),
            None => english,
        }
    }

    /// Translates an English text that depends on a number.
    pub(super) fn counted<'a>(&'a self, number: u64, one: &'a str, other: &'a str) -> &'a str {
        match self.phrase(other) {
            Some(Phrase::One(text)) => text,
            Some(Phrase::Many(forms)) => {
                let form = forms.get(self.form(number)).or_else(|| forms.get("other"));
                form.map_or(other, String::as_str)
            }
            None if number == 1 => one,
            None => other,
        }
    }

    fn phrase(&self, english: &str) -> Option<&Phrase> {
        let beneath = || self.beneath.and_then(|beneath| beneath.catalogue().phrase(english));
        self.texts.get(english).or_else(beneath)
    }

    fn form(&self, number: u64) -> &'static str {
        let category = self.plurals.as_ref().and_then(|plurals| plurals.0.select(number).ok());
        let category = category.unwrap_or(if number == 1 {
            PluralCategory::ONE
        } else {
            PluralCategory::OTHER
        });
        FORMS.iter().find(|(_, known)| *known == category).map_or("other", |(form, _)| form)
    }

    /// Whether it has a translation of an English text.
    #[cfg(test)]
    pub(super) fn has(&self, english: &str) -> bool {
        self.texts.contains_key(english)
    }

    /// The English texts that it translates.
    #[cfg(test)]
    pub(super) fn known(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }

    /// Whether the translation lacks a plural form that the language uses.
    #[cfg(test)]
    pub(super) fn lacks_a_form(&self, english: &str) -> bool {
        let needed: BTreeSet<_> = (0..200).map(|number| self.form(number)).collect();
        match self.texts.get(english) {
            Some(Phrase::Many(forms)) => needed.iter().any(|form| !forms.contains_key(*form)),
            _ => false,
        }
    }
}

fn check(english: &str, phrase: &Phrase) -> Result<(), CatalogueFault> {
    let known: BTreeSet<_> = names(english).collect();
    for form in phrase.forms() {
        if let Some(name) = names(form).find(|name| !known.contains(name)) {
            let (english, name) = (english.to_owned(), name.1.to_owned());
            return Err(CatalogueFault::UnknownName { english, name });
        }
    }
    if let Phrase::Many(forms) = phrase {
        let is_form = |form: &String| FORMS.iter().any(|(known, _)| known == form);
        if !forms.keys().all(is_form) || !forms.contains_key("other") {
            return Err(CatalogueFault::Forms { english: english.to_owned() });
        }
    }
    Ok(())
}

/// The names of the values in a text, and whether each is the target of a link.
fn names(text: &str) -> impl Iterator<Item = (bool, &str)> {
    pieces(text).flat_map(|piece| -> Vec<(bool, &str)> {
        match piece {
            MarkupPiece::Value(name) => vec![(false, name)],
            MarkupPiece::Link { label, to } => {
                let inner = pieces(label).filter_map(|piece| match piece {
                    MarkupPiece::Value(name) => Some((false, name)),
                    _ => None,
                });
                std::iter::once((true, to)).chain(inner).collect()
            }
            MarkupPiece::Words(_) | MarkupPiece::Code(_) => Vec::new(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(tag: &str, texts: &str) -> Catalogue {
        let (catalogue, faults) = Catalogue::parse(tag, &format!("[texts]\n{texts}")).unwrap();
        assert!(faults.is_empty(), "{faults:?}");
        catalogue
    }

    #[test]
    fn numbers_have_the_forms_of_their_language() {
        let forms = r#""{n} s" = { one = "1", few = "f", many = "m", other = "o" }"#;
        for (tag, want) in [
            ("de", "o1oooooo"),
            ("fr", "11oooooo"),
            ("pl", "m1fmmmfm"),
            ("ru", "m1fmm1fm"),
            ("pt-br", "11oooooo"),
            ("xx", "o1oooooo"),
        ] {
            let catalogue = catalogue(tag, forms);
            let got: String = [0, 1, 2, 5, 11, 21, 22, 100]
                .map(|number| catalogue.counted(number, "{n}", "{n} s"))
                .concat();
            assert_eq!(got, want, "{tag}");
        }
        assert_eq!(Catalogue::english().counted(1, "one", "other"), "one");
        assert_eq!(Catalogue::english().counted(0, "one", "other"), "other");
        assert_eq!(catalogue("ja", r#""{n} s" = "{n}""#).counted(1, "one", "{n} s"), "{n}");
    }

    #[test]
    fn what_it_has_not_is_english() {
        let catalogue = catalogue("de", r#""Queue" = "Warteschlange""#);
        assert_eq!(catalogue.plain("Queue"), "Warteschlange");
        assert_eq!(catalogue.plain("Search"), "Search");
    }

    #[test]
    fn what_a_users_own_says_of_its_language_goes_before_what_comes_with_the_program() {
        let over = |language: &str| {
            let text = format!("{language}[texts]\n\"Queue\" = \"Reihe\"");
            let own = Catalogue::parse("de", &text).unwrap().0;
            let all = own.over(&crate::base::text::BUILT_IN[0]);
            (all.name().to_owned(), all.direction(), all.plain("Queue").to_owned())
        };
        assert_eq!(over(""), ("Deutsch".into(), Direction::Ltr, "Reihe".into()));
        let own = "[language]\nname = \"Platt\"\ndirection = \"rtl\"\n";
        assert_eq!(over(own), ("Platt".into(), Direction::Rtl, "Reihe".into()));
    }

    #[test]
    fn what_cannot_be_used_is_told_and_left_out() {
        for (texts, want) in [
            (
                r#""a {b}" = "{c}""#,
                r#"the words for "a {b}" name "c", which the English does not; they are left out"#,
            ),
            (
                r#""a {b}" = "[x](b)""#,
                r#"the words for "a {b}" name "b", which the English does not; they are left out"#,
            ),
            (
                r#""a" = { one = "b" }"#,
                r#"the words for "a" have forms other than zero, one, two, few, many and other, or no other; they are left out"#,
            ),
            (
                r#""a" = { other = "b", some = "c" }"#,
                r#"the words for "a" have forms other than zero, one, two, few, many and other, or no other; they are left out"#,
            ),
        ] {
            let text = format!("[texts]\n\"x\" = \"y\"\n{texts}");
            let (catalogue, faults) = Catalogue::parse("de", &text).unwrap();
            assert_eq!(faults.iter().map(ToString::to_string).collect::<Vec<_>>(), [want]);
            assert_eq!(catalogue.known().collect::<Vec<_>>(), ["x"]);
        }
        let told = |tag, text| Catalogue::parse(tag, text).unwrap_err().to_string();
        assert_eq!(told("../x", ""), "\"../x\" is no tag of a language, such as de or pt-br");
        assert_eq!(told("pt_br", ""), "\"pt_br\" is no tag of a language, such as de or pt-br");
        assert_eq!(told("de", "[texts]\na = 1"), "it cannot be read");
        assert_eq!(told("de", "[words]"), "it cannot be read");
    }
}

//! The translations of one language.

use std::collections::{BTreeMap, BTreeSet};

use polib::catalog::Catalog;
use polib::po_file::{self, POParseError};
use unic_langid::{CharacterDirection, LanguageIdentifier};

use super::filling::{MarkupPiece, pieces};
use super::{BuiltIn, plural};

/// Translations of the English texts of pages into one language.
#[derive(Debug)]
pub struct Catalogue {
    tag: String,
    direction: Direction,
    /// The expression that selects the plural form for a number.
    plural: String,
    /// The translations by English text. The key of a text with a number is its plural. The value
    /// has one form, or one form for each result of `plural`.
    texts: BTreeMap<String, Vec<String>>,
    /// The catalogue that is used for texts missing in this one.
    beneath: Option<&'static BuiltIn>,
}

wwwoffle_url::named! {
    /// The writing direction of a language, with the value of HTML's `dir`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Direction {
        /// From left to right.
        Ltr = "ltr",
        /// From right to left.
        Rtl = "rtl",
    }
}

/// A fault of a catalogue, or of one text in it.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueFault {
    /// The name is not a language tag.
    #[error("{0:?} is not the tag of a language, such as de or pt-br")]
    Tag(String),
    /// The line with this number is too long, or is neither a comment nor a quoted text, with or
    /// without a keyword.
    #[error("line {0} is not in the format of gettext's PO files")]
    Line(usize),
    /// The file is not a PO file.
    #[error("it cannot be read as a PO file")]
    Unreadable(#[source] POParseError),
    /// The `Plural-Forms` header is invalid.
    #[error("the expression {0:?} in Plural-Forms is invalid")]
    Plural(String),
    /// A translation names a value that the English text does not have.
    #[error("the translation of {english:?} has {{{name}}}, which the English does not have")]
    UnknownName {
        /// The English text.
        english: String,
        /// The name of a value.
        name: String,
    },
    /// The number of plural forms of a translation differs from the header.
    #[error(
        "the translation of {english:?} has {forms} plural forms, and Plural-Forms says {said}"
    )]
    Forms {
        /// The English text.
        english: String,
        /// The number of forms in the translation.
        forms: usize,
        /// The number of forms in the header.
        said: usize,
    },
}

impl Catalogue {
    /// The catalogue of English, in which every text is written.
    #[must_use]
    pub fn english() -> Self {
        Self {
            tag: "en".to_owned(),
            direction: Direction::Ltr,
            plural: "n != 1".to_owned(),
            texts: BTreeMap::new(),
            beneath: None,
        }
    }

    /// Parses a PO file. `tag` is the tag of its language, in lower case. Invalid translations are
    /// left out and returned as faults. Fuzzy and empty translations are left out.
    ///
    /// # Errors
    ///
    /// If the whole file is invalid.
    pub fn parse(tag: &str, text: &str) -> Result<(Self, Vec<CatalogueFault>), CatalogueFault> {
        let bad_tag = || CatalogueFault::Tag(tag.to_owned());
        // The parser of language tags also accepts `_`, which browsers never send.
        let is_written_so = !tag.contains('_');
        let language: LanguageIdentifier =
            tag.parse().ok().filter(|_| is_written_so).ok_or_else(bad_tag)?;
        let file = po_file::parse_from_reader(checked_lines(text)?.as_bytes())
            .map_err(CatalogueFault::Unreadable)?;
        let rule = &file.metadata.plural_rules;
        let is_form = |form| usize::try_from(form).is_ok_and(|form| form < rule.nplurals);
        if !(0..1000).all(|number| plural::form(&rule.expr, number).is_some_and(is_form)) {
            return Err(CatalogueFault::Plural(rule.expr.clone()));
        }
        let (texts, faults) = translations(&file);
        let direction = match language.character_direction() {
            CharacterDirection::RTL => Direction::Rtl,
            _ => Direction::Ltr,
        };
        let plural = rule.expr.clone();
        Ok((Self { tag: tag.to_owned(), direction, plural, texts, beneath: None }, faults))
    }

    /// Adds the translations of `other`, of the same language. They replace existing ones.
    pub(crate) fn overlay(&mut self, other: Self) {
        self.texts.extend(other.texts);
    }

    /// Uses `built_in`, of the same language, for texts that are missing here. `built_in` is parsed
    /// when the first such text is needed.
    pub(crate) fn over(self, built_in: &'static BuiltIn) -> Self {
        Self { beneath: Some(built_in), ..self }
    }

    /// The tag of the language, such as `de`.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The writing direction.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// Translates an English text.
    pub(super) fn plain<'a>(&'a self, english: &'a str) -> &'a str {
        let forms = self.texts.get(english).and_then(|forms| forms.first());
        let beneath = || self.beneath.map_or(english, |beneath| beneath.catalogue().plain(english));
        forms.map_or_else(beneath, String::as_str)
    }

    /// Translates an English text that depends on a number.
    pub(super) fn counted<'a>(&'a self, number: u64, one: &'a str, other: &'a str) -> &'a str {
        let form = plural::form(&self.plural, number).and_then(|form| usize::try_from(form).ok());
        let own = self.texts.get(other).and_then(|forms| forms.get(form?).or(forms.last()));
        match (own, self.beneath) {
            (Some(own), _) => own,
            (None, Some(beneath)) => beneath.catalogue().counted(number, one, other),
            (None, None) if number == 1 => one,
            (None, None) => other,
        }
    }
}

/// Rejects lines that `polib` cannot read without a panic, and removes comments that `polib` does
/// not need.
fn checked_lines(text: &str) -> Result<String, CatalogueFault> {
    // `polib` reads longer lines in parts.
    const MOST_BYTES: usize = 32_768;
    let (mut checked, mut has_keyword) = (String::with_capacity(text.len()), false);
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let is_flags = line.starts_with("#,");
        if line.starts_with('#') && !is_flags {
            continue;
        }
        let before_text = line.strip_suffix('"').and_then(|line| line.split_once('"'));
        let is_valid = match before_text {
            None => line.is_empty() || is_flags,
            Some(("", _)) => has_keyword,
            Some((keyword, _)) => {
                has_keyword = keyword.starts_with("msg") && keyword.is_ascii();
                has_keyword
            }
        };
        if !is_valid || line.len() > MOST_BYTES {
            return Err(CatalogueFault::Line(number));
        }
        checked.extend([line, "\n"]);
    }
    Ok(checked)
}

/// The usable translations of a file, and the faults of the others.
fn translations(file: &Catalog) -> (BTreeMap<String, Vec<String>>, Vec<CatalogueFault>) {
    let (mut texts, mut faults) = (BTreeMap::new(), Vec::new());
    for message in file.messages().filter(|message| message.is_translated() && !message.is_fuzzy())
    {
        let english = message.msgid_plural().unwrap_or(message.msgid()).to_owned();
        let forms = match (message.msgstr_plural(), message.msgstr()) {
            (Ok(forms), _) => forms.clone(),
            (_, text) => text.map(|text| vec![text.to_owned()]).unwrap_or_default(),
        };
        let (known, said) =
            (names(&english).collect::<BTreeSet<_>>(), file.metadata.plural_rules.nplurals);
        let unknown = forms.iter().flat_map(|form| names(form)).find(|name| !known.contains(name));
        if let Some((_, name)) = unknown {
            let (english, name) = (english.clone(), name.to_owned());
            faults.push(CatalogueFault::UnknownName { english, name });
        } else if message.is_plural() && forms.len() != said {
            faults.push(CatalogueFault::Forms { english, forms: forms.len(), said });
        } else {
            texts.insert(english, forms);
        }
    }
    (texts, faults)
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

    const HEAD: &str = "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=2; plural=n > 1;\\n\"\n\n";

    #[test]
    fn missing_translations_are_shown_in_english() {
        let text = format!(
            "# A comment\n#\n{HEAD}#, fuzzy\nmsgid \"A\"\nmsgstr \"X\"\n\nmsgid \"Queue\"\nmsgstr \"\"\n\
             \"Warte\"\n\"\\\"schlange\"\n\nmsgid \"{{n}} a\"\nmsgid_plural \"{{n}} b\"\nmsgstr[0] \"0\"\n\
             msgstr[1] \"1\"\n\nmsgid \"B\"\nmsgstr \"\"\n\n#~ msgid \"C\"\n#~ msgstr \"D\"\n"
        );
        let (catalogue, faults) = Catalogue::parse("de", &text).unwrap();
        assert!(faults.is_empty(), "{faults:?}");
        for (english, want) in [("Queue", "Warte\"schlange"), ("A", "A"), ("B", "B"), ("C", "C")] {
            assert_eq!(catalogue.plain(english), want);
        }
        let counted = |number| catalogue.counted(number, "{n} a", "{n} b");
        assert_eq!([0, 1, 2].map(counted), ["0", "0", "1"]);
        assert_eq!(catalogue.counted(1, "one", "other"), "one");
        assert_eq!(Catalogue::english().counted(0, "one", "other"), "other");
        let all = catalogue.over(&crate::base::text::BUILT_IN[0]);
        assert_eq!((all.plain("Queue"), all.plain("Search")), ("Warte\"schlange", "Suchen"));
    }

    #[test]
    fn a_language_has_its_direction() {
        for (tag, want) in [("de", "ltr"), ("ar", "rtl"), ("he", "rtl"), ("az-arab", "rtl")] {
            let (catalogue, _) = Catalogue::parse(tag, HEAD).unwrap();
            assert_eq!(catalogue.direction().as_str(), want, "{tag}");
        }
    }

    #[test]
    fn an_invalid_translation_is_ignored() {
        for (message, want) in [
            (
                "msgid \"a {b}\"\nmsgstr \"{c}\"",
                r#"the translation of "a {b}" has {c}, which the English does not have"#,
            ),
            (
                "msgid \"a {b}\"\nmsgstr \"[x](b)\"",
                r#"the translation of "a {b}" has {b}, which the English does not have"#,
            ),
            (
                "msgid \"a\"\nmsgid_plural \"b\"\nmsgstr[0] \"c\"",
                r#"the translation of "b" has 1 plural forms, and Plural-Forms says 2"#,
            ),
        ] {
            let text = format!("{HEAD}{message}\n\nmsgid \"x\"\nmsgstr \"y\"\n");
            let (catalogue, faults) = Catalogue::parse("de", &text).unwrap();
            assert_eq!(faults.iter().map(ToString::to_string).collect::<Vec<_>>(), [want]);
            assert_eq!(catalogue.texts.keys().collect::<Vec<_>>(), ["x"]);
        }
    }

    #[test]
    fn an_invalid_file_is_refused() {
        let error = |tag, text| Catalogue::parse(tag, text).unwrap_err().to_string();
        for tag in ["../x", "pt_br"] {
            assert_eq!(
                error(tag, HEAD),
                format!("{tag:?} is not the tag of a language, such as de or pt-br")
            );
        }
        for line in ["[texts]", "\"x\"", "msgid \"", "msgid é\"a\"", "\"", "\"Queue\" = \"x\""] {
            assert_eq!(error("de", line), "line 1 is not in the format of gettext's PO files");
        }
        let second = "line 2 is not in the format of gettext's PO files";
        assert_eq!([error("de", "\n\"x\""), error("de", "#, fuzzy\n\"x\"")], [second; 2]);
        assert_eq!(error("de", "msgid \"a\"\nmsgstr \"b\""), "it cannot be read as a PO file");
        let rule = HEAD.replace("n > 1", "n > ");
        assert_eq!(error("de", &rule), "the expression \"n >\" in Plural-Forms is invalid");
    }

    proptest::proptest! {
        #[test]
        fn no_catalogue_file_causes_a_panic(
            lines in proptest::collection::vec("(msgid |msgstr |msgstr\\[1\\] |#, |#|)\"?[aé\\\\n]{0,4}\"?", 0..9),
            has_head in proptest::bool::ANY,
        ) {
            let head = if has_head { HEAD } else { "" };
            drop(Catalogue::parse("de", &format!("{head}{}", lines.join("\n"))));
        }
    }
}

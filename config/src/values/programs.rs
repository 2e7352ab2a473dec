//! Programs that extract the text of documents.

use crate::source::{
    RawValue, ValueSource,
    value::{Value, elements},
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::media::MediaType;

/// The largest number of media types with a program.
const MAX_TYPES: usize = 64;

/// The largest number of arguments of a program.
const MAX_ARGUMENTS: usize = 32;

/// A program that reads a document from standard input and writes its text to standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextProgram {
    /// The absolute path.
    pub path: PathBuf,
    /// The arguments.
    pub arguments: Vec<String>,
}

/// The programs by media type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextPrograms(BTreeMap<String, TextProgram>);

impl TextPrograms {
    /// The program for a media type in lower case without parameters.
    ///
    /// ```
    /// let programs = wwwoffle_config::Config::default().index_options.text_programs;
    /// assert!(programs.of("application/pdf").is_none());
    /// ```
    #[must_use]
    pub fn of(&self, media_type: &str) -> Option<&TextProgram> {
        self.0.get(media_type)
    }

    /// All programs, each with its media type.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &TextProgram)> {
        self.0.iter().map(|(media_type, program)| (media_type.as_str(), program))
    }
}

impl Value for TextPrograms {
    const KIND: &'static str = "text programs";
    const MEANING: &'static str = "\
A table of media types and programs, each an array of the absolute path and the arguments:
`{ \"application/pdf\" = [\"/usr/bin/pdftotext\", \"-enc\", \"UTF-8\", \"-\", \"-\"] }`. A program gets
the document on standard input and writes its text, in UTF-8, to standard output.";
    const EXPECTED: &'static str = "a table of media types and programs, such as \
         { \"application/pdf\" = [\"/usr/bin/pdftotext\", \"-enc\", \"UTF-8\", \"-\", \"-\"] }";
    const JSON: &'static str = r#"{"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}, "minItems": 1}}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let Some(table) = given.value.as_inline_table() else {
            return source.refuse(given, Self::EXPECTED, "");
        };
        if table.len() > MAX_TYPES {
            return source.refuse(given, Self::EXPECTED, "there are more than 64");
        }
        let (mut programs, mut is_sound) = (BTreeMap::new(), true);
        for (name, value) in table {
            let one = RawValue { value, ..*given };
            let Ok(media_type) = MediaType::parse(name) else {
                let because = format!("{name:?} is not a media type, such as \"application/pdf\"");
                source.refuse::<()>(given, Self::EXPECTED, &because);
                is_sound = false;
                continue;
            };
            match program(&one, source) {
                Some(program) => drop(programs.insert(media_type.as_str().to_owned(), program)),
                None => is_sound = false,
            }
        }
        is_sound.then_some(Self(programs))
    }
}

fn program(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<TextProgram> {
    const EACH: &str = "the absolute path of a program and its arguments, such as \
                        [\"/usr/bin/pdftotext\", \"-\", \"-\"]";
    let words = elements(given, source, EACH, |one, source| {
        let word = one.value.as_str().filter(|word| !word.contains('\0')).map(str::to_owned);
        word.or_else(|| source.refuse(one, EACH, ""))
    })?;
    match words.split_first() {
        Some((path, arguments))
            if Path::new(path).is_absolute() && arguments.len() <= MAX_ARGUMENTS =>
        {
            Some(TextProgram { path: path.into(), arguments: arguments.to_vec() })
        }
        _ => source.refuse(given, EACH, ""),
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;

    #[test]
    fn programs_are_read_or_refused() {
        let read = |value: &str| {
            let text = format!("[index-options]\ntext-programs = {value}\n");
            Config::parse(&text, std::path::Path::new("f"))
        };
        let config =
            read("{ \"Application/PDF\" = [\"/usr/bin/pdftotext\", \"-\", \"-\"] }").unwrap();
        let program = config.index_options.text_programs.of("application/pdf").unwrap().clone();
        assert_eq!(program.path, std::path::Path::new("/usr/bin/pdftotext"));
        assert_eq!(program.arguments, ["-", "-"]);
        for bad in [
            "[\"/usr/bin/pdftotext\"]",
            "{ \"application/pdf\" = \"/usr/bin/pdftotext\" }",
            "{ \"application/pdf\" = [\"pdftotext\"] }",
            "{ \"application/pdf\" = [] }",
            "{ \"application/pdf\" = [\"/usr/bin/pdftotext\", 1] }",
            "{ pdf = [\"/usr/bin/pdftotext\"] }",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}

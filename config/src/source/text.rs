//! The texts of a configuration: the file itself, and the files that its sections include.

use super::{declaration::Section, quoted};
use crate::{
    disk::{MAX_CONFIG, read},
    error::{Fault, FaultCollector, FaultKind},
};
use std::{ops::Range, path::Path, sync::Arc};
use toml_edit::{Document, TableLike, TomlError, Value as Toml};

/// The largest depth of nested includes.
const MAX_DEPTH: usize = 8;

/// The largest number of included files in all sections together.
const MAX_INCLUDED: usize = 100;

/// The maximum number of characters that a fault quotes from a line that is not TOML.
const MAX_SHOWN_LINE: usize = 120;

/// The key by which a section includes further files with options of the same section.
pub(crate) const INCLUDE: &str = "include";

/// The expected value of `include`.
const INCLUDE_EXPECTED: &str = "the name of a file or an array of names, such as \"more.toml\"";

/// One text, parsed as TOML.
#[derive(Debug)]
pub(crate) struct ParsedText {
    pub(crate) file: Arc<Path>,
    document: Document<String>,
    lines: LineEnds,
    /// The section of an included file; `None` for the configuration itself, which has all
    /// sections.
    section: Option<&'static str>,
}

impl ParsedText {
    fn parse(text: &str, file: &Arc<Path>, section: Option<&'static str>) -> Result<Self, Fault> {
        let lines = LineEnds::of(text);
        match Document::parse(text.to_owned()) {
            Ok(document) => Ok(Self { file: Arc::clone(file), document, lines, section }),
            Err(error) => Err(not_toml(file, text, &error)),
        }
    }

    /// The root table.
    pub(crate) fn root(&self) -> &toml_edit::Table {
        self.document.as_table()
    }

    /// The section that the file belongs to; `None` for the configuration itself.
    pub(crate) fn section(&self) -> Option<&'static str> {
        self.section
    }

    /// The options of a section in this text. `None` if the text does not contain the section.
    pub(crate) fn table(&self, section: &str) -> Option<&dyn TableLike> {
        match self.section {
            None => self.root().get(section)?.as_table_like(),
            Some(own) if own == section => Some(self.root()),
            Some(_) => None,
        }
    }

    /// The line of the byte at `offset`, counted from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.lines.number(offset)
    }

    /// The text at `span`.
    pub(crate) fn at(&self, span: Range<usize>) -> &str {
        self.document.raw().get(span).unwrap_or_default()
    }
}

/// The ends of the lines of a text. Computed once, because a list can have a value on each line.
#[derive(Debug)]
struct LineEnds(Vec<usize>);

impl LineEnds {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(end, _)| end).collect())
    }

    fn number(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|end| *end < offset)
    }
}

fn not_toml(file: &Arc<Path>, text: &str, error: &TomlError) -> Fault {
    let line = error.span().map(|span| LineEnds::of(text).number(span.start));
    let message = error.message().trim().replace('\n', ", ");
    let found = line.and_then(|line| text.lines().nth(line - 1)).unwrap_or_default();
    let found = if holds_secret(found) {
        "a line with a password".to_owned()
    } else {
        found.trim().chars().take(MAX_SHOWN_LINE).collect()
    };
    Fault::new(file, line, FaultKind::NotToml { message, found })
}

/// Whether a line that is not TOML may contain a password or its hash.
fn holds_secret(line: &str) -> bool {
    line.contains("password") || line.contains("users") || line.contains("$argon2")
}

/// An `include` in a text.
struct IncludeLine {
    name: String,
    line: Option<usize>,
}

/// All texts: the configuration itself first, and each text before the texts that it includes.
pub(crate) struct ParsedTexts {
    all: Vec<ParsedText>,
}

impl ParsedTexts {
    /// Reads `text`, the content of `file`, and the files that its sections include.
    ///
    /// # Errors
    ///
    /// If `text` itself is not TOML. Faults in an included file are added to `collected`, and the
    /// rest is read without that file.
    pub(crate) fn read(
        text: &str,
        file: &Arc<Path>,
        sections: &[Section],
        collected: &mut FaultCollector,
    ) -> Result<Self, Fault> {
        let main = ParsedText::parse(text, file, None)?;
        let mut texts = Self { all: vec![main] };
        for section in sections {
            texts.include_all(section.name, &mut vec![0], collected);
        }
        Ok(texts)
    }

    pub(crate) fn as_slice(&self) -> &[ParsedText] {
        &self.all
    }

    /// Reads the files that the last text of `chain` includes for `section`, and the files that
    /// those include. `chain` has the numbers of the texts from the configuration to the including
    /// text.
    fn include_all(
        &mut self,
        section: &'static str,
        chain: &mut Vec<usize>,
        collected: &mut FaultCollector,
    ) {
        let Some(text) = chain.last().and_then(|at| self.all.get(*at)) else { return };
        let from = Arc::clone(&text.file);
        for wanted in find_includes(text, section, collected) {
            match self.include(&wanted.name, &from, section, chain) {
                Ok(at) => {
                    chain.push(at);
                    self.include_all(section, chain, collected);
                    chain.pop();
                }
                Err(IncludeError::There(fault)) => collected.add(*fault),
                Err(IncludeError::Here(because)) => {
                    let kind = FaultKind::BadInclude { found: wanted.name, because };
                    collected.add(Fault::new(&from, wanted.line, kind));
                }
            }
        }
    }

    /// Reads the file `name` for `section`, and returns the number of its text.
    fn include(
        &mut self,
        name: &str,
        from: &Path,
        section: &'static str,
        chain: &[usize],
    ) -> Result<usize, IncludeError> {
        let file: Arc<Path> = from.parent().unwrap_or(Path::new("")).join(name).into();
        let including = chain.iter().filter_map(|at| self.all.get(*at));
        if including.clone().any(|text| text.file == file) {
            return Err(IncludeError::Here("it would include itself".to_owned()));
        }
        if chain.len() > MAX_DEPTH {
            return Err(IncludeError::Here(format!(
                "includes are nested more than {MAX_DEPTH} deep"
            )));
        }
        if self.all.len() > MAX_INCLUDED {
            return Err(IncludeError::Here(format!("more than {MAX_INCLUDED} files are included")));
        }
        let text = read(&file, MAX_CONFIG)
            .map_err(|error| IncludeError::Here(format!("{}: {error}", file.display())))?;
        let text = ParsedText::parse(&text, &file, Some(section))
            .map_err(|fault| IncludeError::There(Box::new(fault)))?;
        self.all.push(text);
        Ok(self.all.len() - 1)
    }
}

/// The reason why an included file is not used.
enum IncludeError {
    /// A fault to report at the `include`.
    Here(String),
    /// A fault in the included file.
    There(Box<Fault>),
}

/// The files that `text` includes for `section`.
fn find_includes(
    text: &ParsedText,
    section: &'static str,
    collected: &mut FaultCollector,
) -> Vec<IncludeLine> {
    let item = text.table(section).and_then(|table| table.get(INCLUDE));
    let Some(value) = item.and_then(toml_edit::Item::as_value) else { return Vec::new() };
    let elements: Vec<&Toml> = match value {
        Toml::Array(array) => array.iter().collect(),
        one => vec![one],
    };
    let mut names = Vec::new();
    for element in elements {
        let line = element.span().map(|span| text.line(span.start));
        match element.as_str().filter(|name| !name.is_empty()) {
            Some(name) => names.push(IncludeLine { name: name.to_owned(), line }),
            None => collected.add(Fault::new(
                &text.file,
                line,
                FaultKind::BadValue {
                    option: INCLUDE,
                    expected: INCLUDE_EXPECTED,
                    found: quoted(text, element),
                    because: String::new(),
                },
            )),
        }
    }
    names
}

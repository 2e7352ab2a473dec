//! The text of a configuration becomes a [`Config`], or all of its faults.

use crate::{
    error::{Collected, Fault, Faults, Kind},
    nearest::nearest,
    schema::{Config, SECTIONS, Section},
    value::Value,
};
use std::{borrow::Cow, ops::Range, path::Path, sync::Arc};
use toml_edit::{Document, Table, TableLike, TomlError, Value as Toml};

/// Characters of a refused value that its fault quotes.
const MAX_QUOTED: usize = 80;

impl Default for Config {
    /// What holds without any file.
    fn default() -> Self {
        Self::take(&mut Source::empty())
    }
}

impl Config {
    /// Reads the text of a configuration. `file` is where it lies or will lie: it is named in faults,
    /// and lists in files of their own are found relative to its directory.
    ///
    /// # Errors
    ///
    /// All that is wrong with the text, and with the lists it names. Text that is not TOML has one
    /// fault, since what follows the first such place cannot be told apart.
    pub fn parse(text: &str, file: &Path) -> Result<Self, Faults> {
        let file: Arc<Path> = file.into();
        let document = Document::parse(text).map_err(|error| not_toml(&file, text, &error))?;
        let mut source = Source { table: Some(document.as_table()), ..Source::new(&file, text) };
        source.refuse_unknown();
        let config = Self::take(&mut source);
        source.refuse_open(&config);
        source.collected.or(&file, config)
    }
}

/// How much of a line that is not TOML is shown, in characters.
const MAX_SHOWN_LINE: usize = 120;

fn not_toml(file: &Arc<Path>, text: &str, error: &TomlError) -> Faults {
    let line = error.span().map(|span| Lines::of(text).number(span.start));
    let message = error.message().trim().replace('\n', ", ");
    let found = line.and_then(|line| text.lines().nth(line - 1)).unwrap_or_default();
    let found = if holds_secret(found) {
        "a line with a password".to_owned()
    } else {
        found.trim().chars().take(MAX_SHOWN_LINE).collect()
    };
    Fault::new(file, line, Kind::NotToml { message, found }).into()
}

/// Whether a line that is not TOML may hold a password, or the hash of one.
fn holds_secret(line: &str) -> bool {
    line.contains("password") || line.contains("users") || line.contains("$argon2")
}

/// Where the lines of a text end. Counted once: a list can have a value on each of its lines.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(end, _)| end).collect())
    }

    /// The line of the byte at `offset`, counted from 1.
    fn number(&self, offset: usize) -> usize {
        1 + self.0.partition_point(|end| *end < offset)
    }
}

/// A value as the file gives it for an option, or one element of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) option: &'static str,
    pub(crate) value: &'a Toml,
}

/// The text that values are taken from, and what was found wrong with it.
pub(crate) struct Source<'a> {
    file: Arc<Path>,
    text: &'a str,
    lines: Lines,
    /// `None` leaves every option at its default.
    table: Option<&'a Table>,
    collected: Collected,
}

impl<'a> Source<'a> {
    fn new(file: &Arc<Path>, text: &'a str) -> Self {
        Self {
            file: Arc::clone(file),
            text,
            lines: Lines::of(text),
            table: None,
            collected: Collected::default(),
        }
    }

    /// A source that gives nothing.
    fn empty() -> Self {
        Self::new(&Path::new("").into(), "")
    }

    pub(crate) fn file(&self) -> &Arc<Path> {
        &self.file
    }

    /// The value of an option, or its default: when it is not given, and also when it is faulty, so
    /// that reading goes on to the next fault.
    pub(crate) fn option<T: Value>(
        &mut self,
        section: &'static str,
        option: &'static str,
        default: &'static str,
    ) -> T {
        self.given(section, option)
            .and_then(|value| T::read(&Given { option, value }, self))
            .unwrap_or_else(|| default_of(option, default))
    }

    fn given(&self, section: &str, option: &str) -> Option<&'a Toml> {
        self.table?.get(section)?.as_table_like()?.get(option)?.as_value()
    }

    /// Records that `given` is not what was expected, and says nothing for its value.
    pub(crate) fn refuse<T>(
        &mut self,
        given: &Given<'_>,
        expected: &'static str,
        because: &str,
    ) -> Option<T> {
        let kind = Kind::BadValue {
            option: given.option,
            expected,
            found: self.quoted(given.value),
            because: because.to_owned(),
        };
        self.add(given.value.span(), kind);
        None
    }

    /// The same for a value that is shown to nobody.
    pub(crate) fn refuse_secret<T>(
        &mut self,
        given: &Given<'_>,
        expected: &'static str,
        because: &str,
    ) -> Option<T> {
        let (option, found) = (given.option, "what is there".to_owned());
        let kind = Kind::BadValue { option, expected, found, because: because.to_owned() };
        self.add(given.value.span(), kind);
        None
    }

    /// Records that `config` would serve whoever can reach it.
    fn refuse_open(&mut self, config: &Config) {
        let Err(nobody_said) = config.may_listen(config.startup.listen.as_slice()) else { return };
        let span = self.given("startup", "listen").and_then(Toml::span);
        self.add(span, Kind::Open(nobody_said));
    }

    /// Records a fault in another file than the configuration itself.
    pub(crate) fn refuse_line(&mut self, file: &Arc<Path>, line: usize, kind: Kind) {
        self.collected.add(Fault::new(file, Some(line), kind));
    }

    /// The line of a value, counted from 1; 0 for one that is in no text.
    pub(crate) fn line(&self, value: &Toml) -> usize {
        value.span().map_or(0, |span| self.lines.number(span.start))
    }

    fn add(&mut self, span: Option<Range<usize>>, kind: Kind) {
        let line = span.map(|span| self.lines.number(span.start));
        self.collected.add(Fault::new(&self.file, line, kind));
    }

    fn quoted(&self, value: &Toml) -> String {
        if let Some(text) = value.as_str() {
            return format!("{:?}", shortened(text));
        }
        let raw = value.span().and_then(|span| self.text.get(span)).unwrap_or_default();
        let line = raw.split_whitespace().collect::<Vec<_>>().join(" ");
        // Quotes are part of it; what could end the line of a log or turn its direction is escaped.
        let escaped = |c: char| match c {
            '"' | '\'' | '\\' => c.to_string(),
            _ => c.escape_debug().to_string(),
        };
        shortened(&line).chars().map(escaped).collect()
    }

    /// Records each section and option that the schema does not know.
    fn refuse_unknown(&mut self) {
        let Some(table) = self.table else { return };
        for (name, item) in table {
            let span = || table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
            let section = SECTIONS.iter().find(|section| section.name == name);
            match (section, item.as_table_like()) {
                (Some(section), Some(options)) => self.refuse_unknown_options(section, options),
                (Some(section), None) => {
                    self.add(span(), Kind::NotASection { found: section.name });
                }
                (None, options) => self.add(span(), unknown_section(name, options.is_some())),
            }
        }
    }

    fn refuse_unknown_options(&mut self, section: &Section, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            let span = || table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
            let Some(option) = section.options.iter().find(|option| option.key == name) else {
                self.add(span(), unknown_option(section, name));
                continue;
            };
            if !item.is_value() {
                let kind = Kind::NotAValue { option: option.key, kind: option.kind };
                self.add(span(), kind);
            }
        }
    }
}

fn unknown_section(name: &str, is_table: bool) -> Kind {
    let found = shortened(name).into_owned();
    if is_table {
        let nearest = nearest(name, SECTIONS.iter().map(|section| section.name));
        return Kind::UnknownSection { found, nearest };
    }
    if let Some(belongs) = home_of(name) {
        return Kind::Misplaced { option: found, belongs };
    }
    let options = SECTIONS.iter().flat_map(|section| section.options);
    Kind::NoSection { found, nearest: nearest(name, options.map(|option| option.key)) }
}

fn unknown_option(section: &Section, name: &str) -> Kind {
    if let Some(belongs) = home_of(name) {
        return Kind::Misplaced { option: name.to_owned(), belongs };
    }
    Kind::UnknownOption {
        section: section.name,
        found: shortened(name).into_owned(),
        nearest: nearest(name, section.options.iter().map(|option| option.key)),
    }
}

/// The section that an option of this name belongs in.
fn home_of(option: &str) -> Option<&'static str> {
    let has = |section: &&Section| section.options.iter().any(|known| known.key == option);
    SECTIONS.iter().find(has).map(|section| section.name)
}

/// The beginning of `text`, as much of it as a fault quotes.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_QUOTED).and_then(|(end, _)| text.get(..end)) {
        Some(start) => Cow::Owned(format!("{start}…")),
        None => Cow::Borrowed(text),
    }
}

fn default_of<T: Value>(option: &'static str, text: &str) -> T {
    const READ: &str = "a default is a value of its option's type; a test reads them all";
    let value: Toml = text.parse().expect(READ);
    T::read(&Given { option, value: &value }, &mut Source::empty()).expect(READ)
}

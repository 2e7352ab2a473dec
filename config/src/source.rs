//! The source of values: the texts of a configuration and the rules in them.

pub(crate) mod declaration;
pub(crate) mod explain;
pub(crate) mod field;
pub(crate) mod list;
pub(crate) mod origin;
pub(crate) mod rule;
pub(crate) mod text;
pub(crate) mod value;

use crate::{
    disk::location::Location,
    error::{Fault, FaultCollector, FaultKind},
};
use declaration::Section;
use origin::{Origins, ValueOrigin};
use rule::{FOR, RuleText, SectionRules};
use std::{borrow::Cow, ops::Range, path::Path, sync::Arc};
use text::ParsedText;
use toml_edit::{TableLike, Value as Toml};
use value::Value;

/// The maximum number of characters that a fault quotes from a value.
const MAX_QUOTED: usize = 80;

/// The unparsed value of an option, or one element of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawValue<'a> {
    pub(crate) option: &'static str,
    pub(crate) value: &'a Toml,
    /// Whether faults must not quote the value.
    pub(crate) is_secret: bool,
}

/// The texts that values are read from, and the faults found in them.
pub(crate) struct ValueSource<'a> {
    /// The file name for faults if there is no text.
    nowhere: Arc<Path>,
    /// The texts, the configuration itself first. If there is none, every option has its default.
    texts: &'a [ParsedText],
    /// The number of the text whose values are being read.
    at: usize,
    /// The rules of the current section.
    rules: SectionRules<'a>,
    pub(crate) origins: Origins,
    pub(crate) collected: FaultCollector,
}

impl<'a> ValueSource<'a> {
    pub(crate) fn new(texts: &'a [ParsedText], collected: FaultCollector) -> Self {
        Self {
            nowhere: Path::new("").into(),
            texts,
            at: 0,
            rules: SectionRules::default(),
            origins: Origins::default(),
            collected,
        }
    }

    /// A source without texts.
    pub(crate) fn empty() -> Self {
        Self::new(&[], FaultCollector::default())
    }

    /// All texts, in order.
    pub(crate) fn texts(&self) -> &'a [ParsedText] {
        self.texts
    }

    /// Selects the text, by its number, to which later faults and locations refer.
    pub(crate) fn select(&mut self, at: usize) {
        self.at = at;
    }

    fn text(&self) -> Option<&'a ParsedText> {
        self.texts.get(self.at)
    }

    /// The file that is being read.
    pub(crate) fn file(&self) -> &Arc<Path> {
        self.text().map_or(&self.nowhere, |text| &text.file)
    }

    /// Each table with options of a section, with the number of its text. The section's own table
    /// is first.
    pub(crate) fn tables(
        &self,
        section: &'static str,
    ) -> impl Iterator<Item = (usize, &'a dyn TableLike)> + use<'a> {
        let texts = self.texts.iter().enumerate();
        texts.filter_map(move |(at, text)| Some((at, text.table(section)?)))
    }

    /// Reads the rules of a section, which becomes the current section.
    pub(crate) fn begin(&mut self, section: &Section) {
        self.rules = SectionRules::default();
        if !section.options.iter().any(|option| option.rules) {
            return;
        }
        let tables: Vec<_> = self.tables(section.name).collect();
        let mut rules = SectionRules::default();
        for (at, table) in tables {
            self.at = at;
            for rule in rules_of(table) {
                rules.add(at, rule, self);
            }
        }
        self.rules = rules;
    }

    /// The rules of the current section.
    pub(crate) fn rules(&self) -> &SectionRules<'a> {
        &self.rules
    }

    /// The value of an option. Returns the default if the option is not set. Also returns the
    /// default if the value is faulty, so that later faults are found too.
    pub(crate) fn option<T: Value>(
        &mut self,
        section: &'static str,
        option: &'static str,
        default: &'static str,
    ) -> T {
        let given = self.tables(section).find_map(|(at, table)| {
            Some((at, table.get(option).and_then(toml_edit::Item::as_value)?))
        });
        let read = given.and_then(|(at, value)| {
            let (value, origin) = self.read(at, option, value)?;
            self.origins.add(section, option, origin);
            Some(value)
        });
        read.unwrap_or_else(|| default_of(option, default))
    }

    /// The value that a rule gives to an option. `None` if the rule does not set the option or the
    /// value is faulty.
    pub(crate) fn in_rule<T: Value>(
        &mut self,
        rule: RuleText<'a>,
        option: &'static str,
    ) -> Option<(T, ValueOrigin)> {
        let value = rule.table.get(option)?.as_value()?;
        self.read(rule.at, option, value)
    }

    fn read<T: Value>(
        &mut self,
        at: usize,
        option: &'static str,
        value: &'a Toml,
    ) -> Option<(T, ValueOrigin)> {
        self.at = at;
        let read = T::read(&RawValue { option, value, is_secret: T::IS_SECRET }, self)?;
        let shown = if T::IS_SECRET { "(not shown)".to_owned() } else { self.quoted(value) };
        Some((read, ValueOrigin { location: self.location(value), shown: shown.into() }))
    }

    /// The location of a value.
    pub(crate) fn location(&self, value: &Toml) -> Location {
        Location { file: Arc::clone(self.file()), line: self.line(value) }
    }

    /// Records that `given` is not the expected value, and returns `None`.
    pub(crate) fn refuse<T>(
        &mut self,
        given: &RawValue<'_>,
        expected: &'static str,
        because: &str,
    ) -> Option<T> {
        let hidden = given.is_secret.then(|| "the given value".to_owned());
        let found = hidden.unwrap_or_else(|| self.quoted(given.value));
        let (option, because) = (given.option, because.to_owned());
        self.add(given.value.span(), FaultKind::BadValue { option, expected, found, because });
        None
    }

    /// Records a fault in the file of a list. Such a file is not one of the texts.
    pub(crate) fn refuse_line(&mut self, file: &Arc<Path>, line: usize, kind: FaultKind) {
        self.collected.add(Fault::new(file, Some(line), kind));
    }

    /// The line of a value, counted from 1; 0 if it is in no text.
    pub(crate) fn line(&self, value: &Toml) -> usize {
        let line = |text: &ParsedText| value.span().map(|span| text.line(span.start));
        self.text().and_then(line).unwrap_or(0)
    }

    /// Records a fault in the text that is being read.
    pub(crate) fn add(&mut self, span: Option<Range<usize>>, kind: FaultKind) {
        let line = self.text().and_then(|text| span.map(|span| text.line(span.start)));
        let fault = Fault::new(self.file(), line, kind);
        self.collected.add(fault);
    }

    fn quoted(&self, value: &Toml) -> String {
        self.text().map_or_else(String::new, |text| quoted(text, value))
    }
}

/// The location of a table's first entry, for a fault of the whole table.
pub(crate) fn first_span(table: &dyn TableLike) -> Option<Range<usize>> {
    let (name, item) = table.iter().next()?;
    table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span())
}

/// The tables of `for`: `[[section.for]]`, or an array of inline tables. Empty for any other value.
pub(crate) fn rules_of(table: &dyn TableLike) -> Vec<&dyn TableLike> {
    match table.get(FOR) {
        Some(toml_edit::Item::ArrayOfTables(tables)) => {
            tables.iter().map(|table| -> &dyn TableLike { table }).collect()
        }
        Some(toml_edit::Item::Value(Toml::Array(array))) => {
            let tables: Option<Vec<_>> = array
                .iter()
                .map(|value| value.as_inline_table().map(|table| -> &dyn TableLike { table }))
                .collect();
            tables.unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

/// A value in the form in which a fault quotes it: on one line, and shortened.
pub(crate) fn quoted(text: &ParsedText, value: &Toml) -> String {
    if let Some(text) = value.as_str() {
        return format!("{:?}", shortened(text));
    }
    let raw = value.span().map(|span| text.at(span)).unwrap_or_default();
    let line = raw.split_whitespace().collect::<Vec<_>>().join(" ");
    // Quotes and backslashes belong to the notation, so they stay. Characters that could break a
    // line of the log or reverse its direction are escaped.
    let escaped = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        _ => c.escape_debug().to_string(),
    };
    shortened(&line).chars().map(escaped).collect()
}

/// The beginning of `text`, as long as a fault may quote.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_QUOTED).and_then(|(end, _)| text.get(..end)) {
        Some(start) => Cow::Owned(format!("{start}…")),
        None => Cow::Borrowed(text),
    }
}

fn default_of<T: Value>(option: &'static str, text: &str) -> T {
    const READ: &str = "a default is a value of its option's type; a test reads them all";
    let value: Toml = text.parse().expect(READ);
    let given = RawValue { option, value: &value, is_secret: T::IS_SECRET };
    T::read(&given, &mut ValueSource::empty()).expect(READ)
}

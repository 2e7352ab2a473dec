//! Where values are taken from: the texts of a configuration, and the rules in them.

use crate::{
    error::{Collected, Fault, Kind},
    nearest::nearest,
    origin::{Origin, Origins},
    place::Place,
    rule::{FOR, RuleText, SectionRules, URL},
    schema::{Config, OptionInfo, SECTIONS, Section},
    text::{INCLUDE, Text},
    value::Value,
};
use std::{borrow::Cow, ops::Range, path::Path, sync::Arc};
use toml_edit::{TableLike, Value as Toml};

/// Characters of a refused value that its fault quotes.
const MAX_QUOTED: usize = 80;

/// A value as a text gives it for an option, or one element of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) option: &'static str,
    pub(crate) value: &'a Toml,
}

/// The texts that values are taken from, and what was found wrong with them.
pub(crate) struct Source<'a> {
    /// Named where there is no text.
    nowhere: Arc<Path>,
    /// Without any, every option is left at its default.
    texts: &'a [Text],
    /// The text whose values are being read.
    at: usize,
    /// Those of the section whose options are being taken.
    rules: SectionRules<'a>,
    pub(crate) origins: Origins,
    pub(crate) collected: Collected,
}

impl<'a> Source<'a> {
    pub(crate) fn new(texts: &'a [Text], collected: Collected) -> Self {
        Self {
            nowhere: Path::new("").into(),
            texts,
            at: 0,
            rules: SectionRules::default(),
            origins: Origins::default(),
            collected,
        }
    }

    /// A source that gives nothing.
    pub(crate) fn empty() -> Self {
        Self::new(&[], Collected::default())
    }

    fn text(&self) -> Option<&'a Text> {
        self.texts.get(self.at)
    }

    /// The file that is being read.
    pub(crate) fn file(&self) -> &Arc<Path> {
        self.text().map_or(&self.nowhere, |text| &text.file)
    }

    /// Each table with options of a section, with the number of its text. The section's own is first.
    fn tables(
        &self,
        section: &'static str,
    ) -> impl Iterator<Item = (usize, &'a dyn TableLike)> + use<'a> {
        let texts = self.texts.iter().enumerate();
        texts.filter_map(move |(at, text)| Some((at, text.table(section)?)))
    }

    /// Reads the rules of a section, for the options that are taken of it next.
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

    /// The rules of the section that was begun.
    pub(crate) fn rules(&self) -> &SectionRules<'a> {
        &self.rules
    }

    /// The value of an option, or its default: when it is not given, and also when it is faulty, so
    /// that reading goes on to the next fault.
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

    /// What a rule sets an option to.
    pub(crate) fn in_rule<T: Value>(
        &mut self,
        rule: RuleText<'a>,
        option: &'static str,
    ) -> Option<(T, Origin)> {
        let value = rule.table.get(option)?.as_value()?;
        self.read(rule.at, option, value)
    }

    fn read<T: Value>(
        &mut self,
        at: usize,
        option: &'static str,
        value: &'a Toml,
    ) -> Option<(T, Origin)> {
        self.at = at;
        let read = T::read(&Given { option, value }, self)?;
        let shown = if T::IS_SECRET { "(not shown)".to_owned() } else { self.quoted(value) };
        Some((read, Origin { place: self.place(value), shown: shown.into() }))
    }

    /// Where a value is written.
    pub(crate) fn place(&self, value: &Toml) -> Place {
        Place { file: Arc::clone(self.file()), line: self.line(value) }
    }

    /// Records that `given` is not what was expected, and says nothing for its value.
    pub(crate) fn refuse<T>(
        &mut self,
        given: &Given<'_>,
        expected: &'static str,
        because: &str,
    ) -> Option<T> {
        let found = self.quoted(given.value);
        let because = because.to_owned();
        let kind = Kind::BadValue { option: given.option, expected, found, because };
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

    /// Records that `config` listens for other machines without the settings that needs.
    pub(crate) fn refuse_open(&mut self, config: &Config) {
        let Err(open_listener) = config.may_listen(config.startup.listen.as_slice()) else {
            return;
        };
        let listen = self.tables("startup").find_map(|(at, table)| {
            Some((at, table.get("listen").and_then(toml_edit::Item::as_value)?))
        });
        self.at = listen.map_or(0, |(at, _)| at);
        self.add(listen.and_then(|(_, value)| value.span()), Kind::Open(open_listener));
    }

    /// Records a fault in a list, which is no text of the configuration.
    pub(crate) fn refuse_line(&mut self, file: &Arc<Path>, line: usize, kind: Kind) {
        self.collected.add(Fault::new(file, Some(line), kind));
    }

    /// The line of a value, counted from 1; 0 for one that is in no text.
    pub(crate) fn line(&self, value: &Toml) -> usize {
        let line = |text: &Text| value.span().map(|span| text.line(span.start));
        self.text().and_then(line).unwrap_or(0)
    }

    /// Records a fault in the text that is being read.
    pub(crate) fn add(&mut self, span: Option<Range<usize>>, kind: Kind) {
        let line = self.text().and_then(|text| span.map(|span| text.line(span.start)));
        let fault = Fault::new(self.file(), line, kind);
        self.collected.add(fault);
    }

    fn quoted(&self, value: &Toml) -> String {
        self.text().map_or_else(String::new, |text| quoted(text, value))
    }

    /// Records each section and option that the schema does not know.
    pub(crate) fn refuse_unknown(&mut self) {
        for (at, text) in self.texts.iter().enumerate() {
            self.at = at;
            let own = text.section();
            match own.and_then(|own| SECTIONS.iter().find(|section| section.name == own)) {
                Some(section) => self.refuse_unknown_options(section, text.root()),
                None => self.refuse_unknown_sections(text.root()),
            }
        }
    }

    fn refuse_unknown_sections(&mut self, root: &toml_edit::Table) {
        for (name, item) in root {
            let span = || root.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
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

    fn refuse_unknown_options(&mut self, section: &'static Section, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            let span = || table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
            let ruled = section.options.iter().any(|option| option.rules);
            if name == FOR && ruled {
                if rules_of(table).is_empty() {
                    self.add(span(), Kind::NotRules { section: section.name });
                }
                for rule in rules_of(table) {
                    self.refuse_in_rule(section, rule);
                }
                continue;
            }
            if name == INCLUDE {
                if !item.is_value() {
                    self.add(span(), Kind::NotAValue { option: INCLUDE, kind: "file names" });
                }
                continue;
            }
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

    /// Records what a rule sets and may not.
    fn refuse_in_rule(&mut self, section: &'static Section, rule: &dyn TableLike) {
        let mut sets = 0;
        for (name, item) in rule.iter().filter(|(name, _)| *name != URL) {
            sets += 1;
            let span = || rule.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
            let kind = match section.options.iter().find(|option| option.key == name) {
                Some(option) if !option.rules => {
                    Kind::NotInRule { section: section.name, option: option.key }
                }
                Some(option) if !item.is_value() => {
                    Kind::NotAValue { option: option.key, kind: option.kind }
                }
                Some(_) => continue,
                None => unknown_in_rule(section, name),
            };
            self.add(span(), kind);
        }
        if sets == 0 {
            self.add(first_span(rule), Kind::EmptyRule { section: section.name });
        }
    }
}

/// Somewhere in a table that has little in it.
pub(crate) fn first_span(table: &dyn TableLike) -> Option<Range<usize>> {
    let (name, item) = table.iter().next()?;
    table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span())
}

/// The tables of `for`: `[[section.for]]`, or an array of inline tables.
fn rules_of(table: &dyn TableLike) -> Vec<&dyn TableLike> {
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
    let near = nearest(name, section.options.iter().map(|option| option.key));
    match home_of(name) {
        Some(belongs) if near.is_none() => Kind::Misplaced { option: name.to_owned(), belongs },
        _ => Kind::UnknownOption {
            section: section.name,
            found: shortened(name).into_owned(),
            nearest: near,
        },
    }
}

fn unknown_in_rule(section: &Section, name: &str) -> Kind {
    let ruled = section.options.iter().filter(|option| option.rules);
    Kind::UnknownOption {
        section: section.name,
        found: shortened(name).into_owned(),
        nearest: nearest(name, ruled.map(|option: &OptionInfo| option.key)),
    }
}

/// The section that an option of this name belongs in, if it is one alone.
fn home_of(option: &str) -> Option<&'static str> {
    let has = |section: &&Section| section.options.iter().any(|known| known.key == option);
    let mut homes = SECTIONS.iter().filter(has).map(|section| section.name);
    homes.next().filter(|_| homes.next().is_none())
}

/// A value as a fault shows it: on one line, and not too much of it.
pub(crate) fn quoted(text: &Text, value: &Toml) -> String {
    if let Some(text) = value.as_str() {
        return format!("{:?}", shortened(text));
    }
    let raw = value.span().map(|span| text.at(span)).unwrap_or_default();
    let line = raw.split_whitespace().collect::<Vec<_>>().join(" ");
    // Quotes are part of it; what could end the line of a log or turn its direction is escaped.
    let escaped = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        _ => c.escape_debug().to_string(),
    };
    shortened(&line).chars().map(escaped).collect()
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

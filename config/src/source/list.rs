//! Parsing of lists of URL-SPECIFICATIONs.

use super::{
    RawValue, ValueSource,
    explain::UrlValue,
    shortened,
    value::{STRINGS_AND_FILES, Value, elements},
};
use crate::{
    disk::{MAX_LIST, location::Location, read},
    error::FaultKind,
    pattern::{parts::UrlParts, set::UrlSpecSet, spec::UrlSpec},
};
use std::{net::IpAddr, path::Path, sync::Arc};
use toml_edit::Value as Toml;

/// The expected elements of a list, for faults.
pub(crate) const ENTRIES: &str = "URL-SPECIFICATIONs, such as \"*://*.example.org/*\", and lists of them, \
                                  { file = \"list.txt\" }";

impl Value for UrlSpecSet {
    const KIND: &'static str = "URL-SPECIFICATIONs";
    const MEANING: &'static str = include_str!("list.md").trim_ascii_end();
    const EXPECTED: &'static str = "an array of URL-SPECIFICATIONs, such as [\"*://*.example.org/*\", { file = \"list.txt\" }]";
    const JSON: &'static str = STRINGS_AND_FILES;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let mut set = Self::default();
        elements(given, source, Self::EXPECTED, |one, source| set.read_one(one, source, ENTRIES))?;
        Some(set)
    }

    fn value_for_url(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        let listed = self.decide(url)?;
        let value = format!("{:?}", listed.spec().to_string());
        Some(UrlValue::at(listed.location(), value, Some(listed)))
    }
}

impl UrlSpecSet {
    /// Parses a list with one specification on each line. Calls `fault` with the line number of
    /// each faulty line and its fault.
    pub(crate) fn add_lines(
        &mut self,
        text: &str,
        file: &Arc<Path>,
        mut fault: impl FnMut(usize, FaultKind),
    ) {
        for (line, spec) in entries(text) {
            match UrlSpec::parse(spec) {
                Ok(spec) => self.add(spec, Location { file: Arc::clone(file), line }),
                Err(because) => {
                    let found = shortened(spec).into_owned();
                    fault(line, FaultKind::BadLine { found, because });
                }
            }
        }
    }

    /// Parses a file in the format of `/etc/hosts`: an address and names on each line. Every page
    /// of each name is added. Addresses, `localhost` and names without a dot, which usually begin
    /// such a file, are skipped.
    pub(crate) fn add_hosts(
        &mut self,
        text: &str,
        file: &Arc<Path>,
        mut fault: impl FnMut(usize, FaultKind),
    ) {
        for (line, entry) in entries(text) {
            let mut words = entry.split_whitespace();
            let address = words.next().and_then(|word| word.parse::<IpAddr>().ok());
            let names: Vec<&str> = words.collect();
            if address.is_none() || names.is_empty() {
                fault(line, FaultKind::BadHostsLine { found: shortened(entry).into_owned() });
                continue;
            }
            let is_address = |name: &str| name.parse::<IpAddr>().is_ok();
            let own = |name: &str| !name.contains('.') || name.starts_with("localhost.");
            for name in names.into_iter().filter(|name| !own(name) && !is_address(name)) {
                match UrlSpec::parse(&format!("*://{name}/*")) {
                    Ok(spec) => self.add(spec, Location { file: Arc::clone(file), line }),
                    Err(because) => {
                        let found = shortened(name).into_owned();
                        fault(line, FaultKind::BadLine { found, because });
                    }
                }
            }
        }
    }

    /// Reads an element of the array: a specification, or the file of a list. `None` if it is
    /// faulty.
    pub(crate) fn read_one(
        &mut self,
        given: &RawValue<'_>,
        source: &mut ValueSource<'_>,
        expected: &'static str,
    ) -> Option<()> {
        match element(given, source, expected)? {
            ListElement::Entry(text) => match UrlSpec::parse(text) {
                Ok(spec) => self.add(spec, source.location(given.value)),
                Err(because) => return source.refuse(given, expected, &because.to_string()),
            },
            ListElement::List(file, text) => {
                self.add_lines(&text, &file, |line, kind| source.refuse_line(&file, line, kind));
            }
            ListElement::Hosts(file, text) => {
                self.add_hosts(&text, &file, |line, kind| source.refuse_line(&file, line, kind));
            }
        }
        Some(())
    }
}

/// An element of a list.
pub(crate) enum ListElement<'a> {
    /// A text, usually one specification.
    Entry(&'a str),
    /// A list: its file and the text of this file.
    List(Arc<Path>, String),
    /// A hosts file and its text.
    Hosts(Arc<Path>, String),
}

/// Reads an element of an array: a text, `{ file = "list.txt" }` or `{ hosts = "hosts.txt" }`.
pub(crate) fn element<'a>(
    given: &RawValue<'a>,
    source: &mut ValueSource<'_>,
    expected: &'static str,
) -> Option<ListElement<'a>> {
    if let Some(text) = given.value.as_str() {
        return Some(ListElement::Entry(text));
    }
    let named = list_name(given.value, "file").map(|name| (name, false));
    let named = named.or_else(|| Some((list_name(given.value, "hosts")?, true)));
    let Some((name, is_hosts)) = named else {
        return source.refuse(given, expected, "");
    };
    let (path, text) = list_file(name, given, source, expected)?;
    Some(if is_hosts { ListElement::Hosts(path, text) } else { ListElement::List(path, text) })
}

/// Reads the file that an element names.
pub(crate) fn list_file(
    name: &str,
    given: &RawValue<'_>,
    source: &mut ValueSource<'_>,
    expected: &'static str,
) -> Option<(Arc<Path>, String)> {
    let path: Arc<Path> = source.file().parent().unwrap_or(Path::new("")).join(name).into();
    match read(&path, MAX_LIST) {
        Ok(text) => Some((path, text)),
        Err(error) => source.refuse(given, expected, &format!("{}: {error}", path.display())),
    }
}

/// The entries of a list, one on each line, with their line numbers. A comment begins at a `#` at
/// the start of a line or after a space.
pub(crate) fn entries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // Some editors begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines());
    lines
        .map(|(line, text)| (line, without_comment(text).trim()))
        .filter(|(_, entry)| !entry.is_empty())
}

fn without_comment(line: &str) -> &str {
    let before = line.match_indices('#').filter_map(|(at, _)| line.get(..at));
    let mut begins = before.filter(|text| text.is_empty() || text.ends_with(char::is_whitespace));
    begins.next().unwrap_or(line)
}

/// The name in `{ file = "name" }`, where `key` is `file`. `None` for a value in another form.
pub(crate) fn list_name<'a>(value: &'a Toml, key: &str) -> Option<&'a str> {
    let table = value.as_inline_table().filter(|table| table.len() == 1)?;
    table.get(key)?.as_str().filter(|name| !name.is_empty())
}

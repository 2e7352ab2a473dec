//! Lists of URL-SPECIFICATIONs, in which the first that matches decides.

use crate::{
    error::Kind,
    file::read_list,
    reader::{Given, Source, shortened},
    spec::{Parts, UrlSpec},
    value::{Value, elements},
    wildcard::Shape,
};
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    path::Path,
    sync::Arc,
};
use toml_edit::Value as Toml;
use wwwoffle_url::CanonicalUrl;

/// Where a specification was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    file: Arc<Path>,
    line: usize,
}

impl Place {
    /// The configuration, or a list that it names.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line in it, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// One specification of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    spec: UrlSpec,
    place: Place,
}

impl Listed {
    /// The pattern.
    #[must_use]
    pub fn spec(&self) -> &UrlSpec {
        &self.spec
    }

    /// Where it was written.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }
}

/// A list of specifications, in the order they were written.
///
/// The first that matches a URL decides: the URL is meant, or with a `!` is not. One that none
/// matches is not meant. What a match costs depends on how many specifications could match the host,
/// not on how many there are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UrlSpecSet {
    listed: Vec<Listed>,
    index: Index,
}

impl UrlSpecSet {
    /// The specification that decides about `url`, whether it negates or not.
    #[must_use]
    pub fn decide(&self, url: &CanonicalUrl) -> Option<&Listed> {
        self.decide_parts(&Parts::of(url))
    }

    /// The specification by which `url` is meant, if it is.
    #[must_use]
    pub fn matches(&self, url: &CanonicalUrl) -> Option<&Listed> {
        self.decide(url).filter(|listed| !listed.spec.negated())
    }

    /// Whether there is no specification in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Every specification, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Listed> {
        self.listed.iter()
    }

    /// Reads a list: one specification to a line, and a comment from a `#` on that begins a line or
    /// follows a space. What is wrong with a line is told to `fault`, with its number.
    pub(crate) fn add_lines(
        &mut self,
        text: &str,
        file: &Arc<Path>,
        mut fault: impl FnMut(usize, Kind),
    ) {
        // Editors of some systems begin a file with a mark that is no text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, text) in (1..).zip(text.lines()) {
            let spec = without_comment(text).trim();
            if spec.is_empty() {
                continue;
            }
            match UrlSpec::parse(spec) {
                Ok(spec) => self.add(spec, Place { file: Arc::clone(file), line }),
                Err(because) => {
                    let found = shortened(spec).into_owned();
                    fault(line, Kind::BadLine { found, because });
                }
            }
        }
    }

    /// Adds the specifications of `other` after those already there.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for listed in &other.listed {
            self.add(listed.spec.clone(), listed.place.clone());
        }
    }

    fn add(&mut self, spec: UrlSpec, place: Place) {
        self.index.add(self.listed.len(), &spec);
        self.listed.push(Listed { spec, place });
    }

    fn decide_parts(&self, url: &Parts<'_>) -> Option<&Listed> {
        let mut decided: Option<(usize, &Listed)> = None;
        self.index.candidates(url.host, |numbers| {
            let earlier = |number: &&usize| decided.is_none_or(|(best, _)| **number < best);
            let found = numbers
                .iter()
                .take_while(earlier)
                .filter_map(|number| Some((*number, self.listed.get(*number)?)))
                .find(|(_, listed)| listed.spec.matches_parts(url));
            decided = found.or(decided);
        });
        decided.map(|(_, listed)| listed)
    }
}

fn without_comment(line: &str) -> &str {
    let before = line.match_indices('#').filter_map(|(at, _)| line.get(..at));
    let mut begins = before.filter(|text| text.is_empty() || text.ends_with(char::is_whitespace));
    begins.next().unwrap_or(line)
}

/// What was written, without the index.
impl fmt::Debug for UrlSpecSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.listed.iter().map(|listed| listed.spec.to_string())).finish()
    }
}

/// Numbers of specifications by what they ask of the host, each list in ascending order.
#[derive(Clone, Default, PartialEq, Eq)]
struct Index {
    exact: HashMap<Box<str>, Vec<usize>>,
    /// By the end of the host.
    suffixes: HashMap<Box<str>, Vec<usize>>,
    /// Lengths of those ends that do not begin with a dot: each has to be tried on a host.
    lengths: BTreeSet<usize>,
    /// Those that any host may match.
    others: Vec<usize>,
}

impl Index {
    fn add(&mut self, number: usize, spec: &UrlSpec) {
        let numbers = match spec.host_shape() {
            Shape::Anything | Shape::Other => &mut self.others,
            Shape::Exactly(host) => self.exact.entry(host.into()).or_default(),
            Shape::EndsWith(end) => {
                if !end.starts_with('.') {
                    self.lengths.insert(end.len());
                }
                self.suffixes.entry(end.into()).or_default()
            }
        };
        numbers.push(number);
    }

    /// Gives `consider` the lists of all specifications that could match `host`.
    fn candidates<'a>(&'a self, host: &str, mut consider: impl FnMut(&'a [usize])) {
        if let Some(numbers) = self.exact.get(host) {
            consider(numbers);
        }
        if !self.suffixes.is_empty() {
            let dots = host.match_indices('.').map(|(at, _)| at);
            let lengths = self.lengths.iter().map_while(|length| host.len().checked_sub(*length));
            let ends = dots.chain(lengths).filter_map(|at| host.get(at..));
            ends.filter_map(|end| self.suffixes.get(end)).for_each(|numbers| consider(numbers));
        }
        consider(&self.others);
    }
}

/// How a list and the specifications in it are written.
const MEANING: &str = "\
An array of patterns for URLs, of which the first that matches decides. An entry `{ file = \"list.txt\" }`
stands for the patterns in that file, one to a line; a `#` that begins a line or follows a space begins
a comment. The file is found from the directory of the configuration. A pattern has these parts:

```text
[!][~]PROTOCOL://HOST[:PORT][/PATH][?ARGUMENTS]
```

| part | what it matches |
|---|---|
| `!` | in front: what this pattern matches is not meant |
| `~` | in front: path and arguments in upper and lower case alike |
| `PROTOCOL` | this protocol; `*` is any |
| `HOST` | this host; a `*` in it stands for anything |
| `:PORT` | this port; `:` alone is the protocol's own port; without it, any port |
| `/PATH` | this path; a `*` in it stands for anything, `/` included; without it, or as `/*`, any path |
| `?ARGUMENTS` | arguments like these, with `*` for anything; `?` alone is no arguments; without it, any or none |

A path that begins with `/*/` matches without what its star stands for as well: `*://*/*/ads/*` is
`/ads/x` and `/a/b/ads/x`. Some patterns:

| pattern | what it means |
|---|---|
| `*://*.example.org/*` | every page of every host below `example.org`, but not of `example.org` |
| `http://www.example.org:/*` | every page there, on port 80 |
| `*://*/*.gif?` | paths that end in `.gif`, without arguments |
| `~*://*/*/banner*` | paths with a part that begins with `banner`, `Banner` … |
| `!*://www.example.org/` | not the first page there |

What a pattern is compared with is the canonical URL: host in lower case, escapes in upper case.";

impl Value for UrlSpecSet {
    const KIND: &'static str = "URL-SPECIFICATIONs";
    const MEANING: &'static str = MEANING;
    const EXPECTED: &'static str = "an array of URL-SPECIFICATIONs, such as [\"*://*.example.org/*\", { file = \"list.txt\" }]";

    fn read(given: &Given<'_>, source: &mut Source<'_>) -> Option<Self> {
        let mut set = Self::default();
        elements(given, source, Self::EXPECTED, |one, source| set.read_one(one, source))?;
        Some(set)
    }
}

impl UrlSpecSet {
    /// Reads an element of the array: a specification, or the file of a list.
    fn read_one(&mut self, given: &Given<'_>, source: &mut Source<'_>) -> Option<()> {
        let expected = "URL-SPECIFICATIONs, such as \"*://*.example.org/*\", and lists of them, \
                        { file = \"list.txt\" }";
        if let Some(text) = given.value.as_str() {
            let file = Arc::clone(source.file());
            return match UrlSpec::parse(text) {
                Ok(spec) => {
                    self.add(spec, Place { file, line: source.line(given.value) });
                    Some(())
                }
                Err(because) => source.refuse(given, expected, &because.to_string()),
            };
        }
        let Some(name) = list_name(given.value) else {
            return source.refuse(given, expected, "");
        };
        let path: Arc<Path> = source.file().parent().unwrap_or(Path::new("")).join(name).into();
        match read_list(&path) {
            Ok(text) => {
                self.add_lines(&text, &path, |line, kind| source.refuse_line(&path, line, kind));
                Some(())
            }
            Err(error) => source.refuse(given, expected, &format!("{}: {error}", path.display())),
        }
    }
}

/// The name in `{ file = "name" }`.
fn list_name(value: &Toml) -> Option<&str> {
    let table = value.as_inline_table().filter(|table| table.len() == 1)?;
    table.get("file")?.as_str().filter(|name| !name.is_empty())
}

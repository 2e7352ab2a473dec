//! The layers of `src/`, which `docs/architecture.md` calls rooms: which imports which, and metrics
//! that show how well they are separated.
//!
//! `docs/architecture.md` has a table of the rooms and a table of the metrics. A layer imports only
//! itself and lower layers. A metric may not exceed its limit. `cargo test --test layers --
//! --nocapture` prints all metrics.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the test reads the sources and prints metrics"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of production code, without comments and tests.
struct Source {
    /// Relative to the root of the repository.
    path: String,
    lines: Vec<String>,
}

/// An import of `to` by a file of `from`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Import {
    from: String,
    to: String,
    path: String,
}

/// The crates of the workspace, by source directory.
const CRATES: [&str; 9] =
    ["src", "api", "archive", "index", "spool", "config", "html", "http", "url"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn architecture() -> String {
    fs::read_to_string(root().join("docs/architecture.md")).unwrap()
}

/// The cells of each row of the table in `text` whose header begins with `first`.
fn table(text: &str, first: &str) -> Vec<Vec<String>> {
    let head = format!("| {first} |");
    let rows = text.lines().skip_while(|line| !line.starts_with(&head)).skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// The layers from top to bottom.
fn rooms(text: &str) -> Vec<String> {
    let name = |row: &Vec<String>| row[0].trim_matches('`').trim_end_matches('/').to_owned();
    table(text, "room").iter().map(name).collect()
}

/// Collects all files below `folder` that end in `.rs`.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The lines of `text` without blank lines, comments and tests, and the names of its test modules.
fn production(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut lines, mut tests) = (Vec::new(), Vec::new());
    let mut rest = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).peekable();
    while let Some(line) = rest.next() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        if line.trim() == "#[cfg(test)]" {
            let indent = line.len() - line.trim_start().len();
            let item = rest.next().unwrap_or_default();
            if let Some(module) = module(item) {
                tests.push(module.to_owned());
            } else if !item.ends_with(';') {
                // An item ends at the bracket that has the same indentation as its first line.
                let end = |line: &str| {
                    line.len() - line.trim_start().len() == indent
                        && line.trim_start().starts_with('}')
                };
                let _end = rest.find(|line| end(line));
            }
            continue;
        }
        lines.push(line.to_owned());
    }
    (lines, tests)
}

/// The name in `mod name;`.
fn module(item: &str) -> Option<&str> {
    let (_, name) = item.trim().strip_suffix(';')?.split_once("mod ")?;
    Some(name)
}

/// The production code of one crate.
fn sources(name: &str) -> Vec<Source> {
    let folder = if name == "src" { root().join("src") } else { root().join(name).join("src") };
    let mut files = Vec::new();
    rust_files(&folder, &mut files);
    let (mut all, mut tests) = (Vec::new(), BTreeSet::new());
    for file in files {
        let (lines, test_modules) = production(&fs::read_to_string(&file).unwrap());
        let is_root = file.file_stem().is_some_and(|stem| stem == "lib" || stem == "main");
        let below = if is_root { folder.clone() } else { file.with_extension("") };
        tests.extend(test_modules.iter().map(|module| below.join(module)));
        all.push((file, lines));
    }
    let is_test = |file: &Path| tests.iter().any(|test| file.with_extension("").starts_with(test));
    all.retain(|(file, _)| !is_test(file));
    let path = |file: &Path| file.strip_prefix(root()).unwrap().display().to_string();
    all.iter().map(|(file, lines)| Source { path: path(file), lines: lines.clone() }).collect()
}

/// The first segments of all paths `crate::name` and `crate::{name, other::…}` in `code`.
fn crate_paths(code: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
    };
    let mut found = BTreeSet::new();
    for path in code.split("crate::").skip(1) {
        let Some(group) = path.strip_prefix('{') else {
            found.insert(word(path));
            continue;
        };
        let (mut depth, mut begins) = (0, true);
        for (at, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                _ if begins && !letter.is_whitespace() => {
                    found.insert(word(&group[at..]));
                    begins = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// All imports between layers.
fn imports(rooms: &[String], sources: &[Source]) -> BTreeSet<Import> {
    let mut all = BTreeSet::new();
    for source in sources {
        let within = source.path.strip_prefix("src/").unwrap();
        let from = within.split(['/', '.']).next().unwrap().to_owned();
        if matches!(&*from, "lib" | "main") {
            continue;
        }
        assert!(rooms.contains(&from), "{} is not in a room of docs/architecture.md", source.path);
        for to in crate_paths(&source.lines.join("\n")) {
            if to != from && rooms.contains(&to) {
                all.insert(Import { from: from.clone(), to, path: source.path.clone() });
            }
        }
    }
    all
}

/// The imports from a lower layer to a higher one. `rooms` lists the layers from top to bottom.
fn upward<'a>(rooms: &[String], imports: &'a BTreeSet<Import>) -> Vec<&'a Import> {
    let place = |name: &str| rooms.iter().position(|room| room == name);
    imports.iter().filter(|import| place(&import.to) < place(&import.from)).collect()
}

/// The number of layers that import themselves through others.
fn in_circles(imports: &BTreeSet<Import>) -> usize {
    let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in imports {
        reached.entry(&import.from).or_default().insert(&import.to);
    }
    for _ in 0..reached.len() {
        let before = reached.clone();
        for known in reached.values_mut() {
            let further: Vec<&str> =
                known.iter().filter_map(|to| before.get(to)).flatten().copied().collect();
            known.extend(further);
        }
    }
    reached.iter().filter(|(from, known)| known.contains(*from)).count()
}

/// The keyword and the name of a declaration such as `pub(crate) struct Name<T> {`.
fn declared(line: &str) -> Option<(&str, String)> {
    let mut words = line.split_whitespace().peekable();
    words.next_if(|word| word.starts_with("pub"));
    let keyword =
        words.next().filter(|word| ["struct", "enum", "trait", "union"].contains(word))?;
    let is_part = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    let name: String = words.next()?.chars().take_while(is_part).collect();
    (!name.is_empty()).then_some((keyword, name))
}

/// The number of fields of each struct in `source`, with its name.
fn structs(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = source.lines.iter();
    while let Some(line) = lines.next() {
        let Some(("struct", name)) = declared(line) else { continue };
        if !line.ends_with('{') {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let is_field = |line: &&String| {
            let begins = line.get(indent + 4..).is_some_and(|rest| {
                rest.starts_with(|letter: char| letter.is_lowercase() || letter == '_')
            });
            begins && line.contains(": ")
        };
        let is_end = |line: &String| line.trim() == "}" && line.len() == indent + 1;
        let fields = lines.by_ref().take_while(|line| !is_end(line)).filter(is_field).count();
        found.push((fields, name));
    }
    found
}

/// The measured values of the metrics in `docs/architecture.md`.
fn figures() -> BTreeMap<&'static str, usize> {
    let rooms = rooms(&architecture());
    let all: Vec<Source> = CRATES.iter().flat_map(|name| sources(name)).collect();
    let imports = imports(&rooms, &sources("src"));
    let mut types: BTreeMap<String, usize> = BTreeMap::new();
    for (_, name) in all.iter().flat_map(|source| &source.lines).filter_map(|line| declared(line)) {
        *types.entry(name).or_default() += 1;
    }
    let mut largest: Vec<(usize, String)> = all.iter().flat_map(structs).collect();
    largest.sort_by(|one, other| other.cmp(one));
    let of = |ends: fn(&str) -> bool| {
        largest.iter().find(|(_, name)| ends(name)).map_or(0, |(fields, _)| *fields)
    };
    println!("largest structs: {:?}", largest.iter().take(6).collect::<Vec<_>>());
    let repeated: Vec<_> = types.iter().filter(|(_, count)| **count > 1).collect();
    println!("type names for more than one type: {repeated:?}");
    BTreeMap::from([
        ("rooms with cyclic imports", in_circles(&imports)),
        ("fields of the largest struct", of(|_| true)),
        ("fields of the largest context", of(|name| name.ends_with("Context") && name.len() > 7)),
        ("fields of `Daemon`", of(|name| name == "Daemon")),
        ("type names for more than one type", repeated.len()),
        ("lines of production code", all.iter().map(|source| source.lines.len()).sum()),
    ])
}

#[test]
fn modules_import_only_modules_below_them() {
    let rooms = rooms(&architecture());
    assert!(rooms.len() > 5, "docs/architecture.md has no table of rooms: {rooms:?}");
    let imports = imports(&rooms, &sources("src"));
    assert!(imports.len() > 100, "imports are not found");
    let upward = upward(&rooms, &imports);
    assert!(upward.is_empty(), "upward imports: {upward:#?}");
}

#[test]
fn dependency_metrics_stay_within_their_bounds() {
    let measured = figures();
    let rows = table(&architecture(), "figure");
    assert_eq!(rows.len(), measured.len(), "docs/architecture.md lists all metrics");
    let mut wrong = Vec::new();
    for row in rows {
        let number = |cell: &str| cell.replace(',', "").parse::<usize>().unwrap();
        let (name, bound, wanted) = (row[0].as_str(), number(&row[1]), number(&row[2]));
        let is = *measured.get(name).unwrap_or_else(|| panic!("{name:?} is not measured"));
        println!("{name}: {is}, bound {bound}, wanted {wanted}");
        if is > bound {
            wrong.push(format!("{name}: {is} is above {bound}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_upward_import_is_found_in_every_form() {
    let rooms = ["top", "middle", "bottom"].map(str::to_owned);
    for (code, want) in [
        ("use crate::top::Thing;", 1),
        ("use crate::bottom::Thing;", 0),
        ("use crate::middle::Thing;", 0),
        ("use crate::{bottom::{a, b}, top::Thing};", 1),
        ("use crate::{\n    top,\n};", 1),
        ("fn f() { crate::top::f() }", 1),
        ("// crate::top", 0),
        ("#[cfg(test)]\nmod tests {\n    use crate::top;\n}\nuse crate::bottom;", 0),
        ("#[cfg(test)]\nuse crate::top;\nuse crate::top::Thing;", 1),
    ] {
        let source = Source { path: "src/middle/file.rs".to_owned(), lines: production(code).0 };
        let found = imports(&rooms, &[source]);
        assert_eq!(upward(&rooms, &found).len(), want, "{code}");
    }
}

#[test]
fn circles_and_fields_are_counted() {
    let import = |from: &str, to: &str| Import {
        from: from.to_owned(),
        to: to.to_owned(),
        path: String::new(),
    };
    let straight = BTreeSet::from([import("a", "b"), import("b", "c"), import("a", "c")]);
    assert_eq!(in_circles(&straight), 0);
    let round = BTreeSet::from([import("a", "b"), import("b", "c"), import("c", "b")]);
    assert_eq!(in_circles(&round), 2);
    let fields = "    /// x: y\n    a: T,\n    pub b: [u8; 2],\n    pub(crate) _c: u8,\n";
    let code = &format!("pub struct Three<T> {{\n{fields}}}\nstruct D(u8);");
    let source = Source { path: String::new(), lines: production(code).0 };
    assert_eq!(structs(&source), [(3, "Three".to_owned())]);
    assert_eq!(declared("    pub(super) enum Kind {"), Some(("enum", "Kind".to_owned())));
}

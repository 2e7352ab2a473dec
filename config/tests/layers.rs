//! Each module of the crate imports only modules below it in the table of `src/lib.rs`.
#![expect(clippy::disallowed_methods, reason = "it reads the sources of the crate")]

use std::{fs, path::Path};

/// Each module with the modules that its files import, and the importing files.
type Imports = Vec<(String, Vec<(String, String)>)>;

#[test]
fn no_module_imports_one_above_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let order = table(&fs::read_to_string(source.join("lib.rs")).expect("the crate has a lib.rs"));
    let modules = imports(&source);
    let mut wrong = Vec::new();
    for (module, imported) in &modules {
        let Some(own) = order.iter().position(|name| name == module) else {
            wrong.push(format!("{module} is not in the table"));
            continue;
        };
        for (file, name) in imported {
            match order.iter().position(|known| known == name) {
                Some(other) if other >= own => {}
                Some(_) => wrong.push(format!("{file} imports {name}, which is above {module}")),
                None => wrong.push(format!("{file} imports {name} past its module")),
            }
        }
    }
    for name in &order {
        if modules.iter().all(|(module, _)| module != name) {
            wrong.push(format!("{name} is in the table and in no file"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "\
use crate::{a::{x, y}, b};
//! crate::comment
use super::super::c::d;
fn f() { crate::e::g(); super::h(); }
#[cfg(test)]
mod tests { use crate::tested; }
";
    let mut found = Vec::new();
    collect(text, 2, &mut |name| found.push(name.to_owned()));
    assert_eq!(found, ["a", "b", "e", "c"]);
    let mut found = Vec::new();
    collect("use super::h;", 1, &mut |name| found.push(name.to_owned()));
    assert_eq!(found, ["h"]);
}

/// The modules of the table, highest first.
fn table(text: &str) -> Vec<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect()
}

fn imports(source: &Path) -> Imports {
    let mut files = Vec::new();
    list(source, source, &mut files);
    let mut modules: Imports = Vec::new();
    for file in files.iter().filter(|file| *file != "lib.rs") {
        let module = file.split('/').next().expect("a path has a first part");
        let module = module.trim_end_matches(".rs").to_owned();
        let text = fs::read_to_string(source.join(file)).expect("a listed file can be read");
        let depth = file.split('/').count();
        let mut found = Vec::new();
        collect(&text, depth, &mut |name| {
            if name != module {
                found.push((file.clone(), name.to_owned()));
            }
        });
        match modules.iter_mut().find(|(known, _)| *known == module) {
            Some((_, imported)) => imported.extend(found),
            None => modules.push((module, found)),
        }
    }
    modules
}

fn list(source: &Path, directory: &Path, into: &mut Vec<String>) {
    for entry in fs::read_dir(directory).expect("a folder of the sources can be read") {
        let path = entry.expect("an entry of it can be read").path();
        if path.is_dir() {
            list(source, &path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(source).expect("it is below the sources");
            into.push(name.to_str().expect("its name is text").to_owned());
        }
    }
}

/// Calls `found` with the first component of each path that begins at the root of the crate,
/// outside comments and unit tests. `depth` is 1 for a file directly in `src/`.
fn collect(text: &str, depth: usize, found: &mut impl FnMut(&str)) {
    let end = text.find("mod tests {").unwrap_or(text.len());
    let code: Vec<&str> = text
        .get(..end)
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let root = "super::".repeat(depth);
    for (at, start) in code.match_indices("crate::").chain(code.match_indices(root.as_str())) {
        // The match is the end of a longer path, such as `wwwoffle_crate::`.
        let before = code.get(..at).and_then(|before| before.chars().next_back());
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':')) {
            continue;
        }
        for name in heads(code.get(at + start.len()..).unwrap_or_default()) {
            found(name);
        }
    }
}

/// The first part of a path, or of each path between braces.
fn heads(text: &str) -> Vec<&str> {
    let Some(group) = text.strip_prefix('{') else { return vec![word(text)] };
    let (mut depth, mut begin, mut heads) = (0_usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                heads.push(word(group.get(begin..at).unwrap_or_default().trim()));
                begin = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    heads.retain(|head| !head.is_empty());
    heads
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

//! The order of the modules: each may import only modules below it in the table of the crate page.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "the test reads the sources")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The modules in the table of `src/lib.rs`, from top to bottom.
fn table(page: &str) -> Vec<&str> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.filter_map(|row| row.split('`').next()).collect()
}

/// The modules directly below `src`, without `lib.rs`. The folder of each lies beside its file.
fn modules(src: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(src).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let stems = names.filter_map(|name| name.strip_suffix(".rs").map(str::to_owned));
    stems.filter(|stem| stem != "lib").collect()
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The first name of every path `crate::…` in the code of a file, without comments.
fn imported(text: &str) -> BTreeSet<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim().starts_with("//")).collect();
    let code = code.join("\n");
    let name = |rest: &str| -> String {
        rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
    };
    let mut names = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => {
                names.insert(name(rest));
            }
            Some(list) => {
                let (mut depth, mut at_start) = (0, true);
                for (index, letter) in list.char_indices() {
                    match letter {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => at_start = true,
                        _ if letter.is_whitespace() => {}
                        _ if at_start => {
                            names.insert(name(&list[index..]));
                            at_start = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    names
}

#[test]
fn modules_import_only_modules_below_them() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let page = std::fs::read_to_string(src.join("lib.rs")).unwrap();
    let table = table(&page);
    let listed: BTreeSet<String> = table.iter().map(ToString::to_string).collect();
    assert_eq!(listed, modules(&src), "the table in src/lib.rs names other modules than there are");
    assert!(table.len() <= 10, "{} modules at the top, and 10 are the bound", table.len());
    let mut wrong = Vec::new();
    for (row, module) in table.iter().enumerate() {
        let mut files =
            if src.join(module).is_dir() { sources(&src.join(module)) } else { Vec::new() }
                .into_iter()
                .collect::<Vec<_>>();
        files.push(src.join(format!("{module}.rs")));
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            for name in imported(&text) {
                let is_below = table.iter().skip(row).any(|below| *below == name);
                if !is_below {
                    wrong.push(format!("{}: crate::{name}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "imports that lead upward:\n{}", wrong.join("\n"));
}

#[test]
fn every_form_of_an_import_is_seen() {
    let text =
        "use crate::a::b;\n// crate::c\nuse crate::{d::{x, y}, e};\nlet z = crate::f::g();\n";
    let found: Vec<String> = imported(text).into_iter().collect();
    assert_eq!(found, ["a", "d", "e", "f"]);
}

//! Finds all texts in templates and in our own code, and checks the catalogues against them.

#![expect(clippy::disallowed_methods, reason = "it reads the sources, which no daemon does")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{BUILT_IN, Catalogue};

/// The calls whose texts are literals, and the number of texts of each.
const CALLS: [(&str, usize); 4] = [("t(", 1), ("n(", 2), ("say(", 1), ("count(", 2)];

/// The English texts in one file: templates call `t` and `n`, our own code `say` and `count`.
fn texts_of(text: &str, calls: &[(&str, usize)]) -> Vec<String> {
    let mut found = Vec::new();
    for (call, many) in calls {
        for (at, _) in text.match_indices(call) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
                continue;
            }
            let literals = literals(&text[at + call.len()..], *many == 1);
            // Of two texts, catalogues use the second as key.
            found.extend(literals.into_iter().take(*many).nth(many - 1));
        }
    }
    found
}

/// The literals among the arguments of a call; `first` if only the first argument may be one.
fn literals(arguments: &str, first: bool) -> Vec<String> {
    let (mut depth, mut found, mut rest) = (0_usize, Vec::new(), arguments.trim_start());
    if first && !rest.starts_with('"') {
        return found;
    }
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => break,
            ')' => depth -= 1,
            '"' => {
                let (literal, after) = literal(rest);
                if depth == 0 {
                    found.push(literal);
                }
                rest = after;
            }
            _ => {}
        }
    }
    found
}

/// A literal up to its closing quote, without escapes; `\` at the end of a line joins it with the
/// next.
pub(super) fn literal(text: &str) -> (String, &str) {
    let (mut literal, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '"' => break,
            '\\' => match rest.chars().next() {
                Some('\n') => rest = rest.trim_start(),
                Some(escaped) => {
                    literal.push(escaped);
                    rest = &rest[escaped.len_utf8()..];
                }
                None => break,
            },
            c => literal.push(c),
        }
    }
    (literal, rest)
}

pub(super) fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|known| known == ending) {
            found.push(path);
        }
    }
    found
}

/// All English texts of our pages.
fn all() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = BTreeSet::new();
    for path in files(&root.join("src"), "html") {
        texts.extend(texts_of(&fs::read_to_string(path).unwrap(), &CALLS[..2]));
    }
    let code = files(&root.join("src"), "rs");
    for path in code.into_iter().filter(|path| !path.starts_with(root.join("src/base/text"))) {
        let text = fs::read_to_string(path).unwrap();
        // Texts in tests are not shown on pages.
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        texts.extend(texts_of(code, &CALLS[2..]));
    }
    // The empty text needs no translation.
    texts.remove("");
    texts
}

/// `UPDATE=1` writes `texts/en.toml`, the list of all texts that a catalogue may have.
#[test]
fn the_list_of_texts_is_true() {
    let quoted = |text: &String| toml::Value::String(text.clone()).to_string();
    let mut list = "# Every text of the pages. A catalogue of another language has its words for some of them;\n\
                    # of those with {n} it may have one for each form that its numbers take:\n\
                    # \"{n} entries\" = { one = \"…\", few = \"…\", other = \"…\" }\n\
                    [language]\nname = \"English\"\n\n[texts]\n"
        .to_owned();
    for text in all() {
        let text = quoted(&text);
        list.extend([&text, " = ", &text, "\n"]);
    }
    held("src/base/texts/en.toml", &list);
}

/// Compares a file with its expected content, or with `UPDATE=1` writes it.
fn held(path: &str, want: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, want).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == want,
        "{path} differs; `UPDATE=1 cargo test -p wwwoffle --lib text::` writes it anew"
    );
}

/// Missing translations are shown in English, and listed in `texts/missing.txt`, which `UPDATE=1`
/// writes. Translations of texts that no page uses are an error.
#[test]
fn catalogues_are_whole() {
    let all = all();
    assert!(all.len() > 5, "{all:?}");
    let (mut wrong, mut lacking) = (Vec::new(), Vec::new());
    for language in &BUILT_IN {
        let tag = language.tag();
        let (catalogue, faults) = Catalogue::parse(tag, language.text()).unwrap();
        wrong.extend(faults.iter().map(|fault| format!("{tag}: {fault}")));
        let unknown = catalogue.known().filter(|text| !all.contains(*text));
        wrong.extend(unknown.map(|text| format!("{tag}: no page says {text:?}")));
        let lacks = all.iter().filter(|text| !catalogue.has(text));
        lacking.extend(lacks.map(|text| format!("{tag}: {text:?}")));
        let short = all.iter().filter(|text| catalogue.lacks_a_form(text));
        wrong.extend(short.map(|text| format!("{tag}: not every number has its form in {text:?}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    lacking.push(String::new());
    held("src/base/texts/missing.txt", &lacking.join("\n"));
}

#[test]
fn texts_are_found_where_they_are_said() {
    let template = r#"{{ t("One") }} {{ t( "with {a}", a=b) }} {{ t(page.x) }} {{ n(page.count("x"), "{n} a", "{n} \"b\"") }} not("x")"#;
    assert_eq!(texts_of(template, &CALLS[..2]), ["One", "with {a}", "{n} \"b\""]);
    let code = "say(\"A \\\n  line\").with(\"b\", x), count(n as u64, \"one\",\n \"other\"), iter.count(), fn say(x: &str)";
    assert_eq!(texts_of(code, &CALLS[2..]), ["A line", "other"]);
}

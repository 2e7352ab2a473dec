//! Finds all texts in templates, in our own code and in the file of the messages, and checks the
//! catalogues against them.

#![expect(clippy::disallowed_methods, reason = "it reads the sources, which no daemon does")]

use std::collections::BTreeMap;
use std::fs;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use polib::catalog::Catalog;
use polib::message::Message;
use polib::metadata::CatalogMetadata;
use polib::po_file;

use super::{BUILT_IN, Catalogue};

/// The functions whose arguments are texts, and the number of texts of each.
const CALLS: [(&str, usize); 5] =
    [("t(", 1), ("n(", 2), ("tr(", 1), ("count(", 2), (COUNT_SAME, 2)];

/// The call whose one text stands for both.
const COUNT_SAME: &str = "count_same(";

/// English texts. For a text with a number, the key is the plural and the value is the singular.
type Texts = BTreeMap<String, Option<String>>;

/// The English texts in one file. Templates call `t` and `n`; Rust code calls `tr`, `count` and
/// `count_same`.
fn texts_of(text: &str, calls: &[(&str, usize)]) -> Texts {
    let mut found = Texts::new();
    for (call, many) in calls {
        for (at, _) in text.match_indices(call) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
                continue;
            }
            let literals = literals(&text[at + call.len()..], *many == 1);
            match literals.as_slice() {
                [text, ..] if *many == 1 => drop(found.insert(text.clone(), None)),
                [one, other, ..] => drop(found.insert(other.clone(), Some(one.clone()))),
                [same] if *call == COUNT_SAME => {
                    found.insert(same.clone(), Some(same.clone()));
                }
                _ => {}
            }
        }
    }
    found
}

/// The literals among the arguments of a call. With `first`, empty if the first argument is not a
/// literal.
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

/// Parses a literal up to its closing quote, and replaces its escapes. A `\` at the end of a line
/// joins the line with the next.
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
fn all() -> Texts {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Texts::new();
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
    let messages = fs::read_to_string(root.join("src/page/message/texts.txt")).unwrap();
    let lines = messages.lines().filter(|line| !line.starts_with(['#', '[']));
    texts.extend(lines.map(|line| (line.to_owned(), None)));
    // The empty text needs no translation.
    texts.remove("");
    texts
}

/// A catalogue of all texts, with their translations in `old`.
fn merged(old: &Catalog, texts: &Texts) -> Catalog {
    let mut new = Catalog::new(old.metadata.clone());
    new.preheader.clone_from(&old.preheader);
    for (english, one) in texts {
        let (id, plural) = match one {
            Some(one) => (one, Some(english)),
            None => (english, None),
        };
        let known = old.find_message(None, id, plural.map(String::as_str));
        let mut message = match plural {
            Some(_) => Message::build_plural(),
            None => Message::build_singular(),
        };
        if let Some(known) = known {
            message.with_translator_comments(known.translator_comments().to_owned());
            message.with_flags(known.flags().clone());
        }
        let form = known.and_then(|known| known.msgstr().ok()).unwrap_or_default();
        let none = vec![String::new(); old.metadata.plural_rules.nplurals];
        let forms = known.and_then(|known| known.msgstr_plural().ok()).unwrap_or(&none);
        message.with_msgid(id.clone()).with_msgstr(form.to_owned());
        message.with_msgid_plural(plural.cloned().unwrap_or_default());
        new.append_or_update(message.with_msgstr_plural(forms.clone()).done());
    }
    new
}

fn written(catalogue: &Catalog) -> String {
    let mut file = BufWriter::new(Vec::new());
    po_file::write(catalogue, &mut file).unwrap();
    String::from_utf8(file.into_inner().unwrap()).unwrap()
}

/// Compares a file with its expected content. With `UPDATE=1`, writes the file instead.
fn assert_is(path: &str, want: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, want).unwrap();
    }
    let is_same = fs::read_to_string(&file).unwrap_or_default() == want;
    assert!(is_same, "{path} differs; run `UPDATE=1 cargo test -p wwwoffle --lib text::`");
}

/// `UPDATE=1` writes `wwwoffle.pot`, the template of all catalogues.
#[test]
fn the_template_has_all_texts() {
    let head = "Project-Id-Version: wwwoffle\nMIME-Version: 1.0\n\
                Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n\
                Plural-Forms: nplurals=2; plural=(n != 1);\n";
    let template = Catalog::new(CatalogMetadata::parse(head).unwrap());
    assert_is("src/base/texts/wwwoffle.pot", &written(&merged(&template, &all())));
}

/// `UPDATE=1` adds new texts to the catalogues, without a translation, and removes texts that no
/// page uses.
#[test]
fn catalogues_have_all_texts() {
    let texts = all();
    assert!(texts.len() > 5, "{texts:?}");
    for language in &BUILT_IN {
        let tag = language.tag();
        let (_, faults) = Catalogue::parse(tag, language.text()).unwrap();
        assert!(faults.is_empty(), "{tag}: {faults:?}");
        let file = po_file::parse_from_reader(language.text().as_bytes()).unwrap();
        assert_is(&format!("src/base/texts/{tag}.po"), &written(&merged(&file, &texts)));
    }
}

#[test]
fn texts_are_extracted_from_templates_and_code() {
    let template = r#"{{ t("One") }} {{ t( "with {a}", a=b) }} {{ t(page.x) }} {{ n(page.count("x"), "{n} a", "{n} \"b\"") }} not("x")"#;
    let texts = |texts: &[(&str, Option<&str>)]| -> Texts {
        let owned = texts.iter().map(|(text, one)| ((*text).to_owned(), one.map(str::to_owned)));
        owned.collect()
    };
    let want = texts(&[("One", None), ("with {a}", None), ("{n} \"b\"", Some("{n} a"))]);
    assert_eq!(texts_of(template, &CALLS[..2]), want);
    let code = "tr(\"A \\\n  line\").with(\"b\", x), count(n as u64, \"one\",\n \"other\"), iter.count(), fn tr(x: &str), count_same(n, \"same\")";
    let want = texts(&[("A line", None), ("other", Some("one")), ("same", Some("same"))]);
    assert_eq!(texts_of(code, &CALLS[2..]), want);
}

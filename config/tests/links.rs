//! The links of the book are valid: each relative link in the book, and in the documents beside it,
//! names an existing file and heading, and the table of contents lists every chapter.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

#[expect(clippy::disallowed_methods, reason = "the documents are not of the program's own files")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The documents of a directory and, if `below`, of its subdirectories.
#[expect(clippy::disallowed_methods, reason = "the documents are not of the program's own files")]
fn documents(directory: &Path, below: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory of documents") {
        let path = entry.expect("an entry of it").path();
        if path.is_dir() && below {
            found.extend(documents(&path, below));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// The lines outside fenced code blocks, with their numbers, counted from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// A line without its code, where brackets have no meaning.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// The targets of the links in a line.
fn targets(line: &str) -> Vec<String> {
    let line = without_code(line);
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let defined = line.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
    inline.chain(defined.map(|(_, target)| target)).map(|target| target.trim().into()).collect()
}

/// The anchor of a heading, as mdBook and code forges generate it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|char| match char {
        char if char.is_whitespace() => Some('-'),
        char if char.is_alphanumeric() || char == '-' || char == '_' => Some(char),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// The anchors of a document, each with the levels of its headings.
fn anchors(text: &str) -> BTreeMap<String, Vec<usize>> {
    let mut all = BTreeMap::<_, Vec<_>>::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() < line.len() && heading.starts_with(' ') {
            all.entry(anchor(heading)).or_default().push(line.len() - heading.len());
        }
    }
    all
}

/// The fault of a link in `document`, if there is one.
fn fault(document: &Path, target: &str) -> Option<String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match path {
        "" => document.to_owned(),
        path => document.with_file_name(path),
    };
    if !file.exists() {
        return Some("there is no such file".into());
    }
    if anchor.is_empty() {
        return None;
    }
    match anchors(&read(&file)).get(anchor).map(Vec::as_slice) {
        None => Some("there is no such heading".into()),
        // If subsections repeat the name of their section, the plain anchor leads to the section,
        // which comes first.
        Some([_]) => None,
        Some([2, others @ ..]) if others.iter().all(|level| *level > 2) => None,
        Some(_) => Some("several headings are called so: link to their section".into()),
    }
}

fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

#[test]
fn every_link_has_an_existing_target() {
    let root = root();
    let all = [documents(&root, false), documents(&root.join("docs"), true)].concat();
    assert!(all.len() > 20, "{all:?}");
    let mut wrong = Vec::new();
    let mut links = 0;
    for document in all {
        for (number, line) in prose(&read(&document)) {
            for target in targets(line).iter().filter(|target| !target.contains(':')) {
                links += 1;
                if let Some(fault) = fault(&document, target) {
                    wrong.push(format!("{}:{number}: {target}: {fault}", document.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} links lead nowhere\n{}", wrong.len(), wrong.join("\n"));
    assert!(links > 100, "{links} links were found, so most were not");
}

#[test]
fn every_chapter_is_in_the_table_of_contents() {
    let docs = root().join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    for chapter in documents(&docs, true) {
        let path = chapter.strip_prefix(&docs).expect("it was found there");
        let names = path.components().map(Component::as_os_str);
        let name = names.map(|name| name.to_string_lossy()).collect::<Vec<_>>().join("/");
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name}");
    }
}

#[test]
fn links_and_anchors_are_found() {
    for (line, want) in [
        ("see [a](b.md#c) and [d](e)", &["b.md#c", "e"][..]),
        ("[1.0]: http://a/", &["http://a/"]),
        ("`[x](y)` is [code](z)", &["z"]),
        ("none [here] (at all)", &[]),
    ] {
        assert_eq!(targets(line), want, "{line}");
    }
    for (heading, want) in [
        (" [allowed-connect-hosts]", "allowed-connect-hosts"),
        (" What passes unread", "what-passes-unread"),
        (" wwwoffle itself over TLS", "wwwoffle-itself-over-tls"),
        (" Size: `k`, *M*", "size-k-m"),
    ] {
        assert_eq!(anchor(heading), want);
    }
    assert_eq!(
        anchors("# A\n```sh\n# b\n```\n## A\n#c\n"),
        BTreeMap::from([("a".into(), vec![1, 2])])
    );
}

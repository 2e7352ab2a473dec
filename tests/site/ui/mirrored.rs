//! A user's own language that is written from right to left.

use std::collections::BTreeMap;
use std::path::Path;

use crate::harness::Daemon;

/// Hebrew, for which the program has no catalogue.
pub(super) const TAG: &str = "he";

/// Replacements for `a` to `z`: letters that are read from right to left but form no words.
const LETTERS: [char; 26] = [
    'א', 'ב', 'ק', 'ד', 'ע', 'פ', 'ג', 'ה', 'י', 'ז', 'כ', 'ל', 'מ', 'נ', 'ו', 'ף', 'ץ', 'ר', 'ס',
    'ט', 'ש', 'ך', 'ם', 'צ', 'ן', 'ת',
];

/// Restarts the daemon with the user's own translation of every text, so that no English text
/// remains.
#[track_caller]
pub(super) fn speak(daemon: &mut Daemon) {
    let texts = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/base/texts/en.toml");
    let english: toml::Table = std::fs::read_to_string(texts).unwrap().parse().unwrap();
    let english = english["texts"].as_table().unwrap();
    let texts: BTreeMap<_, _> = english.keys().map(|text| (text, mirrored(text))).collect();
    let head = "[language]\nname = \"עברית\"\ndirection = \"rtl\"\n[texts]\n";
    let html = daemon.spool().join("html");
    std::fs::create_dir_all(&html).unwrap();
    std::fs::write(
        html.join(format!("{TAG}.toml")),
        format!("{head}{}", toml::to_string(&texts).unwrap()),
    )
    .unwrap();
    daemon.restart();
    assert!(!daemon.log().contains("he.toml"), "{}", daemon.log());
}

/// Replaces the letters of a text, except for `{name}`, `` `word` `` and link targets.
fn mirrored(text: &str) -> String {
    let (mut mirrored, mut ends) = (String::new(), None);
    for (at, c) in text.char_indices() {
        match (ends, c) {
            (Some(end), _) => {
                if c == end {
                    ends = None;
                }
                mirrored.push(c);
                continue;
            }
            (None, '{') => ends = Some('}'),
            (None, '`') => ends = Some('`'),
            (None, '(') if text[..at].ends_with(']') => ends = Some(')'),
            (None, _) => {}
        }
        let is_letter = c.is_ascii_alphabetic();
        let letter = is_letter.then(|| LETTERS[usize::from(c.to_ascii_lowercase() as u8 - b'a')]);
        mirrored.push(letter.unwrap_or(c));
    }
    mirrored
}

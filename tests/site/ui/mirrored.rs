//! A translation by the user into a language that is written from right to left.

use std::path::Path;

use polib::catalog::Catalog;
use polib::message::Message;
use polib::po_file;

use crate::harness::Daemon;

/// Hebrew, for which the program has no built-in catalogue.
pub(super) const TAG: &str = "he";

/// The replacements for `a` to `z`: letters that are read from right to left. The results are not
/// words.
const LETTERS: [char; 26] = [
    'א', 'ב', 'ק', 'ד', 'ע', 'פ', 'ג', 'ה', 'י', 'ז', 'כ', 'ל', 'מ', 'נ', 'ו', 'ף', 'ץ', 'ר', 'ס',
    'ט', 'ש', 'ך', 'ם', 'צ', 'ן', 'ת',
];

/// Restarts the daemon with a user's translation of every text, so that no English text remains.
#[track_caller]
pub(super) fn speak(daemon: &mut Daemon) {
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/base/texts/wwwoffle.pot");
    let template = po_file::parse(&template).unwrap();
    let mut catalogue = Catalog::new(template.metadata.clone());
    for message in template.messages() {
        let id = message.msgid().to_owned();
        catalogue.append_or_update(match message.msgid_plural() {
            Ok(plural) => Message::build_plural()
                .with_msgstr_plural(vec![mirrored(&id), mirrored(plural)])
                .with_msgid_plural(plural.to_owned())
                .with_msgid(id)
                .done(),
            Err(_) => Message::build_singular().with_msgstr(mirrored(&id)).with_msgid(id).done(),
        });
    }
    let html = daemon.spool().join("html");
    std::fs::create_dir_all(&html).unwrap();
    po_file::write_to_file(&catalogue, &html.join(format!("{TAG}.po"))).unwrap();
    daemon.restart();
    assert!(!daemon.log().contains("he.po"), "{}", daemon.log());
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

//! The words of a text, and the white space between them.

/// Splits a text into words and the white space between them. Scripts that are written without
/// spaces have words of one character.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    #[derive(PartialEq)]
    enum Kind {
        Blank,
        Word,
        Single,
    }
    let kind = |character: char| match character {
        _ if character.is_ascii_whitespace() => Kind::Blank,
        // CJK and Hangul; then Thai, Lao, Myanmar and Khmer.
        '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}' => {
            Kind::Single
        }
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => Kind::Single,
        _ => Kind::Word,
    };
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = kind(rest.chars().next()?);
        let mut others = rest.char_indices().skip(1);
        let end = match first {
            Kind::Single => others.next().map(|(at, _)| at),
            _ => others.find(|(_, character)| kind(*character) != first).map(|(at, _)| at),
        };
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(piece)
    })
}

//! Any bytes as the listing of an FTP server.
//!
//! Reading ends and never panics. The page does not depend on how the listing is split into pieces,
//! its length is bounded by that of the listing, and it contains only tags and links of ours.

use wwwoffle::net::upstream::{Listing, ListingFormat};

/// The end of each page.
const END: &str = "</table>\n</body>\n</html>\n";

/// The tags of a row, without links.
const TAGS: [&str; 7] = ["tr", "td", "/a", "/td", "/tr", "td class=\"n\"", "td colspan=\"3\""];

/// The maximum length of the part of a row that does not come from the listing, in bytes.
const ROW: usize = 160;

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let [choice, piece, listing @ ..] = data else { return };
    let format = if choice & 1 == 0 { ListingFormat::Facts } else { ListingFormat::Free };
    let whole = page(format, listing, usize::MAX);
    assert_eq!(whole, page(format, listing, 1 + usize::from(*piece)), "{format:?}");
    let rows = whole.strip_suffix(END).expect("each page ends");
    // A byte is at most four characters of a link and six of an escaped text, each of three bytes.
    let lines = listing.split(|byte| *byte == b'\n').count();
    assert!(rows.len() <= lines * ROW + 24 * listing.len(), "{} bytes", rows.len());
    assert!(!rows.chars().any(|c| c.is_control() && c != '\n'), "{rows:?}");
    for piece in rows.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("each tag ends");
        let link = tag.strip_prefix("a href=\"").and_then(|link| link.strip_suffix('"'));
        assert!(TAGS.contains(&tag) || link.is_some_and(is_one_name), "{tag:?} in {rows:?}");
    }
}

/// Whether a link leads to a name in the same directory.
fn is_one_name(link: &str) -> bool {
    let name = link.strip_suffix('/').unwrap_or(link);
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte);
    !matches!(name, "" | "." | "..") && name.bytes().all(is_safe)
}

fn page(format: ListingFormat, listing: &[u8], piece: usize) -> String {
    let (mut page, _) = Listing::begin(format, "ftp://h.example/", true);
    let rows: String = listing.chunks(piece).map(|piece| page.add(piece)).collect();
    rows + &page.finish()
}

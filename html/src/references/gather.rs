//! Collects the references of all parsers. They become absolute URLs without duplicates, and their
//! number is limited.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, RandomState};

use encoding_rs::{EncoderResult, Encoding, UTF_8};
use wwwoffle_url::{BrowserUrl, MAX_LEN, SCHEMES};

use super::squeeze::CUT;
use super::{Class, Link, MAX_LINK_BYTES, MAX_LINKS, Omission, References, Truncation, Viewport};

/// The references of a document and its inner documents.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub(super) found: References,
    pub(super) want: Viewport,
    /// The base of relative references. `None` only in a temporary placeholder.
    base: Option<BrowserUrl>,
    document: Option<BrowserUrl>,
    /// The number of inner documents that were parsed.
    pub(super) inner: usize,
    /// Whether a `base` was found. Only the first `base` of a document counts.
    has_base: bool,
    /// The encoding of queries. `None` is UTF-8.
    encoding: Option<&'static Encoding>,
    bytes: usize,
    /// The index of each link, by the hash of its URL and class. If different links have the same
    /// hash, all of them are reported.
    seen: HashMap<u64, usize>,
    hasher: RandomState,
}

impl Collector {
    pub(super) fn new(document: &BrowserUrl, want: &Viewport) -> Self {
        let document = without_credentials(document);
        Self { base: document.clone(), document, want: want.clone(), ..Self::default() }
    }

    /// Sets the encoding of the document.
    pub(super) fn set_encoding(&mut self, encoding: &'static Encoding) {
        self.found.charset = encoding.name();
        // URL Standard, *query state*: queries are encoded like form submissions, in UTF-8 if the
        // document is UTF-16.
        self.encoding = Some(encoding.output_encoding());
    }

    /// Sets the base of relative references. HTML §4.2.3: the first `base` with `href` counts,
    /// unless its scheme is `data` or `javascript`.
    pub(super) fn set_base(&mut self, reference: &str) {
        if std::mem::replace(&mut self.has_base, true) {
            return;
        }
        match self.resolve(reference) {
            Some(url) if !matches!(url.scheme(), "data" | "javascript") => self.base = Some(url),
            Some(_) => {}
            None => self.found.refused += 1,
        }
    }

    /// Saves the base before an inner document, which may set its own.
    pub(super) fn save_base(&mut self) -> (Option<BrowserUrl>, bool) {
        (self.base.clone(), std::mem::take(&mut self.has_base))
    }

    pub(super) fn restore_base(&mut self, (base, has_base): (Option<BrowserUrl>, bool)) {
        (self.base, self.has_base) = (base, has_base);
    }

    /// Adds the icon that browsers request if a page does not name one.
    pub(super) fn add_implied(&mut self) {
        if !self.document.as_ref().is_some_and(|url| matches!(url.scheme(), "http" | "https")) {
            return;
        }
        self.base.clone_from(&self.document);
        self.add_marked("/favicon.ico", Class::Icon, false, Some(Omission::Implied));
    }

    /// Records the canonical URL of the document (RFC 6596).
    pub(super) fn set_canonical(&mut self, reference: &str) {
        if self.found.canonical.is_none() && reference.len() <= MAX_LEN {
            self.found.canonical = self.resolve(reference.trim()).map(BrowserUrl::into_string);
        }
    }

    fn resolve(&self, reference: &str) -> Option<BrowserUrl> {
        let base = self.base.as_ref()?;
        let url = BrowserUrl::parse(reference, Some(base)).ok()?;
        if !matches!(url.scheme(), "http" | "https" | "ftp") {
            return Some(url);
        }
        match with_query_encoded(reference, self.encoding.unwrap_or(UTF_8)) {
            Some(encoded) => BrowserUrl::parse(&encoded, Some(base)).ok(),
            None => Some(url),
        }
    }

    pub(super) fn add(&mut self, reference: &str, class: Class) {
        self.add_marked(reference, class, false, None);
    }

    pub(super) fn add_marked(
        &mut self,
        reference: &str,
        class: Class,
        nofollow: bool,
        left_out: Option<Omission>,
    ) {
        let reference = reference.trim_matches(|c: char| c <= ' ');
        if reference.is_empty() || reference.starts_with('#') || is_no_link(reference) {
            return;
        }
        let Some(url) = Some(reference)
            .filter(|reference| reference.len() <= MAX_LEN && !reference.contains(CUT))
            .and_then(|reference| self.resolve(reference))
        else {
            self.found.refused = self.found.refused.saturating_add(1);
            return;
        };
        let left_out = match url.scheme() {
            scheme if SCHEMES.contains(&scheme) => left_out,
            "ws" | "wss" => Some(Omission::Protocol),
            _ => return,
        };
        let fragment = url.fragment().map_or(0, |fragment| fragment.len() + 1);
        let mut url = url.into_string();
        url.truncate(url.len() - fragment);
        if url.len() > MAX_LEN {
            self.found.refused = self.found.refused.saturating_add(1);
            return;
        }
        self.add_link(Link { url, class, nofollow, left_out });
    }

    fn add_link(&mut self, link: Link) {
        let hash = self.hasher.hash_one((&link.url, link.class));
        let known = self.seen.get(&hash).and_then(|at| self.found.links.get_mut(*at));
        if let Some(known) = known
            && known.url == link.url
            && known.class == link.class
        {
            known.nofollow &= link.nofollow;
            if link.left_out.is_none() {
                known.left_out = None;
            }
            return;
        }
        let bytes = self.bytes.saturating_add(link.url.len());
        if self.found.links.len() >= MAX_LINKS || bytes > MAX_LINK_BYTES {
            self.cut(Truncation::Links);
            return;
        }
        self.bytes = bytes;
        self.seen.insert(hash, self.found.links.len());
        self.found.links.push(link);
    }

    /// Records why the document is not parsed completely.
    pub(super) fn cut(&mut self, cut: Truncation) {
        self.found.cut.get_or_insert(cut);
    }

    /// Whether parsing ends because the document has too many links.
    pub(super) fn is_full(&self) -> bool {
        self.found.cut == Some(Truncation::Links)
    }
}

/// Whether the reference has a scheme that cannot be fetched. This check avoids parsing long
/// `data:` URLs.
fn is_no_link(reference: &str) -> bool {
    let Some(end) =
        reference.bytes().position(|byte| !byte.is_ascii_alphanumeric() && !b"+-.".contains(&byte))
    else {
        return false;
    };
    let (scheme, rest) = reference.split_at(end);
    let known = ["http", "https", "ftp", "finger", "ws", "wss"];
    rest.starts_with(':')
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && !known.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Removes the credentials from the URL of a page, because references must not inherit them.
fn without_credentials(url: &BrowserUrl) -> Option<BrowserUrl> {
    if url.username().is_empty() && url.password().is_none() {
        return Some(url.clone());
    }
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
    let host = url.host().unwrap_or_default();
    format!("{}://{host}{port}{}{query}", url.scheme(), url.path()).parse().ok()
}

/// Returns the reference with its query in the encoding of the document (URL Standard, *query
/// state*). `None` if that changes nothing.
pub(crate) fn with_query_encoded(reference: &str, encoding: &'static Encoding) -> Option<String> {
    if encoding == UTF_8 {
        return None;
    }
    let (rest, fragment) =
        reference.split_once('#').map_or((reference, None), |(a, b)| (a, Some(b)));
    let (before, query) = rest.split_once('?')?;
    if query.is_ascii() {
        return None;
    }
    let query: Cow<'_, str> = if query.contains(['\t', '\n', '\r']) {
        query.replace(['\t', '\n', '\r'], "").into()
    } else {
        query.into()
    };
    let mut written = format!("{before}?");
    push_encoded(&query, encoding, &mut written);
    if let Some(fragment) = fragment {
        written.push('#');
        written.push_str(fragment);
    }
    Some(written)
}

/// *Percent-encode after encoding*: characters that the encoding does not have become character
/// references.
fn push_encoded(query: &str, encoding: &'static Encoding, written: &mut String) {
    let mut encoder = encoding.new_encoder();
    let (mut rest, mut bytes) = (query, [0; 1024]);
    loop {
        let (result, read, length) =
            encoder.encode_from_utf8_without_replacement(rest, &mut bytes, true);
        for byte in bytes.get(..length).unwrap_or_default() {
            push_query_byte(written, *byte);
        }
        rest = rest.get(read..).unwrap_or_default();
        match result {
            EncoderResult::InputEmpty => return,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(c) => {
                write!(written, "%26%23{}%3B", u32::from(c)).expect("writing to a String succeeds");
            }
        }
    }
}

/// Writes a byte of a query, escaped if it is in the *special-query percent-encode set* (URL
/// Standard). A `%` stays unescaped.
fn push_query_byte(text: &mut String, byte: u8) {
    match byte {
        0..=b' ' | b'"' | b'#' | b'<' | b'>' | b'\'' | 0x7f.. => {
            write!(text, "%{byte:02X}").expect("writing to a String succeeds");
        }
        _ => text.push(char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{ISO_2022_JP, WINDOWS_1251};

    use super::*;

    fn gather(url: &str) -> Collector {
        Collector::new(&url.parse().unwrap(), &Viewport::default())
    }

    fn urls(gather: &Collector) -> Vec<&str> {
        gather.found.links.iter().map(|link| link.url.as_str()).collect()
    }

    #[test]
    fn queries_are_in_the_encoding_of_the_page() {
        let mut gather = gather("http://a.example/");
        gather.set_encoding(WINDOWS_1251);
        gather.add("/я?q=я'\t&c=中#я", Class::Page);
        gather.set_encoding(ISO_2022_JP);
        gather.add("?中", Class::Page);
        gather.set_encoding(encoding_rs::UTF_16LE);
        gather.add("?я", Class::Page);
        assert_eq!(
            urls(&gather),
            [
                "http://a.example/%D1%8F?q=%FF%27&c=%26%2320013%3B",
                "http://a.example/?%1B$BCf%1B(B",
                "http://a.example/?%D1%8F",
            ]
        );
    }

    #[test]
    fn the_password_of_a_page_is_not_in_its_links() {
        let mut gather = gather("http://me:secret@a.example:81/b/c?d");
        for reference in ["e", "?f", "//g/", "http://you:pw@h/"] {
            gather.add(reference, Class::Page);
        }
        assert_eq!(
            urls(&gather),
            [
                "http://a.example:81/b/e",
                "http://a.example:81/b/c?f",
                "http://g/",
                "http://you:pw@h/"
            ]
        );
    }

    #[test]
    fn omission_is_dropped_if_another_reference_needs_the_url() {
        let mut gather = gather("http://a.example/");
        gather.add_marked("x", Class::Image, true, Some(Omission::OnePixel));
        gather.add_marked("./x#y", Class::Image, false, None);
        gather.add_marked("x", Class::Image, true, Some(Omission::NotTaken));
        gather.add_marked("x", Class::Page, true, None);
        let link = |class, nofollow| Link {
            url: "http://a.example/x".to_owned(),
            class,
            nofollow,
            left_out: None,
        };
        assert_eq!(gather.found.links, [link(Class::Image, false), link(Class::Page, true)]);
    }

    #[test]
    fn invalid_links_are_skipped_or_counted() {
        let mut gather = gather("http://a.example/");
        let none = [
            "",
            " ",
            "#x",
            "data:,x",
            "JavaScript:alert(1)",
            "mailto:a@b",
            "java\nscript:x",
            "x:y",
        ];
        for reference in none {
            gather.add(reference, Class::Page);
        }
        assert_eq!((gather.found.links.len(), gather.found.refused), (0, 0));
        let long = format!("/{}", "a".repeat(MAX_LEN));
        for reference in ["http://[", "http://a:99999/", &long, long.get(1..).unwrap()] {
            gather.add(reference, Class::Page);
        }
        assert_eq!((gather.found.links.len(), gather.found.refused), (0, 4));
        gather.add("ws://a.example/x", Class::Page);
        assert_eq!(gather.found.links[0].left_out, Some(Omission::Protocol));
    }

    #[test]
    #[ignore = "slow"]
    fn links_are_bounded_by_number_and_by_bytes() {
        let mut many = gather("http://a.example/");
        for number in 0..=MAX_LINKS {
            assert!(!many.is_full());
            many.add(&number.to_string(), Class::Page);
        }
        assert_eq!((many.found.links.len(), many.found.cut), (MAX_LINKS, Some(Truncation::Links)));
        let mut long = gather("http://a.example/");
        let path = "a".repeat(MAX_LEN - 100);
        for number in 0..10 {
            long.add(&format!("{number}{path}"), Class::Page);
        }
        assert_eq!((long.found.links.len(), long.found.cut), (8, Some(Truncation::Links)));
    }
}

//! Corrects relative links of a page that is shown at another address than its original one.
//!
//! A page shown as an earlier version has an address of ours, so the browser would resolve its
//! relative references against our site. A `<base>` element in its head tells the browser the
//! original URL. Nothing else in the page changes.

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use hyper::body::Frame;

use crate::proxy::body::Body;

/// Number of bytes of a page that are searched for its head and for a `<base>` element of its own.
const LOOKED_AT: usize = 64 << 10;

/// Inserts the element into a page that came from `url`, if the page needs it and has a place for
/// it. Also inserts `banner`, in ASCII, unless the page has an encoding that does not extend ASCII.
pub(in crate::site) async fn insert_base(body: Body, url: &str, banner: Option<String>) -> Body {
    // A short page is read to its end here, after which its body must not be polled again.
    let mut body = body.fuse();
    let (mut frames, mut beginning) = (Vec::new(), Vec::new());
    while beginning.len() < LOOKED_AT
        && let Some(frame) = body.frame().await
    {
        if let Some(data) = frame.as_ref().ok().and_then(Frame::data_ref) {
            beginning.extend_from_slice(data);
        }
        let is_end = frame.is_err();
        frames.push(frame);
        if is_end {
            break;
        }
    }
    let banner = banner.filter(|_| is_ascii_text(&beginning));
    let base = needs_base(&beginning).then(|| element(url));
    // In front of all content, so that no part of the page can hide the banner.
    let at = position(&beginning).or(banner.as_ref().map(|_| 0));
    let inserted: String = base.into_iter().chain(banner).collect();
    if let Some(at) = at.filter(|_| !inserted.is_empty()) {
        let beginning = Bytes::from(beginning);
        let element = Bytes::from(inserted);
        let whole = [beginning.slice(..at), element, beginning.slice(at..)];
        let rest: Vec<_> = frames.into_iter().filter(|frame| !is_data(frame)).collect();
        frames = whole.into_iter().map(|data| Ok(Frame::data(data))).chain(rest).collect();
    }
    StreamBody::new(stream::iter(frames).chain(BodyStream::new(body))).boxed_unsync()
}

fn is_data<E>(frame: &Result<Frame<Bytes>, E>) -> bool {
    frame.as_ref().is_ok_and(Frame::is_data)
}

fn element(url: &str) -> String {
    let mut escaped = String::with_capacity(url.len());
    for character in url.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other => escaped.push(other),
        }
    }
    format!("<base href=\"{escaped}\">")
}

/// Whether the encoding of a page extends ASCII, as far as its first bytes show.
fn is_ascii_text(page: &[u8]) -> bool {
    page.iter().take(4).all(|byte| !matches!(byte, 0 | 0xfe | 0xff))
}

/// Whether a page has no `<base>` element of its own, and a position for one.
fn needs_base(page: &[u8]) -> bool {
    let says_itself = page.windows(5).any(|five| five.eq_ignore_ascii_case(b"<base"));
    !says_itself && position(page).is_some()
}

/// Returns the position for the element: behind everything that may precede the first element in a
/// head. `None` if the page is not encoded in an extension of ASCII, or has no such position.
fn position(page: &[u8]) -> Option<usize> {
    if !is_ascii_text(page) {
        return None;
    }
    let mut at = if page.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    loop {
        let rest = page.get(at..)?;
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let rest = rest.get(blank..)?;
        let length = if rest.starts_with(b"<!--") {
            find(rest, b"-->")?
        } else if ["<!doctype", "<?", "<html", "<head"].iter().any(|start| starts_tag(rest, start))
        {
            tag(rest)?
        } else {
            return Some(at);
        };
        at += blank + length;
        if starts_tag(rest, "<head") {
            return Some(at);
        }
    }
}

/// Whether `text` begins with `start`, and not with a longer name.
fn starts_tag(text: &[u8], start: &str) -> bool {
    let next = text.get(start.len()).copied();
    let is_name_over = start == "<?" || next.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    is_name_over
        && text.get(..start.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(start.as_bytes()))
}

fn find(text: &[u8], end: &[u8]) -> Option<usize> {
    text.windows(end.len()).position(|window| window == end).map(|at| at + end.len())
}

/// Returns the length of a tag, up to the first `>` outside of quotes.
fn tag(text: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The position of the element, if the page needs one.
    fn place(page: &[u8]) -> Option<usize> {
        position(page).filter(|_| needs_base(page))
    }

    /// Marks the position for the element with a bar.
    fn marked(page: &str) -> String {
        match place(page.as_bytes()) {
            Some(at) => format!("{}|{}", &page[..at], &page[at..]),
            None => "-".to_owned(),
        }
    }

    #[test]
    fn base_element_is_inserted_at_the_start_of_the_head() {
        for (page, want) in [
            ("", "|"),
            ("text", "|text"),
            ("<p>text", "|<p>text"),
            ("<!DOCTYPE html><p>", "<!DOCTYPE html>|<p>"),
            (
                " <!-- a > b -->\n<!doctype html>\n<html lang='>'>\n<HEAD x=\">\"><title>",
                " <!-- a > b -->\n<!doctype html>\n<html lang='>'>\n<HEAD x=\">\">|<title>",
            ),
            ("<?xml version=\"1.0\"?><html><body>", "<?xml version=\"1.0\"?><html>|<body>"),
            ("<header>no head", "|<header>no head"),
            ("<html><head", "-"),
            ("<!-- never ends", "-"),
            ("<head><Base target=x><p>", "-"),
            ("\0<\0h", "-"),
        ] {
            assert_eq!(marked(page), want, "{page}");
        }
        assert_eq!(place(b"\xef\xbb\xbf<p>"), Some(3));
        assert_eq!(place(b"\xff\xfe<\0p\0"), None);
    }

    #[test]
    fn a_base_url_is_escaped() {
        let element = element("http://a/?x=1&y=\"<b>");
        assert_eq!(element, "<base href=\"http://a/?x=1&amp;y=&quot;&lt;b&gt;\">");
    }

    #[tokio::test]
    async fn a_short_body_is_not_polled_after_its_end() {
        // This stream panics if it is.
        let frames = stream::unfold(Some("<p>short"), |text| async move {
            Some((Ok(Frame::data(Bytes::from_static(text?.as_bytes()))), None))
        });
        let given = StreamBody::new(frames).boxed_unsync();
        let whole = insert_base(given, "http://a/", None).await.collect().await.unwrap().to_bytes();
        assert_eq!(whole, "<base href=\"http://a/\"><p>short");
    }

    #[tokio::test]
    async fn everything_else_is_unchanged() {
        let frames = |pieces: &[&'static str]| {
            let frames: Vec<_> = pieces
                .iter()
                .map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))))
                .collect();
            StreamBody::new(stream::iter(frames)).boxed_unsync()
        };
        let long: &'static str = Box::leak("x".repeat(3 * LOOKED_AT).into_boxed_str());
        let given = frames(&["<!doctype ", "html>", "<p>", long, "end"]);
        let whole = insert_base(given, "http://a/", Some("<b>".to_owned()))
            .await
            .collect()
            .await
            .unwrap()
            .to_bytes();
        let want = format!("<!doctype html><base href=\"http://a/\"><b><p>{long}end");
        assert!(whole == want.as_bytes());
        let own = frames(&["<head><base href=/x>", long]);
        let whole = insert_base(own, "http://a/", None).await.collect().await.unwrap().to_bytes();
        assert!(whole == format!("<head><base href=/x>{long}").as_bytes());
    }
}

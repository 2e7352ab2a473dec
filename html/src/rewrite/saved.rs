//! Saved documents: pages and style sheets that are opened from a file, without the proxy.
//! Each reference leads to another file, or contains what it refers to.

use std::fmt;
use std::sync::Arc;

use encoding_rs::Encoding;
use wwwoffle_url::BrowserUrl;

use super::Changes;
use super::target::{Readdress, ReferenceUse};

/// The addresses of URLs in a saved document.
pub trait SavedAddresses: Send + Sync {
    /// The address of `url`, without a fragment: a relative URL of a file, or a `data:` URL. `None`
    /// if `url` is not saved.
    fn address(&self, url: &BrowserUrl, of: ReferenceUse) -> Option<String>;
}

/// The settings of a saved document.
#[derive(Clone)]
pub struct SavedDocument {
    /// The addresses of URLs.
    pub addresses: Arc<dyn SavedAddresses>,
    /// The `Content-Security-Policy` that a page gets, without quotation marks.
    pub policy: &'static str,
    /// The text of the link that replaces a refresh, as HTML.
    pub onward: String,
    /// HTML in ASCII that a page shows in front of its content, where nothing in it can hide it.
    pub banner: String,
}

impl fmt::Debug for SavedDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedDocument").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl PartialEq for SavedDocument {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.addresses, &other.addresses)
            && (self.policy, &self.onward, &self.banner)
                == (other.policy, &other.onward, &other.banner)
    }
}

impl Eq for SavedDocument {}

/// The elements for the beginning of a saved page, which begins with `head` and is written in
/// `encoding`: a file has no header fields. `None` for other pages.
pub(super) fn head_elements(
    changes: &Changes,
    head: &[u8],
    encoding: &'static Encoding,
) -> Option<String> {
    let Some(Readdress::Saved(saved)) = &changes.readdress else { return None };
    // After a text, a browser ignores frames. Each of them has its own banner.
    let banner = if has_frames(head) { "" } else { &saved.banner };
    let (charset, policy) = (encoding.name(), saved.policy);
    Some(format!(
        "<meta charset=\"{charset}\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">{banner}"
    ))
}

/// Whether the first bytes of a page contain a set of frames.
fn has_frames(head: &[u8]) -> bool {
    const FRAMES: &[u8] = b"<frameset";
    head.windows(FRAMES.len()).any(|bytes| bytes.eq_ignore_ascii_case(FRAMES))
}

/// The end of the doctype in the first bytes of a page, or of the byte order mark if the page does
/// not begin with a doctype. An element before a doctype changes how browsers lay out the page, but
/// an element that is not in the head is no policy. So nothing else is skipped: a browser may end a
/// comment earlier than expected.
pub(super) fn end_of_doctype(head: &[u8]) -> usize {
    let begin = if head.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
    let rest = head.get(begin..).unwrap_or_default().trim_ascii_start();
    let is_doctype = rest.get(..9).is_some_and(|word| word.eq_ignore_ascii_case(b"<!doctype"));
    let length = rest.iter().position(|byte| *byte == b'>').filter(|_| is_doctype);
    // After an escape sequence of ISO-2022-JP, `>` can be half of a character.
    let length = length.filter(|length| !rest.iter().take(*length).any(|byte| *byte == 0x1b));
    length.map_or(begin, |length| head.len() - rest.len() + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rewrite::{PageKnowledge, Removal, Rewriter, UrlStatus};

    /// Saves what is on `saved.example`: links lead to a file, sub-resources to another.
    struct Files;

    impl SavedAddresses for Files {
        fn address(&self, url: &BrowserUrl, of: ReferenceUse) -> Option<String> {
            let is_saved = url.host() == Some("saved.example");
            is_saved.then(|| format!("../{of:?}"))
        }
    }

    impl PageKnowledge for Files {
        fn is_blocked(&self, _: &str) -> bool {
            false
        }

        fn status_of(&self, _: &str) -> UrlStatus {
            UrlStatus::Absent
        }
    }

    fn rewriter(content_type: &str) -> Rewriter {
        let saved = SavedDocument {
            addresses: Arc::new(Files),
            policy: "P",
            onward: "on".to_owned(),
            banner: String::new(),
        };
        let changes = Changes {
            cuts: [Removal::Scripts, Removal::Refresh].into(),
            readdress: Some(Readdress::Saved(saved)),
            ..Changes::default()
        };
        let url = BrowserUrl::parse("http://saved.example/dir/page", None).unwrap();
        Rewriter::new(Arc::new(changes), Arc::new(Files), url, Some(content_type))
    }

    fn saved(content_type: &str, page: &[u8], size: usize) -> Vec<u8> {
        let mut page_writer = rewriter(content_type);
        let mut sent: Vec<u8> =
            page.chunks(size).flat_map(|piece| page_writer.write(piece)).collect();
        sent.extend(page_writer.finish());
        sent
    }

    #[test]
    fn references_lead_to_files_or_to_the_web_and_load_nothing_else() {
        for (given, want) in [
            ("<a href=x#y>a</a>", "<a href=\"../Link#y\">a</a>"),
            ("<a href=#y>a</a>", "<a href=#y>a</a>"),
            ("<a href=//b.example/?c#d>a</a>", "<a href=\"http://b.example/?c#d\">a</a>"),
            ("<a href=mailto:a@b.example>a</a>", "<a href=mailto:a@b.example>a</a>"),
            ("<a href=javascript:x()>a</a>", "<a>a</a>"),
            ("<img src=i onerror=x()>", "<img src=\"../Part\">"),
            ("<img src=data:image/gif,x>", "<img src=data:image/gif,x>"),
            ("<iframe src=data:text/html,x></iframe>", "<iframe></iframe>"),
            ("<iframe src=i></iframe>", "<iframe src=\"../Document\"></iframe>"),
            ("<object data=data:text/html,x></object>", "<object></object>"),
            ("<embed src=' data:text/html,x'>", "<embed>"),
            ("<a href=data:text/html,x target=f>a</a>", "<a target=f>a</a>"),
            ("<svg><use href=data:image/svg+xml,x></use>", "<svg><use></use>"),
            ("<link rel=stylesheet href=data:text/css,x>", "<link rel=stylesheet>"),
            ("<link rel=stylesheet href=s>", "<link rel=stylesheet href=\"../Sheet\">"),
            ("<path fill='URL(//b.example/)'>", "<path fill=\"url(&quot;about:invalid&quot;)\">"),
            ("<img src=//b.example/i>", "<img>"),
            ("<img srcset='i 1x, //b.example/i 2x'>", "<img srcset=\"../Part 1x\">"),
            (
                "<link rel=icon href=i><link rel=canonical href=i>",
                "<link rel=icon href=\"../Part\"><link rel=canonical href=\"../Link\">",
            ),
            ("<link rel=preload href=i>", ""),
            (
                "<p style='background: url(i)'>",
                "<p style=\"background: url(&quot;../Part&quot;)\">",
            ),
            (
                "<style>a{b:url(i);c:url(//b.example/)}</style>",
                "<style>a{b:url(\"../Part\");c:url(\"about:invalid\")}</style>",
            ),
            (
                "<style>@import 's';@import url(data:text/css,x);a{b:url(data:image/gif,x)}</style>",
                "<style>@import \"../Sheet\";@import url(\"about:invalid\");\
                 a{b:url(data:image/gif,x)}</style>",
            ),
            // A property can become the URL of an image, and `//` is a server after `file:`.
            (
                "<style>a{--a:'//b.example/s';--b:'file:////b/s';--c:'\\\\\\\\b/s';--d:'d';c:'/e'}</style>",
                "<style>a{--a:\"about:invalid\";--b:\"about:invalid\";--c:\"about:invalid\";\
                 --d:'d';c:'/e'}</style>",
            ),
            ("<script src=i></script><noscript><img src=i></noscript>", "<img src=\"../Part\">"),
            ("<form action=x><form>", "<form action=\"../Link\"><form action=\"../Link\">"),
            ("<base href=//b.example/><img src=i>", "<base><img>"),
            ("<meta http-equiv=refresh content='1;url=x'>", "<p><a href=\"../Link\">on</a></p>"),
        ] {
            let head = "<meta charset=\"UTF-8\">\
                <meta http-equiv=\"Content-Security-Policy\" content=\"P\">";
            for size in [1, 7, 10_000] {
                let sent = saved("text/html", given.as_bytes(), size);
                assert_eq!(String::from_utf8_lossy(&sent), format!("{head}{want}"), "{given}");
            }
        }
    }

    #[test]
    fn policy_and_encoding_follow_the_doctype() {
        let head = "<meta charset=\"windows-1252\">\
            <meta http-equiv=\"Content-Security-Policy\" content=\"P\">";
        for (before, after) in [
            ("", "<html lang=en>"),
            ("<!DOCTYPE html>", "\n<html>"),
            (" \n<!doctype html>", "text<p>"),
            ("<!doctype html PUBLIC 'a>", "b'>text"),
            // Browsers end these comments before the text, and the text ends the head.
            ("", "<!-- a --!>text<!-- --><!doctype html><p>"),
            ("", "<!-->text--><!doctype html><p>"),
            ("", "<!-- a > b -->\n<!doctype html>text<p>"),
            ("", "<?xml version='1.0'?><!doctype html><p>"),
            ("", "<!doctype \u{1b}$B!>\u{1b}(B><p>"),
            ("", "<!-- a --><p>"),
            ("", "<!doctype"),
        ] {
            let page = [before, after].concat();
            for size in [1, 10_000] {
                let sent = saved("text/html; charset=latin1", page.as_bytes(), size);
                let sent = String::from_utf8(sent).unwrap();
                assert_eq!(sent, [before, head, after].concat(), "{page}");
            }
        }
        // The bytes of the page stay in its encoding. A byte order mark stays at the beginning.
        assert!(saved("text/html; charset=koi8-r", b"\xc1", 1).ends_with(b"content=\"P\">\xc1"));
        assert!(saved("text/html", b"\xef\xbb\xbf<p>", 1).starts_with(b"\xef\xbb\xbf<meta"));
        // XHTML is saved as HTML.
        let sent = saved("application/xhtml+xml", b"<p/><br/>", 3);
        assert!(String::from_utf8(sent).unwrap().ends_with("<p></p><br/>"));
    }

    #[test]
    fn a_set_of_frames_has_no_banner() {
        let saved = SavedDocument {
            addresses: Arc::new(Files),
            policy: "P",
            onward: "on".to_owned(),
            banner: "<p>banner</p>".to_owned(),
        };
        let changes = Changes { readdress: Some(Readdress::Saved(saved)), ..Changes::default() };
        for (page, has_banner) in [
            (&b"<!doctype html><html><title>t</title><body>text"[..], true),
            (b"<html><title>t</title><FrameSet cols=*><frame src=a></frameset>", false),
        ] {
            let elements = head_elements(&changes, page, encoding_rs::UTF_8).unwrap();
            assert_eq!(elements.contains("banner"), has_banner, "{elements}");
        }
    }

    #[test]
    fn a_page_that_the_parser_gives_up_is_not_whole() {
        for (length, is_whole) in [(10, true), (2 * crate::rewrite::MAX_PARSER_MEMORY, false)] {
            let page = format!("<p title='{}'>text", "x".repeat(length));
            let mut writer = rewriter("text/html");
            let _output = writer.write(page.as_bytes());
            assert_eq!(writer.finish_and_check().1, is_whole, "{length}");
        }
    }
}

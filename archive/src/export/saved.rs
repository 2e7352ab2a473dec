//! Rewrites stored documents so that they can be read from files, without the proxy: references
//! lead to files or contain what they name, and no scripts are left.
//!
//! An SVG image is not rewritten. As XML it can hide scripts from a parser of HTML. Browsers run no
//! script of an image, and a `data:` URL in a frame has the policy of its page.

use std::io::{self, Write};
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use wwwoffle_html::rewrite::{
    Changes, PageKnowledge, Readdress, Removal, Rewriter, SavedAddresses, SavedDocument, Sheet,
    UrlStatus,
};
use wwwoffle_http::head::capture_in;
use wwwoffle_spool::Entry;
use wwwoffle_url::{BrowserUrl, CanonicalUrl, LocalHost};

use super::index::{content_type, media_type};
use crate::types;

/// Elements that a saved page does not have.
const CUTS: [Removal; 4] =
    [Removal::Scripts, Removal::Applets, Removal::Refresh, Removal::SetCookie];

/// The text of the link that replaces a refresh.
const ONWARD: &str = "Continue";

/// The media type of SVG images.
pub(super) const SVG: &str = "image/svg+xml";

/// The media type of style sheets.
const SHEET: &str = "text/css";

/// The longest `data:` URL of one response, in bytes before the encoding.
pub(super) const MAX_EMBEDDED: usize = 16 << 20;

/// The greatest number of redirects that lead from a reference to a stored response.
pub(super) const MAX_REDIRECTS: usize = 10;

/// How a stored response is rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentShape {
    Page,
    /// It is embedded in a page that shows it, or in the page that uses it: there it cannot run
    /// scripts.
    Svg,
    Sheet,
    /// It is saved unchanged.
    Other,
}

impl DocumentShape {
    /// The shape of a response, by its media type, which is that of [`saved_type`].
    pub(super) fn of(kind: &str) -> Self {
        match kind {
            "text/html" | "application/xhtml+xml" => Self::Page,
            SVG => Self::Svg,
            SHEET => Self::Sheet,
            _ => Self::Other,
        }
    }
}

/// The media type of a response, without parameters. If the response does not name one, it follows
/// from the extension in the URL.
pub(super) fn saved_type(entry: &Entry) -> String {
    let kind = media_type(entry.head());
    let path = entry.url().split('?').next().unwrap_or_default();
    let from_name = types::of(path.rsplit('/').next().unwrap_or_default(), b"");
    // In a file, browsers take it for a style sheet, whatever the type of the response was.
    let is_sheet = from_name == SHEET && DocumentShape::of(&kind) == DocumentShape::Other;
    if kind == "unk" || is_sheet { from_name.to_owned() } else { kind }
}

/// The key under which references find a response: its canonical URL without credentials.
pub(super) fn reference_key(url: &str) -> Option<String> {
    let url = CanonicalUrl::parse(url, &LocalHost::default()).ok()?;
    Some(url.without_credentials().as_str().to_owned())
}

/// A writer that rewrites the decoded body of a response on its way to `out`.
pub(super) struct DocumentWriter<W> {
    rewriter: DocumentRewriter,
    out: W,
}

enum DocumentRewriter {
    Page(Box<Rewriter>),
    Sheet(Box<Sheet>),
    None,
}

impl<W: Write> DocumentWriter<W> {
    /// Returns a writer for the body of `entry`. A page gets the policy `policy`, and a banner if it
    /// is the capture of a web archive.
    pub(super) fn new(
        entry: &Entry,
        addresses: Arc<dyn SavedAddresses>,
        policy: &'static str,
        out: W,
    ) -> io::Result<Self> {
        let kind = saved_type(entry);
        let shape = DocumentShape::of(&kind);
        if matches!(shape, DocumentShape::Other | DocumentShape::Svg) {
            return Ok(Self { rewriter: DocumentRewriter::None, out });
        }
        let url = BrowserUrl::parse(entry.url(), None)
            .map_err(|_| io::Error::other("its URL is not one that browsers know"))?;
        let memento = capture_in(entry.request());
        let banner = memento.map(|memento| capture_banner(entry, &memento)).unwrap_or_default();
        let saved = SavedDocument { addresses, policy, onward: ONWARD.to_owned(), banner };
        let readdress = Readdress::Saved(saved);
        let declared = content_type(entry.head()).unwrap_or(kind);
        let rewriter = if shape == DocumentShape::Sheet {
            DocumentRewriter::Sheet(Box::new(Sheet::new(readdress, url, Some(&declared))))
        } else {
            let changes =
                Changes { cuts: CUTS.into(), readdress: Some(readdress), ..Changes::default() };
            let page =
                Rewriter::new(Arc::new(changes), Arc::new(NoKnowledge), url, Some(&declared));
            DocumentRewriter::Page(Box::new(page))
        };
        Ok(Self { rewriter, out })
    }

    /// Writes the rest of the document, and returns the output. Fails if the rest of a page could not
    /// be read.
    pub(super) fn finish(mut self) -> io::Result<W> {
        match self.rewriter {
            DocumentRewriter::Page(page) => {
                let (rest, is_whole) = page.finish_and_check();
                if !is_whole {
                    return Err(io::Error::other("the page has a tag that is too long"));
                }
                self.out.write_all(&rest)?;
            }
            DocumentRewriter::Sheet(sheet) => self.out.write_all(&sheet.finish())?,
            DocumentRewriter::None => {}
        }
        Ok(self.out)
    }
}

impl<W: Write> Write for DocumentWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.rewriter {
            DocumentRewriter::Page(page) => self.out.write_all(&page.write(bytes))?,
            DocumentRewriter::Sheet(sheet) => self.out.write_all(&sheet.write(bytes))?,
            DocumentRewriter::None => self.out.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The banner of a page that is the capture of a web archive. No style of the page changes it.
fn capture_banner(entry: &Entry, memento: &str) -> String {
    let when = entry.received().strftime("%Y-%m-%d %H:%M UTC");
    let is_web = ["http://", "https://"].iter().any(|scheme| memento.starts_with(scheme));
    let link = (is_web && memento.is_ascii()).then(|| {
        let address = escaped(memento);
        format!(" <a rel=\"noreferrer\" href=\"{address}\">The copy in the archive</a>")
    });
    let link = link.unwrap_or_default();
    format!(
        "<div id=\"wwwoffle-banner\" role=\"note\" style=\"all:initial!important;\
         display:block!important;padding:.5em!important;background:#ffd!important;\
         color:#000!important;font-family:sans-serif!important\">This is not the page of its site, \
         but a copy of {when} from a web archive.{link}</div>"
    )
}

/// Text for an element or an attribute of HTML.
pub(super) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// No facts about the URLs of a page: none is blocked, and links are not marked.
struct NoKnowledge;

impl PageKnowledge for NoKnowledge {
    fn is_blocked(&self, _: &str) -> bool {
        false
    }

    fn status_of(&self, _: &str) -> UrlStatus {
        UrlStatus::Absent
    }
}

/// A body as a `data:` URL. Style sheets are in UTF-8, because they were rewritten.
pub(super) fn data_url(kind: &str, body: &[u8]) -> String {
    let is_of_type = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+/".contains(&byte);
    let kind = if kind.bytes().all(is_of_type) { kind } else { "application/octet-stream" };
    let charset = if kind == SHEET { ";charset=utf-8" } else { "" };
    format!("data:{kind}{charset};base64,{}", BASE64_STANDARD.encode(body))
}

/// A writer that refuses to write more bytes than a bound.
#[derive(Debug)]
pub(super) struct BoundedWriter<W> {
    pub(super) out: W,
    left: usize,
}

impl<W> BoundedWriter<W> {
    pub(super) fn new(out: W, most: usize) -> Self {
        Self { out, left: most }
    }

    /// The number of bytes written of `most`, which was the bound.
    pub(super) fn written(&self, most: usize) -> usize {
        most.saturating_sub(self.left)
    }
}

impl<W: Write> Write for BoundedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(left) = self.left.checked_sub(bytes.len()) else {
            self.left = 0;
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.out.write_all(bytes)?;
        self.left = left;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

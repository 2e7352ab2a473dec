//! The body of a HAR response, and whether it is complete.
//!
//! Browsers save the bodies that are still in memory, and do not report missing parts. A picture
//! that they could not show has an empty text, a discarded page has no text, and a long text is
//! truncated. Stored responses must be complete, so a body that may be incomplete is refused.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::head::ResponseHead;
use crate::refusal::Reason;

/// The maximum length of a character in GB 18030 and UTF-8, in bytes.
const MOST: usize = 4;

/// The maximum length of a character in ISO-2022-JP, including the escape sequences around it.
const MOST_SWITCHED: usize = 8;

/// The length of a byte order mark, which the text does not include, in bytes.
const MARK: usize = 3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarContent<'a> {
    #[serde(default)]
    size: Option<f64>,
    /// The difference between the length of the content and of the transferred body. Some programs
    /// give the transferred length as `size`.
    #[serde(default)]
    compression: Option<f64>,
    #[serde(borrow, default)]
    pub(super) mime_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    encoding: Option<Cow<'a, str>>,
}

impl HarContent<'_> {
    /// Whether the content is binary. If not, it is text, in UTF-8 whatever its original encoding.
    pub(super) fn is_coded(&self) -> bool {
        self.encoding.as_deref() == Some("base64")
    }

    /// Returns the body; `sent` is the number of transferred bytes.
    pub(super) fn body(self, head: &ResponseHead, sent: Option<f64>) -> Result<Vec<u8>, Reason> {
        let (sizes, is_coded) = (self.sizes(), self.is_coded());
        let is_cut = |fits: &dyn Fn(usize) -> bool| {
            !sizes.is_empty() && !sizes.iter().any(|&size| fits(size))
        };
        let has_none = matches!(head.status, 204 | 205 | 304) || (300..400).contains(&head.status);
        match self.text {
            Some(text) if is_coded => {
                let bytes =
                    STANDARD.decode(text.trim()).map_err(|_| "its body is not valid Base64")?;
                if is_cut(&|size| size == bytes.len()) {
                    return Err("its body is incomplete".into());
                }
                Ok(bytes)
            }
            Some(text) => {
                if is_cut(&|size| fits(&text, size, head)) {
                    return Err("its body is incomplete".into());
                }
                Ok(text.into_owned().into_bytes())
            }
            None if has_none || (sizes.is_empty() && is_empty(head, sent)) => Ok(Vec::new()),
            None => Err("its body was not saved".into()),
        }
    }

    /// The plausible lengths in bytes. Empty if the length is unknown: browsers report 0 for a body
    /// from their cache.
    fn sizes(&self) -> Vec<usize> {
        let Some(size) = self.size.filter(|size| *size > 0.0) else { return Vec::new() };
        let more = self.compression.filter(|more| more.is_finite() && *more != 0.0);
        [Some(size), more.map(|more| size + more)].into_iter().flatten().filter_map(bytes).collect()
    }
}

/// Converts a number of bytes. A number that does not fit becomes the maximum, which no body has.
fn bytes(size: f64) -> Option<usize> {
    // The number is converted through text, because `as` does not check its range.
    (size >= 1.0).then(|| format!("{size:.0}").parse().unwrap_or(usize::MAX))
}

/// Whether the response declares an empty body.
fn is_empty(head: &ResponseHead, sent: Option<f64>) -> bool {
    let is_coded = head.fields.has("content-encoding");
    head.fields.content_length() == Some(0) || (sent == Some(0.0) && !is_coded)
}

/// Whether a text may have this length in its original encoding.
fn fits(text: &str, size: usize, head: &ResponseHead) -> bool {
    let kind = head.fields.first("content-type").unwrap_or_default();
    let kind = String::from_utf8_lossy(kind).to_ascii_lowercase();
    let is_utf8 = kind.contains("utf-8") || kind.contains("utf8");
    // U+FFFD replaces invalid bytes. If it occurs, the lengths may differ.
    if is_utf8 && !text.contains('\u{fffd}') {
        return size == text.len() || size == text.len() + MARK;
    }
    let most = if kind.contains("iso-2022-jp") { MOST_SWITCHED } else { MOST };
    let characters = text.chars().count();
    (characters..=characters.saturating_mul(most).saturating_add(MARK)).contains(&size)
}

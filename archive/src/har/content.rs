//! The body of an answer, as a HAR has it, and whether it is all of it.
//!
//! Browsers save what they still have, and do not say so: of a picture that they could not show an empty
//! text, of a page that they have let go of none, and of a long text its beginning. An answer that is kept
//! is whole, so what may be less is refused.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::head::AnswerHead;
use crate::refusal::Reason;

/// The most bytes of one character: GB 18030 and UTF-8.
const MOST: usize = 4;

/// The same in ISO-2022-JP, with what switches to it and back.
const MOST_SWITCHED: usize = 8;

/// The bytes in front of a text that tell its encoding are no part of it.
const MARK: usize = 3;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Content<'a> {
    #[serde(default)]
    size: Option<f64>,
    /// How much longer it is than what was sent; programs that are no browsers tell that as `size`.
    #[serde(default)]
    compression: Option<f64>,
    #[serde(borrow, default)]
    pub(super) mime_type: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    encoding: Option<Cow<'a, str>>,
}

impl Content<'_> {
    /// Whether bytes are there as bytes. Else it is a text, in UTF-8 whatever it was.
    pub(super) fn is_coded(&self) -> bool {
        self.encoding.as_deref() == Some("base64")
    }

    /// The body; `sent` is how much of it came, in bytes.
    pub(super) fn body(self, head: &AnswerHead, sent: Option<f64>) -> Result<Vec<u8>, Reason> {
        let (sizes, is_coded) = (self.sizes(), self.is_coded());
        let is_cut = |fits: &dyn Fn(usize) -> bool| {
            !sizes.is_empty() && !sizes.iter().any(|&size| fits(size))
        };
        let has_none = matches!(head.status, 204 | 205 | 304) || (300..400).contains(&head.status);
        match self.text {
            Some(text) if is_coded => {
                let bytes = STANDARD.decode(text.trim()).map_err(|_| "its body is no Base64")?;
                if is_cut(&|size| size == bytes.len()) {
                    return Err("its body is not whole".into());
                }
                Ok(bytes)
            }
            Some(text) => {
                if is_cut(&|size| fits(&text, size, head)) {
                    return Err("its body is not whole".into());
                }
                Ok(text.into_owned().into_bytes())
            }
            None if has_none || (sizes.is_empty() && is_empty(head, sent)) => Ok(Vec::new()),
            None => Err("its body was not saved".into()),
        }
    }

    /// What the length may be, in bytes. None when that is not told: 0 is what browsers say of what they took
    /// from their cache.
    fn sizes(&self) -> Vec<usize> {
        let Some(size) = self.size.filter(|size| *size > 0.0) else { return Vec::new() };
        let more = self.compression.filter(|more| more.is_finite() && *more != 0.0);
        [Some(size), more.map(|more| size + more)].into_iter().flatten().filter_map(whole).collect()
    }
}

/// A number of bytes; beyond what a body here may have it fits none.
fn whole(size: f64) -> Option<usize> {
    // Not `as`, which is no conversion that says what it does.
    (size >= 1.0).then(|| format!("{size:.0}").parse().unwrap_or(usize::MAX))
}

/// Whether something says that there was no body.
fn is_empty(head: &AnswerHead, sent: Option<f64>) -> bool {
    let is_coded = head.fields.has("content-encoding");
    head.content_length() == Some(0) || (sent == Some(0.0) && !is_coded)
}

/// Whether a text may have had so many bytes in the encoding it came in.
fn fits(text: &str, size: usize, head: &AnswerHead) -> bool {
    let kind = head.fields.first("content-type").unwrap_or_default();
    let kind = String::from_utf8_lossy(kind).to_ascii_lowercase();
    let is_utf8 = kind.contains("utf-8") || kind.contains("utf8");
    // What was no character has become one that says so.
    if is_utf8 && !text.contains('\u{fffd}') {
        return size == text.len() || size == text.len() + MARK;
    }
    let most = if kind.contains("iso-2022-jp") { MOST_SWITCHED } else { MOST };
    let characters = text.chars().count();
    (characters..=characters.saturating_mul(most).saturating_add(MARK)).contains(&size)
}

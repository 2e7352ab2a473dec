//! What an archive holds, as every reader gives it.

use std::io::Read;

use jiff::Timestamp;
use wwwoffle_spool::Schedule;
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::digest::Digest;
use crate::error::Result;
use crate::head::{AnswerHead, RequestHead};
use crate::refusal::Reason;

/// One thing of an archive.
pub(crate) struct Item<'a> {
    /// What it is called where it is told of: its URL, or its name in the archive.
    pub(crate) name: String,
    pub(crate) what: What<'a>,
}

/// What it is.
pub(crate) enum What<'a> {
    /// An answer to a request.
    Exchange(Box<Exchange<'a>>),
    /// A request that is to be sent.
    Waiting(Box<Waiting>),
    /// A request that is to be sent on a schedule.
    Monitored(Box<Waiting>, Schedule),
    /// Something that cannot be taken.
    Refused(Reason),
    /// Something that is no page, and is not missed.
    Passed,
}

/// An answer to a request.
pub(crate) struct Exchange<'a> {
    pub(crate) url: CanonicalUrl,
    /// When it came.
    pub(crate) when: Timestamp,
    pub(crate) head: AnswerHead,
    /// Whatever it was: one that was not kept was a plain GET.
    pub(crate) request: Option<RequestHead>,
    /// It may be meant for one person alone.
    pub(crate) is_private: bool,
    pub(crate) body: Body<'a>,
}

/// The body of an answer, less its transfer coding.
pub(crate) enum Body<'a> {
    /// To be read once. What is wrong with it is known at its end only.
    Here(Box<dyn Read + 'a>),
    /// It is that of an answer that was taken before.
    Elsewhere(Refers),
}

/// What says which body it is.
pub(crate) struct Refers {
    /// What it may have been the answer to, the likeliest first.
    pub(crate) urls: Vec<CanonicalUrl>,
    pub(crate) digest: Option<Digest>,
    /// The archive has it.
    pub(crate) is_known: bool,
}

/// A request that is to be sent.
pub(crate) struct Waiting {
    pub(crate) url: CanonicalUrl,
    pub(crate) head: RequestHead,
    pub(crate) body: Vec<u8>,
    pub(crate) when: Timestamp,
    /// The URL of the page that it is part of.
    pub(crate) page: Option<String>,
    /// The arguments of the recursive fetch that begins with it, decoded, as 2.9 names them.
    pub(crate) recursion: Option<Vec<(String, String)>>,
}

/// Gives what an archive holds, one after the other, in bounded memory.
pub(crate) trait Source {
    /// The next; `None` at the end. After an error there is nothing more.
    fn next(&mut self) -> Result<Option<Item<'_>>>;
}

impl<'a> Item<'a> {
    pub(crate) fn refused(name: impl Into<String>, reason: impl Into<Reason>) -> Self {
        Self { name: name.into(), what: What::Refused(reason.into()) }
    }

    pub(crate) fn passed(name: impl Into<String>) -> Self {
        Self { name: name.into(), what: What::Passed }
    }

    pub(crate) fn exchange(exchange: Exchange<'a>) -> Self {
        Self { name: exchange.url.to_string(), what: What::Exchange(Box::new(exchange)) }
    }
}

/// Reads a URL of the web.
pub(crate) fn url(text: &str, local: &LocalHost) -> Result<CanonicalUrl, Reason> {
    let url = CanonicalUrl::parse(text, local)
        .map_err(|error| Reason::from(format!("its URL is none: {error}")))?;
    if !["http", "https", "ftp", "finger"].contains(&url.protocol()) || url.host().is_empty() {
        return Err("it is no page of the web".into());
    }
    if url.is_local() {
        return Err("it is a page of a proxy itself".into());
    }
    Ok(url)
}

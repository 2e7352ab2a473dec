//! HAR 1.2: requests recorded by a browser's developer tools.
//!
//! Bodies in a HAR are decoded, so coding fields are removed. Texts are UTF-8 whatever their
//! original encoding. By default, browsers leave out cookies and logins, so a HAR does not show
//! whether a response is personal. A response therefore counts as personal unless `Cache-Control`
//! has `public` and the request had no cookie, login or form.

mod content;
mod split;

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use wwwoffle_url::LocalHost;

use self::content::HarContent;
use self::split::{HarEntries, NextEntry};
use crate::error::{Error, Result};
use crate::expand::Stream;
use crate::head::{RequestHead, ResponseHead};
use crate::item::{ArchiveItem, ArchivedBody, ArchivedExchange, Source, url};
use crate::refusal::{ReadFault, Reason, classify_error};

/// The reader of one file.
pub(crate) struct Har {
    path: PathBuf,
    local: LocalHost,
    entries: HarEntries<Stream>,
    is_done: bool,
    body: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarEntry<'a> {
    #[serde(borrow)]
    started_date_time: Cow<'a, str>,
    /// The duration of the exchange, in milliseconds.
    #[serde(default)]
    time: Option<f64>,
    #[serde(borrow)]
    request: HarRequest<'a>,
    #[serde(borrow)]
    response: HarResponse<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest<'a> {
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow, default)]
    headers: Vec<HarField<'a>>,
    #[serde(default)]
    cookies: Vec<serde::de::IgnoredAny>,
    #[serde(borrow, default)]
    post_data: Option<HarPostData<'a>>,
}

#[derive(Deserialize)]
struct HarPostData<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarResponse<'a> {
    status: i64,
    #[serde(borrow, default)]
    status_text: Cow<'a, str>,
    #[serde(borrow, default)]
    headers: Vec<HarField<'a>>,
    /// The number of transferred bytes of the body; -1 if unknown.
    #[serde(default)]
    body_size: Option<f64>,
    #[serde(borrow)]
    content: HarContent<'a>,
}

#[derive(Deserialize)]
struct HarField<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    value: Cow<'a, str>,
}

impl Har {
    pub(crate) fn open(input: Stream, path: &Path, local: &LocalHost) -> Self {
        let (path, local) = (path.to_owned(), local.clone());
        Self { path, local, entries: HarEntries::new(input), is_done: false, body: Vec::new() }
    }

    fn item(&mut self, entry: &[u8]) -> ArchiveItem<'_> {
        let entry: HarEntry<'_> = match serde_json::from_slice(entry) {
            Ok(entry) => entry,
            Err(error) => {
                return ArchiveItem::refused("an entry", format!("it is invalid: {error}"));
            }
        };
        let name = entry.request.url.chars().take(2_000).collect::<String>();
        let scheme = name.split(':').next().unwrap_or_default();
        // The spool stores no messages of WebSockets.
        if ["data", "blob", "about", "ws", "wss"].contains(&scheme) {
            return ArchiveItem::passed(name);
        }
        match exchange(entry, &self.local) {
            Ok((mut exchange, body)) => {
                self.body = body;
                exchange.body = ArchivedBody::Here(Box::new(self.body.as_slice()));
                ArchiveItem::exchange(exchange)
            }
            Err(reason) => ArchiveItem::refused(name, reason),
        }
    }
}

impl Source for Har {
    fn next(&mut self) -> Result<Option<ArchiveItem<'_>>> {
        if self.is_done {
            return Ok(None);
        }
        match self.entries.next() {
            Ok(NextEntry::Entry(entry)) => Ok(Some(self.item(&entry))),
            Ok(NextEntry::TooLong) => {
                Ok(Some(ArchiveItem::refused("an entry", "it is longer than 48 MiB")))
            }
            Ok(NextEntry::End) => Ok(None),
            Err(error) => {
                self.is_done = true;
                match classify_error(error) {
                    ReadFault::Disk(error) => Err(Error::disk("read", &self.path, error)),
                    ReadFault::Archive(reason) => {
                        let reason = format!("{reason}; the rest of the archive was not read");
                        Ok(Some(ArchiveItem::refused("the archive", reason)))
                    }
                }
            }
        }
    }
}

fn exchange(
    entry: HarEntry<'_>,
    local: &LocalHost,
) -> Result<(ArchivedExchange<'static>, Vec<u8>), Reason> {
    let HarEntry { started_date_time, time, request: asked, response: answered } = entry;
    let mut url = url(&asked.url, local)?;
    let begun: Timestamp = started_date_time.parse().map_err(|_| "its time is invalid")?;
    let took = time.filter(|time| time.is_finite() && (0.0..1e9).contains(time));
    let took = SignedDuration::from_secs_f64(took.unwrap_or_default() / 1e3);
    let when = begun.checked_add(took).map_err(|_| "its time is invalid")?;
    match &*asked.method {
        "GET" => {}
        "POST" => {
            let text = asked.post_data.and_then(|posted| posted.text);
            let text = text.filter(|text| !text.is_empty());
            let text = text.ok_or("it answers a form whose contents are not in the archive")?;
            url = url.with_post(&Sha256::digest(text.as_bytes()).into());
        }
        "HEAD" => return Err("it answers a HEAD request".into()),
        _ => return Err("its request is neither a GET nor a POST".into()),
    }
    let request = request(&asked.method, &asked.url, &asked.headers)?;
    let is_private = *asked.method == *"POST"
        || request.is_private()
        || !asked.cookies.is_empty()
        || url.user().is_some();
    let (head, body) = answer(answered)?;
    let is_everyones = head.fields.has_word("cache-control", "public");
    let is_private = is_private || head.is_private() || !is_everyones;
    let request = Some(request);
    let elsewhere = ArchivedBody::Here(Box::new(io::empty()));
    Ok((ArchivedExchange { url, when, head, request, is_private, body: elsewhere }, body))
}

fn request(method: &str, url: &str, fields: &[HarField<'_>]) -> Result<RequestHead, Reason> {
    let target = url.split_once("://").map_or(url, |(_, rest)| rest);
    let target = target.find(['/', '?']).map_or("/", |start| target.get(start..).unwrap_or("/"));
    let target = target.split('#').next().unwrap_or("/").replace(' ', "%20");
    let target = if target.starts_with('?') { format!("/{target}") } else { target };
    let mut head = RequestHead::parse(format!("{method} {target} HTTP/1.1\r\n\r\n").as_bytes())?;
    for field in fields {
        head.fields.push(&field.name, field.value.as_bytes())?;
    }
    Ok(head)
}

fn answer(answered: HarResponse<'_>) -> Result<(ResponseHead, Vec<u8>), Reason> {
    let status = u16::try_from(answered.status).ok().filter(|status| (100..600).contains(status));
    let status = status.ok_or("it has no response")?;
    let mut head = ResponseHead::synthetic(status, &answered.status_text);
    for field in &answered.headers {
        // HAR joins repeated fields with line feeds.
        for value in field.value.split('\n') {
            head.fields.push(&field.name, value.as_bytes())?;
        }
    }
    let content = answered.content;
    let (is_coded, kind) = (content.is_coded(), content.mime_type.clone());
    let body = content.body(&head, answered.body_size)?;
    for name in ["content-encoding", "transfer-encoding", "content-length"] {
        head.fields.remove(name);
    }
    if !head.fields.has("content-type")
        && let Some(kind) = kind.filter(|kind| kind.contains('/'))
    {
        head.fields.push("Content-Type", kind.as_bytes())?;
    }
    if !is_coded && !body.is_ascii() {
        say_utf8(&mut head);
    }
    head.fields.set("Content-Length", &body.len().to_string());
    Ok((head, body))
}

/// Declares that a text is UTF-8.
fn say_utf8(head: &mut ResponseHead) {
    let kind = head.fields.first("content-type").unwrap_or(b"text/plain");
    let kind = String::from_utf8_lossy(kind).into_owned();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    head.fields.set("Content-Type", &format!("{kind}; charset=utf-8"));
}

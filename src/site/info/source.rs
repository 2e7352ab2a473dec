//! The stored copy of a URL in its original form: its source as text, and its records as WARC.

use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use wwwoffle_archive::{ExportOptions, to_warc_one};
use wwwoffle_spool::Spool;

use crate::base::blocking::blocking;
use crate::base::clock;
use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::net::upstream::BoxError;
use crate::page::message::Message;
use crate::proxy::body::{self, Body};
use crate::proxy::{recode, reply};
use crate::site::address::{AddressPage, url_in};
use crate::site::caller::Caller;
use crate::site::info::entry_info as info;
use crate::site::lists::export::{AHEAD, ChannelWriter, PIECE, received};
use crate::storage::lookup::look_up;
use crate::storage::store::{StoredCopy, timestamp};
use crate::storage::versions::text;
use wwwoffle_http::caching::coding::CodingTerms;

/// Maximum size of a source that is shown as text, in bytes; a larger one is sent as a file.
const MAX_SOURCE: usize = 8 << 20;

/// Maximum number of sources shown at the same time: each stays in memory until its client has read
/// it.
pub(crate) const AT_ONCE: usize = 4;

/// Content security policy: nothing in the source can become active.
const GLASS_CASE: &str = "sandbox; default-src 'none'";

/// Shows the source as text, whatever its content type. A source that is not text, has an unknown
/// content coding or is too long is sent as a file.
pub(in crate::site) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let copy = match find(caller, AddressPage::Source, arguments).await {
        Ok(copy) => copy,
        Err(response) => return response,
    };
    let url = copy.entry.url().to_owned();
    let content_type = info::content_type(&copy.entry);
    let (body, is_readable) = decode_body(caller, &copy);
    let bound = u64::try_from(MAX_SOURCE).unwrap_or(u64::MAX);
    if !is_readable || copy.entry.body_len() > bound {
        return saved(caller, body);
    }
    let Ok(turn) = Arc::clone(&caller.context.limits.sources).try_acquire_owned() else {
        return reply::plain(503, "other sources are being read; try again in a moment");
    };
    let Some(bytes) = read_whole(body).await else {
        return saved(caller, decode_body(caller, &copy).0);
    };
    let read = blocking(move || {
        let text = text::source(content_type.as_deref(), &url, &bytes);
        text.map_or_else(|| Err(Bytes::from(bytes)), |text| Ok(Bytes::from(text)))
    });
    match read.await {
        Ok(text) => {
            source_response(caller, body_in_pieces(text, turn), "text/plain; charset=utf-8", None)
        }
        Err(bytes) => saved(caller, body_in_pieces(bytes, turn)),
    }
}

/// Sends bytes from memory in pieces; holds the permit until the end.
pub(in crate::site) fn body_in_pieces(whole: Bytes, turn: OwnedSemaphorePermit) -> Body {
    let frames = stream::unfold((whole, turn), |(mut rest, turn)| async move {
        let piece = rest.split_to(rest.len().min(PIECE));
        (!piece.is_empty()).then(|| (Ok(Frame::data(piece)), (rest, turn)))
    });
    StreamBody::new(frames).boxed_unsync()
}

/// Reads a body; `None` if it exceeds the limit or cannot be read.
async fn read_whole(mut body: Body) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.ok()?.into_data() {
            if bytes.len().saturating_add(data.len()) > MAX_SOURCE {
                return None;
            }
            bytes.extend_from_slice(&data);
        }
    }
    Some(bytes)
}

/// Returns the body without its content coding, and whether the coding could be removed.
fn decode_body(caller: &Caller, copy: &Arc<StoredCopy>) -> (Body, bool) {
    let delivery = CodingTerms::of_a_reader().deliver(copy.status, &copy.fields);
    let is_readable = delivery.is_readable();
    (recode::body(delivery, body::stored(&caller.context.storage.store, copy, None)), is_readable)
}

fn saved(caller: &Caller, body: Body) -> Response<Body> {
    source_response(caller, body, "application/octet-stream", Some("attachment"))
}

fn source_response(
    caller: &Caller,
    body: Body,
    content_type: &'static str,
    disposition: Option<&str>,
) -> Response<Body> {
    let mut response = caller.other(StatusCode::OK, Some(content_type), body);
    let fields = response.headers_mut();
    fields.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(GLASS_CASE));
    if let Some(Ok(disposition)) = disposition.map(HeaderValue::from_str) {
        fields.insert(CONTENT_DISPOSITION, disposition);
    }
    response
}

/// Sends the WARC records. They contain the whole body, even if it is compressed or shared in the
/// spool. Cookies and credentials are omitted, as on the page `/info/`.
pub(in crate::site) async fn warc(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let copy = match find(caller, AddressPage::Records, arguments).await {
        Ok(copy) => copy,
        Err(response) => return response,
    };
    let name = format!("attachment; filename=\"{}.warc.gz\"", copy.entry.key());
    let options = ExportOptions {
        software: concat!("wwwoffle/", env!("CARGO_PKG_VERSION")).to_owned(),
        now: timestamp(clock::now()),
        versions: false,
        collection: None,
    };
    let Ok(turn) = Arc::clone(&caller.context.limits.exports).try_acquire_owned() else {
        return reply::plain(503, "other archives are being sent; try again in a moment");
    };
    let (sender, receiver) = mpsc::channel(AHEAD);
    let store = caller.context.storage.store.clone();
    caller.context.base.tasks.spawn(async move {
        let work = move |_: &Spool| {
            let _turn = turn;
            let mut out = io::BufWriter::with_capacity(PIECE, ChannelWriter(sender.clone()));
            let heads =
                (info::redacted_head(copy.entry.head()), info::redacted_head(copy.entry.request()));
            let written = to_warc_one(&copy.entry, (&heads.0, &heads.1), &mut out, &options);
            if let Err(error) = written.map_err(BoxError::from).and_then(|()| Ok(out.flush()?)) {
                // The client may have disconnected.
                let _left = sender.blocking_send(Err(error));
            }
            Ok(())
        };
        // The client sees the failure, because its archive is truncated.
        let _done = store.run(work).await;
    });
    source_response(caller, received(receiver), "application/warc", Some(&name))
}

/// Returns the stored copy of the caller, or else the public one. If there is no copy, the error is
/// the response to send.
async fn find(
    caller: &Caller,
    about: AddressPage,
    arguments: Option<&str>,
) -> Result<Arc<StoredCopy>, Response<Body>> {
    let context = &caller.context;
    let typed = url_in(arguments);
    let (_, places) = Some(typed.as_str())
        .filter(|url| !url.is_empty())
        .and_then(|url| Places::of_text(url, &context.base.local, &caller.owner).ok())
        .ok_or_else(|| caller.ask_for_address(about, &typed))?;
    let found = look_up(&context.storage.store, &places).await;
    let copy = found.map_err(|error| caller.spool_failed(&error))?.choose(Mode::Offline);
    copy.map(Arc::new)
        .ok_or_else(|| caller.message(&Message::NothingKept { url: places.public.url() }))
}

//! Our own messages: a page for a person, a line of text for a program, an empty body for a
//! sub-resource.

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use wwwoffle_spool::Error as SpoolError;

use super::ask::ProxyRequest;
use super::audience::Audience;
use super::body::{self, Body};
use super::intent::Intent;
use super::memento::NotChosen;
use super::status::CacheStatus;
use super::{captures, offline};
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::net::upstream::{CertificateFault, Failure, TlsFault};
use crate::page::certificates::ShownCertificate;
use crate::page::context::PageReader;
use crate::page::message::{
    Aid, BadCertificate, CopyInfo, Message, NoTls, OriginFailure, Phase, page, page_with,
};
use crate::page::ways::FetchOffer;
use crate::page::{RenderedPage, Shell};
use crate::proxy::context::ProxyContext;
use crate::storage::store::{StoredCopy, timestamp};

/// A page as a response.
#[must_use]
pub fn render(shell: &Shell, page: RenderedPage) -> Response<Body> {
    let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(body::from_bytes(page.body));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    for (name, value) in shell.header_fields() {
        if let Ok(value) = HeaderValue::from_str(&value) {
            fields.insert(HeaderName::from_static(name), value);
        }
    }
    response
}

/// A message page, for any audience.
#[must_use]
pub fn message(
    context: &ProxyContext,
    reader: &PageReader,
    message: &Message<'_>,
) -> Response<Body> {
    let shell = context.pages.shell(reader);
    render(&shell, page(&shell, message))
}

/// Returns a response with the message `notice`, in the form that suits the audience of `ask`: a
/// sub-resource never gets a page.
#[must_use]
pub fn respond(
    context: &ProxyContext,
    ask: &ProxyRequest,
    status: CacheStatus,
    notice: &Message<'_>,
) -> Response<Body> {
    with_status(self::message_for(context, &ask.reader(), ask.head.audience, notice), status)
}

/// A message in the form that suits `audience`.
#[must_use]
pub fn message_for(
    context: &ProxyContext,
    reader: &PageReader,
    audience: Audience,
    notice: &Message<'_>,
) -> Response<Body> {
    match audience.intent {
        Intent::Person => message(context, reader, notice),
        Intent::Part => audience.empty_response(notice.status()),
        Intent::Program => plain(notice.status(), &notice.title()),
    }
}

/// A message page, or an empty body for a sub-resource.
#[must_use]
pub fn page_or_empty(
    context: &ProxyContext,
    reader: &PageReader,
    audience: Audience,
    notice: &Message<'_>,
) -> Response<Body> {
    if audience.is_part() {
        audience.empty_response(notice.status())
    } else {
        message(context, reader, notice)
    }
}

/// A line of text in place of a response, or an empty body for a sub-resource.
#[must_use]
pub fn line(audience: Audience, status: u16, line: &str) -> Response<Body> {
    if audience.is_part() { audience.empty_response(status) } else { plain(status, line) }
}

/// A response with one line of text, or with an empty body if `line` is empty.
#[must_use]
pub fn plain(status: u16, line: &str) -> Response<Body> {
    let text = if line.is_empty() { body::empty() } else { body::from_bytes(format!("{line}\n")) };
    let mut response = Response::new(text);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let fields = response.headers_mut();
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !line.is_empty() {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    response
}

/// Sets `Cache-Status`.
#[must_use]
pub fn with_status(mut response: Response<Body>, status: CacheStatus) -> Response<Body> {
    status.mark(&mut response);
    response
}

/// The response to a request that got no usable response of its origin. `copy` is a stored copy
/// that the message mentions, because the copy must not be served.
#[must_use]
pub fn failed(
    context: &ProxyContext,
    ask: &ProxyRequest,
    failure: &Failure,
    copy: Option<&StoredCopy>,
) -> Response<Body> {
    let chain = failure.chain();
    let url = ask.resource.url.as_str();
    let copy = copy.map(|copy| copy_info(url, copy));
    let notice = match origin_failure(failure, &chain) {
        Some(failure) => Message::OriginFailed { url, failure, copy },
        None if matches!(failure, Failure::Offline) => {
            Message::OfflineRefused { method: ask.head.method.as_str(), url }
        }
        None if matches!(failure, Failure::Ours) => Message::Internal,
        None => Message::BadRequest { detail: &chain },
    };
    let status = failure.own_fault().map_or(CacheStatus::Failed, CacheStatus::OwnFault);
    let mut response = message_with_offers(context, ask, status, &notice);
    *response.status_mut() = failure.status();
    if matches!(failure, Failure::Offline) {
        response.extensions_mut().insert(OfflineSwitchMark);
    }
    response
}

/// Like [`respond`], but the message to a person offers to fetch the page later, if that may help.
fn message_with_offers(
    context: &ProxyContext,
    ask: &ProxyRequest,
    status: CacheStatus,
    notice: &Message<'_>,
) -> Response<Body> {
    if !ask.is_for_a_person() {
        return respond(context, ask, status, notice);
    }
    let can_be_had_later = match notice {
        // In two cases fetching later does not help: a forbidden network stays forbidden, and a
        // response that is too large stays too large.
        Message::OriginFailed { failure, .. } => {
            !matches!(failure, OriginFailure::Inward | OriginFailure::TooLarge(_))
        }
        Message::MustAsk { .. } => true,
        _ => false,
    };
    let is_gone = matches!(
        notice,
        Message::OriginFailed {
            failure: OriginFailure::UnknownHost | OriginFailure::Refused | OriginFailure::Parent(_),
            ..
        }
    );
    let has_captures = is_gone && captures::is_offered(context, &ask.start.config, &ask.bare);
    let (url, token) = offline::offered_fetch(context, ask);
    let token = token.filter(|_| can_be_had_later);
    let fetch = token.as_deref().map(|token| FetchOffer { url: &url, token });
    let shell = context.pages.shell(&ask.reader());
    let page = page_with(&shell, notice, &Aid { fetch, likes: &[], has_captures });
    with_status(render(&shell, page), status)
}

fn copy_info<'a>(url: &'a str, copy: &StoredCopy) -> CopyInfo<'a> {
    CopyInfo { url, stored: copy.entry.stored(), came: copy.entry.received() }
}

/// The mark of a response that only says that the mode changed to offline during the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfflineSwitchMark;

/// The response if the stored copy must be revalidated and the origin did not respond. Its status
/// is that of RFC 9111 §5.2.2.2.
pub(super) fn revalidation_failed(
    context: &ProxyContext,
    ask: &ProxyRequest,
    copy: &StoredCopy,
    failure: &Failure,
) -> Response<Body> {
    let url = ask.resource.url.as_str();
    let notice = Message::MustAsk { url, detail: &failure.chain(), copy: copy_info(url, copy) };
    message_with_offers(context, ask, CacheStatus::MustAsk, &notice)
}

pub(super) fn origin_failure<'a>(
    failure: &'a Failure,
    chain: &'a str,
) -> Option<OriginFailure<'a>> {
    Some(match failure {
        Failure::Offline | Failure::RequestBody(_) | Failure::Unsendable(_) | Failure::Ours => {
            return None;
        }
        Failure::Inward { .. } => OriginFailure::Inward,
        Failure::Parent { .. } => OriginFailure::Parent(chain),
        Failure::UnknownHost { .. } => OriginFailure::UnknownHost,
        Failure::LookupTimeout { .. } => OriginFailure::Timeout(Phase::Resolving),
        Failure::Refused { .. } => OriginFailure::Refused,
        Failure::Unreachable { .. } => OriginFailure::Unreachable,
        Failure::ConnectTimeout { .. } | Failure::Busy { .. } => {
            OriginFailure::Timeout(Phase::Connecting)
        }
        Failure::HandshakeTimeout { .. } => OriginFailure::Timeout(Phase::Securing),
        Failure::Certificate { authority, refused } => OriginFailure::Certificate {
            fault: bad_certificate(&refused.fault),
            detail: chain,
            shown: ShownCertificate {
                site: authority,
                chain: &refused.chain,
                may_be_allowed: refused.sha256.is_some(),
                now: timestamp(clock::now()),
            },
        },
        Failure::Tls { fault: TlsFault::NotTls, .. } => {
            OriginFailure::Tls { fault: NoTls::NotSpoken, detail: chain }
        }
        Failure::Tls { fault: TlsFault::TooLarge, .. } => {
            OriginFailure::Tls { fault: NoTls::TooLarge, detail: chain }
        }
        Failure::HeadTimeout | Failure::Silent => OriginFailure::Timeout(Phase::Head),
        Failure::Stalled => OriginFailure::Timeout(Phase::Body),
        Failure::TooLarge { most } => OriginFailure::TooLarge(*most),
        Failure::Malformed(error) if error.is_parse_too_large() => OriginFailure::HeadTooLarge,
        Failure::Malformed(_)
        | Failure::Wrong(_)
        | Failure::BreaksHttp2(_)
        | Failure::Changed
        | Failure::NotResumed(_) => OriginFailure::BadAnswer(chain),
        Failure::CutShort(_)
        | Failure::GivenUp(_)
        | Failure::Unprocessed
        | Failure::ClosedAtOnce
        | Failure::TooLong(_)
        | Failure::LeftOut(_)
        | Failure::OverBudget
        | Failure::OverQuota
        | Failure::Abandoned
        | Failure::EndedByHand
        | Failure::Stopping
        | Failure::Tls { fault: TlsFault::CutShort(_), .. } => OriginFailure::Closed,
        Failure::Tls { .. } | Failure::Alert(_) => {
            OriginFailure::Tls { fault: NoTls::NoAgreement, detail: chain }
        }
    })
}

fn bad_certificate(fault: &CertificateFault) -> BadCertificate {
    match fault {
        CertificateFault::Expired(_) => BadCertificate::Expired,
        CertificateFault::NotYetValid(_) => BadCertificate::NotYetValid,
        CertificateFault::WrongName { .. } => BadCertificate::WrongName,
        CertificateFault::SelfSigned | CertificateFault::OfAuthority { is_self_signed: true } => {
            BadCertificate::SelfSigned
        }
        CertificateFault::MissingIssuer(_) => BadCertificate::MissingIssuer,
        CertificateFault::UnknownIssuer
        | CertificateFault::UntrustedAuthority(_)
        | CertificateFault::OfAuthority { .. } => BadCertificate::UnknownIssuer,
        CertificateFault::Revoked => BadCertificate::Revoked,
        CertificateFault::Other(_) => BadCertificate::Unusable,
    }
}

/// The response to a request for which no stored copy can be chosen.
pub(super) fn not_chosen(
    context: &ProxyContext,
    ask: &ProxyRequest,
    error: &NotChosen,
) -> Response<Body> {
    match error {
        NotChosen::Spool(error) => spool_failed(context, ask, error),
        NotChosen::Malformed => line(ask.head.audience, 400, &error.to_string()),
    }
}

/// Logs why the spool refused or failed. Refusals of the queue, for example because it is full, are
/// not logged as errors: any client can cause them as often as it likes.
pub fn log_spool_failure(error: &SpoolError, detail: &str) {
    if error.is_queue_full()
        || error.is_share_used_up()
        || error.is_quota_reached()
        || error.is_spelling_refused()
    {
        tracing::debug!(error = detail, "a request was refused");
    } else {
        tracing::error!(error = detail, "the spool failed");
    }
}

/// The word in `Cache-Status` and the message page for a spool that refuses or fails.
#[must_use]
pub fn spool_message<'a>(error: &SpoolError, detail: &'a str) -> (&'static str, Message<'a>) {
    if error.is_full() {
        ("disk-full", Message::SpoolFull)
    } else if error.is_queue_full() {
        ("queue-full", Message::QueueFull)
    } else if error.is_share_used_up() {
        ("queue-share", Message::ShareUsedUp)
    } else if error.is_quota_reached() {
        ("quotas", Message::QuotaReached)
    } else if error.is_spelling_refused() {
        ("queue-spelling", Message::SpellingRefused)
    } else {
        ("spool-failed", Message::SpoolFailed { detail })
    }
}

/// The response if the spool refuses or fails.
#[must_use]
pub fn spool_failed(
    context: &ProxyContext,
    ask: &ProxyRequest,
    error: &SpoolError,
) -> Response<Body> {
    let detail = error_chain(error);
    log_spool_failure(error, &detail);
    let (fault, notice) = spool_message(error, &detail);
    respond(context, ask, CacheStatus::OwnFault(fault), &notice)
}

//! Renders a message as a page.

use crate::page::links;

use super::texts::MessageText;
use super::{Message, OriginFailure};
use crate::base::shown::{ShownTime, ShownUrl};
use crate::page::ways::{FetchOffer, PageLink, SimilarPage, copy_of, fetch_form, similar_pages};
use crate::page::{RenderedPage, Shell, view};

/// The offers that depend on the request, in addition to the offers of the message itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aid<'a> {
    /// The offer to fetch the requested page.
    pub fetch: Option<FetchOffer<'a>>,
    /// Stored URLs of the same host that resemble the requested one.
    pub likes: &'a [SimilarPage],
    /// Whether captures in web archives are offered.
    pub has_captures: bool,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, message: &Message<'_>) -> RenderedPage {
    page_with(shell, message, &Aid::default())
}

/// Renders the page with additional offers.
#[must_use]
pub fn page_with(shell: &Shell, message: &Message<'_>, aid: &Aid<'_>) -> RenderedPage {
    let status = message.status();
    let MessageText { title, happened, advice } = MessageText::new(message);
    let certificate = match message {
        Message::OriginFailed {
            url,
            failure: OriginFailure::Certificate { fault, shown, .. },
            ..
        } => Some(view! {
            // The clock of this machine, if it may be wrong.
            clock: fault.is_about_time().then(|| ShownTime::new(shown.now, &shell.zone)),
            chain: shown.chain,
            // Address, without scheme and host, of the page on which a person can allow the
            // certificate.
            allow: shown.may_be_allowed.then(|| links::certificate(shown.site, url)),
        }),
        _ => None,
    };
    let mut ways = message.ways(shell.mode);
    if aid.has_captures
        && let Some(captures) = message.requested_url().and_then(PageLink::captures)
    {
        ways.insert(0, captures);
    }
    let view = view! {
        certificate,
        status,
        title,
        happened,
        detail: message.detail(),
        rule: message.rule(),
        advice,
        ways,
        url: message.requested_url().map(ShownUrl::new),
        kept: message.stored_copy().map(|copy| view! {
            url: ShownUrl::new(copy.url),
            // Address, without scheme and host, of the page about the copy.
            about: links::info(copy.url),
            // Address, without scheme and host, of the page that displays the copy. `None` if the
            // URL must not be a link.
            copy: copy_of(copy.url, (copy.stored, copy.came)),
            stored: ShownTime::new(copy.stored, &shell.zone),
        }),
        fetch: aid.fetch.and_then(|fetch| fetch_form(&fetch, shell)),
        likes: similar_pages(aid.likes, shell),
    };
    shell.page("message.html", status, &view)
}

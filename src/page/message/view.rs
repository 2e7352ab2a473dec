//! Renders a message as a page.

use crate::page::links;
use serde::Serialize;

use super::{Message, MessageText, OriginFailure};
use crate::base::shown::{ShownTime, ShownUrl};
use crate::base::text::Text;
use crate::page::certificates::ChainView;
use crate::page::ways::{
    FetchOffer, FetchOfferView, PageLink, SimilarPage, SimilarPageView, copy_of,
};
use crate::page::{Page, Shell};

/// Additional offers of a page, which depend on the request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aid<'a> {
    /// The request can be fetched later.
    pub fetch: Option<FetchOffer<'a>>,
    /// Stored URLs of the same host that resemble the requested one.
    pub likes: &'a [SimilarPage],
}

#[derive(Serialize)]
struct MessageView {
    status: u16,
    title: Text,
    happened: Text,
    detail: Option<String>,
    rule: Option<String>,
    advice: Vec<Text>,
    ways: Vec<PageLink>,
    url: Option<ShownUrl>,
    kept: Option<StoredCopyView>,
    fetch: Option<FetchOfferView>,
    likes: Vec<SimilarPageView>,
    certificate: Option<RefusedCertificateView>,
}

/// The refused certificate of an origin.
#[derive(Serialize)]
struct RefusedCertificateView {
    /// The clock of this machine, if it may be wrong.
    clock: Option<ShownTime>,
    chain: ChainView,
    /// The page of ours that can allow the certificate, without our origin.
    allow: Option<String>,
}

#[derive(Serialize)]
struct StoredCopyView {
    url: ShownUrl,
    /// Our page about the copy, and the page that shows the version itself, without our origin.
    about: String,
    copy: Option<String>,
    stored: ShownTime,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, message: &Message<'_>) -> Page {
    page_with(shell, message, &Aid::default())
}

/// Renders the page with additional offers.
#[must_use]
pub fn page_with(shell: &Shell, message: &Message<'_>, aid: &Aid<'_>) -> Page {
    let MessageText { status, title, happened, advice } = message.words();
    let certificate = match message {
        Message::OriginFailed {
            url,
            failure: OriginFailure::Certificate { fault, shown, .. },
            ..
        } => Some(RefusedCertificateView {
            clock: fault.is_about_time().then(|| ShownTime::new(shown.now, &shell.zone)),
            chain: ChainView::new(shown.chain, &shell.zone),
            allow: shown.may_be_allowed.then(|| links::certificate(shown.site, url)),
        }),
        _ => None,
    };
    let view = MessageView {
        certificate,
        status,
        title,
        happened,
        detail: message.detail(),
        rule: message.rule(),
        advice,
        ways: message.ways(shell.mode),
        url: message.url(),
        kept: message.kept().map(|kept| StoredCopyView {
            url: ShownUrl::new(kept.url),
            about: links::info(kept.url),
            copy: copy_of(kept.url, (kept.stored, kept.came)),
            stored: ShownTime::new(kept.stored, &shell.zone),
        }),
        fetch: aid.fetch.and_then(|fetch| FetchOfferView::new(&fetch, shell)),
        likes: aid.likes.iter().map(|like| SimilarPageView::new(like, shell)).collect(),
    };
    shell.page("message.html", status, &view)
}

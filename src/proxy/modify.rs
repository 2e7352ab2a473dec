//! Modifies pages on their way to the browser, as configured for their URLs
//! ([`wwwoffle_html::rewrite`]).
//!
//! Only content that a person sees is modified: pages in a window or in a frame, and animated
//! images. A page in a frame gets no bar and no marks. Responses for programs and scripts stay
//! unchanged. The request decides before any lookup whether the response may be modified, because a
//! response that is modified must be whole and without a coding. The status, the type and
//! `no-transform` (RFC 9110 §7.7) of the response decide the rest.

mod body;
mod inside;
mod known;

use std::sync::Arc;

use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_SECURITY_POLICY,
    CONTENT_SECURITY_POLICY_REPORT_ONLY, CONTENT_TYPE, ETAG, EXPIRES, HeaderName, HeaderValue,
    LAST_MODIFIED, RANGE, TRAILER,
};
use hyper::{HeaderMap, Method, Response, StatusCode};
use jiff::Timestamp;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_url::{BrowserUrl, CanonicalUrl};

use self::known::SpoolKnown;
use super::amend::OriginResponseMark;
use super::ask::ClientHead;
use super::body::{Body, WholeBody};
use super::gateway::GatewayMark;
use super::intent::{Intent, SEC_FETCH_DEST};
use super::quota;
use super::saver::{self, Recompression};
use crate::base::clock;
use crate::base::mode::Mode;
use crate::base::owner::Owner;
use crate::page::Shell;
use crate::page::bar::{bar, missing_banner};
use crate::page::context::PageReader;
use crate::proxy::context::ProxyContext;
use crate::storage::store::timestamp;
use wwwoffle_html::rewrite::csp::{NO_SCRIPTS, allow_style};
use wwwoffle_html::rewrite::{Bar, Changes, FirstFrame, Mark, Marks, Removal, Repair, Rewriter};
use wwwoffle_http::caching::control::{RequestControl, ResponseControl};
use wwwoffle_http::fields::{CACHE_STATUS, has_member};
use wwwoffle_http::media_type::content_essence;

/// Destinations that are a document (Fetch §2.2.5), other than the window itself.
const FRAMES: [&str; 4] = ["iframe", "frame", "object", "embed"];

/// Digests and other fields of the original body, which are invalid for a modified one.
pub(super) const OF_THE_BODY: [HeaderName; 9] = [
    CONTENT_LENGTH,
    ETAG,
    LAST_MODIFIED,
    ACCEPT_RANGES,
    TRAILER,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
];

/// The type of pages in XML. They have no bar: only a parser of HTML makes its shadow root.
const XHTML: &str = "application/xhtml+xml";

/// The modifications for one request that can be decided from the request alone.
#[derive(Clone, Debug)]
pub(super) struct Modification {
    /// For a document: the changes configured for its URL.
    changes: Option<Changes>,
    /// Whether the page may have a bar.
    has_bar: bool,
    /// Whether a page that is missing at its origin gets a banner that leads to web archives.
    has_captures: bool,
    /// For an image: whether to stop the animation.
    is_still: bool,
    /// For a picture of a page: its recompression.
    recompression: Option<Recompression>,
    url: CanonicalUrl,
    owner: Owner,
    config: Arc<Config>,
    reader: PageReader,
    /// The gateway request, if the response is for the gateway.
    gateway_mark: Option<Arc<GatewayMark>>,
}

/// The browser's use of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BrowserUse {
    Window,
    Frame,
    Image,
}

impl Modification {
    /// The configured modifications for a request, and those for the gateway, which modifies every
    /// response; `None` if there are no changes. `offers_captures` says whether captures of the page
    /// are offered if it is missing.
    pub(super) fn of(
        config: &Arc<Config>,
        mode: Mode,
        url: &CanonicalUrl,
        owner: &Owner,
        head: &mut ClientHead,
        gateway_mark: Option<&Arc<GatewayMark>>,
        offers_captures: bool,
    ) -> Option<Self> {
        let (options, parts) = (&config.modify_html, UrlParts::of(url));
        let is_plain = head.method == Method::GET
            && !head.fields.contains_key(RANGE)
            && !RequestControl::of(&head.fields).no_transform;
        let has_captures = is_plain && head.audience.intent == Intent::Person && offers_captures;
        let may_be_modified = is_plain && *options.enable_modify_html.of(&parts);
        let used = if may_be_modified { used_as(&head.fields, head.audience.intent) } else { None };
        let changes = match used {
            Some(BrowserUse::Window) => Some(changes(config, &parts, true)),
            Some(BrowserUse::Frame) => Some(changes(config, &parts, false)),
            Some(BrowserUse::Image) | None => None,
        };
        let has_bar = used == Some(BrowserUse::Window) && *options.add_cache_info.of(&parts);
        let changes = changes.filter(|changes| has_bar || !changes.is_empty());
        let is_still = used.is_some() && *options.disable_animated_gif.of(&parts);
        let recompression = Recompression::of(config, url, head);
        let is_any = changes.is_some()
            || has_captures
            || is_still
            || recompression.is_some()
            || gateway_mark.is_some();
        is_any.then(|| Self {
            changes,
            has_bar,
            has_captures,
            is_still,
            recompression,
            url: url.clone(),
            owner: owner.clone(),
            config: Arc::clone(config),
            reader: PageReader::of(mode, &head.fields),
            gateway_mark: gateway_mark.cloned(),
        })
    }

    /// The gateway request, if the response is for the gateway.
    pub(super) fn gateway_mark(&self) -> Option<&GatewayMark> {
        self.gateway_mark.as_deref()
    }

    /// The recompression of the picture in the response, which comes before [`Self::apply`].
    pub(super) fn take_recompression(&mut self) -> Option<Recompression> {
        self.recompression.take()
    }

    /// Whether the response is sent without a coding if it is modified. A picture that is
    /// recompressed has none.
    pub(super) fn undoes_codings(&self) -> bool {
        self.changes.is_some() || self.has_captures || self.is_still || self.gateway_mark.is_some()
    }

    /// Whether the response must be decoded, whatever its type.
    pub(super) fn reads_all(&self) -> bool {
        self.gateway_mark.is_some()
    }

    /// Whether the response is modified as a document. The modified document depends on more than
    /// its URL.
    pub(super) fn is_of_page(&self) -> bool {
        self.changes.is_some()
    }

    /// Modifies a response. `checked` is the time when the stored copy was last confirmed, or
    /// `None` without a stored copy.
    pub(super) fn apply(
        &self,
        context: &ProxyContext,
        checked: Option<Timestamp>,
        mut answer: Response<Body>,
    ) -> Response<Body> {
        if let Some(gateway_mark) = &self.gateway_mark {
            return self.inside(context, gateway_mark, checked, answer);
        }
        if self.removes_scripts() && answer.extensions().get::<OriginResponseMark>().is_some() {
            // Set for every type, rewritten or not, because an error or an image may also contain
            // scripts.
            let none = HeaderValue::from_static(NO_SCRIPTS);
            answer.headers_mut().append(CONTENT_SECURITY_POLICY, none);
        }
        let content_type = answer.headers().get(CONTENT_TYPE).cloned();
        let content_type = content_type.as_ref().and_then(|value| value.to_str().ok());
        if self.has_captures && is_missing(answer.status()) {
            return self.offer_captures(context, content_type, answer);
        }
        match (content_essence(answer.headers()).as_str(), &self.changes) {
            (kind @ ("text/html" | XHTML), Some(changes)) if may_change(&answer) => {
                let mut changes = changes.clone();
                let mut shell = context.pages.shell(&self.reader);
                shell.notice = quota::notice(context, &self.owner);
                if kind == XHTML {
                    changes.marks = changes.marks.for_xml();
                } else {
                    changes.bar = self.bar(&shell, checked, &answer);
                }
                own_images(&mut changes, &shell);
                let Ok(url) = BrowserUrl::parse(self.url.as_str(), None) else { return answer };
                amend(answer.headers_mut(), &changes);
                let known = SpoolKnown::new(context, &self.config, &self.owner);
                let page = Rewriter::new(changes.into(), Arc::new(known), url, content_type);
                changed(answer, |body| body::page(context.storage.store.clone(), body, page))
            }
            ("image/gif", _) if self.is_still && may_change(&answer) => {
                amend(answer.headers_mut(), &Changes::default());
                changed(answer, |body| body::image(body, FirstFrame::default()))
            }
            _ => answer,
        }
    }
}

impl Modification {
    /// Adds a banner to the page with which an origin says that a page is missing.
    fn offer_captures(
        &self,
        context: &ProxyContext,
        content_type: Option<&str>,
        mut answer: Response<Body>,
    ) -> Response<Body> {
        let is_page = content_essence(answer.headers()) == "text/html" && is_unchanged(&answer);
        let url = BrowserUrl::parse(self.url.as_str(), None).ok().filter(|_| is_page);
        let Some(url) = url else { return answer };
        let shell = context.pages.shell(&self.reader);
        let bar = Some(missing_banner(&shell, self.url.as_str()));
        let changes = Changes { bar, ..Changes::default() };
        amend(answer.headers_mut(), &changes);
        let known = SpoolKnown::new(context, &self.config, &self.owner);
        let page = Rewriter::new(changes.into(), Arc::new(known), url, content_type);
        changed(answer, |body| body::page(context.storage.store.clone(), body, page))
    }

    fn removes_scripts(&self) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.cuts.contains(&Removal::Scripts))
    }

    /// The bar of the page, if it may have one.
    fn bar(
        &self,
        shell: &Shell,
        checked: Option<Timestamp>,
        answer: &Response<Body>,
    ) -> Option<Bar> {
        let checked = checked.filter(|_| is_from_spool(answer.headers()));
        let (now, url) = (timestamp(clock::now()), self.url.as_str());
        self.has_bar.then(|| bar(shell, url, checked, now, saver::is_on(&self.config)))
    }
}

/// Makes the path of an image of ours a complete URL, for a page of an origin.
fn own_images(changes: &mut Changes, shell: &Shell) {
    let images = [&mut changes.blocked_images, &mut changes.pixels];
    for image in images.into_iter().flatten().filter(|image| image.starts_with('/')) {
        image.insert_str(0, shell.origin.as_str());
    }
}

/// Whether a response is a stored copy that its origin has not confirmed just now (RFC 9211).
fn is_from_spool(fields: &HeaderMap) -> bool {
    const OF_THE_SPOOL: [&str; 3] = ["; hit", "detail=origin-unreachable", "detail=stale-if-error"];
    let cache_status =
        fields.get(CACHE_STATUS).and_then(|value| value.to_str().ok()).unwrap_or_default();
    OF_THE_SPOOL.iter().any(|part| cache_status.contains(part))
}

/// The browser's use of a response, from the fields and the intent of its request. `None` if a
/// response with this use is never modified.
fn used_as(fields: &HeaderMap, intent: Intent) -> Option<BrowserUse> {
    let dest = fields.get(SEC_FETCH_DEST).map(|value| value.to_str().unwrap_or_default());
    match (dest, intent) {
        (_, Intent::Person) => Some(BrowserUse::Window),
        (Some(dest), _) if FRAMES.contains(&dest) => Some(BrowserUse::Frame),
        // Old browsers do not send the destination.
        (Some("image") | None, Intent::Part) => Some(BrowserUse::Image),
        _ => None,
    }
}

/// The changes to pages of a URL, without the bar; marks are only for pages in a window.
fn changes(config: &Config, url: &UrlParts<'_>, is_window: bool) -> Changes {
    let options = &config.modify_html;
    let cuts = [
        (&options.disable_script, Removal::Scripts),
        (&options.disable_applet, Removal::Applets),
        (&options.disable_style, Removal::Styles),
        (&options.disable_blink, Removal::Blink),
        (&options.disable_marquee, Removal::Marquee),
        (&options.disable_flash, Removal::Flash),
        (&options.disable_iframe, Removal::Frames),
        (&options.disable_dontget_iframes, Removal::BlockedFrames),
        (&options.disable_dontget_links, Removal::BlockedLinks),
        (&options.disable_meta_refresh, Removal::Refresh),
        (&options.disable_meta_refresh_self, Removal::OwnRefresh),
        (&options.disable_meta_set_cookie, Removal::SetCookie),
    ];
    let mends = [
        (&options.demoronise_ms_chars, Repair::MsChars),
        (&options.fix_mixed_cyrillic, Repair::Cyrillic),
    ];
    let instead = |is_on: bool, image: &wwwoffle_config::Replacement| {
        is_on.then(|| image.url().unwrap_or_default().to_owned())
    };
    let mark = |begin: &wwwoffle_config::Markup, end: &wwwoffle_config::Markup| Mark {
        begin: begin.as_str().to_owned(),
        end: end.as_str().to_owned(),
    };
    let marks = Marks {
        kept: mark(options.anchor_cached_begin.of(url), options.anchor_cached_end.of(url)),
        queued: mark(options.anchor_requested_begin.of(url), options.anchor_requested_end.of(url)),
        absent: mark(
            options.anchor_not_cached_begin.of(url),
            options.anchor_not_cached_end.of(url),
        ),
    };
    Changes {
        cuts: cuts.into_iter().filter(|(is_on, _)| *is_on.of(url)).map(|(_, cut)| cut).collect(),
        blocked_images: instead(
            *options.replace_dontget_images.of(url),
            options.replacement_dontget_image.of(url),
        ),
        pixels: instead(
            *options.replace_webbug_images.of(url),
            options.replacement_webbug_image.of(url),
        ),
        marks: if is_window { marks } else { Marks::default() },
        bar: None,
        mends: mends
            .into_iter()
            .filter(|(is_on, _)| *is_on.of(url))
            .map(|(_, mend)| mend)
            .collect(),
        readdress: None,
    }
}

/// Whether a response may be modified, and has a whole body without a coding.
fn may_change(answer: &Response<Body>) -> bool {
    answer.status() == StatusCode::OK && is_unchanged(answer)
}

/// Whether a status says that the page does not exist, or no longer.
fn is_missing(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE)
}

/// Whether a response is that of an origin, with a body without a coding that may be transformed.
fn is_unchanged(answer: &Response<Body>) -> bool {
    answer.extensions().get::<OriginResponseMark>().is_some()
        && !answer.headers().contains_key(CONTENT_ENCODING)
        && !ResponseControl::of(answer.headers()).no_transform
}

/// Adapts the fields of a response to its modified body. The fields must not describe the original
/// body. They must make browsers revalidate the page, because the modified body depends on more
/// than the URL.
fn amend(fields: &mut HeaderMap, changes: &Changes) {
    for name in OF_THE_BODY {
        fields.remove(name);
    }
    if !has_member(fields, &CACHE_CONTROL, "no-store") {
        fields.remove(EXPIRES);
        // The response may be modified for one person, so no other proxy may share it.
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    if let Some(bar) = &changes.bar {
        for name in [CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY_REPORT_ONLY] {
            allow(fields, &name, &bar.style);
        }
    }
}

/// Allows the style sheet of our bar in each security policy of the page.
fn allow(fields: &mut HeaderMap, name: &HeaderName, style: &str) {
    let amended = |value: &HeaderValue| {
        let policy = value.to_str().ok()?;
        HeaderValue::from_str(&allow_style(policy, style)?).ok()
    };
    let values = fields.get_all(name).iter();
    let values: Vec<_> = values.map(|value| amended(value).unwrap_or(value.clone())).collect();
    fields.remove(name);
    for value in values {
        fields.append(name, value);
    }
}

fn changed(answer: Response<Body>, change: impl FnOnce(Body) -> Body) -> Response<Body> {
    let mut answer = answer.map(change);
    answer.extensions_mut().remove::<WholeBody>();
    answer
}

#[cfg(test)]
mod tests;

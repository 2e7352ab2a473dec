//! The data saver (`[data-saver]`): sub-resources that are not fetched, because the connection is
//! slow or its volume is limited.
//!
//! A kind that is left out entirely is not requested. The length of a picture is known from the
//! head of its response; the download then ends before the body. Nothing is stored in both cases,
//! and a stored copy is always served. A person who opens the file itself gets it.

mod picture;
mod recompress;
mod savings;

use std::sync::LazyLock;

use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderValue, REFERER,
};
use hyper::{HeaderMap, Response, StatusCode};
use tracing::debug;
use wwwoffle_api::fetch_spec::PartClass;
use wwwoffle_config::{Config, DataSaver, SizeLimit, UrlParts};
use wwwoffle_url::CanonicalUrl;

pub(super) use self::recompress::Recompression;
pub(crate) use self::recompress::RecompressionRoom;
pub(super) use self::savings::take_arrived;
pub(crate) use self::savings::{CountedFiles, count};
use super::ask::ProxyRequest;
use super::body::{self, Body};
use super::decide::{Decision, MethodKind};
use super::intent::Intent;
use super::last::LastKey;
use super::plan::{RequestPlan, reads};
use super::reply;
use super::rules::StoragePolicy;
use super::status::CacheStatus;
use crate::net::upstream::LeftOutFile;
use crate::page::left_out;
use crate::proxy::context::ProxyContext;
use wwwoffle_http::media_type::essence;

/// The word in `Cache-Status` for what the data saver has decided.
pub(super) const BY: &str = "data-saver";

/// The kinds of files that the data saver can leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SaverKind {
    /// A picture.
    Picture,
    /// Audio or video.
    Media,
    /// A font.
    Font,
}

impl SaverKind {
    /// The kind of a media type. `None` if files of this type are never left out.
    pub(super) fn of_type(content_type: &str) -> Option<Self> {
        match essence(content_type).split_once('/')? {
            ("image", _) => Some(Self::Picture),
            ("audio" | "video", _) => Some(Self::Media),
            ("font", _) => Some(Self::Font),
            ("application", name) if name.contains("font-") => Some(Self::Font),
            _ => None,
        }
    }

    /// The kind of a class of sub-resources.
    fn of_class(class: PartClass) -> Option<Self> {
        match class {
            PartClass::Images | PartClass::Icons => Some(Self::Picture),
            PartClass::Media => Some(Self::Media),
            PartClass::Fonts => Some(Self::Font),
            _ => None,
        }
    }
}

/// The rules of the data saver for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaverRules {
    /// The length above which a picture is left out.
    pictures_above: Option<u64>,
    no_media: bool,
    text_only: bool,
}

impl SaverRules {
    /// The rules for the file at `url`, which `page` shows. A rule for the URL of the file takes
    /// precedence over one for the page. `None` if nothing is left out.
    #[must_use]
    pub(crate) fn of(
        config: &Config,
        url: &CanonicalUrl,
        page: Option<&CanonicalUrl>,
    ) -> Option<Self> {
        let options = &config.data_saver;
        let (url, page) = (UrlParts::of(url), page.map(UrlParts::of));
        let (url, page) = (&url, page.as_ref());
        let pictures_above = match *options.pictures_above.of_either(url, page) {
            SizeLimit::At(size) => Some(size.bytes()),
            SizeLimit::None => None,
        };
        let no_media = *options.no_media.of_either(url, page);
        let text_only = *options.text_only.of_either(url, page);
        let is_on = pictures_above.is_some() || no_media || text_only;
        is_on.then_some(Self { pictures_above, no_media, text_only })
    }

    /// Whether all files of this kind are left out.
    fn leaves_out(self, kind: SaverKind) -> bool {
        match kind {
            SaverKind::Picture => self.text_only || self.pictures_above == Some(0),
            SaverKind::Media => self.text_only || self.no_media,
            SaverKind::Font => self.text_only,
        }
    }

    /// Checks the head of a response. A picture without a declared length is accepted.
    ///
    /// # Errors
    ///
    /// The file, if its body must not be fetched.
    pub(super) fn check_head(
        self,
        status: StatusCode,
        fields: &HeaderMap,
    ) -> Result<(), Box<LeftOutFile>> {
        let content_type = fields.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = content_type.and_then(SaverKind::of_type);
        let Some(kind) = kind.filter(|_| status.is_success()) else { return Ok(()) };
        let length = whole_length(fields);
        let is_large = kind == SaverKind::Picture
            && length.zip(self.pictures_above).is_some_and(|(length, above)| length > above);
        if is_large || self.leaves_out(kind) {
            let fields = fields.clone();
            Err(Box::new(LeftOutFile { length, arrived: 0, status, fields }))
        } else {
            Ok(())
        }
    }
}

/// Whether an option of the data saver is set.
#[must_use]
pub(crate) fn is_on(config: &Config) -> bool {
    static OFF: LazyLock<DataSaver> = LazyLock::new(|| Config::default().data_saver);
    config.data_saver != *OFF
}

/// Whether the sub-resource of this class at `url` of `page` is left out, whatever its length.
#[must_use]
pub(crate) fn leaves_out(
    config: &Config,
    class: Option<PartClass>,
    url: &CanonicalUrl,
    page: &CanonicalUrl,
) -> bool {
    let Some(kind) = class.and_then(SaverKind::of_class) else { return false };
    SaverRules::of(config, url, Some(page)).is_some_and(|rules| rules.leaves_out(kind))
}

/// The declared length of the whole body, also if the response has only a range of it.
fn whole_length(fields: &HeaderMap) -> Option<u64> {
    let text = |name| fields.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let range = text(CONTENT_RANGE).and_then(|range| range.rsplit('/').next());
    range.or_else(|| text(CONTENT_LENGTH))?.trim().parse().ok()
}

/// The rules for a request. `None` if the data saver does not apply to it.
pub(super) fn rules(context: &ProxyContext, ask: &ProxyRequest) -> Option<SaverRules> {
    let asked = &ask.asked;
    let applies = asked.intent == Intent::Part
        && asked.method == MethodKind::Get
        && asked.standing != StoragePolicy::Nearby
        && !asked.upgrade;
    if !applies || !is_on(&ask.start.config) || opens_itself(ask) {
        return None;
    }
    SaverRules::of(&ask.start.config, &ask.bare, ask.page(context).as_ref())
}

/// Whether the browser shows the file itself: its player then requests the file again, in the name
/// of the file.
fn opens_itself(ask: &ProxyRequest) -> bool {
    let referrer = ask.head.fields.get(REFERER).and_then(|value| value.to_str().ok());
    referrer.is_some_and(|referrer| referrer == ask.bare.as_str())
}

/// Applies the rules before the origin is asked, or the request is queued. If the file is left out,
/// the plan becomes to serve the stored copy. Without a copy, returns the replacement.
pub(super) fn apply(
    context: &ProxyContext,
    ask: &mut ProxyRequest,
    plan: &mut RequestPlan,
) -> Option<Response<Body>> {
    use Decision::{
        Fetch, Pass, QueuePart, Revalidate, Serve, ServeAndRefresh, ServeAndRevalidate,
    };
    let is_outward = matches!(
        plan.decision,
        Fetch | Pass | QueuePart | Revalidate | ServeAndRefresh | ServeAndRevalidate
    );
    let kind = ask.head.audience.saver_kind().filter(|_| is_outward)?;
    if !rules(context, ask)?.leaves_out(kind) {
        return None;
    }
    if plan.copy.as_ref().is_some_and(|copy| reads(ask, copy)) {
        (plan.decision, ask.copy.overruled) = (Serve, Some(BY));
        return None;
    }
    Some(replacement(context, ask, None))
}

/// The response in place of a file that is left out: a small picture that says so, or an empty
/// body. `file` is the response of the origin, if it was asked.
pub(super) fn replacement(
    context: &ProxyContext,
    ask: &ProxyRequest,
    file: Option<&LeftOutFile>,
) -> Response<Body> {
    let bytes = file.and_then(|file| file.length);
    debug!(url = ask.resource.url.as_str(), bytes, "the data saver leaves it out");
    if let Some(file) = file {
        count(context, ask.bare.host(), LastKey::of(ask), file);
    }
    let mut response = ask.head.audience.empty_response(403);
    // Without any picture the reader needs the alternative text, and a background stays empty.
    let is_text_only = rules(context, ask).is_some_and(|rules| rules.text_only);
    if ask.head.audience.saver_kind() == Some(SaverKind::Picture) && !is_text_only {
        let shell = context.pages.shell(&ask.reader());
        let picture = left_out::picture(&shell, bytes);
        response = Response::new(body::from_bytes(picture.body));
        let fields = response.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("image/svg+xml"));
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    reply::with_status(response, CacheStatus::LeftOut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    /// Rows: the options, the `Content-Type`, the length, and what happens to the file.
    #[test]
    fn the_head_of_a_response_decides() {
        for (options, content_type, length, want) in [
            ("", "image/png", Some(1 << 40), "fetched"),
            ("pictures-above = \"10 kB\"", "image/png", Some(10_000), "fetched"),
            ("pictures-above = \"10 kB\"", "image/png", Some(10_001), "left out"),
            ("pictures-above = \"10 kB\"", "Image/WebP; q=1", Some(10_001), "left out"),
            ("pictures-above = \"10 kB\"", "image/png", None, "fetched"),
            ("pictures-above = \"10 kB\"", "text/html", Some(1 << 40), "fetched"),
            ("pictures-above = \"10 kB\"", "video/mp4", Some(1 << 40), "fetched"),
            ("no-media = true", "video/mp4", None, "left out"),
            ("no-media = true", "AUDIO/mpeg", Some(1), "left out"),
            ("no-media = true", "image/png", Some(1 << 40), "fetched"),
            ("text-only = true", "image/svg+xml", Some(1), "left out"),
            ("text-only = true", "font/woff2", Some(1), "left out"),
            ("text-only = true", "application/font-woff", None, "left out"),
            ("text-only = true", "video/mp4", None, "left out"),
            ("text-only = true", "text/css", Some(1 << 40), "fetched"),
            ("text-only = true", "application/json", Some(1), "fetched"),
        ] {
            let text = format!("[data-saver]\n{options}\n");
            let config = Config::parse(&text, Path::new("w.conf")).unwrap();
            let url = CanonicalUrl::parse("http://h.example/f", &LocalHost::default()).unwrap();
            let rules = SaverRules::of(&config, &url, None);
            let mut fields = HeaderMap::new();
            fields.insert(CONTENT_TYPE, content_type.parse().unwrap());
            if let Some(length) = length {
                fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
            }
            let checked = |status, fields: &_| rules.map(|rules| rules.check_head(status, fields));
            let fate = |status, fields: &_| match checked(status, fields) {
                Some(Err(file)) if file.length == length => "left out",
                None | Some(Ok(())) => "fetched",
                Some(Err(_)) => "?",
            };
            assert_eq!(fate(StatusCode::OK, &fields), want, "{options} {content_type} {length:?}");
            assert_eq!(fate(StatusCode::NOT_FOUND, &fields), "fetched", "{options} {content_type}");
            // A range of the file has the length of the file in another field.
            fields.insert(CONTENT_LENGTH, HeaderValue::from(1_u64));
            let total = length.map_or_else(|| "*".to_owned(), |length: u64| length.to_string());
            fields.insert(CONTENT_RANGE, format!("bytes 0-0/{total}").parse().unwrap());
            assert_eq!(fate(StatusCode::PARTIAL_CONTENT, &fields), want, "{content_type} {total}");
        }
    }

    #[test]
    fn a_rule_for_the_file_precedes_one_for_its_page() {
        let text = "[[data-saver.for]]\nurl = \"*://page.example/*\"\ntext-only = true\n\
                    [[data-saver.for]]\nurl = \"*://maps.example/*\"\ntext-only = false\n";
        let config = Config::parse(text, Path::new("w.conf")).unwrap();
        let url = |host: &str| {
            CanonicalUrl::parse(&format!("http://{host}/"), &LocalHost::default()).unwrap()
        };
        for (file, page, want) in [
            ("page.example", None, true),
            ("cdn.example", None, false),
            ("cdn.example", Some("page.example"), true),
            ("cdn.example", Some("other.example"), false),
            ("maps.example", Some("page.example"), false),
            ("page.example", Some("other.example"), true),
        ] {
            let page = page.map(url);
            let rules = SaverRules::of(&config, &url(file), page.as_ref());
            assert_eq!(rules.is_some(), want, "{file} {page:?}");
        }
    }
}

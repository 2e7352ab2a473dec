//! Which entries may leave this node, and which may be looked up in the tier.
//!
//! An entry leaves its node only if nothing in it says that it is meant for one person or one
//! network. Each refusal has a reason. What the tier has, all nodes can read.

use hyper::header::HeaderName;
use hyper::{HeaderMap, Method};
use jiff::Timestamp;
use wwwoffle_config::{AgeLimit, Config, SizeLimit, UrlParts};
use wwwoffle_http::caching::control::{DirectiveScope, RequestControl, ResponseControl};
use wwwoffle_http::caching::vary::{Vary, parts_of};
use wwwoffle_http::head;
use wwwoffle_spool::{Entry, Place};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::base::owner::sets_cookie;
use crate::base::redaction::{RedactedText, without_credentials};
use crate::net::connection::{self, StoredSource};
use crate::net::upstream::is_inner_host;

/// The version of these rules. A change makes each node compare its entries with the tier again.
pub(super) const RULES: u32 = 3;

/// The reason why an entry does not leave its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShareRefusal {
    /// It has an owner or a login.
    Owned,
    /// Its URL is not shared by the configuration, or means another page elsewhere.
    Url,
    /// An argument of its URL looks like a credential.
    Token,
    /// It is not known to come from a public address: it came from a private one or through a parent
    /// proxy, was imported or written here, or was stored before this node belonged to a tier.
    Source,
    /// Only this node accepts the certificate of its origin.
    Certificate,
    /// One of its heads is invalid.
    Head,
    /// It is the response to another method than GET.
    Method,
    /// The response is meant for one person.
    Private,
    /// The request or the response asks not to be stored.
    NoStore,
    /// It depends on a request field that may tell about a person.
    Vary,
    /// It is a server error, or an unsafe request may have changed the page.
    Invalid,
    /// It is longer than `max-body`.
    TooLong,
    /// It is older than `expire`.
    Expired,
    /// It was stored in the future.
    Future,
}

/// Whether all nodes mean the same page by this URL, whatever their configuration.
pub(super) fn is_public_url(url: &CanonicalUrl) -> bool {
    matches!(url.protocol(), "http" | "https" | "ftp")
        && url.user().is_none()
        // The response to a form belongs to the person who sent it.
        && url.form_target().is_none()
        && !is_inner_host(url.host())
}

/// Whether entries of this URL belong in the tier: the configuration shares it, and other nodes
/// mean the same page by it.
pub(super) fn is_shared_url(config: &Config, url: &CanonicalUrl) -> bool {
    let parts = UrlParts::of(url);
    let is_behind_login = || {
        url.protocol() == "ftp" && config.ftp_options.auth_username.of(&parts).as_str().is_some()
    };
    is_public_url(url)
        && !is_behind_login()
        && !config.local_net.hosts.contains(url.host())
        && config.dont_cache.urls.matches_parts(&parts).is_none()
        && *config.tier.share.of(&parts)
}

/// The URL of a place that may be shared, whatever its entry: it has no owner and no login, and its
/// key follows from the URL alone. So the key depends on no credential.
pub(super) fn url_of(place: &Place) -> Option<CanonicalUrl> {
    let is_public = place.owner().is_none() && place.login().is_none() && place.follows_from_url();
    let url = is_public.then(|| CanonicalUrl::parse(place.url(), &LocalHost::default()))?.ok()?;
    (url.key() == place.key()).then_some(url)
}

/// Checks whether an entry may leave this node at `now`.
///
/// # Errors
///
/// The reason why it may not.
pub(super) fn check_entry(
    config: &Config,
    entry: &Entry,
    now: Timestamp,
) -> Result<(), ShareRefusal> {
    match entry.connection().and_then(StoredSource::read) {
        Some(StoredSource::PublicAddress) => {}
        Some(StoredSource::ParentProxy) if config.tier.share_proxied => {}
        // The tier has it already.
        Some(StoredSource::ParentProxy | StoredSource::ArchiveTier) | None => {
            return Err(ShareRefusal::Source);
        }
    }
    check_facts(config, entry)?;
    if entry.stored() > now {
        return Err(ShareRefusal::Future);
    }
    match config.tier.expire {
        AgeLimit::At(age)
            if now.duration_since(entry.stored()).unsigned_abs() > age.as_duration() =>
        {
            Err(ShareRefusal::Expired)
        }
        AgeLimit::At(_) | AgeLimit::Never => Ok(()),
    }
}

/// Whether the removal of an entry by a person is reported: the tier may have the entry from this
/// node, or this node has it from the tier.
pub(super) fn is_removal_shared(config: &Config, entry: &Entry) -> bool {
    let source = entry.connection().and_then(StoredSource::read);
    let is_known = match source {
        Some(StoredSource::PublicAddress | StoredSource::ArchiveTier) => true,
        Some(StoredSource::ParentProxy) => config.tier.share_proxied,
        None => false,
    };
    is_known && check_facts(config, entry).is_ok()
}

/// Whether this node has an entry from the tier.
pub(super) fn is_from_tier(entry: &Entry) -> bool {
    entry.connection().and_then(StoredSource::read) == Some(StoredSource::ArchiveTier)
}

/// Checks everything but the source and the time of an entry.
fn check_facts(config: &Config, entry: &Entry) -> Result<(), ShareRefusal> {
    let url = url_of(entry.place()).ok_or(ShareRefusal::Owned)?;
    if !is_shared_url(config, &url) {
        return Err(ShareRefusal::Url);
    }
    if has_token(entry.url()) {
        return Err(ShareRefusal::Token);
    }
    if entry.connection().is_some_and(|account| connection::read(account).by_fingerprint) {
        return Err(ShareRefusal::Certificate);
    }
    check_heads(entry.head(), entry.request(), entry.place().variant_text())?;
    if entry.status() >= 500 || entry.invalid_since().is_some() {
        return Err(ShareRefusal::Invalid);
    }
    if let SizeLimit::At(most) = config.tier.max_body
        && entry.body_len() > most.bytes()
    {
        return Err(ShareRefusal::TooLong);
    }
    Ok(())
}

/// Checks the heads of an exchange: those of an entry that would leave this node, and those of an
/// object that comes from another one.
///
/// # Errors
///
/// The reason why the exchange does not belong in the tier.
pub(super) fn check_heads(
    response: &[u8],
    request: &[u8],
    variant: &str,
) -> Result<(), ShareRefusal> {
    let (_, answer) = head::read_response(response).map_err(|_| ShareRefusal::Head)?;
    let request = head::read_request(request, b"").map_err(|_| ShareRefusal::Head)?;
    if request.method != Method::GET {
        return Err(ShareRefusal::Method);
    }
    let control = ResponseControl::of(&answer);
    if control.private != DirectiveScope::Nothing || sets_cookie(&answer) {
        return Err(ShareRefusal::Private);
    }
    if control.no_store || RequestControl::of(&request.headers).no_store {
        return Err(ShareRefusal::NoStore);
    }
    let Vary::By(names) = Vary::of(&answer) else { return Err(ShareRefusal::Vary) };
    let has_other = |name: &HeaderName| !is_harmless(name) && request.headers.contains_key(name);
    // A secret field is not in the stored request, but its digest is in the variant text.
    let mut parts = parts_of(variant).filter(|(name, _)| !is_harmless(name));
    if variant.chars().any(char::is_control)
        || names.iter().any(has_other)
        || parts.any(|(_, has_value)| has_value)
    {
        return Err(ShareRefusal::Vary);
    }
    Ok(())
}

/// Whether a request field may be published with a response that it selected. It says something
/// about the browser, and nothing about the person or the pages before.
pub(super) fn is_harmless(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("accept")
        || name.starts_with("sec-ch-")
        || name.starts_with("sec-fetch-")
        || matches!(name, "user-agent" | "origin" | "save-data" | "upgrade-insecure-requests")
}

/// The fields of a request that an object may have: the host, and what selected the response.
pub(super) fn published_fields(request: &HeaderMap, answer: &HeaderMap) -> HeaderMap {
    let Vary::By(selecting) = Vary::of(answer) else { return HeaderMap::new() };
    let is_published = |name: &HeaderName| {
        name == hyper::header::HOST || selecting.contains(name) && is_harmless(name)
    };
    let fields = request.iter().filter(|(name, _)| is_published(name));
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether a URL has a credential in an argument, also in a URL that is an argument.
pub(super) fn has_token(url: &str) -> bool {
    without_credentials(url.as_bytes(), RedactedText::Url, false) != url.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use wwwoffle_spool::{NewEntry, Options, Spool};

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text, &LocalHost::default()).unwrap()
    }

    #[test]
    fn only_pages_that_mean_the_same_everywhere_are_shared() {
        let text = "[local-net]\nhosts = [\"near.example\"]\n\
                    [[ftp-options.for]]\nurl = \"ftp://partner.example/*\"\n\
                    auth-username = \"ada\"\nauth-password = \"of the test\"\n\
                    [dont-cache]\nurls = [\"*://never.example/*\"]\n";
        let config = Config::parse(text, Path::new("w.conf")).unwrap();
        let shared = |text: &str| is_shared_url(&config, &url(text));
        for url in ["http://h.example/", "https://h.example:8443/x?y", "ftp://h.example/file"] {
            assert!(shared(url), "{url}");
        }
        for url in [
            "http://localhost/",
            "http://intranet/",
            "http://intranet./",
            "http://printer.local/",
            "http://printer.local./",
            "http://wiki.corp/",
            "http://nas.home/",
            "http://x.intranet/",
            "http://router.home.arpa/",
            "http://10.1.2.3/",
            "http://100.64.1.1/",
            "http://[fd00::1]/",
            "http://[64:ff9b::a00:1]/",
            "http://192.168.1.1/",
            "http://127.0.0.1:8080/",
            "http://u:p@h.example/",
            "http://[::ffff:10.0.0.1]/",
            "finger://h.example/",
            "ftp://partner.example/file",
            "http://near.example/",
            "http://never.example/page",
            "http://h.example/x?!POST:0123456789abcdef0123456789abcdef",
        ] {
            assert!(!shared(url), "{url}");
        }
    }

    #[test]
    fn a_place_of_one_person_has_no_shared_url() {
        let url = url("http://h.example/");
        assert!(url_of(&Place::of(&url)).is_some());
        assert!(url_of(&Place::of(&url).owned_by("local")).is_none());
        assert!(url_of(&Place::variant(&url, "secret")).is_none());
        let login = Place::of(&url).with_variant(&Place::for_login("ada", ""));
        assert!(url_of(&login).is_none());
    }

    /// The result for an entry with these parts.
    fn check(
        target: &str,
        variant: &str,
        answer: &str,
        request: &str,
        connection: Option<&str>,
    ) -> Result<(), ShareRefusal> {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
        let place = Place::of(&url(target)).with_variant(variant);
        let when = "2026-01-01T00:00:00Z".parse().unwrap();
        let new = NewEntry {
            asked: when,
            when,
            head: format!("HTTP/1.1 200 OK\r\n{answer}\r\n").into_bytes(),
            request: format!("{request}\r\n").into_bytes(),
            connection: connection.map(|facts| facts.as_bytes().to_vec()),
        };
        let mut writer = spool.begin(&place, new).unwrap();
        writer.write(b"body").unwrap();
        writer.set_stored("2026-01-01T00:00:02Z".parse().unwrap(), None);
        writer.finish(None).unwrap();
        let entry = spool.entry(&place).unwrap().found().unwrap();
        let early = check_entry(&Config::default(), &entry, when);
        assert!(early.is_err(), "stored in the future");
        check_entry(&Config::default(), &entry, "2026-01-01T00:00:03Z".parse().unwrap())
    }

    const GET: &str = "GET /a HTTP/1.1\r\nHost: h.example\r\n";

    const PUBLIC: Option<&str> = Some("received-from: public-address\r\n");

    #[test]
    fn each_private_entry_has_its_reason() {
        use ShareRefusal as R;
        let plain = "http://h.example/a";
        for (target, variant, answer, request, connection, want) in [
            (plain, "", "", "", PUBLIC, Ok(())),
            (
                plain,
                "",
                "Cache-Control: max-age=60\r\n",
                "",
                Some("received-from: public-address\r\ntls-version: TLSv1.3\r\n"),
                Ok(()),
            ),
            (plain, "", "Cache-Control: private\r\n", "", PUBLIC, Err(R::Private)),
            (plain, "", "Cache-Control: private=\"x\", public\r\n", "", PUBLIC, Err(R::Private)),
            (
                plain,
                "",
                "Set-Cookie: a=b\r\nCache-Control: public\r\n",
                "",
                PUBLIC,
                Err(R::Private),
            ),
            (plain, "", "Cache-Control: no-store\r\n", "", PUBLIC, Err(R::NoStore)),
            (plain, "", "", "Cache-Control: no-store\r\n", PUBLIC, Err(R::NoStore)),
            ("http://h.example/a?access_token=x", "", "", "", PUBLIC, Err(R::Token)),
            ("http://h.example/a?next=%2Fb%3Fpwd%3Dx", "", "", "", PUBLIC, Err(R::Token)),
            (plain, "", "", "", None, Err(R::Source)),
            (plain, "", "", "", Some("received-from: parent-proxy\r\n"), Err(R::Source)),
            (plain, "", "", "", Some("received-from: archive-tier\r\n"), Err(R::Source)),
            (
                plain,
                "",
                "",
                "",
                Some("received-from: public-address\r\nallowed-by-fingerprint: yes\r\n"),
                Err(R::Certificate),
            ),
            (
                plain,
                "accept-language:de",
                "Vary: Accept-Language\r\n",
                "Accept-Language: de\r\n",
                PUBLIC,
                Ok(()),
            ),
            (
                plain,
                "referer::12",
                "Vary: Referer\r\n",
                "Referer: http://p.example/\r\n",
                PUBLIC,
                Err(R::Vary),
            ),
            (plain, "x-school:7b", "Vary: X-School\r\n", "X-School: 7b\r\n", PUBLIC, Err(R::Vary)),
            (
                plain,
                "cookie::9f",
                "Vary: Cookie\r\nCache-Control: public\r\n",
                "",
                PUBLIC,
                Err(R::Vary),
            ),
            (plain, "cookie", "Vary: Cookie\r\n", "", PUBLIC, Ok(())),
            (plain, "*", "Vary: *\r\n", "", PUBLIC, Err(R::Vary)),
            ("http://intranet/a", "", "", "", PUBLIC, Err(R::Url)),
        ] {
            let got = check(target, variant, answer, &format!("{GET}{request}"), connection);
            assert_eq!(got, want, "{target} {answer:?} {request:?} {connection:?}");
        }
        let post = "POST /a HTTP/1.1\r\nHost: h.example\r\n";
        assert_eq!(check(plain, "", "", post, PUBLIC), Err(R::Method));
    }

    #[test]
    fn an_object_with_private_heads_is_refused() {
        let answer = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n").into_bytes();
        let request = format!("{GET}\r\n").into_bytes();
        let open = answer("Cache-Control: max-age=60\r\n");
        assert_eq!(check_heads(&open, &request, ""), Ok(()));
        for fields in
            ["Set-Cookie: a=b\r\n", "Cache-Control: private\r\n", "Cache-Control: no-store\r\n"]
        {
            assert!(check_heads(&answer(fields), &request, "").is_err(), "{fields}");
        }
        assert!(check_heads(&open, b"POST /a HTTP/1.1\r\nHost: h.example\r\n\r\n", "").is_err());
    }

    #[test]
    fn only_harmless_fields_of_a_request_are_published() {
        let map = |rows: &[(&'static str, &str)]| -> HeaderMap {
            let row = |(name, value): &(&'static str, &str)| {
                (HeaderName::from_static(name), value.parse().unwrap())
            };
            rows.iter().map(row).collect()
        };
        let request = map(&[
            ("host", "h.example"),
            ("accept-language", "de"),
            ("user-agent", "mine"),
            ("referer", "http://p.example/"),
        ]);
        let answer = map(&[("vary", "Accept-Language, Referer")]);
        let published = published_fields(&request, &answer);
        assert_eq!(published, map(&[("host", "h.example"), ("accept-language", "de")]));
    }
}

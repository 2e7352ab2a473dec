//! Tests whether the link works: requests the URL of `[link]`, or connects to hosts that clients
//! requested.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hyper::header::{ACCEPT, CACHE_CONTROL, CONNECTION, HOST, HeaderValue};
use hyper::http::request::Builder;
use hyper::{Method, Response};
use tokio::time::timeout;
use tracing::debug;
use wwwoffle_config::{Config, ExpectedStatus, UrlParts};
use wwwoffle_spool::RequestState;
use wwwoffle_url::CanonicalUrl;

use super::protocols::allows_port;
use super::{rules, target};
use crate::base::shown;
use crate::base::text::{Text, count, tr};
use crate::net::link::judge::{Portal, ProbeResult};
use crate::net::upstream::{Failure, Origin, Reach};
use crate::proxy::context::ProxyContext;
use wwwoffle_http::redirect::{location, shown_location};

/// The largest number of simultaneous connections.
const MAX_HOSTS: usize = 4;

/// Probes once. `hosts` are used if there is no URL to request.
pub async fn run(context: Arc<ProxyContext>, hosts: Vec<Origin>) -> ProbeResult {
    let config = context.base.config();
    let patience = config.link.probe_timeout;
    let probing = async {
        match config.link.probe_url.url() {
            Some(url) => probe_url(&context, &config, url).await,
            None => connect(&context, &config, hosts).await,
        }
    };
    let late = || {
        let seconds = patience.as_secs_f32().to_string();
        tr("no answer within {seconds} s").with("seconds", seconds)
    };
    timeout(patience, probing).await.unwrap_or_else(|_| ProbeResult::Failed(late()))
}

async fn probe_url(context: &Arc<ProxyContext>, config: &Config, url: &str) -> ProbeResult {
    let mut resource = match target::of_url(url, &context.base.local) {
        Ok(resource) => resource,
        Err(error) => return ProbeResult::Failed(error_text(&error.to_string())),
    };
    if !allows_port(config, &resource.url, &UrlParts::of(&resource.url)) {
        let url = resource.url.as_str();
        return ProbeResult::Failed(error_text(&format!(
            "the port of {url} belongs to another protocol; [dont-get] allowed-ports can allow it"
        )));
    }
    resource.origin.via = rules::parent(&context.base, config, &resource.url);
    // The URL comes from the configuration, not from a client, so all addresses are allowed.
    resource.origin.reach = Reach::All;
    let head = Builder::new()
        .method(Method::GET)
        .uri(resource.path.as_str())
        .header(HOST, resource.host)
        .header(ACCEPT, HeaderValue::from_static("*/*"))
        .header(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
        .header(CONNECTION, HeaderValue::from_static("close"))
        .body(());
    let head = match head {
        Ok(head) => head,
        Err(error) => return ProbeResult::Failed(error_text(&error.to_string())),
    };
    match context.net.upstream.probe(&resource.origin, head).await {
        Ok(answer) => {
            let expected = ProbeExpectation {
                status: config.link.probe_status,
                phrase: config.link.probe_body.as_str(),
            };
            let location = location(url, answer.status(), answer.headers());
            let login =
                location.and_then(|location| shown_location(&location, &context.base.local));
            compare(&resource.url, &expected, &answer, login)
        }
        Err(failure @ Failure::Certificate { .. }) => ProbeResult::Failed(
            tr("{fault}. This may be the login page of a network. A `probe-url` with http would \
                 detect it.")
            .with("fault", shown::text(&failure.chain())),
        ),
        Err(failure) => ProbeResult::Failed(error_text(&failure.chain())),
    }
}

/// An error as a text, the same in all languages. Its length is limited, because an origin may
/// influence it.
fn error_text(error: &str) -> Text {
    tr("{fact}").with("fact", shown::text(error))
}

/// The expected response to a probe.
struct ProbeExpectation<'a> {
    status: ExpectedStatus,
    phrase: &'a str,
}

/// The meaning of a response for the link. `login` is the target of a redirect.
fn compare(
    url: &CanonicalUrl,
    expected: &ProbeExpectation<'_>,
    answer: &Response<Bytes>,
    login: Option<String>,
) -> ProbeResult {
    let status = answer.status();
    let phrase = expected.phrase.as_bytes();
    let has_phrase =
        phrase.is_empty() || answer.body().windows(phrase.len()).any(|piece| piece == phrase);
    if expected.status.includes(status.as_u16()) && has_phrase {
        return ProbeResult::Good(tr("{url} answers").with("url", shown::text(url.as_str())));
    }
    // RFC 6585 §6 defines a status for portals, but most answer 200 or redirect.
    if !(status.is_success() || status.is_redirection() || status.as_u16() == 511) {
        let why = tr("{url} answers with status {status}").with("url", shown::text(url.as_str()));
        return ProbeResult::Failed(why.with("status", status.to_string()));
    }
    let mut hosts = vec![url.host().to_owned()];
    let at = login
        .as_deref()
        .and_then(|login| CanonicalUrl::parse(login, &wwwoffle_url::LocalHost::default()).ok());
    hosts.extend(at.map(|at| at.host().to_owned()).filter(|host| host != url.host()));
    ProbeResult::Portal(Portal { url: login.unwrap_or_else(|| url.as_str().to_owned()), hosts })
}

/// Connects to hosts without sending anything: an accepted connection proves that the link works.
async fn connect(context: &ProxyContext, config: &Config, mut hosts: Vec<Origin>) -> ProbeResult {
    hosts.truncate(MAX_HOSTS);
    if hosts.len() < MAX_HOSTS {
        add_queued_hosts(context, config, &mut hosts);
    }
    let dialer = context.net.upstream.dialer();
    let mut dials: FuturesUnordered<_> =
        hosts.iter().map(|host| async move { (host, dialer.probe(host).await) }).collect();
    while let Some((host, dialled)) = dials.next().await {
        // All users see the state of the link, so the result does not name the hosts that others
        // requested.
        match dialled {
            Ok(_connection) => {
                debug!(%host, "a probed host accepts connections");
                return ProbeResult::Good(tr("connected: a requested host answers"));
            }
            Err(failure) => {
                debug!(%host, failure = failure.chain(), "a probed host refuses connections");
            }
        }
    }
    ProbeResult::Failed(match hosts.len() {
        0 => tr("no host was requested yet, so there is nothing to test the connection with"),
        many => count(
            u64::try_from(many).unwrap_or(u64::MAX),
            "the only requested host cannot be reached",
            "none of the {n} requested hosts can be reached",
        ),
    })
}

/// Adds hosts of waiting requests in the queue, until there are [`MAX_HOSTS`] hosts.
fn add_queued_hosts(context: &ProxyContext, config: &Config, hosts: &mut Vec<Origin>) {
    context.storage.store.spool().queue().visit(|request| {
        if hosts.len() >= MAX_HOSTS || request.fetching.state != RequestState::Waiting {
            return;
        }
        let Ok(resource) = target::of_url(request.place.url(), &context.base.local) else { return };
        let mut origin = resource.origin;
        origin.via = rules::parent(&context.base, config, &resource.url);
        if !hosts.iter().any(|known| known.host == origin.host) {
            hosts.push(origin);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_url::LocalHost;

    #[test]
    fn reasons_are_bounded() {
        assert!(error_text(&"ü".repeat(1_000)).to_string().len() < 1_000);
        assert_eq!(error_text("a\u{202e}b {n}").to_string(), shown::text("a\u{202e}b {n}"));
    }

    #[test]
    fn a_probe_response_is_good_or_a_portal_or_a_failure() {
        use ExpectedStatus::{Exactly, Success};
        let url = CanonicalUrl::parse("http://h.example/up", &LocalHost::default()).unwrap();
        for (status, phrase, answered, body, login, want) in [
            (Success, "", 200, "x", None, "good"),
            (Success, "", 204, "", None, "good"),
            (Success, "up", 200, "is up now", None, "good"),
            (Success, "up", 200, "log in", None, "portal http://h.example/up [\"h.example\"]"),
            (Exactly(204), "", 204, "", None, "good"),
            (Exactly(204), "", 200, "log in", None, "portal http://h.example/up [\"h.example\"]"),
            (Exactly(404), "", 404, "", None, "good"),
            (
                Success,
                "",
                302,
                "",
                Some("http://p.example/login"),
                "portal http://p.example/login [\"h.example\", \"p.example\"]",
            ),
            (Success, "", 302, "", None, "portal http://h.example/up [\"h.example\"]"),
            (Success, "", 511, "", None, "portal http://h.example/up [\"h.example\"]"),
            (Success, "", 404, "", None, "failed"),
            (Success, "", 503, "", None, "failed"),
        ] {
            let body = Bytes::from_static(body.as_bytes());
            let answer = Response::builder().status(answered).body(body).unwrap();
            let expected = ProbeExpectation { status, phrase };
            let got = match compare(&url, &expected, &answer, login.map(str::to_owned)) {
                ProbeResult::Good(_) => "good".to_owned(),
                ProbeResult::Failed(_) => "failed".to_owned(),
                ProbeResult::Portal(portal) => format!("portal {} {:?}", portal.url, portal.hosts),
            };
            assert_eq!(got, want, "{status:?} {phrase:?} {answered}");
        }
    }
}

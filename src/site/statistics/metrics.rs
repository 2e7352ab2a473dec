//! `/metrics`: metrics of the daemon for Prometheus and compatible programs.
//!
//! No metric is broken down by host or person: metrics are stored for a long time, and must not
//! reveal which pages were read.

use hyper::{Response, StatusCode};

use super::exposition::{CONTENT_TYPE, Exposition, MetricType};
use crate::base::clock;
use crate::base::mode::{Mode, ModeSetting};
use crate::base::statistics::{FETCHED, GIVEN, Outcome, SAVED, UNFETCHED, UNSENT};
use crate::net::link::judge::LinkReason;
use crate::proxy::body::{self, Body};
use crate::proxy::reply;
use crate::site::caller::Caller;
use crate::site::context::SiteContext;
use crate::site::status;
use crate::storage::lists;

/// Responds with the metrics, if the caller owns the machine.
pub(in crate::site) async fn show(caller: &Caller) -> Response<Body> {
    if !caller.owns() {
        return reply::plain(403, "the metrics are only for the administrator of the proxy");
    }
    let mut text = Exposition::default();
    requests(&caller.context, &mut text);
    write_work(&caller.context, &mut text);
    state(caller, &mut text);
    add_stored_size(&caller.context, &mut text).await;
    caller.other(StatusCode::OK, Some(CONTENT_TYPE), body::from_bytes(text.text()))
}

fn requests(context: &SiteContext, text: &mut Exposition) {
    let counts = context.storage.statistics.ledger(clock::now()).since_start().clone();
    let mut family = text.family(
        "wwwoffle_requests_total",
        MetricType::Counter,
        "Requests for resources of origins, by outcome.",
    );
    for outcome in Outcome::ALL {
        family.with("outcome", outcome.as_str(), counts.of(outcome.as_str()));
    }
    for (name, help, count) in [
        ("wwwoffle_given_bytes_total", "Bytes of bodies sent to clients.", GIVEN),
        ("wwwoffle_fetched_bytes_total", "Bytes of bodies received from origins.", FETCHED),
        (
            "wwwoffle_saved_bytes_total",
            "Bytes of bodies served from the spool instead of from origins.",
            SAVED,
        ),
        (
            "wwwoffle_unfetched_bytes_total",
            "Bytes of bodies that the data saver did not fetch, as far as known.",
            UNFETCHED,
        ),
        (
            "wwwoffle_unsent_bytes_total",
            "Bytes of bodies that were not sent because pictures were recompressed.",
            UNSENT,
        ),
    ] {
        text.counter(name, help, counts.of(count));
    }
}

fn write_work(context: &SiteContext, text: &mut Exposition) {
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let clients = count(context.connected());
    text.gauge("wwwoffle_client_connections", "Clients connected.", clients);
    let downloads = count(context.proxy.traffic.downloads.list().len());
    text.gauge("wwwoffle_downloads", "Running downloads.", downloads);
    let queue = status::counts(context);
    let help = "Requests on the outgoing queue.";
    let mut family = text.family("wwwoffle_queue_requests", MetricType::Gauge, help);
    for (state, count) in [
        ("waiting", queue.waiting),
        ("active", queue.active),
        ("failed", queue.failed),
        ("asking", queue.asking),
    ] {
        family.with("state", state, count);
    }
    let dialer = context.net.upstream.dialer();
    let help = "Connections outward that the offline mode refused.";
    text.counter("wwwoffle_outward_refused_total", help, dialer.refused_count());
    let help = "Connections opened to probe the link.";
    text.counter("wwwoffle_link_probes_total", help, dialer.probes());
}

fn state(caller: &Caller, text: &mut Exposition) {
    let context = &caller.context;
    let modes = [Mode::Online, Mode::Offline, Mode::Autodial].map(Mode::as_str);
    let help = "The mode in force.";
    text.state(("wwwoffle_mode", "mode"), help, &modes, caller.mode().as_str());
    let is_auto = u64::from(context.base.mode.chosen() == ModeSetting::Auto);
    text.gauge("wwwoffle_mode_auto", "Whether the mode follows from the link.", is_auto);
    let link = link(&context.net.link.judgement().reason);
    let help = "How the link was judged last; unknown while the mode does not follow from it.";
    text.state(("wwwoffle_link", "state"), help, &["unknown", "up", "down", "portal"], link);
    let up = clock::now().duration_since(context.base.since).map_or(0, |up| up.as_secs());
    text.gauge("wwwoffle_uptime_seconds", "Seconds since the start.", up);
    let version = env!("CARGO_PKG_VERSION");
    let help = "1, with the version of the program.";
    text.family("wwwoffle_build_info", MetricType::Gauge, help).with("version", version, 1);
}

fn link(reason: &LinkReason) -> &'static str {
    match reason {
        LinkReason::Unknown => "unknown",
        LinkReason::Way(_) | LinkReason::Assumed | LinkReason::Good(_) => "up",
        LinkReason::NoWay(_) | LinkReason::Failed(_) | LinkReason::Hosts(..) => "down",
        LinkReason::Portal(_) => "portal",
    }
}

/// Adds the size of the stored entries, if the index already knows it.
async fn add_stored_size(context: &SiteContext, text: &mut Exposition) {
    let Ok(stored) = lists::call_index(&context.storage, wwwoffle_index::Index::stored_total).await
    else {
        return;
    };
    text.gauge("wwwoffle_spool_entries", "Stored entries.", stored.entries);
    let help = "Bytes of the files of stored entries, without shared bodies.";
    text.gauge("wwwoffle_spool_bytes", help, stored.bytes);
}

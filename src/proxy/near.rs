//! Offline, and the very page is not kept: another URL that names the same one may be.
//!
//! Which URLs these are is in [`crate::caching::noise`]. Only a success stands in for another: a
//! redirect would lead back to what was asked for, and an error says nothing of this URL. A person's own
//! answers are found for that person alone, as everywhere.

use hyper::HeaderMap;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use wwwoffle_config::UrlParts;
use wwwoffle_spool::Error;

use super::ask::Ask;
use super::choose;
use super::decide::MethodKind;
use super::intent::Intent;
use super::owner::Places;
use super::rules::Standing;
use crate::caching::noise::{Near, near};
use crate::daemon::Daemon;
use crate::mode::Mode;
use crate::store::Kept;

/// What the page of a connection that anybody could have changed may do under the name of a secure
/// site: everything but to be of that site.
const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox allow-scripts allow-forms allow-popups allow-modals allow-top-navigation-by-user-activation",
);

/// What is kept of a URL that may stand in for the one of `ask`, and what is between them.
///
/// # Errors
///
/// When the disk fails.
pub(super) async fn find(daemon: &Daemon, ask: &Ask) -> Result<Option<(Near, Kept)>, Error> {
    let may = ask.mode == Mode::Offline
        && ask.asked.standing == Standing::Usual
        && matches!(ask.asked.method, MethodKind::Get | MethodKind::Head)
        && !ask.places.credentials
        && *ask.config.offline_options.near_answers.of(&UrlParts::of(&ask.bare));
    if !may {
        return Ok(None);
    }
    let added = ask.config.offline_options.near_arguments.of(&UrlParts::of(&ask.bare));
    for (near, mut url) in near(&ask.bare, &daemon.local, added) {
        if near == Near::Scheme && is_secure(ask) && ask.asked.intent != Intent::Person {
            // A script or a style has no page of its own that could be kept apart.
            continue;
        }
        let places = Places::of(&mut url, &HeaderMap::new(), &ask.owner);
        let selecting = || ask.wire(&daemon.pseudonym).into_parts().0.headers;
        let found =
            choose::find(&daemon.store, &places, ask.config.caching.shared, selecting).await?;
        if let Some(kept) = found.near().filter(|kept| kept.status.is_success()) {
            return Ok(Some((near, guarded(ask, near, Kept::clone(kept)))));
        }
    }
    Ok(None)
}

fn is_secure(ask: &Ask) -> bool {
    ask.bare.protocol() == "https"
}

/// Keeps what came by plain HTTP apart from the secure site it stands in for: it could have been
/// changed on its way, and must not get at what the browser has of that site.
fn guarded(ask: &Ask, near: Near, mut kept: Kept) -> Kept {
    if near == Near::Scheme && is_secure(ask) {
        kept.fields.append(CONTENT_SECURITY_POLICY, SANDBOX);
    }
    kept
}

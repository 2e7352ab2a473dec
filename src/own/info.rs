//! What is known of one URL, as a page and as JSON.

use hyper::{HeaderMap, Response};
use wwwoffle_index::Index;
use wwwoffle_spool::{Entry, Error};
use wwwoffle_url::{CanonicalUrl, ParseError, url_decode_form_args};

use super::caller::Caller;
use crate::api::Info;
use crate::daemon::Daemon;
use crate::error_chain::error_chain;
use crate::fetch::recurse::complete;
use crate::lists;
use crate::mode::Mode;
use crate::pages::info;
use crate::pages::message::Message;
use crate::proxy::body::Body;
use crate::proxy::lookup::look_up;
use crate::proxy::owner::{Owner, Places};

/// Why nothing can be told.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoInfo {
    /// It is no URL.
    #[error("no URL")]
    Url(#[from] ParseError),
    /// The spool failed.
    #[error("the spool failed")]
    Spool(#[from] Error),
}

/// What is known of a URL: the answer of `owner`, else everyone's.
pub(super) async fn of(daemon: &Daemon, owner: &Owner, url: &str) -> Result<Info, NoInfo> {
    let mut url = CanonicalUrl::parse(url, &daemon.local)?;
    let places = Places::of(&mut url, &HeaderMap::new(), owner);
    let kept = look_up(&daemon.store, &places).await?.choose(Mode::Offline);
    let entry = kept.map(|kept| kept.entry);
    let parts = match &entry {
        Some(entry) => complete::look_at(daemon, url, entry.clone(), owner.clone()).await?,
        None => None,
    };
    let mut told = crate::info::of(&places.public, entry.as_ref(), parts);
    if let (Some(kept), Some(entry)) = (&mut told.kept, entry.filter(Entry::shares_body)) {
        kept.sharing = sharing(daemon, entry).await;
    }
    let pins = daemon.store.run(wwwoffle_spool::Spool::pins).await?;
    Ok(Info { pinned: pins.contains(&told.url), ..told })
}

/// How many entries share the body of one; `None` where the index does not know.
async fn sharing(daemon: &Daemon, entry: Entry) -> Option<u64> {
    let owner = entry.place().owner().map(str::to_owned);
    let ask = move |index: &Index| index.with_body(entry.digest(), entry.body_len());
    let found = lists::ask(daemon, ask).await.ok()?;
    let of_owner = found.iter().filter(|item| item.place.owner() == owner.as_deref());
    u64::try_from(of_owner.count()).ok().filter(|count| *count > 1)
}

/// Shows the page about the URL that is the whole of the arguments, or the value of `url` in them.
pub(super) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let daemon = &caller.daemon;
    let url = arguments.unwrap_or_default();
    let url = url_decode_form_args(url.strip_prefix("url=").unwrap_or(url).as_bytes());
    let url = String::from_utf8_lossy(&url);
    if url.trim().is_empty() {
        let detail = "expected a URL, as in /info/?https://www.example.org/";
        return caller.message(&Message::BadRequest { detail });
    }
    match of(daemon, &caller.owner, url.trim()).await {
        Ok(told) => {
            let token = daemon.tokens.general();
            caller.page(info::page(&daemon.templates, &caller.shell, &told, &token))
        }
        Err(NoInfo::Spool(error)) => caller.spool_failed(&error),
        Err(error @ NoInfo::Url(_)) => {
            caller.message(&Message::BadRequest { detail: &error_chain(&error) })
        }
    }
}

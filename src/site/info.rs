//! Details of one URL, as a page and as JSON.

pub mod entry_info;
pub mod page;
pub(super) mod source;

use crate::base::text::Text;
use hyper::Response;
use hyper::header::{AUTHORIZATION, HOST, PROXY_AUTHORIZATION};
use wwwoffle_index::Index;
use wwwoffle_spool::{Entry, Error};
use wwwoffle_url::{CanonicalUrl, ParseError};

use self::page::{InfoExtras, RequestComparison};
use super::caller::Caller;
use super::history;
use super::lists as own_lists;
use crate::base::mode::Mode;
use crate::base::owner::{Owner, Places};
use crate::fetch::recurse::complete;
use crate::page::message::Message;
use crate::proxy::body::Body;
use crate::proxy::last::LastKey;
use crate::proxy::rehearsal::Rehearsal;
use crate::proxy::saver;
use crate::site::address::{AddressPage, url_in};
use crate::site::context::SiteContext;
use crate::site::lists::page::split_report;
use crate::storage::lists;
use crate::storage::lookup::look_up;
use wwwoffle_api::{Field, Info};

/// Path of the page about the request of the browser.
pub(super) const REQUEST: &str = "/info/request";

/// URL for that page if none is given.
const EXAMPLE: &str = "http://www.example.org/";

/// Failure to determine the details.
#[derive(Debug, thiserror::Error)]
pub(super) enum InfoError {
    /// The URL is invalid.
    #[error("no URL")]
    Url(#[from] ParseError),
    /// The spool failed.
    #[error("the spool failed")]
    Spool(#[from] Error),
}

/// Returns the details of a URL: of the entry of `owner`, or else of the public entry.
pub(super) async fn of(
    context: &SiteContext,
    owner: &Owner,
    url: &str,
) -> Result<Info<Text>, InfoError> {
    let (url, places) = Places::of_text(url, &context.base.local, owner)?;
    let copy = look_up(&context.storage.store, &places).await?.choose(Mode::Offline);
    let entry = copy.map(|copy| copy.entry);
    let parts = match &entry {
        Some(entry) => complete::look_at(&context.fetch, url, entry.clone(), owner.clone()).await?,
        None => None,
    };
    let mut details = self::entry_info::of(&places.public, entry.as_ref(), parts);
    if let (Some(copy), Some(entry)) = (&mut details.kept, entry.filter(Entry::shares_body)) {
        copy.storage.sharing = sharing(context, entry).await;
    }
    let pins = context.storage.store.run(wwwoffle_spool::Spool::pins).await?;
    Ok(Info { pinned: pins.contains(&details.url), ..details })
}

/// Returns how many entries of the owner of `entry` have the same body, including `entry`. `None`
/// if there is no other such entry, or if the index is not available.
async fn sharing(context: &SiteContext, entry: Entry) -> Option<u64> {
    let owner = entry.place().owner().map(str::to_owned);
    let ask = move |index: &Index| index.with_body(entry.digest(), entry.body_len());
    let found = lists::call_index(&context.storage, ask).await.ok()?;
    let of_owner = found.iter().filter(|item| item.place.owner() == owner.as_deref());
    u64::try_from(of_owner.count()).ok().filter(|count| *count > 1)
}

/// Shows the page about a URL.
pub(super) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let context = &caller.context;
    let (done, arguments) = split_report(arguments.unwrap_or_default());
    let url = url_in(Some(arguments));
    if url.is_empty() {
        return caller.ask_for_address(AddressPage::Info, "");
    }
    match of(context, &caller.owner, &url).await {
        Ok(details) => {
            let done = own_lists::action_result(caller, done).await;
            let more = InfoExtras { action: done, ..page_extras(caller, &url, &details).await };
            caller.page(page::page(&caller.shell, &details, &more))
        }
        Err(InfoError::Url(_)) => caller.ask_for_address(AddressPage::Info, &url),
        Err(InfoError::Spool(error)) => caller.spool_failed(&error),
    }
}

/// Returns the content of the page that is not part of the details.
async fn page_extras(caller: &Caller, url: &str, details: &Info<Text>) -> InfoExtras {
    let context = &caller.context;
    let viewer = lists::viewer((!caller.is_administrator()).then_some(&caller.owner));
    let target = details.url.clone();
    let ask = move |index: &Index| index.referrers(&viewer, &target, false);
    let referrers = lists::call_index(&context.storage, ask).await.ok().map(|found| {
        let own = |item: &wwwoffle_index::Item| item.place.url() != details.url;
        let mut urls: Vec<_> =
            found.iter().filter(|item| own(item)).map(|item| item.place.url().to_owned()).collect();
        urls.sort();
        urls.dedup();
        urls
    });
    let versions = match history::find(context, &caller.owner, url).await {
        Ok((_, Some(found))) => Some(found.older.len() + 1),
        _ => None,
    };
    let Ok(url) = CanonicalUrl::parse(url, &context.base.local) else {
        return InfoExtras::default();
    };
    let queued = Places::of_url(&url, &caller.owner).queued;
    let queued = context.storage.store.spool().queue().summary(&queued.key()).is_some();
    let key = url.without_credentials().key();
    let last = context.proxy.traffic.last.of(&LastKey::new(key, caller.owner.clone()));
    let who = (caller.owner.clone(), caller.reach());
    let fields = Rehearsal::of_a_person();
    let would = match Rehearsal::new(&context.proxy, who, caller.mode(), &url, fields) {
        Some(rehearsal) => rehearsal.predict(&context.proxy).await,
        None => None,
    };
    let saves = saver::is_on(&context.base.config());
    InfoExtras { referrers, versions, last, would, queued, saves, action: None }
}

/// Shows the request that the browser sent for this page, and the request that the origin of a URL
/// would get.
pub(super) fn request(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let context = &caller.context;
    let Some(sent) = &caller.sent else {
        return caller.message(&Message::NotFound { path: REQUEST });
    };
    let typed = url_in(arguments);
    let typed = if typed.is_empty() { EXAMPLE } else { &typed };
    let Ok(url) = CanonicalUrl::parse(typed, &context.base.local) else {
        return caller.ask_for_address(AddressPage::Request, typed);
    };
    let mut fields = sent.fields.clone();
    for name in [AUTHORIZATION, HOST] {
        // These fields are for this program only.
        fields.remove(name);
    }
    let who = (caller.owner.clone(), caller.reach());
    let wire = Rehearsal::new(&context.proxy, who, caller.mode(), &url, fields);
    let Some(wire) = wire.map(|rehearsal| rehearsal.origin_request(&context.proxy)) else {
        return caller.ask_for_address(AddressPage::Request, typed);
    };
    let mut came = self::entry_info::redacted_fields(&sent.fields);
    if sent.has_proxy_login {
        came.push(Field { name: PROXY_AUTHORIZATION.as_str().to_owned(), value: None });
    }
    let comparison = RequestComparison {
        url: url.without_credentials().as_str().to_owned(),
        came: (sent.line.clone(), came),
        goes: (
            format!("{} {} HTTP/1.1", wire.method(), wire.uri()),
            self::entry_info::redacted_fields(wire.headers()),
        ),
    };
    caller.page(page::request_page(&caller.shell, &comparison))
}

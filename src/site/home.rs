//! The content of the page `/`, collected from all parts of the program.

pub(super) mod icons;
pub mod page;

use std::sync::Arc;

use hyper::Response;
use hyper::header::{CONTENT_SECURITY_POLICY, HeaderMap, HeaderValue, USER_AGENT};
use wwwoffle_index::{Error, StoredTotal};
use wwwoffle_spool::purge::space as room;

use self::icons::IconFinder;
use self::page::setup::{BrowserKind, Setup};
use self::page::{DiskUse, HomeFaults, HomePage, RecentPage, RefusedClients};
use super::caller::Caller;
use super::certificates::authority;
use super::{statistics, status};
use crate::base::clock;
use crate::base::owner::Owner;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::search::call::query_index;
use crate::storage::lists::found;
use crate::storage::lists::query::ListQuery;
use crate::storage::purge::room::{max_size, min_free};
use crate::storage::store::timestamp;
use wwwoffle_api::{IndexItem, IndexPage, ListItems};

/// Number of listed pages.
const RECENT: &str = "10";

/// Number of days in the chart of requests.
const CHART_DAYS: usize = 14;

/// Maximum size of all icons on the page together, in bytes as they are written into it.
const MOST_ICONS: usize = 30_000;

/// Shows the page. It includes the first steps if nothing is stored yet, or if the argument `help`
/// asks for them. If our script asks with `live=brief`, the stored pages are left out.
pub(super) async fn show(
    caller: &Caller,
    arguments: Option<&str>,
    fields: &HeaderMap,
) -> Response<Body> {
    let context = &caller.context;
    let asked = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let is_brief = asked.value("live") == Some("brief");
    let stored = if is_brief { Ok(StoredPages::default()) } else { stored_pages(caller).await };
    let is_ready = stored.is_ok() && !is_brief;
    let StoredPages { total, sites, recent } = stored.unwrap_or_default();
    let standing = context.base.config_standing().await;
    let is_new = is_ready && recent.is_empty();
    let setup = (is_new || asked.value("help").is_some()).then(|| setup(caller, is_new, fields));
    let origin_of_test = setup.as_ref().and_then(|setup| setup.secure.clone());
    let home = HomePage {
        status: status::status_for_caller(caller),
        link: status::link_report(context),
        last: context.fetch.fetcher.last(),
        recent: (!is_brief).then_some(recent),
        is_ready,
        space: space(caller, total),
        sites,
        days: statistics::last_days(caller, CHART_DAYS),
        faults: HomeFaults {
            was_full: context.storage.store.had_no_room(),
            refused: refused(caller),
            config: standing.is_ok_and(|standing| standing.faults.is_some()),
            templates: context.pages.template_faults.len(),
        },
        setup,
        now: timestamp(clock::now()),
    };
    let mut response = caller.page(page::page(&caller.shell, &home));
    if let Some(secure) = origin_of_test
        && let Ok(policy) = HeaderValue::from_str(&caller.shell.policy(&format!(" {secure}")))
    {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns the state of the first steps.
fn setup(caller: &Caller, is_new: bool, fields: &HeaderMap) -> Setup {
    let (context, used) = (&caller.context, &caller.shell.origin);
    let last = &context.proxy.traffic.last;
    let agent = fields.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
    let secure = authority::secured(used).unwrap_or_else(|| used.clone());
    Setup {
        is_new,
        uses_proxy: last.has_any_of(&caller.owner) || last.has_any_of(&caller.machine),
        secure: context.base.config().https.intercept.then_some(secure),
        system: BrowserKind::of(agent.unwrap_or_default()),
    }
}

/// What is stored, as far as the caller may see it.
#[derive(Default)]
struct StoredPages {
    total: StoredTotal,
    /// The number of sites.
    sites: u64,
    /// The pages that were stored last.
    recent: Vec<RecentPage>,
}

async fn stored_pages(caller: &Caller) -> Result<StoredPages, Error> {
    let wanted = ListQuery::parse(|name| match name {
        "pages" => Some("1"),
        "sort" => Some("stored"),
        "status" => Some("2xx"),
        "limit" => Some(RECENT),
        _ => None,
    });
    // The arguments above are all valid.
    let Ok(wanted) = wanted else { return Ok(StoredPages::default()) };
    let context = Arc::clone(&caller.context);
    let owner = caller.owner.clone();
    query_index(caller, wanted, move |source, wanted| {
        let total = source.index.total(source.viewer)?;
        let sites = source.index.count_sites(source.viewer)?;
        let items = match found::list(source, wanted)? {
            IndexPage { listed: ListItems::Entries(items), .. } => items,
            _ => Vec::new(),
        };
        let icons = IconFinder::new(source, &owner, &context.base.local);
        Ok(StoredPages { total, sites, recent: with_icons(items, &icons) })
    })
    .await
}

/// Adds icons to the pages, up to the size limit.
fn with_icons(items: Vec<IndexItem>, icons: &IconFinder<'_>) -> Vec<RecentPage> {
    let mut room = MOST_ICONS;
    let with_icon = |item: IndexItem| {
        let icon = icons.of(&item.url).filter(|icon| icon.len() <= room);
        room -= icon.as_ref().map_or(0, String::len);
        RecentPage { url: item.url, title: item.title, stored: item.times.stored, icon }
    };
    items.into_iter().map(with_icon).collect()
}

/// Returns the use of the disk; `None` if it is unknown.
fn space(caller: &Caller, stored: StoredTotal) -> Option<DiskUse> {
    let context = &caller.context;
    let (config, disk) = (context.base.config(), room(context.storage.store.spool().root()).ok()?);
    Some(DiskUse {
        entries: stored.entries,
        kept: stored.bytes,
        free: disk.free,
        total: disk.total,
        least: min_free(&config, Some(disk)),
        most: max_size(&config, Some(disk)),
    })
}

/// Returns the clients that were refused recently, if the caller may grant access.
fn refused(caller: &Caller) -> Option<RefusedClients> {
    let is_here = caller.is_administrator() || caller.owner == Owner::Local;
    let refused = caller
        .context
        .proxy
        .clients
        .access
        .refusals
        .recent_refusals(clock::now())
        .filter(|_| is_here)?;
    Some(RefusedClients { count: refused.count, client: refused.client, at: timestamp(refused.at) })
}

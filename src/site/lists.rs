//! The pages below `/index/`, at the addresses of WWWOFFLE 2.9 and some more, and the actions on
//! entries selected there.

mod calendar;
pub mod cards;
pub(super) mod export;
pub mod page;
pub(super) mod removed;
mod tree;
pub(super) mod whole;

use hyper::Response;
use wwwoffle_index::{Error, Sort};
use wwwoffle_url::{CanonicalUrl, SCHEMES, url_decode_form_args};

use self::export::ExportFormat;
use self::page::{ActionResult, CompletedAction, ListAddress, ListResult, ROOT, ROWS, Trail, room};
use super::address::decoded;
use super::caller::Caller;
use super::forms::FormError;
use super::{monitor, purge};
use crate::base::error_chain::error_chain;
use crate::base::text::Text;
use crate::fetch;
use crate::page::form::SubmittedForm;
use crate::page::links;
use crate::proxy::body::Body;
use crate::site::collections::access;
use crate::site::search::call::query_index;
#[cfg(feature = "tier")]
use crate::site::search::everywhere;
use crate::storage::lists;
use crate::storage::lists::found::{self, ListSource};
use crate::storage::lists::query::{ListQuery, Subject};
use crate::storage::lists::sessions;
use crate::storage::lists::whole::is_part;
use links::ABOUT;
use wwwoffle_api::IndexPage;

/// Action on the selected entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryAction {
    /// Deletes the selected entries.
    Delete,
    /// Fetches the selected entries again, now or as soon as we are online.
    Refresh,
    /// Pins the selected entries: they stay, whatever their age.
    Pin,
    /// Monitors the selected entries once a day, unless they are already monitored.
    Monitor,
    /// Downloads the selected entries.
    Export(ExportFormat),
}

/// The beginning of the address of a search.
const SEARCH_WITH: &str = "/search/?";

/// Whether a path is that of a list.
pub(super) fn is_list(path: &str) -> bool {
    path == ROOT.trim_end_matches('/') || path.starts_with(ROOT)
}

/// Shows a list, or the library, which is the root of the lists.
pub(super) async fn show(caller: &Caller, path: &str, arguments: Option<&str>) -> Response<Body> {
    let Some(name) = path.strip_prefix(ROOT) else { return caller.see_other(ROOT) };
    let (context, shell) = (&caller.context, &caller.shell);
    if name.is_empty() {
        let sessions = sessions::sessions(&context.storage).await;
        let resting = removed::undoable_deletions(caller).await;
        let rows = (sessions.start_times(), &*resting);
        let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
        let library = cards::library(caller, form.value("after")).await;
        // If they cannot be read, their own page says why.
        let collections = access::visible(caller).await.unwrap_or_default();
        // The library always shows the deletions that can be undone.
        let result = action_result(caller, arguments).await;
        let result = result.filter(|it| !matches!(it, ActionResult::Removed(_)));
        return caller.page(page::root(shell, rows, &library, &collections, result));
    }
    if let Some(site) = name.strip_prefix("tree/").filter(|site| !site.is_empty()) {
        let site = decoded(site.trim_end_matches('/'));
        return tree::show(caller, &site, arguments).await;
    }
    if let Some(site) = name.strip_prefix("calendar/").filter(|site| !site.is_empty()) {
        let site = decoded(site.trim_end_matches('/'));
        return calendar::show(caller, &site, arguments).await;
    }
    if name == "url" || name == "url/" {
        return caller.see_other(&of_url(caller, arguments));
    }
    #[cfg(feature = "tier")]
    if name.trim_end_matches('/') == "hosts"
        && let Ok(form) = SubmittedForm::of_arguments(arguments)
        && everywhere::is_wanted(&form)
    {
        return show_everywhere(caller, &form).await;
    }
    let (shown, wanted) = match read(name, arguments) {
        Ok(read) => read,
        Err((shown, why)) => return answer(caller, &shown, (ListResult::Refused(why), None, None)),
    };
    let mut shown = shown;
    name_collection(caller, &mut shown).await;
    let site = shown.path.strip_prefix("site/").map(str::to_owned);
    let find = query_index(caller, wanted, move |source, wanted| {
        let (found, count) = rows_that_fit(source, wanted)?;
        let start = site.map_or(Ok(None), |site| cards::start_page(source, &site))?;
        Ok((found, count, start))
    });
    let (outcome, count) = match find.await {
        Ok((found, count, start)) => {
            shown.start = start;
            (ListResult::Found(found), count)
        }
        Err(error) => (ListResult::Refused(page::list_unavailable(&error_chain(&error))), None),
    };
    let result = action_result(caller, arguments).await;
    answer(caller, &shown, (outcome, result, count))
}

/// Shows the hosts of all nodes.
#[cfg(feature = "tier")]
async fn show_everywhere(caller: &Caller, form: &SubmittedForm) -> Response<Body> {
    let outcome = match everywhere::hosts(caller, form, ROWS).await {
        Ok(found) => ListResult::Found(found),
        Err(why) => ListResult::Refused(why.text()),
    };
    let after = form.value("after").map(str::to_owned);
    let path = "hosts".to_owned();
    let filter = page::ListFilter { is_everywhere: true, ..Default::default() };
    let shown = ListAddress { path, filter, after, ..ListAddress::default() };
    answer(caller, &shown, (outcome, None, None))
}

/// Adds the name of the collection to the address of its list. Without the name, the filter is shown.
pub(super) async fn name_collection(caller: &Caller, shown: &mut ListAddress) {
    let others = &shown.filter.others;
    let Some(at) = others.iter().position(|(name, _)| *name == "collection") else { return };
    let Some((_, id)) = others.get(at).cloned() else { return };
    if let Ok(collection) = access::named(caller, &id).await {
        shown.collection = Some(collection.name);
    }
}

/// Returns as much of a list as fits on one page, and the length of the whole list, if known. The
/// rest is on the next page.
fn rows_that_fit(
    source: &ListSource<'_>,
    wanted: &ListQuery,
) -> Result<(IndexPage, Option<u64>), Error> {
    let mut found = found::list(source, wanted)?;
    if let Some(limit) = room::rows_that_fit(&found.listed) {
        found = found::list(source, &ListQuery { limit, ..wanted.clone() })?;
    }
    let count = found::count(source, wanted, &found);
    Ok((found, count))
}

/// Returns the result of the last action on the list, from the arguments.
pub(super) async fn action_result(
    caller: &Caller,
    arguments: Option<&str>,
) -> Option<ActionResult> {
    let value = |name: &str| {
        let pairs = arguments?.split(['&', ';']);
        pairs.filter_map(|pair| pair.split_once('=')).find(|(it, _)| *it == name).map(|(_, it)| it)
    };
    if let Some(removal) = value(page::REMOVED).and_then(|text| text.parse().ok()) {
        let resting = removed::undoable_deletions(caller).await;
        return resting.into_iter().find(|it| it.removal == removal).map(ActionResult::Removed);
    }
    if let Some((done, count)) = value(page::DONE).and_then(|text| text.split_once('.')) {
        return Some(ActionResult::Completed(CompletedAction::named(done)?, count.parse().ok()?));
    }
    Some(ActionResult::Restored(page::RestoredCounts::parse(value(page::BACK)?)?))
}

fn answer(
    caller: &Caller,
    shown: &ListAddress,
    outcome: (ListResult, Option<ActionResult>, Option<u64>),
) -> Response<Body> {
    let owner = caller.owner.to_string();
    let is_going_on = caller.context.storage.deletions.is_by(&owner);
    let shown = &ListAddress { is_going_on, owner, ..shown.clone() };
    caller.page(page::page(&caller.shell, shown, outcome))
}

/// Returns the address of the list for the host of a URL. The arguments consist of this URL.
fn of_url(caller: &Caller, arguments: Option<&str>) -> String {
    of_host(caller, &decoded(arguments.unwrap_or_default()))
}

fn of_host(caller: &Caller, url: &str) -> String {
    match CanonicalUrl::parse(url, &caller.context.base.local) {
        Ok(url) if !url.is_local() => {
            let path = format!("{}/{}", url.protocol(), url.host_port());
            ListAddress { path, ..ListAddress::default() }.address()
        }
        _ => ROOT.to_owned(),
    }
}

/// Parses the address of a list. `name` is the path below [`ROOT`]. The arguments are separated by
/// `&` or, as in WWWOFFLE 2.9, by `;`. The flags of WWWOFFLE 2.9 that add a column are ignored,
/// because all columns are shown.
fn read(
    name: &str,
    arguments: Option<&str>,
) -> Result<(ListAddress, ListQuery), (Box<ListAddress>, Text)> {
    let path = url_decode_form_args(name.trim_end_matches('/').replace('+', "%2B").as_bytes());
    let path = String::from_utf8_lossy(&path).into_owned();
    let mut shown = ListAddress { path, ..ListAddress::default() };
    let form = match SubmittedForm::of_former_arguments(arguments) {
        Ok(form) => form,
        Err(error) => {
            return Err((Box::new(shown), page::list_unavailable(&error.to_string())));
        }
    };
    let (what, site) = list_subject(&shown.path);
    let flag = |name: &str| form.fields().any(|(field, value)| field == name && value.is_empty());
    let all = if flag("all") { "1" } else { form.value("all").unwrap_or_default() };
    // As in WWWOFFLE 2.9, an unknown order is ignored.
    let sort = form.value("sort").filter(|sort| sort.trim().parse::<Sort>().is_ok());
    let wanted = ListQuery::parse(|name| match name {
        "what" => Some(what.as_str()),
        "site" => site.or(form.value("site")),
        "all" => Some(all),
        "sort" => sort,
        "limit" | "q" => None,
        name => form.value(name),
    });
    let mut wanted = match wanted {
        Ok(wanted) => wanted,
        Err(why) => return Err((Box::new(shown), why)),
    };
    wanted.limit = ROWS;
    if sort.is_none() && matches!(wanted.subject, Subject::Asked(_)) {
        wanted.sort = Sort::Stored;
    }
    shown.sort = Some(wanted.sort);
    shown.filter.kind = wanted.filter.class;
    shown.filter.text = wanted.filter.text.clone().unwrap_or_default();
    let other = |name: &&'static str| Some((*name, form.value(name)?.trim().to_owned()));
    shown.filter.others =
        page::OTHERS.iter().filter_map(other).filter(|(_, it)| !it.is_empty()).collect();
    (shown.is_part, shown.is_all_chosen) =
        (is_part(&wanted), form.value(page::CHOSEN) == Some("1"));
    (shown.filter.pages_only, shown.filter.all) = (wanted.filter.pages_only, wanted.all);
    shown.after = wanted.after.as_ref().map(ToString::to_string);
    shown.trail = Trail::parse(form.value("before").unwrap_or_default());
    Ok((shown, wanted))
}

/// Returns the argument `what` of [`ListQuery`] for a path, and the site that the path names.
fn list_subject(path: &str) -> (String, Option<&str>) {
    match path.split_once('/') {
        Some(("site", site)) => (String::new(), Some(site)),
        None if path == "all" => (String::new(), None),
        None if SCHEMES.contains(&path) => (format!("hosts/{path}"), None),
        _ => (path.to_owned(), None),
    }
}

/// Performs an action on the entries in the fields `url`, and redirects to the list where they were
/// selected.
pub(super) async fn perform(
    caller: &Caller,
    chosen: EntryAction,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    if let EntryAction::Export(format) = chosen {
        return export::send(caller, format, form).await;
    }
    let texts = form.fields().filter(|(name, _)| *name == "url").map(|(_, text)| text);
    // All URLs are validated before the first action.
    let urls = texts.map(|text| CanonicalUrl::parse(text, &caller.context.base.local));
    let mut urls = urls.collect::<Result<Vec<_>, _>>()?;
    if urls.is_empty() {
        return Err(nothing(form));
    }
    let may_fetch = |url: &CanonicalUrl| !url.is_form_answer();
    if matches!(chosen, EntryAction::Refresh | EntryAction::Monitor) && urls.iter().any(may_fetch) {
        // The response to a form is fetched only by sending the form again.
        urls.retain(may_fetch);
    }
    let back = back(form.value("back"));
    if chosen == EntryAction::Delete {
        return Ok(delete(caller, urls, back).await?);
    }
    let count = urls.len();
    if chosen == EntryAction::Pin {
        // One call for all, because each call rewrites the file of pins.
        let urls = urls.iter().map(|url| url.without_credentials().as_str().to_owned()).collect();
        purge::set_pinned(&caller.context, urls, true).await?;
    } else {
        for url in urls {
            run_action(caller, chosen, url).await?;
        }
    }
    let done = match chosen {
        EntryAction::Delete | EntryAction::Export(_) => return Ok(caller.see_other(back)),
        EntryAction::Refresh => CompletedAction::Queued,
        EntryAction::Monitor => CompletedAction::Monitored,
        EntryAction::Pin => CompletedAction::Pinned,
    };
    // The index must be current, because the next page shows the list.
    lists::level(&caller.context.storage).await;
    let value = format!("{}.{count}", done.name());
    Ok(caller.see_other(&page::with(back, page::DONE, &value)))
}

/// Deletes the selected entries, and redirects to `back`, where the deletion can be undone.
async fn delete(
    caller: &Caller,
    urls: Vec<CanonicalUrl>,
    back: &str,
) -> Result<Response<Body>, wwwoffle_spool::Error> {
    let (removal, mut is_any) = (removed::new_removal(caller), false);
    for url in &urls {
        match removed::delete(caller, url, removal).await {
            Ok(was_there) => is_any |= was_there,
            // This is no failure: the list shows the entries that remain, and the deleted ones can
            // be restored.
            Err(error) if is_any => {
                let error = error_chain(&error);
                tracing::error!(error, "not all could be deleted that was chosen");
                break;
            }
            Err(error) => return Err(error),
        }
    }
    lists::level(&caller.context.storage).await;
    let removal = if is_any {
        Some(removal)
    } else {
        // If the form was sent twice, the deletion of the first can be undone.
        removed::deletion_with(caller, &urls).await
    };
    Ok(match removal {
        Some(removal) => caller.see_other(&page::with(back, page::REMOVED, &removal.to_string())),
        None => caller.see_other(back),
    })
}

/// Performs an action on one entry, unless [`perform`] handles all entries at once.
async fn run_action(
    caller: &Caller,
    chosen: EntryAction,
    url: CanonicalUrl,
) -> Result<(), FormError> {
    let context = &caller.context;
    match chosen {
        EntryAction::Refresh => {
            fetch::request_page(&context.fetch, &caller.requester(), url.as_str(), true).await?;
        }
        EntryAction::Monitor => monitor::monitor_daily(caller, url.as_str()).await?,
        EntryAction::Pin | EntryAction::Delete | EntryAction::Export(_) => {}
    }
    Ok(())
}

/// Returns the failure of a form that selects no entry, or none that is stored.
fn nothing(form: &SubmittedForm) -> FormError {
    FormError::Nothing { back: back(form.value("back")).to_owned() }
}

/// Returns the page to which a form returns: the value of its field, if that is a list or a search
/// of ours or the page about a URL, or else the root of the lists.
pub(super) fn back(back: Option<&str>) -> &str {
    let begins = [ROOT, ABOUT, SEARCH_WITH];
    let is_ours = |back: &&str| begins.iter().any(|begin| back.starts_with(begin));
    back.filter(is_ours)
        .filter(|back| back.bytes().all(|byte| byte.is_ascii_graphic()))
        .unwrap_or(ROOT)
}

#[cfg(test)]
mod tests {
    use wwwoffle_index::ContentClass;

    use super::*;

    #[test]
    fn the_addresses_of_2_9_lead_to_lists() {
        let hosts = |scheme: &str| Subject::Hosts(Some(scheme.to_owned()));
        for (name, arguments, subject, host, sort) in [
            ("http", None, hosts("http"), None, Sort::Name),
            ("https/", Some("sort=domain"), hosts("https"), None, Sort::Domain),
            (
                "http/a.example",
                Some("sort=mtime;delete;refresh"),
                Subject::Entries,
                Some("a.example"),
                Sort::Stored,
            ),
            ("https/a.example:8443/", None, Subject::Entries, Some("a.example:8443"), Sort::Name),
            (
                "https/a.example%3A8443",
                Some("sort=none"),
                Subject::Entries,
                Some("a.example:8443"),
                Sort::Name,
            ),
            ("lasttime", None, Subject::Session(0), None, Sort::Stored),
            ("prevtime7", Some("sort=alpha&info"), Subject::Session(7), None, Sort::Name),
            ("prevtime1", Some("sort=up;bogus=1"), Subject::Session(1), None, Sort::Stored),
            ("prevout2", None, Subject::Asked(2), None, Sort::Stored),
            ("sites", None, Subject::Sites, None, Sort::Name),
            ("failed", None, Subject::Failed, None, Sort::Name),
            ("all", Some("sort=atime&pages=1"), Subject::Entries, None, Sort::Used),
        ] {
            let (shown, wanted) = read(name, arguments).unwrap();
            let result = (wanted.subject, wanted.filter.host.as_deref(), wanted.sort);
            assert_eq!(result, (subject, host, sort), "{name}");
            assert_eq!(wanted.limit, ROWS, "{name}");
            assert_eq!(shown.sort, Some(sort), "{name}");
        }
        let (shown, wanted) = read("site/example.org", Some("type=image&text=a+b;all")).unwrap();
        assert_eq!(wanted.filter.site.as_deref(), Some("example.org"));
        assert_eq!(
            (wanted.filter.class, shown.filter.kind),
            (Some(ContentClass::Image), Some(ContentClass::Image))
        );
        assert_eq!((wanted.all, wanted.filter.text.as_deref()), (true, Some("a b")));
        for (name, arguments) in [("gopher", None), ("prevtimex", None), ("all", Some("after=%ff"))]
        {
            assert!(read(name, arguments).is_err(), "{name} {arguments:?}");
        }
    }

    #[test]
    fn a_form_redirects_only_to_a_list_or_an_information_page() {
        for (given, want) in [
            (Some("/index/http/a?sort=name"), "/index/http/a?sort=name"),
            (Some("/info/?http://a.example/%3Fx"), "/info/?http://a.example/%3Fx"),
            (Some("/info/source?http://a.example/"), ROOT),
            (Some("/info/?http://a.example/\u{e9}"), ROOT),
            (Some("/search/?q=tea&host=a"), "/search/?q=tea&host=a"),
            (Some("/search/opensearch.xml"), ROOT),
            (Some("//evil.example/"), ROOT),
            (Some("http://evil.example/index/"), ROOT),
            (Some("/index/a\r\nb"), ROOT),
            (None, ROOT),
        ] {
            assert_eq!(back(given), want, "{given:?}");
        }
    }
}

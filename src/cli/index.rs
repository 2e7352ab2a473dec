//! Sorted `wwwoffle ls`, `wwwoffle search` and `wwwoffle reindex`: answered by the daemon, or by
//! the index itself if no daemon runs.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wwwoffle_config::Config;
use wwwoffle_index::{Error, Index, ReindexScope, Sessions, Viewer};
use wwwoffle_spool::Spool;
use wwwoffle_url::url_encode_form_args;

use super::VerbContext;
use super::args::{ListArgs, Search};
use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use super::files::{print_item, reader};
use super::list::line;
use super::offline;
use super::settings::Settings;
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::base::owner::Owner;
use crate::base::{clock, shown};
use crate::storage::collections;
use crate::storage::collections::members::entry_set;
use crate::storage::lists::found::{self, ListSource};
use crate::storage::lists::query::ListQuery;
use crate::storage::lists::sessions;
use crate::storage::store::timestamp;
use wwwoffle_api::{
    IndexItem, IndexPage, ListItems, ReindexEvent, ReindexRequest, SearchHit, SearchPage,
};

/// Entries requested at once.
const AT_ONCE: u64 = 500;

/// Time limit for indexing the words of new pages before a search without a daemon. No daemon can
/// start during that time.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// The source of the results: a daemon, or the index of a spool without a daemon.
enum Answerer {
    Daemon(Control),
    Ourselves(Box<OpenedSpool>),
}

/// A spool opened for one verb.
struct OpenedSpool {
    spool: Spool,
    index: Index,
    config: Config,
    sessions: Sessions,
}

impl Drop for OpenedSpool {
    fn drop(&mut self) {
        self.index.stop();
    }
}

impl Answerer {
    /// Returns the daemon if one runs, or else the opened spool with its index.
    fn of(settings: &Settings<'_>) -> VerbResult<Self> {
        if let Some(control) = settings.daemon()? {
            return Ok(Self::Daemon(control));
        }
        let pages = settings.index_pages()?;
        offline::become_owner(&settings.spool()?, settings)?;
        // Fails if the spool is missing. `Spool::open` alone would create it.
        let root = reader(settings)?.root().to_owned();
        let (spool, _) = Spool::open(&root, &offline::options(settings)?).map_err(|error| {
            let status = if error.is_locked() { ExitStatus::Taken } else { ExitStatus::BadSpool };
            VerbFailure::caused(status, "the spool cannot be opened", &error)
        })?;
        let state = spool.state()?.0;
        let sessions = state.value(sessions::KEY).and_then(|text| text.parse().ok());
        let index = Index::open(&spool, Some(Arc::new(pages)))?;
        let (config, sessions) = (settings.config()?, sessions.unwrap_or_default());
        Ok(Self::Ourselves(Box::new(OpenedSpool { spool, index, config, sessions })))
    }

    fn query<T: DeserializeOwned>(
        &self,
        path: &str,
        arguments: &[(&str, String)],
        act: impl FnOnce(&ListSource<'_>, &ListQuery) -> Result<T, Error>,
    ) -> VerbResult<T> {
        let wanted = parse_query("ls", arguments)?;
        match self {
            Self::Daemon(control) => {
                let pairs: Vec<_> = arguments
                    .iter()
                    .map(|(name, value)| {
                        format!("{name}={}", url_encode_form_args(value.as_bytes()))
                    })
                    .collect();
                control.get(&format!("{path}?{}", pairs.join("&")))
            }
            Self::Ourselves(opened) => {
                let OpenedSpool { spool, index, config, sessions } = &**opened;
                let (viewer, now) = (&Viewer::Operator, timestamp(clock::now()));
                let source = ListSource { index, spool, config, sessions, viewer, now };
                let mut wanted = wanted;
                if let Some(name) = &wanted.collection {
                    let found = collections::named(spool, &Owner::Local, name);
                    let found = found.map_err(|error| {
                        VerbFailure::failed("the collection cannot be listed", &error)
                    })?;
                    wanted.filter.among = Some(Arc::new(entry_set(&source, &found)?));
                }
                Ok(act(&source, &wanted)?)
            }
        }
    }

    /// Waits until the index contains all changes of the spool. Does nothing for a daemon, which
    /// keeps its index up to date.
    fn catch_up(&self) -> VerbResult<()> {
        match self {
            Self::Daemon(_) => Ok(()),
            Self::Ourselves(opened) => {
                opened.index.wait_until_current(false)?;
                first_fault(opened)
            }
        }
    }
}

/// Parses the arguments of a list.
fn parse_query(verb: &str, arguments: &[(&str, String)]) -> VerbResult<ListQuery> {
    ListQuery::parse(|name| {
        arguments.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    })
    .map_err(|error| VerbFailure::usage(format_args!("{verb}: {error}")))
}

/// Fails with the first fault of the indexing tasks. A damaged index is rebuilt, and an unreadable
/// part of the spool does not affect the rest, so neither is a failure.
fn first_fault(opened: &OpenedSpool) -> VerbResult<()> {
    match opened.index.faults().into_iter().find(|fault| !fault.is_damaged() && !fault.is_partial())
    {
        Some(fault) => Err(fault.into()),
        None => Ok(()),
    }
}

/// Lists entries from the index, requesting [`AT_ONCE`] at a time.
pub(super) fn list(typed: &ListArgs, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    // Invalid arguments are reported before a spool is opened.
    parse_query("ls", &typed.arguments())?;
    let answerer = Answerer::of(settings)?;
    answerer.catch_up()?;
    let (mut left, mut after) = (typed.limit.unwrap_or(u64::MAX), None::<String>);
    while left > 0 {
        let mut arguments = typed.arguments();
        arguments.push(("limit", left.min(AT_ONCE).to_string()));
        arguments.extend(after.take().map(|after| ("after", after)));
        let page: IndexPage = answerer.query("/api/index", &arguments, found::list)?;
        let count = print_page(&page.listed, typed.json, terminal.stdout)?;
        left = left.saturating_sub(count);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(ExitStatus::Done)
}

/// Prints the items of a page, and returns their number.
fn print_page(listed: &ListItems, json: bool, out: &mut dyn Write) -> VerbResult<u64> {
    match listed {
        ListItems::Entries(entries) => print_all(entries, json, out, entry_line),
        ListItems::Requests(requests) => print_all(requests, json, out, line),
        ListItems::Hosts(hosts) => print_all(hosts, json, out, |host| {
            counts_line(&format!("{}://{}", host.scheme, host.host), host.entries, host.bytes)
        }),
        ListItems::Sites(sites) => {
            print_all(sites, json, out, |site| counts_line(&site.site, site.entries, site.bytes))
        }
        ListItems::Asked(asked) => print_all(asked, json, out, |request| {
            format!("{:.0}  {}", request.queued, shown::line(&request.url))
        }),
    }
}

/// Prints all items, and returns their number.
fn print_all<'a, T: Serialize + 'a>(
    items: impl IntoIterator<Item = &'a T>,
    json: bool,
    out: &mut dyn Write,
    line: impl Fn(&T) -> String,
) -> VerbResult<u64> {
    let mut count = 0;
    for item in items {
        count += 1;
        print_item(item, json, out, &line)?;
    }
    Ok(count)
}

fn entry_line(entry: &IndexItem) -> String {
    let url = shown::with_login(&shown::line(&entry.url), entry.whose.login.as_deref());
    let bytes = shown::bytes(entry.content.bytes);
    let title = entry.title.as_deref().map(shown::line);
    let title = title.map(|title| format!("  {title}")).unwrap_or_default();
    format!("{:>3} {bytes:>7}  {:.0}  {url}{title}", entry.content.status, entry.times.stored)
}

fn counts_line(name: &str, entries: u64, bytes: u64) -> String {
    format!("{entries:>7} {:>7}  {}", shown::bytes(bytes), shown::line(name))
}

/// Searches for words, and prints the hits: stored pages, best first, and queued requests.
pub(super) fn search(typed: &Search, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let words = typed.words.join(" ");
    if wwwoffle_index::Query::parse(&words).is_empty() {
        return Err(VerbFailure::usage("search: expected a word to search for"));
    }
    parse_query("search", &typed.filter.arguments())?;
    let answerer = Answerer::of(settings)?;
    answerer.catch_up()?;
    if let Answerer::Ourselves(opened) = &answerer {
        // If words of new pages are not indexed within this time, the result is reported as
        // incomplete.
        opened.index.wait_until_current_within(true, READ_WITHIN)?;
    }
    let (mut left, mut after, mut is_found) = (typed.limit, None::<String>, false);
    while left > 0 {
        let mut arguments = typed.filter.arguments();
        arguments.extend([("q", words.clone()), ("limit", left.min(AT_ONCE).to_string())]);
        arguments.extend(after.take().map(|after| ("after", after)));
        let page: SearchPage = answerer.query("/api/search", &arguments, found::search)?;
        is_found |= !page.hits.is_empty() || !page.queue.is_empty();
        left = left.saturating_sub(print_hits(&page, left, typed.json, terminal.stdout)?);
        after = page.next;
        if page.incomplete && (after.is_none() || left == 0) {
            writeln!(
                terminal.stderr,
                "wwwoffle: not all pages are indexed yet; more may be found later"
            )?;
        }
        if after.is_none() {
            break;
        }
    }
    if !is_found {
        writeln!(terminal.stderr, "wwwoffle: no stored page matches these words")?;
        return Ok(ExitStatus::Failed);
    }
    Ok(ExitStatus::Done)
}

/// Prints at most `most` hits and requests, and returns their number.
fn print_hits(page: &SearchPage, most: u64, json: bool, out: &mut dyn Write) -> VerbResult<u64> {
    let count = print_all(&page.hits, json, out, hit_lines)?;
    let room = usize::try_from(most.saturating_sub(count)).unwrap_or(usize::MAX);
    Ok(count + print_all(page.queue.iter().take(room), json, out, line)?)
}

fn hit_lines(hit: &SearchHit) -> String {
    let title = hit.item.title.as_deref().map_or("-".into(), shown::line);
    let url = shown::with_login(&shown::line(&hit.item.url), hit.item.whose.login.as_deref());
    let head = format!("{url}\n  {title}");
    let text = shown::line(&hit.snippet.text);
    if text.trim().is_empty() {
        return head;
    }
    let before = if hit.snippet.cut_before { "… " } else { "" };
    let after = if hit.snippet.cut_after { " …" } else { "" };
    format!("{head}\n  {before}{}{after}", text.trim())
}

/// Rebuilds the index, or adds changes that other programs made in the spool.
pub(super) fn reindex(changed: bool, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    match Answerer::of(settings)? {
        Answerer::Daemon(control) => {
            match control.post_for_last("/api/reindex", &ReindexRequest { changed })? {
                Some(ReindexEvent::Done) => {}
                Some(ReindexEvent::Failed(why)) => return Err(VerbFailure::plain(why)),
                _ => {
                    return Err(VerbFailure::plain(
                        "the daemon closed the connection early: see its log",
                    ));
                }
            }
            writeln!(terminal.stdout, "done; the words of pages are indexed in the background")?;
        }
        Answerer::Ourselves(opened) => {
            let what = if changed { ReindexScope::Changed } else { ReindexScope::All };
            opened.index.reindex(what)?;
            opened.index.wait_until_current(true)?;
            for fault in opened.index.faults() {
                writeln!(terminal.stderr, "wwwoffle: {}", error_chain(&fault))?;
            }
            writeln!(terminal.stdout, "done")?;
        }
    }
    Ok(ExitStatus::Done)
}

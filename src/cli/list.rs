//! `wwwoffle ls`: lists the entries of the spool.

use super::args::ListArgs;
use super::failure::{VerbFailure, VerbResult};
use super::files::{invalid_url, print_item, reader};
use super::hold::held_in_words;
use super::{VerbContext, index};
use crate::base::exit::ExitStatus;
use crate::base::{clock, shown};
use crate::storage::lists::recorded::as_recorded;
use crate::storage::store::timestamp;
use wwwoffle_api::{EntryItem, ListKind};
use wwwoffle_url::CanonicalUrl;

/// Lists the entries, unsorted, or the queued requests, oldest first. Other lists come from the
/// index.
pub(super) fn list(typed: &ListArgs, context: &mut VerbContext<'_>) -> VerbResult {
    let is_remote = context.settings.remote.is_some();
    if typed.needs_index() || is_remote && typed.url().is_none() {
        return index::list(typed, context);
    }
    let json = typed.json;
    if let Some(url) = typed.url() {
        return list_url(url, json, context);
    }
    let what = typed
        .what
        .as_deref()
        .map_or(Ok(ListKind::ALL), ListKind::parse)
        .map_err(|error| VerbFailure::usage(format_args!("ls: {error}")))?;
    let (reader, out) = (reader(&context.settings)?, &mut *context.terminal.stdout);
    match what {
        ListKind::Entries { scheme, host } => {
            for summary in reader.list(scheme, host)? {
                print_item(&EntryItem::from(summary?), json, out, line)?;
            }
        }
        ListKind::Outgoing => {
            let now = timestamp(clock::now());
            for waiting in reader.queue()? {
                let held = as_recorded(&waiting, now);
                print_item(&EntryItem::of_waiting(&waiting, held), json, out, line)?;
            }
        }
    }
    Ok(ExitStatus::Done)
}

/// Lists the entries of one URL: those of every owner and for every login.
fn list_url(text: &str, json: bool, context: &mut VerbContext<'_>) -> VerbResult {
    let local = context.settings.local_host()?;
    let url = CanonicalUrl::parse(text, &local).map_err(|error| invalid_url(text, &error))?;
    let (reader, out) = (reader(&context.settings)?, &mut *context.terminal.stdout);
    let mut is_missing = true;
    for summary in reader.list(Some(url.protocol()), Some(url.host_port()))? {
        let item = EntryItem::from(summary?);
        if item.url == url.as_str() {
            print_item(&item, json, out, line)?;
            is_missing = false;
        }
    }
    if is_missing {
        return Err(VerbFailure::plain(format_args!(
            "not in the spool: {}",
            shown::line(url.as_str())
        )));
    }
    Ok(ExitStatus::Done)
}

pub(super) fn line(item: &EntryItem) -> String {
    let status = item.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
    let url = shown::with_login(&shown::line(&item.url), item.whose.login.as_deref());
    let bytes = shown::bytes(item.bytes);
    let held = item.held.map(held_in_words);
    let held = held.map(|held| format!("; {held}")).unwrap_or_default();
    format!("{status:>3} {bytes:>7}  {:.0}  {url}{held}", item.stored)
}

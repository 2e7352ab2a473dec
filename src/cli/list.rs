//! `wwwoffle ls`: lists the entries of the spool.

use super::args::ListArgs;
use super::failure::{VerbFailure, VerbResult};
use super::files::{print_item, reader};
use super::hold::held_in_words;
use super::{VerbContext, index};
use crate::base::exit::ExitStatus;
use crate::base::{clock, shown};
use crate::storage::lists::recorded::as_recorded;
use crate::storage::store::timestamp;
use wwwoffle_api::{EntryItem, ListKind};

/// Lists the entries, unsorted, or the queued requests, oldest first. Other lists come from the
/// index.
pub(super) fn list(typed: &ListArgs, context: &mut VerbContext<'_>) -> VerbResult {
    if typed.needs_index() {
        return index::list(typed, context);
    }
    let json = typed.json;
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

pub(super) fn line(item: &EntryItem) -> String {
    let status = item.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
    let url = shown::with_login(&shown::line(&item.url), item.whose.login.as_deref());
    let bytes = shown::bytes(item.bytes);
    let held = item.held.map(held_in_words);
    let held = held.map(|held| format!("; {held}")).unwrap_or_default();
    format!("{status:>3} {bytes:>7}  {:.0}  {url}{held}", item.stored)
}

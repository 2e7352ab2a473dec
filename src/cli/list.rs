//! `wwwoffle ls`: what the spool has.

use std::io::Write;

use super::{
    Terminal,
    failure::Failure,
    files::{print_json, reader, spool_failed},
    settings::Settings,
};
use crate::{
    api::{EntryItem, What},
    exit::ExitStatus,
    pages::shown,
};

/// Lists entries, in no order, or what is on the outgoing queue, oldest first.
pub(super) fn list(
    what: Option<&str>,
    json: bool,
    settings: &Settings<'_>,
    terminal: &mut Terminal<'_>,
) -> Result<ExitStatus, Failure> {
    let what = what
        .map_or(Ok(What::ALL), What::parse)
        .map_err(|error| Failure::Said(ExitStatus::Usage, format!("ls: {error}")))?;
    let (reader, out) = (reader(settings)?, &mut *terminal.stdout);
    match what {
        What::Entries { scheme, host } => {
            for summary in reader.list(scheme, host).map_err(|error| spool_failed(&error))? {
                print(&summary.map_err(|error| spool_failed(&error))?.into(), json, out)?;
            }
        }
        What::Outgoing => {
            for waiting in reader.queue().map_err(|error| spool_failed(&error))? {
                print(&EntryItem::from(&waiting), json, out)?;
            }
        }
    }
    Ok(ExitStatus::Done)
}

fn print(item: &EntryItem, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if json {
        return print_json(item, out);
    }
    let status = item.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
    let (bytes, url) = (shown::bytes(item.bytes), shown::line(&item.url));
    Ok(writeln!(out, "{status:>3} {bytes:>7}  {:.0}  {url}", item.stored)?)
}

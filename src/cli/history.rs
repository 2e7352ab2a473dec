//! `wwwoffle history`: the versions of a page.

use wwwoffle_spool::{Entry, Lookup, Place, Reader, Summary, Timestamp};

use super::args::HistoryArgs;
use super::failure::VerbResult;
use super::files::{find, places, print_json, reader};
use super::info::call;
use super::settings::Settings;
use super::{Terminal, VerbContext};
use crate::base::exit::ExitStatus;
use crate::base::owner::{Owner, Places};
use crate::base::shown;
use crate::site::history::version_list;
use crate::storage::versions::entered_time::{EnteredTime, nearest};
use wwwoffle_api::{History, VersionRequest};

/// Lists the versions, or makes the daemon restore or remove one.
pub(super) fn run(typed: HistoryArgs, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let HistoryArgs { json, restore, remove, owner, url } = typed;
    let change = match (restore, remove) {
        (Some(stored), _) => Some(("/api/history/restore", stored)),
        (None, Some(stored)) => Some(("/api/history/delete", stored)),
        (None, None) => None,
    };
    let history = match change {
        Some((call, stored)) => {
            // The daemon assumes `Owner::Local` for requests through its socket.
            let owner = (owner != Owner::Local).then(|| owner.to_string());
            settings.control()?.post(call, &VersionRequest { url, stored, owner })?
        }
        None if settings.remote.is_some() => {
            settings.control()?.get(&call("/api/history", &url, &owner))?
        }
        None => listed(&url, &owner, settings)?,
    };
    if json {
        print_json(&history, terminal.stdout)?;
    } else {
        print(&history, terminal)?;
    }
    Ok(if history.versions.is_empty() { ExitStatus::Failed } else { ExitStatus::Done })
}

fn listed(url: &str, owner: &Owner, settings: &Settings<'_>) -> VerbResult<History> {
    let places = places(url, owner, &settings.local_host()?)?;
    let reader = reader(settings)?;
    let entry = find(&reader, &places)?;
    let older = match &entry {
        Some(entry) => older(&reader, entry)?,
        None => orphaned_versions(&reader, &places)?,
    };
    Ok(version_list::of(places.public.url(), entry.as_ref(), &older))
}

fn older(reader: &Reader, entry: &Entry) -> VerbResult<Vec<Summary>> {
    let mut older = reader.versions(entry.place())?;
    // After a crash during a replacement, the current copy is also listed as a version.
    older.retain(|version| version.stored != entry.stored());
    Ok(older)
}

/// Returns the older versions of a page whose current copy is gone.
fn orphaned_versions(reader: &Reader, places: &Places) -> VerbResult<Vec<Summary>> {
    for place in [&places.own, &places.public] {
        let older = reader.versions(place)?;
        if !older.is_empty() {
            return Ok(older);
        }
    }
    Ok(Vec::new())
}

fn print(history: &History, terminal: &mut Terminal<'_>) -> VerbResult<()> {
    let out = &mut *terminal.stdout;
    if history.versions.is_empty() {
        return Ok(writeln!(out, "it is not stored: `wwwoffle get URL` fetches it")?);
    }
    let before = history.versions.iter().skip(1).map(Some).chain([None]);
    for (version, before) in history.versions.iter().zip(before) {
        let now = if version.present { "now " } else { "    " };
        let (came, status) = (format!("{:.0}", version.received), version.status);
        let size = shown::bytes(version.bytes);
        let content_type = shown::line(version.content_type.as_deref().unwrap_or("-"));
        let changes = before.map(|before| {
            let listed = version_list::changes(before, version);
            listed.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        });
        let changes = changes.map(|changes| format!("  {changes}")).unwrap_or_default();
        writeln!(
            out,
            "{now}{came}  {status}  {size:>8}  {content_type}{changes}\n    stored {}",
            version.stored
        )?;
    }
    Ok(())
}

/// Finds the copy of a URL that was current at the time `at`, among those of the owner and of
/// everyone: the last one received up to that time, or else the first one received later. Skips
/// copies that are gone.
pub(super) fn find_at(
    reader: &Reader,
    places: &Places,
    EnteredTime(at): EnteredTime,
) -> VerbResult<Option<Entry>> {
    let mut states: Vec<(Timestamp, VersionState)> = Vec::new();
    for place in [&places.own, &places.public] {
        let entries = reader.entries(place)?;
        let current = entries.found.into_iter().next();
        let older = match &current {
            Some(entry) => older(reader, entry)?,
            None => reader.versions(place)?,
        };
        for version in older {
            states.push((version.when, VersionState::Older(version.place, version.stored)));
        }
        states.extend(
            current.map(|entry| (entry.received(), VersionState::Present(Box::new(entry)))),
        );
    }
    let came: Vec<_> = states.iter().map(|(came, _)| *came).collect();
    for number in nearest(&came, at) {
        match states.get(number) {
            Some((_, VersionState::Present(entry))) => return Ok(Some(Entry::clone(entry))),
            Some((_, VersionState::Older(place, stored))) => {
                let found = reader.version(place, *stored)?;
                if let Lookup::Found(entry) = found {
                    return Ok(Some(entry));
                }
            }
            None => {}
        }
    }
    Ok(None)
}

enum VersionState {
    Present(Box<Entry>),
    Older(Place, Timestamp),
}

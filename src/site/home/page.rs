//! The local page `/`: problems that need attention, the first steps, the search, the mode and its
//! switch, current activity and recently stored pages.

pub(in crate::site) mod age;
pub mod setup;
pub(in crate::site) mod space;

use std::net::IpAddr;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Serialize;

use self::setup::Setup;
pub use self::space::DiskUse;
use self::space::DiskUseView;
use crate::base::escape::written;
use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::statistics::Outcome;
use crate::base::text::{Text, tr};
use crate::fetch::LastFetch;
use crate::page::{RenderedPage, Shell, View, links, view};
use crate::site::control::page::{MODES, mode_label};
use crate::site::fetches::progress;
use crate::site::link::LinkReport;
use crate::site::queue::page as queue;
use crate::site::statistics::chart::Chart;
use crate::site::statistics::page::{request_counts, saved_requests};
use wwwoffle_api::{DownloadItem, Mode, ModeSetting, Status, Sums};

/// Maximum number of listed downloads; the others are counted.
const SHOWN_DOWNLOADS: usize = 20;

/// Maximum number of characters of a title that are shown.
const SHOWN_TITLE: usize = 120;

/// Maximum size of a link to a page after escaping, in bytes; with a longer URL only the title is
/// shown.
const LONGEST_LINK: usize = 1_000;

/// Maximum number of characters of a URL in the name of a link.
const SHOWN_NAME: usize = 50;

/// The content of the page.
#[derive(Clone, Debug)]
pub struct HomePage {
    /// Status of the daemon.
    pub status: Status,
    /// State of the link.
    pub link: LinkReport,
    /// Summary of the last fetch of the queue.
    pub last: Option<LastFetch>,
    /// The pages that were stored last, latest first. `None` if our script did not ask for them.
    pub recent: Option<Vec<RecentPage>>,
    /// Whether the index was available to list the recent pages.
    pub is_ready: bool,
    /// Use of the disk, if known.
    pub space: Option<DiskUse>,
    /// Number of sites with stored entries.
    pub sites: u64,
    /// Counts of the last days up to today, oldest first.
    pub days: Vec<(Date, Sums)>,
    /// What is wrong at this machine.
    pub faults: HomeFaults,
    /// The first steps, if they are shown.
    pub setup: Option<Setup>,
    /// The current time.
    pub now: Timestamp,
}

/// What is wrong at this machine.
#[derive(Clone, Debug, Default)]
pub struct HomeFaults {
    /// Whether the last page could not be stored because the disk was full.
    pub was_full: bool,
    /// Clients that were recently refused.
    pub refused: Option<RefusedClients>,
    /// Whether the configuration file has faults.
    pub config: bool,
    /// Number of the user's own templates and catalogues that cannot be used.
    pub templates: usize,
}

/// A recently stored page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentPage {
    /// URL of the page.
    pub url: String,
    /// Title of the page.
    pub title: Option<String>,
    /// Time when the page was stored.
    pub stored: Timestamp,
    /// The icon as a `data:` URL.
    pub icon: Option<String>,
}

/// Clients that may not use the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedClients {
    /// Number of refused connections.
    pub count: u64,
    /// Address of the last refused client.
    pub client: IpAddr,
    /// Time of the last refusal.
    pub at: Timestamp,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, home: &HomePage) -> RenderedPage {
    let space = home.space.map(DiskUseView::of);
    let needs_attention = needs_attention(home, space.as_ref());
    let today = home.days.last().map(|(_, sums)| sums.clone()).unwrap_or_default();
    let requests = request_counts(&home.days);
    let has_requests = requests.iter().any(|day| day.whole > 0);
    let view = view! {
        mode: mode_switch(home),
        queue: home.status.queue,
        // The notices; `None` if nothing needs attention.
        attention: needs_attention.then(|| notices(home)),
        activity: activity(home, shell),
        recent: home.recent.as_ref().map(|pages| {
            pages.iter().map(|one| recent(one, home.now, shell)).collect::<Vec<_>>()
        }),
        is_ready: home.is_ready,
        sites: home.sites,
        today: view! {
            // Requests that were answered without transferring the response from the origin.
            answered: saved_requests(&today),
            stored: today.of(Outcome::Stored.as_str()),
        },
        // `None` if nothing was requested in these days.
        chart: has_requests.then(|| Chart::of_requests(&requests)),
        space,
        setup: home.setup.as_ref().map(|setup| setup.view(shell)),
    };
    shell.page("welcome.html", 200, &view)
}

fn needs_attention(home: &HomePage, space: Option<&DiskUseView>) -> bool {
    let Status { queue, rejections, process, .. } = &home.status;
    queue.failed > 0
        || queue.asking > 0
        || !rejections.is_empty()
        || home.faults.refused.is_some()
        || home.faults.config
        || home.faults.templates > 0
        || process.read_only
        || !process.missing_programs.is_empty()
        || home.faults.was_full
        || space.is_some_and(|space| space.is_short)
}

/// Returns the mode in force, and the buttons that set another mode.
fn mode_switch(home: &HomePage) -> View {
    let choice = |one: ModeSetting| {
        let chosen = one == home.status.chosen;
        view! { word: one.as_str(), label: mode_label(one), chosen }
    };
    let explanation = explanation(home.status.chosen, home.status.mode);
    view! { explanation, choices: MODES.map(choice), link: home.link }
}

/// Returns the values for the notices about problems. Notices about the queue and the disk also use
/// other values of the page.
fn notices(home: &HomePage) -> View {
    view! {
        // Address of the list of failed requests.
        failed: queue::failed(),
        read_only: home.status.process.read_only,
        was_full: home.faults.was_full,
        missing_programs: home.status.process.missing_programs.iter().map(|path| shown::text(path)).collect::<Vec<_>>(),
        // Number of hosts for which a client recently rejected our certificate.
        rejected: rejected(&home.status),
        refused: home.faults.refused,
        config_faults: home.faults.config,
        template_faults: home.faults.templates,
    }
}

/// Returns the fetches and downloads.
fn activity(home: &HomePage, shell: &Shell) -> View {
    let Status { queue, downloads, mode, .. } = &home.status;
    let may_dial = *mode != Mode::Offline;
    let shown = downloads.iter().take(SHOWN_DOWNLOADS).map(|one| download(shell, one));
    view! {
        can_fetch: may_dial && queue.waiting > 0,
        can_hold: may_dial && queue.active > 0,
        last: home.last.map(|last| view! {
            at: ShownTime::new(last.at, &shell.zone),
            age: age::of(last.at, home.now, &shell.zone),
            done: last.done,
            failed: last.failed,
        }),
        downloads: shown.collect::<Vec<_>>(),
        more_downloads: downloads.len().saturating_sub(SHOWN_DOWNLOADS),
    }
}

/// Explains what the proxy does in the chosen mode. With the choice *Automatic*, `mode` follows the
/// connection, which the page describes first.
const fn explanation(chosen: ModeSetting, mode: Mode) -> Text {
    match (chosen, mode) {
        (ModeSetting::Auto, Mode::Offline) => tr(
            "Saved pages are shown, missing pages are queued. They are fetched when the connection \
             is back.",
        ),
        (ModeSetting::Auto, _) => tr(
            "Pages come from the web and are saved. Without a connection, saved pages are shown and \
             missing pages are queued.",
        ),
        (_, Mode::Online) => tr("Online: pages come from the web and are saved."),
        (_, Mode::Offline) => tr("Offline: saved pages are shown, missing pages are queued."),
        (_, Mode::Autodial) => {
            tr("Saved first: saved pages are shown at once, the rest comes from the web.")
        }
    }
}

fn download(shell: &Shell, download: &DownloadItem) -> View {
    let time = |time| ShownTime::new(time, &shell.zone);
    view! {
        url: ShownUrl::new(&download.url),
        text: progress::describe_download(download),
        waiting: progress::describe_wait(download, time),
        percent: progress::percent(download),
    }
}

fn rejected(status: &Status) -> usize {
    let mut hosts: Vec<&str> = status.rejections.iter().map(|one| one.host.as_str()).collect();
    hosts.dedup();
    hosts.len()
}

fn recent(recent: &RecentPage, now: Timestamp, shell: &Shell) -> View {
    let url = ShownUrl::new(&recent.url);
    let host = url.text.split_once("://").map_or(&*url.text, |(_, rest)| rest);
    let host = host.split(['/', '?']).next().unwrap_or_default().to_owned();
    let title = recent.title.as_deref().filter(|title| !title.trim().is_empty());
    let title =
        title.map_or_else(|| url.text.clone(), |title| shown::shorten_url(title, SHOWN_TITLE));
    view! {
        title,
        // Letter shown in place of a missing icon.
        letter: letter(&host),
        host,
        icon: recent.icon,
        at: ShownTime::new(recent.stored, &shell.zone),
        age: age::of(recent.stored, now, &shell.zone),
        // The URL, to tell links with the same title apart.
        name: shown::shorten_url(&recent.url, SHOWN_NAME),
        info: Some(links::info(&recent.url)).filter(|path| written(path) <= LONGEST_LINK),
        href: url.href.filter(|href| written(href) <= LONGEST_LINK),
    }
}

/// Returns the letter that is shown in place of the icon of a host or site.
pub(in crate::site) fn letter(host: &str) -> String {
    let name = host.strip_prefix("www.").unwrap_or(host);
    name.chars().find(|c| c.is_alphanumeric()).map(String::from).unwrap_or_default()
}

#[cfg(test)]
mod tests;

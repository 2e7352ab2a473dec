//! The local page `/queue/`: the outgoing queue, grouped by page.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use serde::Serialize;

use super::{
    Page, Shell, Templates,
    shown::{self, ShownTime, ShownUrl},
};
use crate::api::{ItemKind, ItemState, Mode, QueueCounts, QueueItem};

/// Pages that are listed; the requests of the others are counted.
const SHOWN_GROUPS: usize = 50;
/// Parts that are listed with each page.
const SHOWN_PARTS: usize = 20;
/// Requests that are listed in all, pages and parts together, which bounds the size of the page.
const SHOWN_ITEMS: usize = 60;

#[derive(Serialize)]
struct View<'a> {
    token: &'a str,
    counts: QueueCounts,
    can_fetch: bool,
    groups: Vec<GroupView<'a>>,
    more: usize,
}

#[derive(Serialize)]
struct GroupView<'a> {
    page: ShownUrl,
    lead: Option<ItemView<'a>>,
    parts: Vec<ItemView<'a>>,
    part_count: usize,
    more: usize,
}

#[derive(Serialize)]
struct ItemView<'a> {
    key: &'a str,
    url: ShownUrl,
    state: ItemState,
    what: String,
    queued: ShownTime,
    attempts: u32,
    /// What holds it back, in words.
    held: Option<String>,
    error: Option<String>,
}

/// A page and what of it is on the queue.
#[derive(Debug, PartialEq, Eq)]
struct Group<'a> {
    page: &'a str,
    /// The page itself, when it is on the queue too.
    lead: Option<&'a QueueItem>,
    parts: Vec<&'a QueueItem>,
}

/// Makes the page from the queue, oldest first; `token` is the general token.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, items: &[QueueItem], token: &str) -> Page {
    let groups = grouped(items);
    let (mut room, mut shown) = (SHOWN_ITEMS, 0);
    let mut views = Vec::new();
    for group in groups.iter().take(SHOWN_GROUPS) {
        if room == 0 {
            break;
        }
        room -= usize::from(group.lead.is_some());
        let parts = group.parts.len().min(SHOWN_PARTS).min(room);
        room -= parts;
        // The parts that are only counted are told of in their own group.
        shown += usize::from(group.lead.is_some()) + group.parts.len();
        views.push(group_view(group, parts, &shell.zone));
    }
    let counts = count(items);
    let view = View {
        token,
        counts,
        can_fetch: shell.mode != Mode::Offline && counts.waiting > 0,
        groups: views,
        more: items.len().saturating_sub(shown),
    };
    templates.page("queue.html", 200, shell, &view)
}

/// Groups by page; groups with failures first, then those on the way, then by time.
fn grouped(items: &[QueueItem]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut place: HashMap<&str, usize> = HashMap::new();
    for item in items {
        let page = item.page.as_deref().unwrap_or(&item.url);
        let index = *place.entry(page).or_insert_with(|| {
            groups.push(Group { page, lead: None, parts: Vec::new() });
            groups.len() - 1
        });
        let Some(group) = groups.get_mut(index) else { continue };
        if item.page.is_none() && group.lead.is_none() {
            group.lead = Some(item);
        } else {
            group.parts.push(item);
        }
    }
    // A stable sort: within a rank the order of time stays.
    groups.sort_by_key(rank);
    groups
}

fn rank(group: &Group<'_>) -> u8 {
    group
        .lead
        .iter()
        .chain(&group.parts)
        .map(|item| state_rank(item.state))
        .min()
        .unwrap_or(u8::MAX)
}

const fn state_rank(state: ItemState) -> u8 {
    match state {
        ItemState::Asking => 0,
        ItemState::Failed => 1,
        ItemState::Active => 2,
        ItemState::Waiting => 3,
    }
}

fn count(items: &[QueueItem]) -> QueueCounts {
    items.iter().fold(QueueCounts::default(), |mut counts, item| {
        let count = match item.state {
            ItemState::Waiting => &mut counts.waiting,
            ItemState::Active => &mut counts.active,
            ItemState::Failed => &mut counts.failed,
            ItemState::Asking => &mut counts.asking,
        };
        *count += 1;
        counts
    })
}

fn group_view<'a>(group: &Group<'a>, shown_parts: usize, zone: &TimeZone) -> GroupView<'a> {
    let mut parts = group.parts.clone();
    parts.sort_by_key(|item| state_rank(item.state));
    GroupView {
        page: ShownUrl::new(group.page),
        lead: group.lead.map(|item| item_view(item, zone)),
        parts: parts.iter().take(shown_parts).map(|item| item_view(item, zone)).collect(),
        part_count: parts.len(),
        more: parts.len() - shown_parts,
    }
}

fn item_view<'a>(item: &'a QueueItem, zone: &TimeZone) -> ItemView<'a> {
    let what = match item.kind {
        ItemKind::Page => "page".to_owned(),
        ItemKind::Part => "part of a page".to_owned(),
        ItemKind::Refresh => "newer version".to_owned(),
        ItemKind::Post => format!("form ({})", shown::text(&item.method)),
        ItemKind::Recursive => "recursive fetch".to_owned(),
        ItemKind::Monitored => "on a schedule".to_owned(),
    };
    ItemView {
        key: &item.key,
        url: ShownUrl::new(&item.url),
        state: item.state,
        what,
        queued: ShownTime::new(item.queued, zone),
        attempts: item.attempts,
        held: item.held.map(|held| held.in_words(|time| ShownTime::new(time, zone).text)),
        error: item.error.as_deref().map(shown::text),
    }
}

#[cfg(test)]
mod tests;

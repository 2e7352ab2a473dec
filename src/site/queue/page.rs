//! The local page `/queue/`: the outgoing queue in the order of fetching.

pub mod edit;
pub(crate) mod hold;

use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, tr};
use crate::page::form::SubmittedForm;
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::lists::page::room::take_links;
use wwwoffle_api::{ItemState, Mode, Priority, QueueCounts, QueueItem, RequestKind};

/// Path of the page.
pub const PATH: &str = "/queue/";

/// Maximum number of requests on a page, all of which can be selected in one form.
pub const ROWS: usize = 50;

/// Maximum number of characters of a URL in the name of a button.
const SHOWN_NAME: usize = 28;
/// Maximum number of characters of the URL of the page that a sub-resource belongs to.
const SHOWN_PAGE: usize = 40;

/// Maximum size of all links on a page after escaping, in bytes; further URLs are shown without a
/// link.
const MOST_LINKS: usize = 12_000;

/// Filter and position in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSelection {
    /// The state of the shown requests; `None` for all.
    pub state: Option<ItemState>,
    /// Page number, counted from 1.
    pub page: usize,
}

impl QueueSelection {
    /// Parses the arguments of the address. Unknown arguments are ignored.
    #[must_use]
    pub fn parse(arguments: Option<&str>) -> Self {
        let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
        let page = form.value("page").and_then(|page| page.parse().ok());
        Self { state: state_in(&form), page: page.unwrap_or(1).max(1) }
    }

    /// Returns the address of this page, without scheme and host.
    #[must_use]
    pub fn address(&self) -> String {
        let address = with_state(PATH, self.state);
        match (self.page, self.state) {
            (..=1, _) => address,
            (page, None) => format!("{address}?page={page}"),
            (page, Some(_)) => format!("{address}&page={page}"),
        }
    }
}

/// Returns the address of a page for the requests in one state, or for all.
fn with_state(path: &str, state: Option<ItemState>) -> String {
    state.map_or_else(|| path.to_owned(), |state| format!("{path}?{STATE}={}", word(state)))
}

/// Argument and form field with the state of the requests; for all of them it is absent.
pub const STATE: &str = "state";

/// One page of the queue.
#[derive(Clone, Debug, Default)]
pub struct QueuePage {
    /// The requests of this page, in their order.
    pub items: Vec<QueueItem>,
    /// Filter and page number; the page exists.
    pub asked: QueueSelection,
    /// Number of requests on all pages.
    pub total: usize,
    /// Numbers of requests in the whole queue by state.
    pub counts: QueueCounts,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, shown: &QueuePage) -> RenderedPage {
    let QueuePage { items, asked, total, counts } = shown;
    let before = asked.page.saturating_sub(1).saturating_mul(ROWS);
    let beside = |page: usize| QueueSelection { page, ..*asked }.address();
    let view = view! {
        // Arguments that lead back to this page, for the address of a request's own page.
        rest: edit::back_arguments(&asked.address()),
        back: asked.address(),
        counts: *counts,
        can_fetch: shell.mode != Mode::Offline && counts.waiting > 0,
        filters: filters(asked.state, *counts),
        groups: groups(items, before, shell),
        first: before + 1,
        last: before + items.len(),
        total: *total,
        // Address of the page that deletes all requests in the shown state.
        delete: with_state("/control/delete/req-all", asked.state),
        previous: (asked.page > 1).then(|| beside(asked.page - 1)),
        next: (before + ROWS < *total).then(|| beside(asked.page + 1)),
    };
    shell.page("queue.html", 200, &view)
}

const STATES: [ItemState; 4] =
    [ItemState::Active, ItemState::Waiting, ItemState::Asking, ItemState::Failed];

pub(in crate::site) const fn word(state: ItemState) -> &'static str {
    match state {
        ItemState::Waiting => "waiting",
        ItemState::Active => "active",
        ItemState::Failed => "failed",
        ItemState::Asking => "asking",
    }
}

/// Returns the state in a form; `None` for all requests.
#[must_use]
pub fn state_in(form: &SubmittedForm) -> Option<ItemState> {
    let state = form.value(STATE)?;
    STATES.into_iter().find(|one| state == word(*one))
}

/// Returns the address of the list of failed requests.
#[must_use]
pub fn failed() -> String {
    QueueSelection { state: Some(ItemState::Failed), page: 1 }.address()
}

/// Returns links to the requests in each state. The list is empty if no state is selected and all
/// requests are in the same state.
fn filters(chosen: Option<ItemState>, counts: QueueCounts) -> Vec<View> {
    let rows = [
        (tr("in progress"), ItemState::Active, counts.active),
        (tr("waiting"), ItemState::Waiting, counts.waiting),
        (tr("needs your consent"), ItemState::Asking, counts.asking),
        (tr("failed"), ItemState::Failed, counts.failed),
    ];
    let link = |label: Text, state: Option<ItemState>| {
        let path = QueueSelection { state, page: 1 }.address();
        view! { label, path, chosen: chosen == state }
    };
    let there = rows.into_iter().filter(|(_, state, count)| *count > 0 || chosen == Some(*state));
    let mut filters: Vec<_> = there.map(|(label, state, _)| link(label, Some(state))).collect();
    if filters.len() > 1 || chosen.is_some() {
        filters.insert(0, link(tr("all"), None));
    } else {
        filters.clear();
    }
    filters
}

/// Groups consecutive requests in the same state: the list is sorted by state.
fn groups(items: &[QueueItem], before: usize, shell: &Shell) -> Vec<View> {
    let rows: Vec<(usize, &QueueItem)> = (before + 1..).zip(items).collect();
    let mut room = MOST_LINKS;
    rows.chunk_by(|one, other| one.1.state == other.1.state)
        .filter_map(|together| {
            let state = together.first()?.1.state;
            let heading = match state {
                ItemState::Active => tr("In progress"),
                ItemState::Waiting => tr("Waiting, next first"),
                ItemState::Asking => tr("Too large to fetch without asking"),
                ItemState::Failed => tr("Failed"),
            };
            let rows = together.iter().map(|(number, item)| {
                let mut url = ShownUrl::new(&item.url);
                take_links(&mut room, &mut url);
                row(*number, item, &url, shell)
            });
            let rows = rows.collect::<Vec<_>>();
            // Only the requests that wait show their position in the order of fetching.
            Some(view! { heading, numbered: state == ItemState::Waiting, rows })
        })
        .collect()
}

fn row(number: usize, item: &QueueItem, url: &ShownUrl, shell: &Shell) -> View {
    let time = |time| ShownTime::new(time, &shell.zone);
    let what = match item.kind {
        RequestKind::Page => tr("page"),
        RequestKind::Part => tr("part of a page"),
        RequestKind::Refresh => tr("newer version of a saved page"),
        RequestKind::Post => tr("form ({method})").with("method", shown::text(&item.method)),
        RequestKind::Recursive => tr("fetch that follows links"),
        RequestKind::Monitored => tr("on a schedule"),
    };
    let is = match item.state {
        ItemState::Waiting => tr("waiting"),
        ItemState::Active => tr("active"),
        ItemState::Failed => tr("failed"),
        ItemState::Asking => tr("needs your consent"),
    };
    view! {
        number,
        item,
        url,
        // The URL in the names of buttons.
        name: shown::shorten_url(&item.url, SHOWN_NAME),
        // The state in words.
        is,
        what,
        page: item.page.as_deref().map(|page| shown::shorten_url(page, SHOWN_PAGE)),
        priority: match item.priority {
            Priority::First => Some(tr("first")),
            Priority::Usual => None,
            Priority::Last => Some(tr("last")),
        },
        queued: time(item.queued),
        // Reason why the request waits, in words.
        held: item.attempts.held.map(|held| hold::sentence(held, time)),
        error: item.attempts.error.as_deref().map(shown::text),
        owner: item.owner.as_deref().map(|owner| shell.for_whom(owner)),
    }
}

#[cfg(test)]
mod tests;

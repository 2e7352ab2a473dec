//! The confirmation pages before deletions: they show the items to be deleted and one button.

use serde::Serialize;

use crate::base::shown::ShownUrl;
use crate::base::text::{Text, count, tr};
use crate::page::{RenderedPage, Shell};
use crate::site::queue::page::{STATE, word};
use wwwoffle_api::{ItemState, QueueCounts};

/// The items to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionTarget<'a> {
    /// All requests on the queue that the caller may see, or those in one state.
    Queue {
        /// Numbers of requests by state.
        counts: QueueCounts,
        /// How many of these requests send a form.
        forms: u64,
        /// The state of the requests; `None` for all.
        only: Option<ItemState>,
    },
    /// One request.
    Request {
        /// The URL.
        url: &'a str,
        /// The key.
        key: &'a str,
    },
    /// All monitor schedules that the caller may see. The value is their number.
    Monitors(u64),
    /// One monitor schedule.
    Monitor {
        /// The URL of the page.
        url: &'a str,
        /// The key of the schedule.
        key: &'a str,
    },
    /// The stored copy of one URL.
    Entry {
        /// The URL, as it was given.
        url: &'a str,
    },
    /// A collection.
    Collection {
        /// Its name.
        name: &'a str,
        /// Its id.
        id: &'a str,
    },
}

#[derive(Serialize)]
struct QuestionView {
    heading: Text,
    url: Option<ShownUrl>,
    lines: Vec<Text>,
    explanation: Text,
    /// Last component of the form's target path.
    act: &'static str,
    /// The field that the form sends in addition to the token.
    field: Option<(&'static str, String)>,
    label: Text,
    back: BackLink,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, doomed: &DeletionTarget<'_>) -> RenderedPage {
    let view = view(*doomed);
    shell.page("question.html", 200, &view)
}

fn view(doomed: DeletionTarget<'_>) -> QuestionView {
    let for_good = tr("It is removed from the queue. You cannot undo this.");
    match doomed {
        DeletionTarget::Queue { counts, forms, only } => {
            let all = counts.waiting + counts.active + counts.asking + counts.failed;
            let text = tr("They are removed from the queue. You cannot undo this.");
            let label = count(all, "Delete {n} request", "Delete all {n} requests");
            let view = QuestionView::new(tr("Delete all requests?"), text, QUEUE, "req-all", label);
            let field = only.map(|state| (STATE, word(state).to_owned()));
            QuestionView { lines: of_queue(counts, forms), field, ..view }
        }
        DeletionTarget::Request { url, key } => {
            let heading = tr("Delete this request?");
            QuestionView::new(heading, for_good, QUEUE, "req", tr("Delete")).of(url, "key", key)
        }
        DeletionTarget::Monitors(pages) => {
            let text = tr("Their saved copies stay.");
            let label = count(pages, "Stop monitoring {n} page", "Stop monitoring all {n} pages");
            QuestionView::new(tr("Stop monitoring all pages?"), text, MONITOR, "mon-all", label)
        }
        DeletionTarget::Monitor { url, key } => {
            let text = tr("Its saved copy stays.");
            let heading = tr("Stop monitoring this page?");
            QuestionView::new(heading, text, MONITOR, "mon", tr("Stop")).of(url, "key", key)
        }
        DeletionTarget::Entry { url } => {
            // The link has no password: no page shows one.
            let href = ShownUrl::new(url).href.unwrap_or_default();
            let text = tr("You have an hour to restore it.");
            let heading = tr("Delete the saved copy of this page?");
            QuestionView::new(heading, text, LISTS, "url", tr("Delete")).of(url, "url", &href)
        }
        DeletionTarget::Collection { name, id } => {
            let text = tr("Its saved pages stay. You have an hour to restore the collection.");
            let heading = tr("Delete the collection {name}?").with("name", name);
            let view = QuestionView::new(heading, text, COLLECTIONS, "collection", tr("Delete"));
            QuestionView { field: Some(("id", id.to_owned())), ..view }
        }
    }
}

/// Address and label of the link back, for a person who does not want to delete anything.
type BackLink = (&'static str, Text);

const QUEUE: BackLink = ("/queue/", tr("Back to the queue"));
const MONITOR: BackLink = ("/monitor/", tr("All monitored pages"));
const COLLECTIONS: BackLink = ("/collections/", tr("All collections"));
const LISTS: BackLink = ("/index/", tr("Lists of everything saved"));

impl QuestionView {
    /// Creates a question. `act` is the last component of the form's target path.
    fn new(
        heading: Text,
        explanation: Text,
        back: BackLink,
        act: &'static str,
        label: Text,
    ) -> Self {
        let (url, lines, field) = (None, Vec::new(), None);
        Self { heading, url, lines, explanation, act, field, label, back }
    }

    /// Adds the URL, and the form field that identifies the item.
    fn of(self, url: &str, field: &'static str, value: &str) -> Self {
        Self { url: Some(ShownUrl::new(url)), field: Some((field, value.to_owned())), ..self }
    }
}

fn of_queue(counts: QueueCounts, forms: u64) -> Vec<Text> {
    let waiting = counts.waiting + counts.active;
    let lines = [
        count(waiting, "{n} request waiting or in progress", "{n} requests waiting or in progress"),
        count(
            counts.asking,
            "{n} is too large to fetch without asking",
            "{n} are too large to fetch without asking",
        ),
        count(counts.failed, "{n} has failed", "{n} have failed"),
        count(forms, "{n} of these is an unsent form", "{n} of these are unsent forms"),
    ];
    lines.into_iter().filter_map(Text::if_any).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{as_key, assert_harmless, hostile, shell};

    #[test]
    fn question_names_the_number_of_deleted_requests() {
        let counts = QueueCounts { waiting: 40, active: 1, failed: 2, asking: 1 };
        for (counts, forms, want, not) in [
            (
                counts,
                3,
                &[
                    "41 requests waiting",
                    "1 is too large",
                    "2 have failed",
                    "3 of these are unsent forms",
                    "all 44 requests",
                ][..],
                "restore",
            ),
            (
                QueueCounts { failed: 1, ..QueueCounts::default() },
                0,
                &["1 has failed", "Delete 1 request<"],
                "wait",
            ),
        ] {
            let page = page(&shell(), &DeletionTarget::Queue { counts, forms, only: None });
            assert_harmless(&page);
            let body = page.body;
            let to = "method=\"post\" action=\"http://localhost:8080/control/delete/req-all\"";
            for want in want.iter().chain(&[to, "value=\"f00\"", "/queue/\">Back"]) {
                assert!(body.contains(want), "{want} in {body}");
            }
            let main = body.split("<main").nth(1).unwrap_or(&body);
            assert!(!main.contains(not), "{not} in {body}");
        }
    }

    #[test]
    fn a_confirmation_names_its_target_and_escapes_it() {
        for hostile in &hostile() {
            let (url, key) = (hostile.as_str(), as_key(hostile));
            for (doomed, to) in [
                (DeletionTarget::Request { url, key }, "delete/req"),
                (DeletionTarget::Monitors(3), "delete/mon-all"),
                (DeletionTarget::Monitor { url, key }, "delete/mon"),
                (DeletionTarget::Entry { url }, "delete/url"),
            ] {
                let page = page(&shell(), &doomed);
                assert_harmless(&page);
                let body = page.body;
                let to = format!("action=\"http://localhost:8080/control/{to}\"");
                assert!(body.contains(&to) && body.contains("value=\"f00\""), "{to} in {body}");
            }
        }
    }
}

//! The pages that ask before something is deleted: what goes, and one button.

use serde::Serialize;

use super::super::text::{Text, count, say};
use super::super::{Page, Shell, Templates};
use crate::api::QueueCounts;

/// What would be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doomed {
    /// All of the queue that is the caller's.
    Queue {
        /// It in numbers.
        counts: QueueCounts,
        /// How many of these requests are forms that were not sent yet.
        forms: u64,
    },
}

#[derive(Serialize)]
struct View<'a> {
    token: &'a str,
    heading: Text,
    lines: Vec<Text>,
    explanation: Text,
    action: &'static str,
    label: Text,
    back: &'static str,
    back_label: Text,
}

/// Makes the page; `token` is the general token.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, doomed: &Doomed, token: &str) -> Page {
    templates.page("question.html", 200, shell, &view(doomed, token))
}

fn view<'a>(doomed: &Doomed, token: &'a str) -> View<'a> {
    match *doomed {
        Doomed::Queue { counts, forms } => View {
            token,
            heading: say("Delete all requests?"),
            lines: of_queue(counts, forms),
            explanation: say("They are taken off the queue for good: nothing brings them back."),
            action: "/control/delete/req-all",
            label: {
                let all = counts.waiting + counts.active + counts.asking + counts.failed;
                count(all, "Delete {n} request", "Delete all {n} requests")
            },
            back: "/queue/",
            back_label: say("Back to the queue"),
        },
    }
}

fn of_queue(counts: QueueCounts, forms: u64) -> Vec<Text> {
    let waiting = counts.waiting + counts.active;
    [
        (
            waiting,
            count(
                waiting,
                "{n} request waits or is on its way",
                "{n} requests wait or are on their way",
            ),
        ),
        (
            counts.asking,
            count(
                counts.asking,
                "{n} is too long to be fetched unasked",
                "{n} are too long to be fetched unasked",
            ),
        ),
        (counts.failed, count(counts.failed, "{n} has failed", "{n} have failed")),
        (
            forms,
            count(
                forms,
                "{n} of these is a form that was not sent",
                "{n} of these are forms that were not sent",
            ),
        ),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(_, text)| text)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::testing::{assert_harmless, shell, templates};

    #[test]
    fn tells_how_much_goes_before_it_does() {
        let counts = QueueCounts { waiting: 40, active: 1, failed: 2, asking: 1 };
        for (counts, forms, want, not) in [
            (
                counts,
                3,
                &[
                    "41 requests wait",
                    "1 is too long",
                    "2 have failed",
                    "3 of these are forms",
                    "all 44 requests",
                ][..],
                "undo",
            ),
            (
                QueueCounts { failed: 1, ..QueueCounts::default() },
                0,
                &["1 has failed", "Delete 1 request<"],
                "wait",
            ),
        ] {
            let page = page(&templates(), &shell(), &Doomed::Queue { counts, forms }, "f00");
            assert_harmless(&page);
            let body = page.body.replace("&#x2f;", "/");
            let to = "method=\"post\" action=\"http://localhost:8080/control/delete/req-all\"";
            for want in want.iter().chain(&[to, "value=\"f00\"", "/queue/\">Back"]) {
                assert!(body.contains(want), "{want} in {body}");
            }
            let main = body.split("<main").nth(1).unwrap_or(&body);
            assert!(!main.contains(not), "{not} in {body}");
        }
    }
}

//! Why a queued request is not being fetched, in words.

use jiff::Timestamp;

use crate::site::queue::page::hold::sentence;
use wwwoffle_api::Hold;

/// Returns the sentence that explains `held` on pages, in English, without its first word "It" and
/// its full stop. The caller puts another subject in front.
pub(super) fn held_in_words(held: Hold) -> String {
    let sentence = sentence(held, |time: Timestamp| format!("{time:.0}")).to_string();
    sentence.trim_start_matches("It ").trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_api::BudgetOf;

    #[test]
    fn each_reason_has_its_words() {
        let until: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let budget = |of, metered, until| Hold::Budget { of, metered, until };
        for (held, words) in [
            (Hold::Mode, "waits until the proxy is online"),
            (Hold::Window { until }, "waits until NOON, when fetching is allowed"),
            (
                budget(BudgetOf::Fetch, false, None),
                "waits until the next fetch of the queue: the budget of this fetch is used up",
            ),
            (
                budget(BudgetOf::Day, true, Some(until)),
                "waits until NOON: the daily budget for metered connections is used up",
            ),
            (Hold::Quota { until }, "waits until NOON: a quota is used up"),
            (Hold::Origin { until }, "waits until NOON, as its host asked"),
            (
                Hold::Distance { until },
                "waits until NOON, because of the pause between requests to its host",
            ),
            (Hold::Retry { until }, "is tried again at NOON"),
            (Hold::LastTry { until }, "is tried for the last time at NOON"),
            (
                Hold::Asks { bytes: Some(4_000_000) },
                "is large (4.0 MB), so it is fetched only if you confirm",
            ),
            (Hold::Asks { bytes: None }, "is large, so it is fetched only if you confirm"),
        ] {
            assert_eq!(held_in_words(held), words.replace("NOON", "2026-11-20T12:00:00Z"));
        }
    }
}

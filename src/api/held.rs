//! Why a queued request is not being fetched.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::base::shown;

/// The reason that holds back a queued request; of several, the one that lasts longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Held {
    /// The mode is offline.
    Mode,
    /// It is outside its time of day (`windows`).
    Window {
        /// When that time begins.
        until: Timestamp,
    },
    /// The budget is spent (`budget-…`).
    Budget {
        /// The period of the budget.
        of: BudgetOf,
        /// Whether it is the budget of a metered link.
        metered: bool,
        /// When there is a new budget; absent if that is the next time the queue is fetched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// Its origin has asked to wait (`Retry-After`).
    Origin {
        /// Until when.
        until: Timestamp,
    },
    /// No client is waiting for it, and another request was just sent to its host (`delay`, or the
    /// crawl delay of its site).
    Distance {
        /// When the next one may be sent.
        until: Timestamp,
    },
    /// It failed temporarily.
    Retry {
        /// When it is retried.
        until: Timestamp,
    },
    /// It has failed in all regular attempts, and is retried one last time (`last-try`).
    LastTry {
        /// When it is retried.
        until: Timestamp,
    },
    /// It is larger than `ask-above` and needs the user's consent.
    Asks {
        /// Its size, if the origin announced it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
    },
    /// A reason from a newer daemon.
    #[serde(other)]
    Unknown,
}

/// The period of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BudgetOf {
    /// One fetch of the queue.
    Fetch,
    /// A day.
    Day,
}

impl Held {
    /// Whether it lasts for hours or until the user acts, so that a command should not wait for it.
    #[must_use]
    pub const fn lasts(self) -> bool {
        matches!(self, Self::Mode | Self::Window { .. } | Self::Budget { .. } | Self::Asks { .. })
    }

    /// The reason in words; `time` formats a time.
    #[must_use]
    pub fn in_words(self, time: impl Fn(Timestamp) -> String) -> String {
        match self {
            Self::Mode => "waits until the proxy is online".to_owned(),
            Self::Window { until } => {
                format!("waits for its time of day, which begins at {}", time(until))
            }
            Self::Budget { of, metered, until } => {
                let connections = if metered { " for metered connections" } else { "" };
                let of = match of {
                    BudgetOf::Fetch => "the budget of this fetch",
                    BudgetOf::Day => "the daily budget",
                };
                let until = until.map_or_else(
                    || "until the next fetch of the queue".to_owned(),
                    |until| format!("until {}", time(until)),
                );
                format!("waits {until}: {of}{connections} is used up")
            }
            Self::Origin { until } => {
                format!("waits until {}, as its host asked", time(until))
            }
            Self::Distance { until } => {
                format!("waits until {}, to leave a pause after the one before", time(until))
            }
            Self::Retry { until } => format!("is tried again at {}", time(until)),
            Self::LastTry { until } => format!("is tried for the last time at {}", time(until)),
            Self::Asks { bytes } => {
                let length =
                    bytes.map_or_else(String::new, |bytes| format!(" ({})", shown::bytes(bytes)));
                format!("is larger than what is fetched without asking{length}")
            }
            Self::Unknown => "waits for a reason that this version does not know".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_shape_and_its_words() {
        let until: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let at = r#","until":"2026-11-20T12:00:00Z"}"#;
        let budget = |of, metered, until| Held::Budget { of, metered, until };
        for (held, shape, words) in [
            (Held::Mode, r#"{"reason":"mode"}"#.to_owned(), "waits until the proxy is online"),
            (
                Held::Window { until },
                format!(r#"{{"reason":"window"{at}"#),
                "waits for its time of day, which begins at noon",
            ),
            (
                budget(BudgetOf::Fetch, false, None),
                r#"{"reason":"budget","of":"fetch","metered":false}"#.to_owned(),
                "waits until the next fetch of the queue: the budget of this fetch is used up",
            ),
            (
                budget(BudgetOf::Day, true, Some(until)),
                format!(r#"{{"reason":"budget","of":"day","metered":true{at}"#),
                "waits until noon: the daily budget for metered connections is used up",
            ),
            (
                Held::Origin { until },
                format!(r#"{{"reason":"origin"{at}"#),
                "waits until noon, as its host asked",
            ),
            (
                Held::Distance { until },
                format!(r#"{{"reason":"distance"{at}"#),
                "waits until noon, to leave a pause after the one before",
            ),
            (Held::Retry { until }, format!(r#"{{"reason":"retry"{at}"#), "is tried again at noon"),
            (
                Held::LastTry { until },
                format!(r#"{{"reason":"last-try"{at}"#),
                "is tried for the last time at noon",
            ),
            (
                Held::Asks { bytes: Some(4_000_000) },
                r#"{"reason":"asks","bytes":4000000}"#.to_owned(),
                "is larger than what is fetched without asking (4.0 MB)",
            ),
            (
                Held::Asks { bytes: None },
                r#"{"reason":"asks"}"#.to_owned(),
                "is larger than what is fetched without asking",
            ),
        ] {
            assert_eq!(serde_json::to_string(&held).unwrap(), shape);
            assert_eq!(serde_json::from_str::<Held>(&shape).unwrap(), held);
            assert_eq!(held.in_words(|_| "noon".to_owned()), words);
        }
        let newer = serde_json::from_str::<Held>(r#"{"reason":"moon","phase":3}"#).unwrap();
        assert_eq!(newer, Held::Unknown);
    }
}

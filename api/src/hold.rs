//! Why a queued request is not being fetched.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The reason that holds back a queued request. If there are several reasons, the one that lasts
/// longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Hold {
    /// The mode is offline.
    Mode,
    /// The time is outside the configured `windows`.
    Window {
        /// When the next window begins.
        until: Timestamp,
    },
    /// The budget is spent (`budget-…`).
    Budget {
        /// The period of the budget.
        of: BudgetOf,
        /// Whether this is the budget of a metered link.
        metered: bool,
        /// When the budget is renewed. Absent if it is renewed at the next fetch of the queue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// The quota of the user or client is used up.
    Quota {
        /// When the quota is renewed.
        until: Timestamp,
    },
    /// The origin has asked to wait (`Retry-After`).
    Origin {
        /// When the next request may be sent to the origin.
        until: Timestamp,
    },
    /// No client is waiting for the request, and another request was just sent to its host
    /// (`delay`, or the crawl delay of its site).
    Distance {
        /// When the next request may be sent to the host.
        until: Timestamp,
    },
    /// The request failed temporarily.
    Retry {
        /// When the request is retried.
        until: Timestamp,
    },
    /// The request has failed in all regular attempts, and is retried one last time (`last-try`).
    LastTry {
        /// When the request is retried.
        until: Timestamp,
    },
    /// The response is larger than `ask-above` and needs the user's consent.
    Asks {
        /// The size of the response, if the origin announced it.
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

impl Hold {
    /// Whether the reason may last for hours or until the user acts. A command should then not wait
    /// for the request.
    #[must_use]
    pub const fn lasts(self) -> bool {
        matches!(
            self,
            Self::Mode
                | Self::Window { .. }
                | Self::Budget { .. }
                | Self::Quota { .. }
                | Self::Asks { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_shape() {
        let until: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap();
        let at = r#","until":"2026-11-20T12:00:00Z"}"#;
        let budget = |of, metered, until| Hold::Budget { of, metered, until };
        for (held, shape) in [
            (Hold::Mode, r#"{"reason":"mode"}"#.to_owned()),
            (Hold::Window { until }, format!(r#"{{"reason":"window"{at}"#)),
            (
                budget(BudgetOf::Fetch, false, None),
                r#"{"reason":"budget","of":"fetch","metered":false}"#.to_owned(),
            ),
            (
                budget(BudgetOf::Day, true, Some(until)),
                format!(r#"{{"reason":"budget","of":"day","metered":true{at}"#),
            ),
            (Hold::Quota { until }, format!(r#"{{"reason":"quota"{at}"#)),
            (Hold::Origin { until }, format!(r#"{{"reason":"origin"{at}"#)),
            (Hold::Distance { until }, format!(r#"{{"reason":"distance"{at}"#)),
            (Hold::Retry { until }, format!(r#"{{"reason":"retry"{at}"#)),
            (Hold::LastTry { until }, format!(r#"{{"reason":"last-try"{at}"#)),
            (
                Hold::Asks { bytes: Some(4_000_000) },
                r#"{"reason":"asks","bytes":4000000}"#.to_owned(),
            ),
            (Hold::Asks { bytes: None }, r#"{"reason":"asks"}"#.to_owned()),
        ] {
            assert_eq!(serde_json::to_string(&held).unwrap(), shape);
            assert_eq!(serde_json::from_str::<Hold>(&shape).unwrap(), held);
        }
        let newer = serde_json::from_str::<Hold>(r#"{"reason":"moon","phase":3}"#).unwrap();
        assert_eq!(newer, Hold::Unknown);
    }
}

//! Reasons why a request waits, in the language of the caller.

use jiff::Timestamp;

use crate::base::shown;
use crate::base::text::{Text, TextValue, tr};
use wwwoffle_api::{BudgetOf, Hold};

/// States why a request waits; `time` formats a time.
pub(crate) fn sentence<T: Into<TextValue>>(held: Hold, time: impl Fn(Timestamp) -> T) -> Text {
    match held {
        Hold::Mode => tr("It waits until the proxy is online."),
        Hold::Window { until } => {
            let text = tr("It waits until {time}, when fetching is allowed.");
            text.with("time", time(until))
        }
        Hold::Budget { of, metered, until } => {
            budget(of, metered, until.map(|until| time(until).into()))
        }
        Hold::Quota { until } => {
            tr("It waits until {time}: a quota is used up.").with("time", time(until))
        }
        Hold::Origin { until } => {
            tr("It waits until {time}, as its host asked.").with("time", time(until))
        }
        Hold::Distance { until } => {
            let text = tr("It waits until {time}, because of the pause between requests to its \
                            host.");
            text.with("time", time(until))
        }
        Hold::Retry { until } => tr("It is tried again at {time}.").with("time", time(until)),
        Hold::LastTry { until } => {
            tr("It is tried for the last time at {time}.").with("time", time(until))
        }
        Hold::Asks { bytes: None } => tr("It is large, so it is fetched only if you confirm."),
        Hold::Asks { bytes: Some(bytes) } => {
            let text = tr("It is large ({size}), so it is fetched only if you confirm.");
            text.with("size", shown::bytes(bytes))
        }
        Hold::Unknown => tr("It waits for a reason that this version of wwwoffle does not know."),
    }
}

fn budget(of: BudgetOf, metered: bool, until: Option<TextValue>) -> Text {
    let why = match (of, metered) {
        (BudgetOf::Fetch, false) => tr("the budget of this fetch is used up"),
        (BudgetOf::Fetch, true) => tr("this fetch has used up its budget for metered connections"),
        (BudgetOf::Day, false) => tr("the daily budget is used up"),
        (BudgetOf::Day, true) => tr("the daily budget for metered connections is used up"),
    };
    match until {
        Some(time) => tr("It waits until {time}: {why}.").with("time", time).with("why", why),
        None => tr("It waits until the next fetch of the queue: {why}.").with("why", why),
    }
}

#[cfg(test)]
mod tests {
    use wwwoffle_spool::RequestState;

    use super::*;
    use crate::fetch::failure_reason;

    #[test]
    fn the_page_and_the_queue_show_the_same_reason() {
        for bytes in [None, Some(4_000_000)] {
            let time = |time: Timestamp| time.to_string();
            let sentence = sentence(Hold::Asks { bytes }, time).to_string();
            let (why, _) = failure_reason(&RequestState::Asking { bytes }).unwrap();
            let same = sentence.replace("It is", "it is").replace("confirm.", "confirm");
            assert_eq!(why, same + ": retry it to consent");
        }
    }
}

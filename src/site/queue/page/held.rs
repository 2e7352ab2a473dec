//! Reasons why a request waits, in the language of the caller.

use jiff::Timestamp;

use crate::base::shown;
use crate::base::text::{Text, TextValue, say};
use wwwoffle_api::{BudgetOf, Held};

/// States why a request waits; `time` formats a time.
pub(crate) fn sentence<T: Into<TextValue>>(held: Held, time: impl Fn(Timestamp) -> T) -> Text {
    match held {
        Held::Mode => say("It waits until the proxy is online."),
        Held::Window { until } => {
            let text = say("It waits until {time}, when fetching is allowed.");
            text.with("time", time(until))
        }
        Held::Budget { of, metered, until } => {
            budget(of, metered, until.map(|until| time(until).into()))
        }
        Held::Origin { until } => {
            say("It waits until {time}, as its host asked.").with("time", time(until))
        }
        Held::Distance { until } => {
            let text = say("It waits until {time}, because of the pause between requests to its \
                            host.");
            text.with("time", time(until))
        }
        Held::Retry { until } => say("It is tried again at {time}.").with("time", time(until)),
        Held::LastTry { until } => {
            say("It is tried for the last time at {time}.").with("time", time(until))
        }
        Held::Asks { bytes: None } => say("It is large, so it is fetched only if you confirm."),
        Held::Asks { bytes: Some(bytes) } => {
            let text = say("It is large ({size}), so it is fetched only if you confirm.");
            text.with("size", shown::bytes(bytes))
        }
        Held::Unknown => say("It waits for a reason that this version of wwwoffle does not know."),
    }
}

fn budget(of: BudgetOf, metered: bool, until: Option<TextValue>) -> Text {
    let why = match (of, metered) {
        (BudgetOf::Fetch, false) => say("the budget of this fetch is used up"),
        (BudgetOf::Fetch, true) => say("this fetch has used up its budget for metered connections"),
        (BudgetOf::Day, false) => say("the daily budget is used up"),
        (BudgetOf::Day, true) => say("the daily budget for metered connections is used up"),
    };
    match until {
        Some(time) => say("It waits until {time}: {why}.").with("time", time).with("why", why),
        None => say("It waits until the next fetch of the queue: {why}.").with("why", why),
    }
}

#[cfg(test)]
mod tests {
    use wwwoffle_spool::RequestState;

    use super::*;
    use crate::fetch::failure_reason;

    #[test]
    fn the_page_and_the_queue_give_the_same_reason_for_a_question() {
        for bytes in [None, Some(4_000_000)] {
            let time = |time: Timestamp| time.to_string();
            let sentence = sentence(Held::Asks { bytes }, time).to_string();
            let (why, _) = failure_reason(&RequestState::Asking { bytes }).unwrap();
            let same = sentence.replace("It is", "it is").replace("confirm.", "confirm");
            assert_eq!(why, same + ": retry it to consent");
        }
    }
}

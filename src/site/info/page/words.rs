//! The handling of past and future requests, in words.

use crate::base::shown;
use crate::base::text::{Text, say};
use crate::proxy::decide::{Decision, DecisionRefusal};
use crate::proxy::rehearsal::PredictedAction;
use crate::proxy::status::{CacheStatus, HitReason, NotStored};
use wwwoffle_html::references::Class;

/// Explains the cache status of a request.
pub(super) fn describe_status(status: CacheStatus) -> Text {
    use CacheStatus as S;
    match status {
        S::Hit(why) => describe_hit(why),
        S::Validated { .. } => {
            say("Its site was asked, and said that what is kept still holds: that was served.")
        }
        S::Stored { collapsed: true, .. } | S::Resumed { collapsed: true } => {
            say("It was on its way for another request already, and served to both.")
        }
        S::Stored { .. } => say("Its site was asked, and the answer was kept."),
        S::Resumed { .. } => say("Its site was asked for what was missing, and the whole is kept."),
        S::StoredPart => say("Its site was asked for a part, and that is kept."),
        S::Passed { why, .. } => describe_miss(why),
        S::Unreachable(_) => say("Its site could not be reached: what is kept was served."),
        S::InsteadOf(status) => {
            say("Its site answered with the status {status}: what is kept was served instead.")
                .with("status", status.as_u16().to_string())
        }
        S::MustAsk => say(
            "Its site could not be reached, and what is kept says that it must not be used without asking.",
        ),
        S::Failed => say("Its site could not be asked, and nothing is kept that could be served."),
        S::OwnFault(_) => say("wwwoffle itself could not serve it."),
        S::Undecodable => say("The stored copy could not be decoded for the program that asked."),
        S::Queued => {
            say("Nothing was kept that could be served: the request was put on the queue.")
        }
        S::Refused(refusal) => describe_refusal(refusal),
        S::Asking => say("A person was asked first whether to put it on the queue."),
        S::Moved => say("The configuration has another address for it, which was named."),
        S::Blocked => say("The configuration says that it is never got."),
        S::LeadsToBlocked => {
            say("It leads to an address of which the configuration says that it is never got.")
        }
    }
}

fn describe_hit(why: HitReason) -> Text {
    match why {
        HitReason::Reused { ttl, .. } if ttl > 0 => {
            say("What is kept was served: it was still fresh, and its site was not asked.")
        }
        HitReason::Reused { .. } => say(
            "What is kept was served: it was old, and might be used without asking all the same.",
        ),
        HitReason::Offline => say("What is kept was served: the mode was offline."),
        HitReason::Autodial => say("What is kept was served: the mode was autodial."),
        HitReason::RefreshQueued => {
            say("What is kept was served, and put on the queue to be fetched anew.")
        }
        HitReason::Near(_) => {
            say("What is kept of an address that names the same page was served.")
        }
        HitReason::SameBody => {
            say("The stored answer to the same request was served: the mode was offline.")
        }
        HitReason::FormAnswer => say("The stored answer to the form was served."),
        HitReason::Memento => say("What was kept at the time that was asked for was served."),
    }
}

fn describe_miss(why: NotStored) -> Text {
    match why {
        NotStored::Request => {
            say("Its site was asked. The answer was not kept: the request was for no whole page.")
        }
        NotStored::Ruled(_) => say(
            "Its site was asked. The answer was not kept: the configuration, or the kind of the request, says so.",
        ),
        NotStored::Answer(reason) => {
            say("Its site was asked. The answer was not kept because of what it is ({reason}).")
                .with("reason", reason.as_str())
        }
        NotStored::Spool => {
            say("Its site was asked. The answer was not kept: the spool could not take it.")
        }
    }
}

fn describe_refusal(refusal: DecisionRefusal) -> Text {
    match refusal {
        DecisionRefusal::Noise => say("Nothing was done: it is not worth fetching later."),
        DecisionRefusal::OnlyOnline => say("Nothing was done: it is of use online alone."),
        DecisionRefusal::FormAnswer => {
            say("Nothing was done: the spool has no such answer to a form.")
        }
        DecisionRefusal::NotKept => {
            say("Nothing was done: only what is kept was asked for, and it is not.")
        }
        DecisionRefusal::NeverKept => {
            say("Nothing was done: nothing of it is ever kept, and the mode was offline.")
        }
        DecisionRefusal::NotQueued => {
            say("Nothing was done: the configuration says that it is not put on the queue.")
        }
        DecisionRefusal::Unconfirmed => {
            say("Nothing was done: a person has to say first that it is put on the queue.")
        }
        DecisionRefusal::LeftToBrowsers => {
            say("Nothing was done: the configuration says that it is not got with its page.")
        }
    }
}

/// Explains how a request would be handled now.
pub(super) fn describe_prediction(would: PredictedAction) -> Text {
    match would {
        PredictedAction::Move => {
            say("The browser would be sent to the address that the configuration has for it.")
        }
        PredictedAction::Block => say("It would not be got: the configuration says so."),
        PredictedAction::Deny => {
            say("It would not be got: you may not reach that host through the proxy.")
        }
        PredictedAction::Do(decision) => describe_decision(decision),
    }
}

fn describe_decision(decision: Decision) -> Text {
    match decision {
        Decision::Serve => say("What is kept would be served, and nobody asked."),
        Decision::ServeVersion => say("What was kept at that time would be served."),
        Decision::ServeAndRefresh => {
            say("What is kept would be served, and put on the queue to be fetched anew.")
        }
        Decision::ServeAndRevalidate => say(
            "What is kept would be served, and its site asked meanwhile whether it still holds.",
        ),
        Decision::Revalidate => {
            say("Its site would be asked first whether what is kept still holds.")
        }
        Decision::Fetch => say("Its site would be asked, and the answer kept."),
        Decision::Pass => say("Its site would be asked, and the answer not kept."),
        Decision::QueuePage | Decision::QueuePart => say("It would be put on the queue."),
        Decision::Confirm => say("You would be asked whether to put it on the queue."),
        Decision::Refuse(DecisionRefusal::NeverKept) => {
            say("Nothing would be done: nothing of it is ever kept, and the mode is offline.")
        }
        Decision::Refuse(DecisionRefusal::NotQueued) => {
            say("Nothing would be done: the configuration says that it is not put on the queue.")
        }
        Decision::Refuse(_) => say("Nothing would be done."),
    }
}

/// Translates the API's name for a class of sub-resources.
pub(super) fn describe_class(name: &str) -> Text {
    let Some(class) = Class::parse(name) else {
        return say("{fact}").with("fact", shown::text(name));
    };
    match class {
        Class::Stylesheet => say("style sheet"),
        Class::Image => say("image"),
        Class::Icon => say("icon"),
        Class::Font => say("font"),
        Class::Script => say("script"),
        Class::Frame => say("frame"),
        Class::IFrame => say("inline frame"),
        Class::Media => say("sound or video"),
        Class::Object => say("object"),
        Class::Manifest => say("manifest"),
        Class::Data => say("data"),
        Class::Preview => say("preview image"),
        Class::Feed => say("feed"),
        Class::Sitemap => say("list of pages"),
        Class::Refresh => say("page that it leads to"),
        Class::Page => say("page"),
    }
}

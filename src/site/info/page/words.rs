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
            say("The site confirmed that the saved copy is up to date, so it was served.")
        }
        S::Stored { collapsed: true, .. } | S::Resumed { collapsed: true } => {
            say("It was already being downloaded for another request. Your request shared that \
                 download.")
        }
        S::Stored { .. } => say("It was fetched from the site and saved."),
        S::Resumed { .. } => say("The site was asked for the missing part. The copy is complete \
            now."),
        S::StoredPart => say("The site was asked for a part of it, which was saved."),
        S::Passed { why, .. } => describe_miss(why),
        S::Unreachable(_) => say("The site could not be reached, so the saved copy was served."),
        S::InsteadOf(status) => {
            say("The site answered with status {status}, so the saved copy was served.")
                .with("status", status.as_u16().to_string())
        }
        S::MustAsk => say(
            "The site could not be reached, and the saved copy may not be used without asking it.",
        ),
        S::Failed => say("The site could not be asked, and there is no saved copy to serve."),
        S::OwnFault(_) => say("wwwoffle could not serve it because of an error."),
        S::Undecodable => say("The saved copy could not be decoded for your browser or program."),
        S::Queued => say("There was no saved copy, so the request was put on the queue."),
        S::Refused(refusal) => describe_refusal(refusal),
        S::Asking => say("You were asked whether to put it on the queue."),
        S::Moved => say("The configuration has another address for it, and the browser was \
            redirected there."),
        S::Blocked => say("The configuration blocks it."),
        S::LeadsToBlocked => say("It redirects to an address that the configuration blocks."),
    }
}

fn describe_hit(why: HitReason) -> Text {
    match why {
        HitReason::Reused { ttl, .. } if ttl > 0 => {
            say("The saved copy was served. It was still fresh, so the site was not asked.")
        }
        HitReason::Reused { .. } => {
            say("The saved copy was served. It is no longer fresh, but the site or your browser \
                 allows its use.")
        }
        HitReason::Offline => say("The saved copy was served, because the mode was offline."),
        HitReason::Autodial => say("The saved copy was served, because the mode was “saved \
            first”."),
        HitReason::RefreshQueued => {
            say("The saved copy was served, and the page was put on the queue to be fetched again.")
        }
        HitReason::Near(_) => say("The saved copy of another address of the same page was served."),
        HitReason::SameBody => {
            say("The saved answer to the same request was served, because the mode was offline.")
        }
        HitReason::FormAnswer => say("The saved answer to the form was served."),
        HitReason::Memento => say("The version saved at the requested time was served."),
    }
}

fn describe_miss(why: NotStored) -> Text {
    match why {
        NotStored::Request => {
            say("It was fetched from the site and not saved, because only a part was requested.")
        }
        NotStored::Ruled(_) => {
            say("It was fetched from the site and not saved, because of the configuration or the \
            kind of request.")
        }
        NotStored::Answer(reason) => say("It was fetched from the site and not saved ({reason}).")
            .with("reason", reason.as_str()),
        NotStored::Spool => say("It was fetched from the site and not saved: the spool failed."),
    }
}

fn describe_refusal(refusal: DecisionRefusal) -> Text {
    match refusal {
        DecisionRefusal::Noise => say("Not queued: it is a background request of the browser or \
                                       system, with no use later."),
        DecisionRefusal::OnlyOnline => say("Not queued: it is only useful while online."),
        DecisionRefusal::FormAnswer => {
            say("Not queued: this is the answer to a form. To get a new one, send the form \
                again.")
        }
        DecisionRefusal::NotKept => {
            say("Not queued: only a saved copy was requested, and there is none.")
        }
        DecisionRefusal::NeverKept => {
            say("Not queued: the mode was offline, and this address is never saved.")
        }
        DecisionRefusal::NotQueued => say("Not queued, because of the configuration."),
        DecisionRefusal::Unconfirmed => say("Not queued: it needs your confirmation first."),
        DecisionRefusal::LeftToBrowsers => {
            say("Not queued: the configuration says not to fetch it together with its page.")
        }
    }
}

/// Explains how a request would be handled now.
pub(super) fn describe_prediction(would: PredictedAction) -> Text {
    match would {
        PredictedAction::Move => say(
            "The configuration has another address for it, and the browser would be redirected \
                there.",
        ),
        PredictedAction::Block => say("It would not be fetched: the configuration blocks it."),
        PredictedAction::Deny => {
            say("It would not be fetched: you are not allowed to reach that host through the \
                proxy.")
        }
        PredictedAction::Do(decision) => describe_decision(decision),
    }
}

fn describe_decision(decision: Decision) -> Text {
    match decision {
        Decision::Serve => say("The saved copy would be served without asking the site."),
        Decision::ServeVersion => say("The version saved at that time would be served."),
        Decision::ServeAndRefresh => {
            say("The saved copy would be served, and the page would be queued to be fetched again.")
        }
        Decision::ServeAndRevalidate => {
            say("The saved copy would be served, while the site is asked whether it is up to date.")
        }
        Decision::Revalidate => {
            say("The site would be asked whether the saved copy is still up to date.")
        }
        Decision::Fetch => say("It would be fetched from the site and saved."),
        Decision::Pass => say("It would be fetched from the site and not saved."),
        Decision::QueuePage | Decision::QueuePart => say("It would be put on the queue."),
        Decision::Confirm => say("You would be asked whether to put it on the queue."),
        Decision::Refuse(DecisionRefusal::NeverKept) => {
            say("It would not be queued: the mode is offline, and this address is never saved.")
        }
        Decision::Refuse(DecisionRefusal::NotQueued) => {
            say("The configuration prevents queueing it.")
        }
        Decision::Refuse(_) => say("It would be neither fetched nor queued."),
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
        Class::Sitemap => say("sitemap"),
        Class::Refresh => say("page that it redirects to"),
        Class::Page => say("page"),
    }
}

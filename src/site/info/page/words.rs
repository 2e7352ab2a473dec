//! The handling of past and future requests, in words.

use crate::base::shown;
use crate::base::text::{Text, tr};
use crate::proxy::decide::{Decision, DecisionRefusal};
use crate::proxy::rehearsal::PredictedAction;
use crate::proxy::status::{CacheStatus, HitReason, NotStored};
use wwwoffle_html::references::Class;

/// Explains the cache status of a request.
pub(super) fn describe_status(status: CacheStatus) -> Text {
    use CacheStatus as S;
    match status {
        S::Hit(why) => describe_hit(why),
        S::Validated { .. } => tr("The site confirmed that the saved copy is up to date, so it \
            was served."),
        S::Stored { collapsed: true, .. } | S::Resumed { collapsed: true } => tr("It was \
            already being downloaded for another request. Your request shared that download."),
        S::Stored { .. } => tr("It was fetched from the site and saved."),
        S::Resumed { .. } => tr("The site was asked for the missing part. The copy is complete \
            now."),
        S::StoredPart => tr("The site was asked for a part of it, which was saved."),
        S::Passed { why, .. } => describe_miss(why),
        S::Unreachable(_) => tr("The site could not be reached, so the saved copy was served."),
        S::InsteadOf(status) => {
            tr("The site answered with status {status}, so the saved copy was served.")
                .with("status", status.as_u16().to_string())
        }
        S::MustAsk => tr("The site could not be reached, and the saved copy may not be used \
            without asking it."),
        S::Failed => tr("The site could not be asked, and there is no saved copy to serve."),
        S::OwnFault(_) => tr("wwwoffle could not serve it because of an error."),
        S::Undecodable => tr("The saved copy could not be decoded for your browser or program."),
        S::Queued => tr("There was no saved copy, so the request was put on the queue."),
        S::Refused(refusal) => describe_refusal(refusal),
        S::Asking => tr("You were asked whether to put it on the queue."),
        S::Moved => tr("The configuration has another address for it, and the browser was \
            redirected there."),
        S::Blocked => tr("The configuration blocks it."),
        S::LeftOut => tr("The data saver left it out."),
        S::LeadsToBlocked => tr("It redirects to an address that the configuration blocks."),
    }
}

fn describe_hit(why: HitReason) -> Text {
    use HitReason as H;
    match why {
        H::Reused { ttl, .. } if ttl > 0 => tr("The saved copy was served. It was still fresh, \
            so the site was not asked."),
        H::Reused { .. } => tr("The saved copy was served. It is no longer fresh, but the site \
            or your browser allows its use."),
        H::Offline => tr("The saved copy was served, because the mode was offline."),
        H::Autodial => tr("The saved copy was served, because the mode was “saved first”."),
        H::RefreshQueued => tr("The saved copy was served, and the page was put on the queue \
            to be fetched again."),
        H::Near(_) => tr("The saved copy of another address of the same page was served."),
        H::SameBody => tr("The saved answer to the same request was served, because the mode \
            was offline."),
        H::FormAnswer => tr("The saved answer to the form was served."),
        H::Memento => tr("The version saved at the requested time was served."),
    }
}

fn describe_miss(why: NotStored) -> Text {
    use NotStored as N;
    match why {
        N::Ruled(_) => tr("It was fetched from the site and not saved, because of the \
            configuration or the kind of request."),
        N::Answer(reason) => tr("It was fetched from the site and not saved ({reason}).")
            .with("reason", reason.as_str()),
        N::Spool => tr("It was fetched from the site and not saved: the spool failed."),
    }
}

fn describe_refusal(refusal: DecisionRefusal) -> Text {
    use DecisionRefusal as R;
    match refusal {
        R::Noise => tr("Not queued: it is a background request of the browser or system, with \
            no use later."),
        R::OnlyOnline => tr("Not queued: it is only useful while online."),
        R::FormAnswer => tr("Not queued: this is the answer to a form. To get a new one, send \
            the form again."),
        R::NotKept => tr("Not queued: only a saved copy was requested, and there is none."),
        R::Login => tr("The saved copy was not shown: it needs the user name and password of the \
            site."),
        R::NeverKept => tr("Not queued: the mode was offline, and this address is never saved."),
        R::NotQueued => tr("Not queued, because of the configuration."),
        R::OverQuota => tr("Not fetched, because a quota was used up."),
        R::Unconfirmed => tr("Not queued: it needs your confirmation first."),
        R::LeftToBrowsers => tr("Not queued: the configuration says not to fetch it together \
            with its page."),
    }
}

/// Explains how a request would be handled now.
pub(super) fn describe_prediction(would: PredictedAction) -> Text {
    use PredictedAction as P;
    match would {
        P::Move => tr("The configuration has another address for it, and the browser would be \
            redirected there."),
        P::Block => tr("It would not be fetched: the configuration blocks it."),
        P::Deny => tr("It would not be fetched: you are not allowed to reach that host through \
            the proxy."),
        P::Do(decision) => describe_decision(decision),
    }
}

fn describe_decision(decision: Decision) -> Text {
    use {Decision as D, DecisionRefusal as R};
    match decision {
        D::Serve => tr("The saved copy would be served without asking the site."),
        D::ServeVersion => tr("The version saved at that time would be served."),
        D::ServeAndRefresh => tr("The saved copy would be served, and the page would be queued \
            to be fetched again."),
        D::ServeAndRevalidate => tr("The saved copy would be served, while the site is asked \
            whether it is up to date."),
        D::Revalidate => tr("The site would be asked whether the saved copy is still up to date."),
        D::Fetch => tr("It would be fetched from the site and saved."),
        D::Pass => tr("It would be fetched from the site and not saved."),
        D::QueuePage | D::QueuePart => tr("It would be put on the queue."),
        D::Confirm => tr("You would be asked whether to put it on the queue."),
        D::Refuse(R::NeverKept) => tr("It would not be queued: the mode is offline, and this \
            address is never saved."),
        D::Refuse(R::Login) => tr("You would be asked for the user name and password of the \
            site, which open the saved copy."),
        D::Refuse(R::NotQueued) => tr("The configuration prevents queueing it."),
        D::Refuse(R::OverQuota) => tr("Not fetched, because a quota was used up."),
        D::Refuse(_) => tr("It would be neither fetched nor queued."),
    }
}

/// Translates the API's name for a class of sub-resources.
pub(super) fn describe_class(name: &str) -> Text {
    let Some(class) = Class::parse(name) else {
        return tr("{fact}").with("fact", shown::text(name));
    };
    match class {
        Class::Stylesheet => tr("style sheet"),
        Class::Image => tr("image"),
        Class::Icon => tr("icon"),
        Class::Font => tr("font"),
        Class::Script => tr("script"),
        Class::Frame => tr("frame"),
        Class::IFrame => tr("inline frame"),
        Class::Media => tr("sound or video"),
        Class::Object => tr("object"),
        Class::Manifest => tr("manifest"),
        Class::Data => tr("data"),
        Class::Preview => tr("preview image"),
        Class::Feed => tr("feed"),
        Class::Sitemap => tr("sitemap"),
        Class::Refresh => tr("page that it redirects to"),
        Class::Page => tr("page"),
    }
}

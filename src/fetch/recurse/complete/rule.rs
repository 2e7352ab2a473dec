//! Applies the configuration to a sub-resource before it is looked up. Pure.

use hyper::HeaderMap;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::super::choose::WantedClasses;
use super::super::sub::referrer;
use crate::base::text::{Text, say};
use crate::proxy::rules::{Asker, Ruling, StoragePolicy, determine_ruling};
use wwwoffle_api::aim::PartClass;
use wwwoffle_html::{references as links, references::Truncation};

/// The effect of the configuration on a sub-resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SubResourceRule {
    /// The sub-resource is fetched with its page.
    Fetched,
    /// An `[alias]` gives the sub-resource another URL.
    Moved(String),
    /// The sub-resource is not fetched, for this reason.
    LeftOut(Text),
}

/// The rule for `url`, which the document at `document` refers to.
pub(super) fn rule(
    config: &Config,
    local: &LocalHost,
    document: &CanonicalUrl,
    url: &CanonicalUrl,
) -> SubResourceRule {
    let fields: HeaderMap = referrer(document, url).into_iter().collect();
    match determine_ruling(config, url, &Asker::of(&fields, local)) {
        _ if !*config.dont_get.get_recursive.of(&UrlParts::of(url)) => {
            SubResourceRule::LeftOut(say("it is fetched only for browsers ([dont-get] \
                                          get-recursive)"))
        }
        Ruling::Usual(StoragePolicy::Usual) => SubResourceRule::Fetched,
        Ruling::Usual(StoragePolicy::NeverKept) => {
            SubResourceRule::LeftOut(say("it is never saved ([dont-cache])"))
        }
        Ruling::Usual(StoragePolicy::Nearby) => {
            SubResourceRule::LeftOut(say("it is never saved ([local-net])"))
        }
        Ruling::Moved { to, .. } => SubResourceRule::Moved(to),
        Ruling::Blocked { .. } => SubResourceRule::LeftOut(say("it is blocked ([dont-get])")),
        Ruling::OtherProtocol => {
            SubResourceRule::LeftOut(say("its port belongs to another protocol"))
        }
    }
}

/// The reason why a sub-resource of this class is left out: the class is not wanted, or an image is
/// on another host.
pub(super) fn of_class(wanted: &WantedClasses, class: Option<PartClass>) -> Text {
    match class {
        Some(class) if !wanted.has(class) => match class {
            PartClass::Stylesheets => {
                say("style sheets are not fetched ([fetch-options] stylesheets)")
            }
            PartClass::Images => say("images are not fetched ([fetch-options] images)"),
            PartClass::Icons => say("icons are not fetched ([fetch-options] icon-images)"),
            PartClass::Fonts => say("fonts are not fetched ([fetch-options] fonts)"),
            PartClass::Scripts => say("scripts are not fetched ([fetch-options] scripts)"),
            PartClass::Frames => say("frames are not fetched ([fetch-options] frames)"),
            PartClass::Iframes => say("inline frames are not fetched ([fetch-options] iframes)"),
            PartClass::Media => say("audio and video are not fetched ([fetch-options] media)"),
            PartClass::Objects => say("objects are not fetched ([fetch-options] objects)"),
        },
        _ => say("it is on another host ([fetch-options] only-same-host-images)"),
    }
}

/// The reason why a sub-resource is left out because of the kind of its reference.
pub(super) fn of_kind(why: links::Omission) -> Text {
    match why {
        links::Omission::OnePixel => say("images of one pixel are not fetched ([fetch-options] \
                                          webbug-images)"),
        links::Omission::NotTaken => {
            say("browsers use another size of it ([fetch-options] all-candidates)")
        }
        links::Omission::Unsupported => say("a type that browsers do not show"),
        links::Omission::Service => say("an address for programs, not a page"),
        links::Omission::Implied => say("browsers request it on their own; no saved page names it"),
        links::Omission::Protocol => say("its protocol is not fetched"),
        links::Omission::Inert => say("it is inside a `<template>`, which only scripts use"),
    }
}

/// The reason why a document was not read to its end.
pub(super) fn of_cut(why: Truncation) -> Text {
    match why {
        Truncation::Links => say("it has too many links"),
        Truncation::Memory => say("a single tag or rule in it is too long"),
        Truncation::Nesting => say("it is nested too deep"),
        Truncation::Malformed => say("it is malformed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_the_reasons_that_the_log_is() {
        for why in [
            links::Omission::OnePixel,
            links::Omission::NotTaken,
            links::Omission::Unsupported,
            links::Omission::Service,
            links::Omission::Implied,
            links::Omission::Protocol,
            links::Omission::Inert,
        ] {
            assert!(of_kind(why).to_string().starts_with(why.reason()), "{why:?}");
        }
        for why in
            [Truncation::Links, Truncation::Memory, Truncation::Nesting, Truncation::Malformed]
        {
            assert_eq!(of_cut(why).to_string(), why.reason());
        }
    }
}

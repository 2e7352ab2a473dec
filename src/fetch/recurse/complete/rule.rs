//! Applies the configuration to a sub-resource before it is looked up. Pure.

use hyper::HeaderMap;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::super::choose::WantedClasses;
use super::super::sub::referrer;
use crate::base::text::{Text, tr};
use crate::proxy::rules::{FilterContext, Ruling, StoragePolicy, determine_ruling};
use wwwoffle_api::fetch_spec::PartClass;
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
    match determine_ruling(config, url, &FilterContext::of(&fields, local)) {
        _ if !*config.dont_get.get_recursive.of(&UrlParts::of(url)) => {
            SubResourceRule::LeftOut(tr("it is fetched only for browsers ([dont-get] \
                                          get-recursive)"))
        }
        Ruling::Usual(StoragePolicy::Usual) => SubResourceRule::Fetched,
        Ruling::Usual(StoragePolicy::NeverKept) => {
            SubResourceRule::LeftOut(tr("it is never saved ([dont-cache])"))
        }
        Ruling::Usual(StoragePolicy::Nearby) => {
            SubResourceRule::LeftOut(tr("it is never saved ([local-net])"))
        }
        Ruling::Moved { to, .. } => SubResourceRule::Moved(to),
        Ruling::Blocked { .. } => SubResourceRule::LeftOut(tr("it is blocked ([dont-get])")),
        Ruling::OtherProtocol => {
            SubResourceRule::LeftOut(tr("its port belongs to another protocol"))
        }
    }
}

/// The reason why a sub-resource of this class is left out: the class is not wanted, or an image is
/// on another host.
pub(super) fn of_class(wanted: &WantedClasses, class: Option<PartClass>) -> Text {
    match class {
        Some(class) if !wanted.has(class) => match class {
            PartClass::Stylesheets => {
                tr("style sheets are not fetched ([fetch-options] stylesheets)")
            }
            PartClass::Images => tr("images are not fetched ([fetch-options] images)"),
            PartClass::Icons => tr("icons are not fetched ([fetch-options] icon-images)"),
            PartClass::Fonts => tr("fonts are not fetched ([fetch-options] fonts)"),
            PartClass::Scripts => tr("scripts are not fetched ([fetch-options] scripts)"),
            PartClass::Frames => tr("frames are not fetched ([fetch-options] frames)"),
            PartClass::Iframes => tr("inline frames are not fetched ([fetch-options] iframes)"),
            PartClass::Media => tr("audio and video are not fetched ([fetch-options] media)"),
            PartClass::Objects => tr("objects are not fetched ([fetch-options] objects)"),
        },
        _ => tr("it is on another host ([fetch-options] only-same-host-images)"),
    }
}

/// The reason why a sub-resource is left out because of the kind of its reference.
pub(super) fn of_kind(why: links::Omission) -> Text {
    match why {
        links::Omission::OnePixel => tr("images of one pixel are not fetched ([fetch-options] \
                                          webbug-images)"),
        links::Omission::NotTaken => {
            tr("browsers use another size of it ([fetch-options] all-candidates)")
        }
        links::Omission::Unsupported => tr("a type that browsers do not show"),
        links::Omission::Service => tr("an address for programs, not a page"),
        links::Omission::Implied => tr("browsers request it on their own; no saved page names it"),
        links::Omission::Protocol => tr("its protocol is not fetched"),
        links::Omission::Inert => tr("it is inside a `<template>`, which only scripts use"),
    }
}

/// The reason why a document was not read to its end.
pub(super) fn of_cut(why: Truncation) -> Text {
    match why {
        Truncation::Links => tr("it has too many links"),
        Truncation::Memory => tr("a single tag or rule in it is too long"),
        Truncation::Nesting => tr("it is nested too deep"),
        Truncation::Malformed => tr("it is malformed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_show_the_same_reasons_as_the_log() {
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

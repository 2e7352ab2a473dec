//! Applies the configuration to a sub-resource before it is looked up. Pure.

use hyper::HeaderMap;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::super::choose::WantedClasses;
use super::super::sub_resource::referrer;
use crate::base::text::{Text, tr};
use crate::proxy::rules::{FilterContext, Ruling, StoragePolicy, determine_ruling};
use wwwoffle_api::fetch_spec::PartClass;
use wwwoffle_html::references::{Omission, Truncation};

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
    let why = match determine_ruling(config, url, &FilterContext::of(&fields, local)) {
        _ if !*config.dont_get.get_recursive.of(&UrlParts::of(url)) => tr("it is fetched only \
            for browsers ([dont-get] get-recursive)"),
        Ruling::Usual(StoragePolicy::Usual) => return SubResourceRule::Fetched,
        Ruling::Moved { to, .. } => return SubResourceRule::Moved(to),
        Ruling::Usual(StoragePolicy::NeverKept) => tr("it is never saved ([dont-cache])"),
        Ruling::Usual(StoragePolicy::Nearby) => tr("it is never saved ([local-net])"),
        Ruling::Blocked { .. } => tr("it is blocked ([dont-get])"),
        Ruling::OtherProtocol => tr("its port belongs to another protocol"),
    };
    SubResourceRule::LeftOut(why)
}

/// The reason why a sub-resource of this class is left out: the class is not wanted, or an image is
/// on another host.
pub(super) fn of_class(wanted: &WantedClasses, class: Option<PartClass>) -> Text {
    use PartClass as P;
    match class {
        Some(class) if !wanted.has(class) => match class {
            P::Stylesheets => tr("style sheets are not fetched ([fetch-options] stylesheets)"),
            P::Images => tr("images are not fetched ([fetch-options] images)"),
            P::Icons => tr("icons are not fetched ([fetch-options] icon-images)"),
            P::Fonts => tr("fonts are not fetched ([fetch-options] fonts)"),
            P::Scripts => tr("scripts are not fetched ([fetch-options] scripts)"),
            P::Frames => tr("frames are not fetched ([fetch-options] frames)"),
            P::Iframes => tr("inline frames are not fetched ([fetch-options] iframes)"),
            P::Media => tr("audio and video are not fetched ([fetch-options] media)"),
            P::Objects => tr("objects are not fetched ([fetch-options] objects)"),
        },
        _ => tr("it is on another host ([fetch-options] only-same-host-images)"),
    }
}

/// The reason why a sub-resource is left out because of the kind of its reference.
pub(super) fn of_kind(why: Omission) -> Text {
    match why {
        Omission::OnePixel => tr("images of one pixel are not fetched ([fetch-options] \
            webbug-images)"),
        Omission::NotTaken => tr("browsers use another size of it ([fetch-options] \
            all-candidates)"),
        Omission::Unsupported => tr("a type that browsers do not show"),
        Omission::Service => tr("an address for programs, not a page"),
        Omission::Implied => tr("browsers request it on their own; no saved page names it"),
        Omission::Protocol => tr("its protocol is not fetched"),
        Omission::Inert => tr("it is inside a `<template>`, which only scripts use"),
    }
}

/// The reason why a document was not read to its end.
pub(in crate::fetch::recurse) fn of_cut(why: Truncation) -> Text {
    match why {
        Truncation::Links => tr("it has too many links"),
        Truncation::Memory => tr("a single tag or rule in it is too long"),
        Truncation::Nesting => tr("it is nested too deep"),
        Truncation::Malformed => tr("it is malformed"),
    }
}

//! What the configuration says of a part before it is looked for. Pure.

use hyper::HeaderMap;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::super::aim::PartClass;
use super::super::choose::Wanted;
use super::super::sub::referrer;
use crate::links;
use crate::proxy::rules::{Asker, Ruling, Standing, ruled};

/// What becomes of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// It is fetched with its page.
    Fetched,
    /// It has become another URL: `[alias]`.
    Moved(String),
    /// It is not fetched, for this reason.
    LeftOut(&'static str),
}

/// What is said of `url`, to which the document at `document` refers.
pub(super) fn rule(
    config: &Config,
    local: &LocalHost,
    document: &CanonicalUrl,
    url: &CanonicalUrl,
) -> Rule {
    let fields: HeaderMap = referrer(document, url).into_iter().collect();
    match ruled(config, url, &Asker::of(&fields, local)) {
        _ if !*config.dont_get.get_recursive.of(&UrlParts::of(url)) => {
            Rule::LeftOut("it is left to browsers ([dont-get] get-recursive)")
        }
        Ruling::Usual(Standing::Usual) => Rule::Fetched,
        Ruling::Usual(Standing::NeverKept) => Rule::LeftOut("it is never kept ([dont-cache])"),
        Ruling::Usual(Standing::Nearby) => {
            Rule::LeftOut("it is asked for in every mode ([local-net])")
        }
        Ruling::Moved { to, .. } => Rule::Moved(to),
        Ruling::Blocked { .. } => Rule::LeftOut("it is never got ([dont-get])"),
    }
}

/// Why a part of this class is left out.
pub(super) fn of_class(wanted: &Wanted, class: Option<PartClass>) -> &'static str {
    match class {
        Some(class) if !wanted.has(class) => match class {
            PartClass::Stylesheets => "style sheets are not fetched ([fetch-options] stylesheets)",
            PartClass::Images => "images are not fetched ([fetch-options] images)",
            PartClass::Icons => "icons are not fetched ([fetch-options] icon-images)",
            PartClass::Fonts => "fonts are not fetched ([fetch-options] fonts)",
            PartClass::Scripts => "scripts are not fetched ([fetch-options] scripts)",
            PartClass::Frames => "frames are not fetched ([fetch-options] frames)",
            PartClass::Iframes => "inline frames are not fetched ([fetch-options] iframes)",
            PartClass::Media => "sound and film are not fetched ([fetch-options] media)",
            PartClass::Objects => "objects are not fetched ([fetch-options] objects)",
        },
        _ => "it is on another host ([fetch-options] only-same-host-images)",
    }
}

/// Why a part is left out by its own kind.
pub(super) fn of_kind(why: links::LeftOut) -> String {
    let option = match why {
        links::LeftOut::OnePixel => " ([fetch-options] webbug-images)",
        links::LeftOut::NotTaken => " ([fetch-options] all-candidates)",
        _ => "",
    };
    format!("{}{option}", why.reason())
}

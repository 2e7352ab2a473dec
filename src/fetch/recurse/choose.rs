//! Chooses among the references of a document: sub-resources to fetch, links to follow, and
//! references to leave out. Pure.

use std::collections::BTreeSet;

use wwwoffle_config::{Config, FetchOptions, UrlParts, UrlRules};
use wwwoffle_url::{CanonicalUrl, Key, LocalHost};

use super::run::LeftOut;
use wwwoffle_api::fetch_spec::{FetchSpec, PartClass};
use wwwoffle_html::{
    references as links,
    references::{Class, Link, References},
};

/// The largest number of sub-resources between a sub-resource and its page. There are two if the
/// page names a style sheet, which imports another one, which names an image.
pub const MAX_NESTING: u8 = 5;

/// The classes of sub-resources that are fetched with a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedClasses {
    classes: BTreeSet<PartClass>,
    one_pixel: bool,
    same_host_images: bool,
}

/// A reference and the action chosen for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenLink<'a> {
    /// The reference.
    pub link: &'a Link,
    /// The canonical URL of the reference.
    pub url: CanonicalUrl,
    /// The key of the URL.
    pub key: Key,
    /// The action.
    pub what: LinkAction,
}

/// The action for a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAction {
    /// The reference is a sub-resource of the page, to be fetched with the page.
    Part,
    /// The page redirects to the URL with `Refresh`, so the URL is fetched in place of the page.
    Onward,
    /// The reference is a link to the URL.
    Page,
    /// The reference is left out for this reason.
    LeftOut(LeftOut),
    /// The reference is left out because of its kind.
    ByKind(links::Omission),
}

impl WantedClasses {
    /// The classes to fetch with the page at `page`: those that the configuration selects, changed
    /// by the fetch specifications of the runs that want the page. A class is included if any run
    /// includes it.
    #[must_use]
    pub fn of(config: &Config, page: &CanonicalUrl, specs: &[&FetchSpec]) -> Self {
        let (options, url) = (&config.fetch_options, UrlParts::of(page));
        let says = |class| *option(options, class).of(&url);
        let is_wanted = |class: &PartClass| {
            let of_spec =
                |spec: &&FetchSpec| spec.parts.get(class).copied().unwrap_or_else(|| says(*class));
            if specs.is_empty() { says(*class) } else { specs.iter().any(of_spec) }
        };
        Self {
            classes: PartClass::ALL.into_iter().filter(is_wanted).collect(),
            one_pixel: *options.webbug_images.of(&url),
            same_host_images: *options.only_same_host_images.of(&url),
        }
    }

    /// Whether sub-resources of this class are fetched.
    #[must_use]
    pub fn has(&self, class: PartClass) -> bool {
        self.classes.contains(&class)
    }

    /// Decides what to do with `link` of the document at `document`.
    fn judge(&self, document: &CanonicalUrl, link: &Link, url: &CanonicalUrl) -> LinkAction {
        match link.left_out {
            Some(links::Omission::OnePixel) if self.one_pixel => {}
            Some(why) => return LinkAction::ByKind(why),
            None => {}
        }
        let Some(class) = part(link.class) else {
            return if link.class == Class::Refresh {
                LinkAction::Onward
            } else {
                LinkAction::Page
            };
        };
        let is_image = matches!(class, PartClass::Images | PartClass::Icons);
        let is_elsewhere = is_image && self.same_host_images && document.host() != url.host();
        if self.classes.contains(&class) && !is_elsewhere {
            LinkAction::Part
        } else {
            LinkAction::LeftOut(LeftOut::Class)
        }
    }
}

/// Whether the configuration fetches sub-resources of this class if no rule applies to the page.
#[must_use]
pub fn is_usual(config: &Config, class: PartClass) -> bool {
    *option(&config.fetch_options, class).plain()
}

/// The option for sub-resources of this class.
const fn option(options: &FetchOptions, class: PartClass) -> &UrlRules<bool> {
    match class {
        PartClass::Stylesheets => &options.stylesheets,
        PartClass::Images => &options.images,
        PartClass::Icons => &options.icon_images,
        PartClass::Fonts => &options.fonts,
        PartClass::Scripts => &options.scripts,
        PartClass::Frames => &options.frames,
        PartClass::Iframes => &options.iframes,
        PartClass::Media => &options.media,
        PartClass::Objects => &options.objects,
    }
}

/// The class of sub-resources to which a reference belongs; `None` for a link to a page.
#[must_use]
pub fn part(class: Class) -> Option<PartClass> {
    Some(match class {
        Class::Stylesheet => PartClass::Stylesheets,
        Class::Image | Class::Preview => PartClass::Images,
        Class::Icon | Class::Manifest => PartClass::Icons,
        Class::Font => PartClass::Fonts,
        Class::Script | Class::Data => PartClass::Scripts,
        Class::Frame => PartClass::Frames,
        Class::IFrame => PartClass::Iframes,
        Class::Media => PartClass::Media,
        Class::Object => PartClass::Objects,
        Class::Feed | Class::Sitemap | Class::Refresh | Class::Page => return None,
    })
}

/// Chooses the action for each reference of the document at `document`. Each URL occurs once, as a
/// sub-resource if any reference to it is a sub-resource to fetch. Invalid URLs, local pages and
/// the document itself are not in the result.
#[must_use]
pub fn choose<'a>(
    found: &'a References,
    document: &CanonicalUrl,
    wanted: &WantedClasses,
    local: &LocalHost,
) -> Vec<ChosenLink<'a>> {
    let mut chosen: Vec<ChosenLink<'a>> = Vec::with_capacity(found.links.len());
    let mut known = std::collections::HashMap::new();
    for link in &found.links {
        let Ok(url) = CanonicalUrl::parse(&link.url, local) else { continue };
        if url.is_local() || url == *document {
            continue;
        }
        let what = wanted.judge(document, link, &url);
        let key = url.key();
        let index = *known.entry(key).or_insert(chosen.len());
        match chosen.get_mut(index) {
            Some(other) if rank(other.what) <= rank(what) => {}
            Some(other) => *other = ChosenLink { link, url, key, what },
            None => chosen.push(ChosenLink { link, url, key, what }),
        }
    }
    chosen
}

fn rank(what: LinkAction) -> u8 {
    match what {
        LinkAction::Part => 0,
        LinkAction::Onward => 1,
        LinkAction::Page => 2,
        LinkAction::LeftOut(_) => 3,
        LinkAction::ByKind(_) => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CanonicalUrl {
        CanonicalUrl::parse(text, &LocalHost::default()).unwrap()
    }

    fn config(text: &str) -> Config {
        Config::parse(text, std::path::Path::new("w.conf")).unwrap()
    }

    fn found(links: &[(&str, Class, Option<links::Omission>)]) -> References {
        let link = |(url, class, left_out): &(&str, Class, Option<links::Omission>)| Link {
            url: (*url).to_owned(),
            class: *class,
            nofollow: false,
            left_out: *left_out,
        };
        References { links: links.iter().map(link).collect(), ..References::default() }
    }

    #[test]
    fn classes_are_those_of_the_configuration_or_of_a_spec() {
        let config = config(
            "[fetch-options]\nscripts = false\n\
             [[fetch-options.for]]\nurl = \"*://h.example/plain/*\"\nimages = false\n",
        );
        let spec = |parts: &[(PartClass, bool)]| FetchSpec {
            parts: parts.iter().copied().collect(),
            ..FetchSpec::default()
        };
        let (page, plain) = (url("http://h.example/"), url("http://h.example/plain/x"));
        let has = |page, specs: &[&FetchSpec], class| {
            WantedClasses::of(&config, page, specs).classes.contains(&class)
        };
        assert!(has(&page, &[], PartClass::Images));
        assert!(!has(&plain, &[], PartClass::Images));
        assert!(!has(&page, &[], PartClass::Scripts));
        let (with, without) =
            (spec(&[(PartClass::Scripts, true)]), spec(&[(PartClass::Images, false)]));
        assert!(has(&page, &[&with], PartClass::Scripts));
        assert!(!has(&page, &[&without], PartClass::Images));
        assert!(has(&page, &[&without, &with], PartClass::Images), "one of them wants it");
        assert!(!has(&plain, &[&without, &with], PartClass::Images));
    }

    #[test]
    fn references_are_chosen_by_class_and_options() {
        let config = config("[fetch-options]\nobjects = false\nonly-same-host-images = true\n");
        let page = url("http://h.example/page");
        let pixel = Some(links::Omission::OnePixel);
        let found = found(&[
            ("http://h.example/a.css", Class::Stylesheet, None),
            ("http://h.example/a.png", Class::Image, None),
            ("http://cdn.example/b.png", Class::Image, None),
            ("http://cdn.example/c.woff2", Class::Font, None),
            ("http://h.example/o.swf", Class::Object, None),
            ("http://h.example/1.gif", Class::Image, pixel),
            ("http://h.example/next", Class::Page, None),
            ("http://h.example/next", Class::Refresh, None),
            ("http://h.example/a.png", Class::Page, None),
            ("http://h.example/page", Class::Page, None),
            ("http://h.example/feed", Class::Feed, None),
            ("http://localhost:8080/control/", Class::Page, None),
        ]);
        let wanted = WantedClasses::of(&config, &page, &[]);
        let chosen = choose(&found, &page, &wanted, &LocalHost::default());
        let chosen: Vec<_> = chosen.iter().map(|chosen| (chosen.url.path(), chosen.what)).collect();
        assert_eq!(
            chosen,
            [
                ("/a.css", LinkAction::Part),
                ("/a.png", LinkAction::Part),
                ("/b.png", LinkAction::LeftOut(LeftOut::Class)),
                ("/c.woff2", LinkAction::Part),
                ("/o.swf", LinkAction::LeftOut(LeftOut::Class)),
                ("/1.gif", LinkAction::ByKind(links::Omission::OnePixel)),
                ("/next", LinkAction::Onward),
                ("/feed", LinkAction::Page),
            ]
        );
    }
}

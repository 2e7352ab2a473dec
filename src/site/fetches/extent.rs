//! The extent of a fetch, in the words of the form.

use crate::base::text::{Text, tr};
use wwwoffle_api::fetch_spec::{FetchSpec, MAX_DEPTH};
use wwwoffle_api::scope::Scope;

/// A choice of the form, which sets the depth and the scope together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Extent {
    /// The page alone.
    Page,
    /// The page, and the pages of its host that it links to.
    Links,
    /// The folder of the page.
    Folder,
    /// The site of the page.
    Site,
    /// Depth and scope as the form sets them in two other fields.
    Own,
}

impl Extent {
    pub(super) const ALL: [Self; 5] =
        [Self::Page, Self::Links, Self::Folder, Self::Site, Self::Own];

    /// Name of the field.
    pub(super) const FIELD: &'static str = "extent";

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Links => "links",
            Self::Folder => "folder",
            Self::Site => "site",
            Self::Own => "own",
        }
    }

    pub(super) const fn label(self) -> Text {
        match self {
            Self::Page => tr("this page"),
            Self::Links => tr("this page and the pages it links to on its host"),
            Self::Folder => tr("the whole folder"),
            Self::Site => tr("the whole site"),
            Self::Own => tr("as set below"),
        }
    }

    /// Returns the choice that sets the depth and the scope of `spec`.
    pub(super) fn of(spec: &FetchSpec) -> Self {
        match (spec.depth, &spec.scope) {
            (0, _) => Self::Page,
            (1, Scope::Host) => Self::Links,
            (MAX_DEPTH, Scope::Directory) => Self::Folder,
            (MAX_DEPTH, Scope::Site) => Self::Site,
            _ => Self::Own,
        }
    }

    /// Returns the values of the fields `depth` and `method`; `None` if the form sets them.
    fn fields(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Page => Some(("0", "host")),
            Self::Links => Some(("1", "host")),
            Self::Folder => Some((DEEPEST, "directory")),
            Self::Site => Some((DEEPEST, "site")),
            Self::Own => None,
        }
    }
}

/// Name of the field that says how the form was filled in.
pub(super) const WAS: &str = "was";

/// [`MAX_DEPTH`] as a form sends it.
const DEEPEST: &str = "1000";

/// Returns the value of the field [`WAS`]: the depth and the scope with which the form is filled
/// in.
pub(super) fn filled_in(depth: &str, scope: &Scope) -> String {
    format!("{} {scope}", depth.trim())
}

/// Replaces the field `extent` of a form by the fields that it stands for, unless the person
/// changed the depth or the scope: then these count. A form without it, such as that of WWWOFFLE
/// 2.9, stays the same.
pub(super) fn expand<'a>(fields: Vec<(&'a str, &'a str)>) -> Vec<(&'a str, &'a str)> {
    let value =
        |field: &str| fields.iter().find(|(name, _)| *name == field).map(|(_, value)| value.trim());
    let chosen = value(Extent::FIELD);
    let extent = Extent::ALL.into_iter().find(|extent| Some(extent.as_str()) == chosen);
    let is_changed = value(WAS).is_some_and(|was| {
        let (depth, scope) = was.split_once(' ').unwrap_or_default();
        value("depth").is_some_and(|it| it != depth)
            || value("method").is_some_and(|it| it != scope)
    });
    let set = extent.filter(|_| !is_changed).and_then(Extent::fields);
    let is_replaced = |name: &str| match name {
        Extent::FIELD | WAS => true,
        "depth" | "method" => set.is_some(),
        _ => false,
    };
    let mut fields: Vec<_> = fields.into_iter().filter(|(name, _)| !is_replaced(name)).collect();
    if let Some((depth, method)) = set {
        fields.extend([("depth", depth), ("method", method)]);
    }
    fields
}

#[cfg(test)]
mod tests {
    use wwwoffle_api::fetch_spec::RecursiveRequest;

    use super::*;

    #[test]
    fn a_choice_sets_depth_and_scope() {
        let read = |extent: &'static str| {
            let fields =
                vec![("url", "http://a/"), ("depth", "7"), ("method", "any"), ("extent", extent)];
            RecursiveRequest::read(expand(fields)).unwrap().spec
        };
        for (extent, depth, scope) in [
            ("page", 0, Scope::Host),
            ("links", 1, Scope::Host),
            ("folder", MAX_DEPTH, Scope::Directory),
            ("site", MAX_DEPTH, Scope::Site),
            ("own", 7, Scope::Any),
            ("<b>", 7, Scope::Any),
        ] {
            let spec = read(extent);
            assert_eq!((spec.depth, &spec.scope), (depth, &scope), "{extent}");
            assert!(Extent::of(&spec).as_str() == extent || extent == "<b>", "{extent}");
        }
        // What the person changed counts, and not what the form was filled in with.
        for (was, extent, depth, method, want) in [
            ("0 host", "page", "3", "host", (3, Scope::Host)),
            ("0 host", "site", "0", "any", (0, Scope::Any)),
            ("0 host", "site", "0", "host", (MAX_DEPTH, Scope::Site)),
            ("7 any", "page", "7", "any", (0, Scope::Host)),
            ("7 any", "own", "8", "any", (8, Scope::Any)),
            ("0 http://*/a b", "page", "0", "http://*/a b", (0, Scope::Host)),
        ] {
            let fields = vec![
                ("url", "http://a/"),
                ("was", was),
                ("extent", extent),
                ("depth", depth),
                ("method", method),
            ];
            let spec = RecursiveRequest::read(expand(fields)).unwrap().spec;
            assert_eq!((spec.depth, spec.scope), want, "{was}, {extent}, {depth}, {method}");
        }
        let former = vec![("url", "http://a/"), ("depth", "2")];
        assert_eq!(expand(former.clone()), former);
    }
}

//! The addresses of lists: which entries a list shows, in which order, and where the page begins.

use std::fmt;

use wwwoffle_api::{Member, SavedSearch};
use wwwoffle_index::{ContentClass, Cursor, Sort};
use wwwoffle_url::url_encode_form_args;

use super::ROOT;
use crate::page::links::{ABOUT, SEARCH};

/// A page of a list: the filters, the order and the position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListAddress {
    /// Path of the list below [`ROOT`], such as `https/www.example.org`.
    pub path: String,
    /// Order of the rows.
    pub sort: Option<Sort>,
    /// The filters.
    pub filter: ListFilter,
    /// Whether the list is one of entries with a filter, or of a session, so that it may be deleted
    /// as a whole.
    pub is_part: bool,
    /// Whether all rows that can be selected are selected.
    pub is_all_chosen: bool,
    /// Whether a deletion that this caller started is still running.
    pub is_going_on: bool,
    /// The caller, named as in the owner field of entries.
    pub owner: String,
    /// Position where this page begins; `None` for the first page.
    pub after: Option<String>,
    /// The previous pages.
    pub trail: Trail,
    /// For the list of a site: its page with the shortest URL, if there is one.
    pub start: Option<String>,
    /// The name of the collection whose entries are listed.
    pub collection: Option<String>,
    /// The words, if this is the list of what a search finds; otherwise empty.
    pub words: String,
}

/// The filters of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// The class of the listed entries; `None` for all.
    pub kind: Option<ContentClass>,
    /// Text that the URL or title of the listed entries contains; empty for all.
    pub text: String,
    /// Whether only pages are listed, without sub-resources.
    pub pages_only: bool,
    /// Whether the list is one of all nodes of the archive tier.
    pub is_everywhere: bool,
    /// Whether entries that the configuration excludes from lists are listed, too.
    pub all: bool,
    /// Further filters as (name, value), as they were given.
    pub others: Vec<(&'static str, String)>,
}

/// Maximum number of previous pages whose positions an address carries. After that many steps back,
/// only the link to the first page remains.
const LONGEST_TRAIL: usize = 6;

impl ListAddress {
    /// Returns the address of this page, without scheme and host.
    #[must_use]
    pub fn address(&self) -> String {
        let trail = self.trail.to_string();
        let others = self.filter.others.iter().map(|(name, value)| (*name, value.as_str()));
        let pairs = [
            ("sort", self.sort.map(Sort::as_str).unwrap_or_default()),
            ("type", self.filter.kind.map(ContentClass::as_str).unwrap_or_default()),
            ("text", &self.filter.text),
            ("pages", if self.filter.pages_only { "1" } else { "" }),
            ("all", if self.filter.all { "1" } else { "" }),
            ("scope", if self.filter.is_everywhere { "all" } else { "" }),
            ("after", self.after.as_deref().unwrap_or_default()),
            ("before", &trail),
            ("q", &self.words),
        ];
        let coded = |text: &str| url_encode_form_args(text.as_bytes());
        let pairs = pairs.into_iter().chain(others).filter(|(_, value)| !value.is_empty());
        let pairs: Vec<_> = pairs.map(|(name, value)| format!("{name}={}", coded(value))).collect();
        let begin = if self.words.is_empty() {
            format!("{ROOT}{}", encode_path(&self.path))
        } else {
            SEARCH.to_owned()
        };
        if pairs.is_empty() { begin } else { format!("{begin}?{}", pairs.join("&")) }
    }
}

/// Arguments for filters that have no control in the form.
pub const OTHERS: [&str; 9] =
    ["scheme", "host", "site", "status", "on", "since", "until", "owner", "collection"];

/// Argument that selects all rows that can be selected.
pub const CHOSEN: &str = "chosen";

/// The positions where the previous pages begin, without the first page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// The known positions, in the order of the pages.
    known: Vec<String>,
    /// Whether earlier positions were dropped.
    is_cut: bool,
}

/// Separator between positions, which contain no such character. A leading separator marks a trail
/// from which positions were dropped.
const BETWEEN: &str = "_";

impl Trail {
    /// Parses a trail. Invalid positions are skipped.
    #[must_use]
    pub fn parse(text: &str) -> Trail {
        let is_one = |one: &&str| one.parse::<Cursor>().is_ok();
        let known = text.split(BETWEEN).filter(is_one).map(str::to_owned).collect();
        Trail { known, is_cut: text.starts_with(BETWEEN) }.bounded()
    }

    fn bounded(mut self) -> Trail {
        let skipped = self.known.len().saturating_sub(LONGEST_TRAIL);
        self.known.drain(..skipped);
        self.is_cut |= skipped > 0;
        self
    }
}

impl fmt::Display for Trail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cut { BETWEEN } else { "" })?;
        f.write_str(&self.known.join(BETWEEN))
    }
}

impl ListAddress {
    /// Returns the member of a collection that has the same entries; `None` if there is none.
    #[must_use]
    pub fn as_member(&self) -> Option<Member> {
        let filter = &self.filter;
        let other = |name: &str| filter.others.iter().find(|(it, _)| *it == name);
        let value = |name: &str| other(name).map(|(_, value)| value.clone()).unwrap_or_default();
        if !self.words.is_empty() {
            let known = ["host", "since", "until"];
            return filter.others.iter().all(|(name, _)| known.contains(name)).then(|| {
                Member::Search(SavedSearch {
                    words: self.words.clone(),
                    host: value("host"),
                    class: filter.kind.map(ContentClass::as_str).unwrap_or_default().to_owned(),
                    since: value("since"),
                    until: value("until"),
                })
            });
        }
        let site = self.path.strip_prefix("site/").filter(|site| !site.is_empty())?;
        let is_whole = filter.kind.is_none() && filter.text.is_empty() && filter.others.is_empty();
        is_whole.then(|| Member::Site { site: site.to_owned() })
    }

    /// Returns the first page of the list.
    pub(super) fn first(&self) -> ListAddress {
        ListAddress { after: None, trail: Trail::default(), ..self.clone() }
    }

    /// Returns the next page, which begins at `next`.
    pub(super) fn following(&self, next: &str) -> ListAddress {
        let mut trail = self.trail.clone();
        trail.known.extend(self.after.clone());
        ListAddress { after: Some(next.to_owned()), trail: trail.bounded(), ..self.clone() }
    }

    /// Returns the previous page; `None` if this is the first page, or if the position is unknown.
    pub(super) fn previous(&self) -> Option<ListAddress> {
        let mut trail = self.trail.clone();
        let after = trail.known.pop();
        let is_known = after.is_some() || !trail.is_cut;
        (self.after.is_some() && is_known).then(|| ListAddress { after, trail, ..self.clone() })
    }
}

/// Adds an argument to an address of ours. It replaces arguments that report an earlier action.
#[must_use]
pub fn with(address: &str, name: &str, value: &str) -> String {
    if let Some(arguments) = address.strip_prefix(ABOUT) {
        // The URL is the last argument, so the report is placed before it.
        let (_, url) = split_report(arguments);
        return format!(
            "{ABOUT}{name}={}{BEFORE_URL}{url}",
            url_encode_form_args(value.as_bytes())
        );
    }
    let (path, arguments) = address.split_once('?').unwrap_or((address, ""));
    let is_kept = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && !TELLING.contains(&name)
    };
    let mut pairs: Vec<_> = arguments.split('&').filter(is_kept).map(str::to_owned).collect();
    pairs.push(format!("{name}={}", url_encode_form_args(value.as_bytes())));
    format!("{path}?{}", pairs.join("&"))
}

/// Separator between the report and the URL, in the address of the page about a URL.
const BEFORE_URL: &str = "&url=";

/// Splits the arguments of the page about a URL into the report of an action, if there is one, and
/// the rest.
#[must_use]
pub fn split_report(arguments: &str) -> (Option<&str>, &str) {
    let report = arguments.split_once(BEFORE_URL).filter(|(report, _)| {
        let name = report.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| TELLING.contains(&name))
    });
    report.map_or((None, arguments), |(report, url)| (Some(report), url))
}

/// Arguments that report the result of an action.
const TELLING: [&str; 3] = [REMOVED, BACK, DONE];

/// Argument that names a deletion that can be undone.
pub const REMOVED: &str = "removed";

/// Argument that reports an undone deletion, as a [`RestoredCounts`](super::RestoredCounts).
pub const BACK: &str = "back-again";

/// Argument that reports any other action: its name, and the number of entries.
pub const DONE: &str = "done";

/// Encodes a path, which may contain foreign host names.
pub(super) fn encode_path(path: &str) -> String {
    path.split('/')
        .map(|part| url_encode_form_args(part.as_bytes()).replace('+', "%20"))
        .collect::<Vec<_>>()
        .join("/")
}

#[cfg(test)]
mod tests {
    use wwwoffle_spool::{Key, Timestamp};

    use super::*;

    fn cursor(number: i64) -> String {
        let time = Timestamp::from_second(number).unwrap();
        Cursor::of_moment(time, Key::from_bytes([0; 32])).to_string()
    }

    #[test]
    fn a_list_keeps_its_order() {
        let shown = ListAddress {
            path: "https/www.example.org:8443".into(),
            sort: Some(Sort::Size),
            filter: ListFilter {
                kind: Some(ContentClass::Image),
                text: "a&b c".into(),
                pages_only: true,
                is_everywhere: false,
                all: true,
                others: vec![("status", "4xx".into()), ("until", "2026-11-20".into())],
            },
            after: Some("x+".into()),
            ..ListAddress::default()
        };
        let want = "/index/https/www.example.org:8443?sort=size&type=image&text=a%26b+c&pages=1&all=1&after=x%2B\
                    &status=4xx&until=2026-11-20";
        assert_eq!(shown.address(), want);
        assert_eq!(ListAddress::default().address(), "/index/");
    }

    #[test]
    fn a_list_is_paged_forward_and_back() {
        let begin =
            ListAddress { path: "all".into(), sort: Some(Sort::Name), ..ListAddress::default() };
        assert_eq!(begin.previous(), None);
        let mut pages = vec![begin.clone()];
        for number in 1..=9 {
            let next = pages.last().unwrap().following(&cursor(number));
            // The address contains the same trail.
            let address = next.address();
            let trail = address.split_once("before=").map_or("", |(_, trail)| trail);
            assert_eq!(Trail::parse(trail), next.trail);
            assert!(next.trail.known.len() <= LONGEST_TRAIL && address.len() < 1_500, "{address}");
            pages.push(next);
        }
        for number in 1..=7 {
            assert_eq!(
                pages[number].previous().unwrap().after,
                pages[number - 1].after,
                "{number}"
            );
        }
        let mut at = pages[9].clone();
        let mut steps = 0;
        while let Some(before) = at.previous() {
            assert_eq!(before.after, pages[8 - steps].after);
            (at, steps) = (before, steps + 1);
        }
        // Of the pages farther back only the first one is known.
        assert_eq!(steps, LONGEST_TRAIL);
        assert_eq!(at.first(), begin);
    }

    #[test]
    fn invalid_page_positions_are_ignored() {
        let good = cursor(1);
        let text = format!("x_{good}__../_{good}\r\n_{}", "a".repeat(10_000));
        assert_eq!(Trail::parse(&text).known, [good]);
        assert_eq!(Trail::parse(""), Trail::default());
    }

    #[test]
    fn a_new_result_replaces_the_previous_one() {
        for (address, want) in [
            ("/index/", "/index/?removed=1-a"),
            ("/index/all?sort=name", "/index/all?sort=name&removed=1-a"),
            ("/index/all?removed=x&sort=name&back-again=1.2", "/index/all?sort=name&removed=1-a"),
            ("/info/?http://a/%3Fx%26y", "/info/?removed=1-a&url=http://a/%3Fx%26y"),
            ("/info/?back-again=1.0&url=http://a/", "/info/?removed=1-a&url=http://a/"),
        ] {
            assert_eq!(with(address, REMOVED, "1-a"), want);
        }
    }

    #[test]
    fn a_result_in_the_address_is_separated_from_the_url() {
        for (arguments, want) in [
            ("removed=1-a&url=http://a/", (Some("removed=1-a"), "http://a/")),
            ("back-again=1.0&url=http://a/?x&url=y", (Some("back-again=1.0"), "http://a/?x&url=y")),
            ("http://a/?removed=1-a&url=y", (None, "http://a/?removed=1-a&url=y")),
            ("url=http://a/?x&url=y", (None, "url=http://a/?x&url=y")),
            ("removed=1-a", (None, "removed=1-a")),
            ("", (None, "")),
        ] {
            assert_eq!(split_report(arguments), want, "{arguments}");
        }
    }
}

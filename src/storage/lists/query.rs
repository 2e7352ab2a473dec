//! The arguments of a list or a search, in a URL or on the command line.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use wwwoffle_index::{ContentClass, Cursor, Filter, Query, Sort};

use crate::base::shown;
use crate::base::text::{Text, tr};
use wwwoffle_api::ListKind;

/// The default number of entries on a page.
const USUAL: usize = 100;

/// The listed items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Entries.
    Entries,
    /// Entries stored in this session. Sessions are counted backwards; 0 is the current or last
    /// one.
    Session(usize),
    /// Requests that were queued when this session began. Sessions are counted backwards.
    Asked(usize),
    /// Hosts, of a scheme or all.
    Hosts(Option<String>),
    /// Sites.
    Sites,
    /// The outgoing queue.
    Outgoing,
    /// Failed requests in the queue.
    Failed,
    /// Monitored pages.
    Monitored,
}

/// A requested list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// The listed items.
    pub subject: Subject,
    /// The filter, without the viewer.
    pub filter: Filter,
    /// The order of the items.
    pub sort: Sort,
    /// The position behind which the page begins.
    pub after: Option<Cursor>,
    /// The maximum number of items.
    pub limit: usize,
    /// Whether URLs that the configuration excludes from lists are shown too.
    pub all: bool,
    /// The words of a search.
    pub words: String,
    /// The id or the name of the collection whose entries are listed; `None` for all.
    pub collection: Option<String>,
}

impl ListQuery {
    /// The query for a list of everything.
    #[must_use]
    pub fn of_everything() -> Self {
        Self {
            subject: Subject::Entries,
            filter: Filter::default(),
            sort: Sort::Name,
            after: None,
            limit: USUAL,
            all: false,
            words: String::new(),
            collection: None,
        }
    }

    /// Parses the arguments of a list; `value` returns them by name.
    ///
    /// # Errors
    ///
    /// The description of an invalid argument.
    pub fn parse<'a>(value: impl Fn(&str) -> Option<&'a str>) -> Result<Self, Text> {
        let value = |name: &str| value(name).map(str::trim).filter(|value| !value.is_empty());
        let text = |name: &str| value(name).map(str::to_owned);
        let mut filter = Filter {
            scheme: text("scheme"),
            host: text("host").map(|host| host.to_ascii_lowercase()),
            site: text("site").map(|site| site.to_ascii_lowercase()),
            text: text("text"),
            owner: value("owner").map(|owner| if owner == "all" { "" } else { owner }.to_owned()),
            pages_only: is_set(value("pages")),
            ..Filter::default()
        };
        filter.class = value("type").map(class).transpose()?;
        filter.status = value("status").map(status).transpose()?;
        filter.since = value("since").map(|text| time(text, "since")).transpose()?;
        filter.until = value("until").map(|text| time(text, "until")).transpose()?;
        if let Some(day) = value("on") {
            (filter.since, filter.until) = (Some(time(day, "on")?), Some(time(day, "until")?));
        }
        let subject = subject(value("what").unwrap_or_default(), &mut filter)?;
        let sort = value("sort").map_or_else(|| Ok(default_sort(&subject)), sort)?;
        let limit = value("limit").map_or(Ok(USUAL), |text| {
            let limit = text.parse().ok().filter(|limit| *limit > 0);
            limit.ok_or_else(|| mismatch_text(tr("enter a number of entries, not {found}"), text))
        })?;
        Ok(Self {
            subject,
            filter,
            sort,
            after: value("after").map(cursor).transpose()?,
            limit,
            all: is_set(value("all")),
            words: text("q").unwrap_or_default(),
            collection: text("collection"),
        })
    }

    /// The parsed words of the search.
    #[must_use]
    pub fn query(&self) -> Query {
        Query::parse(&self.words)
    }
}

fn default_sort(subject: &Subject) -> Sort {
    match subject {
        Subject::Session(_) => Sort::Stored,
        _ => Sort::Name,
    }
}

fn is_set(value: Option<&str>) -> bool {
    value.is_some_and(|value| !matches!(value, "0" | "no" | "false"))
}

/// The error text for an invalid argument: the expected and the actual value.
fn mismatch_text(expected: Text, found: &str) -> Text {
    expected.with("found", format!("{:?}", shown::text(found)))
}

fn cursor(text: &str) -> Result<Cursor, Text> {
    text.parse().map_err(|_| tr("the list position in the address is invalid"))
}

fn class(text: &str) -> Result<ContentClass, Text> {
    let names: Vec<_> = ContentClass::ALL.into_iter().map(ContentClass::as_str).collect();
    let expected = || tr("use one of {known}, not {found}").with("known", names.join(", "));
    text.parse().map_err(|_| mismatch_text(expected(), text))
}

fn sort(text: &str) -> Result<Sort, Text> {
    let names: Vec<_> = Sort::ALL.into_iter().map(Sort::as_str).collect();
    let expected = || tr("use one of {known}, not {found}").with("known", names.join(", "));
    text.parse().map_err(|_| mismatch_text(expected(), text))
}

/// Reads `404`, `4xx` or `400-499`.
fn status(text: &str) -> Result<std::ops::RangeInclusive<u16>, Text> {
    let bad = || mismatch_text(tr("enter a status such as 404, 4xx or 400-499, not {found}"), text);
    let number = |text: &str| text.parse::<u16>().map_err(|_| bad());
    if let Some(hundreds) = text.strip_suffix("xx") {
        let hundreds = number(hundreds)?;
        let hundreds = if (1..=9).contains(&hundreds) { hundreds * 100 } else { return Err(bad()) };
        return Ok(hundreds..=hundreds + 99);
    }
    match text.split_once('-') {
        Some((from, to)) => Ok(number(from)?..=number(to)?),
        None => number(text).map(|status| status..=status),
    }
}

/// Parses a time, or a date in the local time zone. For `until`, a date means the end of that day.
fn time(text: &str, name: &str) -> Result<Timestamp, Text> {
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let bad = || {
        let expected = tr("enter {name} like 2026-11-20 or 2026-11-20T13:00:00Z, not {found}");
        mismatch_text(expected.with("name", name), text)
    };
    let date: Date = text.parse().map_err(|_| bad())?;
    let date = if name == "until" { date.tomorrow().map_err(|_| bad())? } else { date };
    let begins: Zoned = date.to_zoned(TimeZone::system()).map_err(|_| bad())?;
    Ok(begins.timestamp())
}

/// The names of all lists.
const KNOWN: &str = "http, https, ftp, finger, SCHEME/HOST, hosts, hosts/SCHEME, sites, outgoing, failed, \
                     monitored, session/N, asked/N, or as in WWWOFFLE 2.9 lasttime, prevtimeN, lastout, \
                     prevoutN or monitor";

/// Parses the subject of a list, in the spelling of `ls` or in the names of version 2.9. Adds a
/// scheme and a host that it contains to `filter`.
fn subject(text: &str, filter: &mut Filter) -> Result<Subject, Text> {
    let (word, rest) =
        text.trim_end_matches('/').split_once('/').unwrap_or((text.trim_end_matches('/'), ""));
    let back = || match rest {
        "" => Ok(0),
        rest => rest.parse().map_err(|_| {
            mismatch_text(
                tr("use {list} with a number, not {found}").with("list", format!("{word}/N")),
                text,
            )
        }),
    };
    let of_2_9 =
        |begin: &str| word.strip_prefix(begin)?.parse::<usize>().ok().filter(|_| rest.is_empty());
    Ok(match word {
        "" => Subject::Entries,
        "session" => Subject::Session(back()?),
        "asked" => Subject::Asked(back()?),
        "lasttime" => Subject::Session(0),
        "lastout" => Subject::Asked(0),
        "hosts" => Subject::Hosts(Some(rest.to_owned()).filter(|rest| !rest.is_empty())),
        "sites" => Subject::Sites,
        "failed" => Subject::Failed,
        "monitored" | "monitor" => Subject::Monitored,
        _ => {
            if let Some(back) = of_2_9("prevtime") {
                return Ok(Subject::Session(back));
            }
            if let Some(back) = of_2_9("prevout") {
                return Ok(Subject::Asked(back));
            }
            match ListKind::parse(text) {
                Ok(ListKind::Outgoing) => Subject::Outgoing,
                Ok(ListKind::Entries { scheme, host }) => {
                    filter.scheme = scheme.map(str::to_owned).or(filter.scheme.take());
                    filter.host = host.map(str::to_owned).or(filter.host.take());
                    Subject::Entries
                }
                Err(_) => {
                    let expected = tr("use {known}, not {found}");
                    return Err(mismatch_text(expected.with("known", KNOWN), text));
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<ListQuery, Text> {
        let pairs: Vec<_> = arguments.split('&').filter_map(|pair| pair.split_once('=')).collect();
        ListQuery::parse(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| *value))
    }

    #[test]
    fn the_listed_subject_is_parsed() {
        for (what, want) in [
            ("", Subject::Entries),
            ("http", Subject::Entries),
            ("https/a.example", Subject::Entries),
            ("session", Subject::Session(0)),
            ("session/3", Subject::Session(3)),
            ("lasttime", Subject::Session(0)),
            ("prevtime2", Subject::Session(2)),
            ("prevout7", Subject::Asked(7)),
            ("asked/1/", Subject::Asked(1)),
            ("hosts", Subject::Hosts(None)),
            ("hosts/http", Subject::Hosts(Some("http".into()))),
            ("sites", Subject::Sites),
            ("outgoing", Subject::Outgoing),
            ("failed", Subject::Failed),
            ("monitored", Subject::Monitored),
        ] {
            assert_eq!(parse(&format!("what={what}")).unwrap().subject, want, "{what}");
        }
        let wanted = parse("what=https/a.example&sort=atime&status=4xx&type=page&pages=1&limit=7");
        let wanted = wanted.unwrap();
        let filter = wanted.filter;
        assert_eq!(
            (filter.scheme.as_deref(), filter.host.as_deref()),
            (Some("https"), Some("a.example"))
        );
        assert_eq!((filter.status, filter.class), (Some(400..=499), Some(ContentClass::Page)));
        assert_eq!((wanted.sort, wanted.limit, filter.pages_only), (Sort::Used, 7, true));
    }

    #[test]
    fn invalid_query_is_reported() {
        for bad in [
            "what=gopher",
            "what=session/x",
            "sort=up",
            "type=pictures",
            "status=abc",
            "status=0xx",
            "since=yesterday",
            "until=2026-13-01",
            "limit=0",
            "limit=x",
            "after=x",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let since = parse("since=2026-11-20T13:00:00Z&until=2026-11-20").unwrap().filter;
        assert!(since.since < since.until);
    }
}

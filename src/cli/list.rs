//! `wwwoffle ls`: what the spool has.

use std::io::Write;

use wwwoffle_spool::{OutgoingSummary, RequestState, Summary};

use super::{
    Terminal,
    failure::Failure,
    files::{print_json, reader, spool_failed},
    settings::Settings,
};
use crate::{api::EntryItem, exit::ExitStatus, pages::shown};

/// The schemes of which entries are kept.
const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// What is to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What<'a> {
    Entries { scheme: Option<&'a str>, host: Option<&'a str> },
    Outgoing,
}

/// Lists entries, in no order, or what is on the outgoing queue, oldest first.
pub(super) fn list(
    what: Option<&str>,
    json: bool,
    settings: &Settings<'_>,
    terminal: &mut Terminal<'_>,
) -> Result<ExitStatus, Failure> {
    let what = parse(what)?;
    let (reader, out) = (reader(settings)?, &mut *terminal.stdout);
    match what {
        What::Entries { scheme, host } => {
            for summary in reader.list(scheme, host).map_err(|error| spool_failed(&error))? {
                print(&entry(summary.map_err(|error| spool_failed(&error))?), json, out)?;
            }
        }
        What::Outgoing => {
            for waiting in reader.queue().map_err(|error| spool_failed(&error))? {
                print(&outgoing(&waiting), json, out)?;
            }
        }
    }
    Ok(ExitStatus::Done)
}

fn parse(what: Option<&str>) -> Result<What<'_>, Failure> {
    let Some(what) = what.map(|what| what.trim_end_matches('/')) else {
        return Ok(What::Entries { scheme: None, host: None });
    };
    let (scheme, host) = match what.split_once('/') {
        Some((scheme, host)) => (scheme, Some(host.trim_start_matches('/'))),
        None => (what, None),
    };
    // The colon of a URL that was copied from elsewhere.
    let scheme = scheme.strip_suffix(':').unwrap_or(scheme);
    match host {
        None if scheme == "outgoing" => Ok(What::Outgoing),
        Some(host) if host.is_empty() || host.contains('/') => Err(unknown(what)),
        host if SCHEMES.contains(&scheme) => Ok(What::Entries { scheme: Some(scheme), host }),
        _ => Err(unknown(what)),
    }
}

fn unknown(what: &str) -> Failure {
    Failure::Said(
        ExitStatus::Usage,
        format!(
            "ls takes outgoing, {} or one of these with a host, as http/www.example.org, not {:?}",
            SCHEMES.join(", "),
            shown::text(what)
        ),
    )
}

fn entry(summary: Summary) -> EntryItem {
    EntryItem {
        url: summary.place.url().to_owned(),
        key: summary.place.key().to_string(),
        status: Some(summary.status),
        content_type: summary
            .content_type
            .map(|value| String::from_utf8_lossy(&value).into_owned()),
        bytes: summary.body_len,
        stored: summary.stored,
    }
}

fn outgoing(waiting: &OutgoingSummary) -> EntryItem {
    let status = match waiting.state {
        RequestState::Waiting => None,
        RequestState::Failed { status, .. } => status,
    };
    EntryItem {
        url: waiting.place.url().to_owned(),
        key: waiting.place.key().to_string(),
        status,
        content_type: None,
        bytes: 0,
        stored: waiting.queued,
    }
}

fn print(item: &EntryItem, json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if json {
        return print_json(item, out);
    }
    let status = item.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
    let (bytes, url) = (shown::bytes(item.bytes), shown::line(&item.url));
    Ok(writeln!(out, "{status:>3} {bytes:>7}  {:.0}  {url}", item.stored)?)
}

#[cfg(test)]
mod tests {
    use super::{What, parse};

    #[test]
    fn what_is_understood_as_people_write_it() {
        let entries = |scheme, host| What::Entries { scheme, host };
        let table = [
            (None, entries(None, None)),
            (Some("http"), entries(Some("http"), None)),
            (Some("https/"), entries(Some("https"), None)),
            (Some("http/www.example.org"), entries(Some("http"), Some("www.example.org"))),
            (Some("http/a:81/"), entries(Some("http"), Some("a:81"))),
            (Some("ftp://a.example/"), entries(Some("ftp"), Some("a.example"))),
            (Some("outgoing"), What::Outgoing),
        ];
        for (text, want) in table {
            assert_eq!(parse(text), Ok(want), "{text:?}");
        }
        for text in ["", "gopher", "../x", "http/a/b", "outgoing/a", "tmp", "HTTP"] {
            assert!(parse(Some(text)).is_err(), "{text}");
        }
    }
}

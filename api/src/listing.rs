//! The argument and the lines of a list of the spool, for the daemon and for the command line,
//! which reads the spool itself if no daemon runs.

use wwwoffle_spool::{OutgoingSummary, RequestState, Summary};
use wwwoffle_url::SCHEMES;

use super::{EntryItem, Hold};

/// Maximum length of a rejected text in an error, in characters.
const MAX_WHAT: usize = 200;

/// The kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind<'a> {
    /// Entries: all, or those of a scheme or of a host.
    Entries {
        /// The scheme, such as `http`; `None` for all schemes.
        scheme: Option<&'a str>,
        /// The host, with its port; `None` for all hosts.
        host: Option<&'a str>,
    },
    /// The queue.
    Outgoing,
}

/// The error for a text that names no list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected outgoing, {known} or one of these with a host, as http/www.example.org, not {what:?}", known = SCHEMES.join(", "))]
pub struct UnknownWhat {
    what: String,
}

impl ListKind<'static> {
    /// Every entry.
    pub const ALL: Self = Self::Entries { scheme: None, host: None };
}

impl<'a> ListKind<'a> {
    /// Parses `outgoing`, `http`, `http/www.example.org:81` and similar.
    ///
    /// # Errors
    ///
    /// [`UnknownWhat`] for anything else.
    pub fn parse(text: &'a str) -> Result<Self, UnknownWhat> {
        let what = text.trim_end_matches('/');
        let unknown = || UnknownWhat { what: text.chars().take(MAX_WHAT).collect() };
        let (scheme, host) = match what.split_once('/') {
            Some((scheme, host)) => (scheme, Some(host.trim_start_matches('/'))),
            None => (what, None),
        };
        // The colon may come from a copied URL.
        let scheme = scheme.strip_suffix(':').unwrap_or(scheme);
        match host {
            None if scheme == "outgoing" => Ok(Self::Outgoing),
            Some(host) if host.is_empty() || host.contains('/') => Err(unknown()),
            host if SCHEMES.contains(&scheme) => Ok(Self::Entries { scheme: Some(scheme), host }),
            _ => Err(unknown()),
        }
    }
}

impl From<Summary> for EntryItem {
    fn from(summary: Summary) -> Self {
        Self {
            url: summary.place.url().to_owned(),
            key: summary.place.key().to_string(),
            status: Some(summary.status),
            content_type: summary
                .content_type
                .map(|value| String::from_utf8_lossy(&value).into_owned()),
            bytes: summary.body_len,
            stored: summary.stored,
            whose: (&summary.place).into(),
            held: None,
        }
    }
}

impl EntryItem {
    /// A queued request, with the reason that holds it back.
    #[must_use]
    pub fn of_waiting(waiting: &OutgoingSummary, held: Option<Hold>) -> Self {
        let status = match waiting.fetching.state {
            RequestState::Waiting | RequestState::Asking { .. } => None,
            RequestState::Failed { status, .. } => status,
        };
        Self {
            url: waiting.place.url().to_owned(),
            key: waiting.place.key().to_string(),
            status,
            content_type: None,
            bytes: 0,
            stored: waiting.queued,
            whose: (&waiting.place).into(),
            held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ListKind;

    #[test]
    fn list_names_are_parsed_leniently() {
        let entries = |scheme, host| ListKind::Entries { scheme: Some(scheme), host };
        let table = [
            ("http", entries("http", None)),
            ("https/", entries("https", None)),
            ("http/www.example.org", entries("http", Some("www.example.org"))),
            ("http/a:81/", entries("http", Some("a:81"))),
            ("ftp://a.example/", entries("ftp", Some("a.example"))),
            ("outgoing", ListKind::Outgoing),
        ];
        for (text, want) in table {
            assert_eq!(ListKind::parse(text), Ok(want), "{text:?}");
        }
        for text in ["", "gopher", "../x", "http/a/b", "outgoing/a", "tmp", "HTTP", "lock"] {
            assert!(ListKind::parse(text).is_err(), "{text}");
        }
    }
}

//! What a list of the spool is asked for with, and its lines: for the daemon and for the command
//! line, which reads the spool itself when no daemon runs.

use wwwoffle_spool::{OutgoingSummary, RequestState, Summary};

use super::{EntryItem, Held};

/// The schemes of which entries are kept.
const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// What is to be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// Entries: all, those of a scheme, or those of one of its hosts.
    Entries {
        /// `http`, for example.
        scheme: Option<&'a str>,
        /// With its port.
        host: Option<&'a str>,
    },
    /// The outgoing queue.
    Outgoing,
}

/// A text that names nothing to list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected outgoing, {known} or one of these with a host, as http/www.example.org, not {what:?}", known = SCHEMES.join(", "))]
pub struct UnknownWhat {
    what: String,
}

impl What<'static> {
    /// Every entry.
    pub const ALL: Self = Self::Entries { scheme: None, host: None };
}

impl<'a> What<'a> {
    /// Reads `outgoing`, `http`, `http/www.example.org:81` and their like.
    ///
    /// # Errors
    ///
    /// [`UnknownWhat`] for anything else.
    pub fn parse(text: &'a str) -> Result<Self, UnknownWhat> {
        let what = text.trim_end_matches('/');
        let unknown = || UnknownWhat { what: crate::base::shown::text(text) };
        let (scheme, host) = match what.split_once('/') {
            Some((scheme, host)) => (scheme, Some(host.trim_start_matches('/'))),
            None => (what, None),
        };
        // The colon of a URL that was copied from elsewhere.
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
            owner: summary.place.owner().map(str::to_owned),
            held: None,
        }
    }
}

impl EntryItem {
    /// A request on the queue, with what holds it back.
    #[must_use]
    pub fn of_waiting(waiting: &OutgoingSummary, held: Option<Held>) -> Self {
        let status = match waiting.state {
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
            owner: waiting.place.owner().map(str::to_owned),
            held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::What;

    #[test]
    fn what_is_understood_as_people_write_it() {
        let entries = |scheme, host| What::Entries { scheme: Some(scheme), host };
        let table = [
            ("http", entries("http", None)),
            ("https/", entries("https", None)),
            ("http/www.example.org", entries("http", Some("www.example.org"))),
            ("http/a:81/", entries("http", Some("a:81"))),
            ("ftp://a.example/", entries("ftp", Some("a.example"))),
            ("outgoing", What::Outgoing),
        ];
        for (text, want) in table {
            assert_eq!(What::parse(text), Ok(want), "{text:?}");
        }
        for text in ["", "gopher", "../x", "http/a/b", "outgoing/a", "tmp", "HTTP", "lock"] {
            assert!(What::parse(text).is_err(), "{text}");
        }
    }
}

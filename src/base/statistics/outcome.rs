//! The outcomes of requests, for the statistics.

/// The outcome of a request, with one variant for each way to answer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The stored copy was served without a request to the origin.
    Hit,
    /// The stored copy was served after its origin confirmed it.
    Validated,
    /// The stored copy was served because its origin failed or sent an error.
    Stale,
    /// The response of the origin was stored.
    Stored,
    /// The response was already being downloaded for another client; one download served both.
    Joined,
    /// The response of the origin was passed on without being stored.
    Passed,
    /// There is no stored copy; the request was queued.
    Queued,
    /// The request was refused, or a person must confirm it first.
    Refused,
    /// The configuration blocked the request.
    Blocked,
    /// The configuration redirected the request to another URL.
    Moved,
    /// The origin could not be reached and no stored copy may be served, or this program failed.
    Failed,
    /// Bytes were relayed in both directions without being read: a `CONNECT` that is not
    /// intercepted.
    Tunnelled,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Outcome; 12] = [
        Self::Hit,
        Self::Validated,
        Self::Stale,
        Self::Stored,
        Self::Joined,
        Self::Passed,
        Self::Queued,
        Self::Refused,
        Self::Blocked,
        Self::Moved,
        Self::Failed,
        Self::Tunnelled,
    ];

    /// The word used in the spool and the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Validated => "validated",
            Self::Stale => "stale",
            Self::Stored => "stored",
            Self::Joined => "joined",
            Self::Passed => "passed",
            Self::Queued => "queued",
            Self::Refused => "refused",
            Self::Blocked => "blocked",
            Self::Moved => "moved",
            Self::Failed => "failed",
            Self::Tunnelled => "tunnelled",
        }
    }

    /// Whether the body sent to the client did not have to be fetched for this request.
    #[must_use]
    pub const fn saves(self) -> bool {
        matches!(self, Self::Hit | Self::Validated | Self::Stale | Self::Joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_are_distinct() {
        for outcome in Outcome::ALL {
            let same = Outcome::ALL.iter().filter(|other| other.as_str() == outcome.as_str());
            assert_eq!(same.count(), 1);
        }
    }
}

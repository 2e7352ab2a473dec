//! The outcomes of requests, for the statistics.

wwwoffle_url::named! {
    /// The outcome of a request, with one variant for each way to answer it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Outcome {
        /// The stored copy was served without a request to the origin.
        Hit = "hit",
        /// The stored copy was served after its origin confirmed it.
        Validated = "validated",
        /// The stored copy was served because its origin failed or sent an error.
        Stale = "stale",
        /// The response of the origin was stored.
        Stored = "stored",
        /// The response was already being downloaded for another client; one download served both.
        Joined = "joined",
        /// The response of the origin was passed on without being stored.
        Passed = "passed",
        /// There is no stored copy; the request was queued.
        Queued = "queued",
        /// The request was refused, or a person must confirm it first.
        Refused = "refused",
        /// The configuration blocked the request.
        Blocked = "blocked",
        /// The configuration redirected the request to another URL.
        Moved = "moved",
        /// The data saver left the sub-resource out.
        LeftOut = "left-out",
        /// The origin could not be reached and no stored copy may be served, or this program
        /// failed.
        Failed = "failed",
        /// Bytes were relayed in both directions without being read: a `CONNECT` that is not
        /// intercepted.
        Tunnelled = "tunnelled",
    }
}

impl Outcome {
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

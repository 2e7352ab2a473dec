//! What became of a request, as it is counted.

/// What became of a request: one word for each way in which it can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What is kept was served, nobody was asked.
    Hit,
    /// What is kept was served after its origin had said that it still holds.
    Validated,
    /// What is kept was served because its origin could not be asked, or had nothing better than an error.
    Stale,
    /// The origin was asked and its answer is kept.
    Stored,
    /// The answer was on its way to somebody else, and was got once for both.
    Joined,
    /// The origin was asked and its answer is not kept.
    Passed,
    /// Nothing is kept; it was put on the queue.
    Queued,
    /// Nothing is kept; a person is asked first, or nothing was done.
    Refused,
    /// The configuration has it blocked.
    Blocked,
    /// The configuration has another URL for it.
    Moved,
    /// The origin could not be asked, and nothing can be served in its place.
    Failed,
    /// Bytes went both ways unread: `CONNECT`, where it is not answered here.
    Tunnelled,
}

impl Outcome {
    /// All of them.
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

    /// The word, as it is written to the spool and told to programs.
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

    /// Whether the body that the client gets did not have to be got for it.
    #[must_use]
    pub const fn saves(self) -> bool {
        matches!(self, Self::Hit | Self::Validated | Self::Stale | Self::Joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_told_apart() {
        for outcome in Outcome::ALL {
            let same = Outcome::ALL.iter().filter(|other| other.as_str() == outcome.as_str());
            assert_eq!(same.count(), 1);
        }
    }
}

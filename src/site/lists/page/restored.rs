//! The result of an undone deletion, as an argument of a list's address.

use std::fmt;

/// Numbers of restored and of not restored entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoredCounts {
    /// Entries that are current again.
    pub entries: u64,
    /// Entries that were restored as older versions, because a newer copy was stored after the
    /// deletion.
    pub overtaken: u64,
    /// Entries that were not restored, because the same entry was already stored.
    pub there: u64,
    /// Entries that could not be restored.
    pub left: u64,
}

impl RestoredCounts {
    /// Parses the argument; `None` if it is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Option<RestoredCounts> {
        let mut numbers = text.split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let back =
            RestoredCounts { entries: next()?, overtaken: next()?, there: next()?, left: next()? };
        (back.to_string() == text).then_some(back)
    }

    /// Whether there was nothing to restore: the deletion was already undone, or it has expired.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == RestoredCounts::default()
    }
}

impl fmt::Display for RestoredCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RestoredCounts { entries, overtaken, there, left } = self;
        write!(f, "{entries}.{overtaken}.{there}.{left}")
    }
}

#[cfg(test)]
mod tests {
    use super::RestoredCounts;

    #[test]
    fn restored_counts_round_trip() {
        let back = RestoredCounts { entries: 1, overtaken: 0, there: 23, left: u64::MAX };
        assert_eq!(RestoredCounts::parse(&back.to_string()), Some(back));
        assert!(!back.is_nothing() && RestoredCounts::parse("0.0.0.0").unwrap().is_nothing());
        for text in ["", "1.2", "1.2.3", "1.2.3.4.5", "+1.2.3.4", "01.2.3.4", "1.2.3.-4", "a.b.c.d"]
        {
            assert_eq!(RestoredCounts::parse(text), None, "{text}");
        }
    }
}

//! What came back of what was deleted, as the address of a list tells it.

use std::fmt;

use serde::Serialize;

/// How many entries came back, and what became of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Back {
    /// They are there again.
    pub entries: u64,
    /// They are older versions of what has come meanwhile.
    pub overtaken: u64,
    /// They were there already.
    pub there: u64,
    /// They did not come.
    pub left: u64,
}

impl Back {
    /// Reads it; `None` for another text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Back> {
        let mut numbers = text.split('.').map(str::parse);
        let mut next = || numbers.next()?.ok();
        let back = Back { entries: next()?, overtaken: next()?, there: next()?, left: next()? };
        (back.to_string() == text).then_some(back)
    }

    /// Whether there was nothing that could come back: it is here already, or gone for good.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Back::default()
    }
}

impl fmt::Display for Back {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Back { entries, overtaken, there, left } = self;
        write!(f, "{entries}.{overtaken}.{there}.{left}")
    }
}

#[cfg(test)]
mod tests {
    use super::Back;

    #[test]
    fn it_is_read_as_it_was_told() {
        let back = Back { entries: 1, overtaken: 0, there: 23, left: u64::MAX };
        assert_eq!(Back::parse(&back.to_string()), Some(back));
        assert!(!back.is_nothing() && Back::parse("0.0.0.0").unwrap().is_nothing());
        for text in ["", "1.2", "1.2.3", "1.2.3.4.5", "+1.2.3.4", "01.2.3.4", "1.2.3.-4", "a.b.c.d"]
        {
            assert_eq!(Back::parse(text), None, "{text}");
        }
    }
}

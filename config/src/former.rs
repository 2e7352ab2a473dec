//! The options of WWWOFFLE 2.9 and their successors.

/// All options of 2.9. The first lines describe the columns.
const TABLE: &str = include_str!("../data/former.txt");

/// An option of WWWOFFLE 2.9.
#[derive(Clone, Copy, Debug)]
pub struct FormerOption {
    /// The section in 2.9.
    pub section: &'static str,
    /// The name in 2.9; "" for the entries of a section that is a list.
    pub key: &'static str,
    /// The successor.
    pub now: Successor,
}

/// The successor of an option of 2.9.
#[derive(Clone, Copy, Debug)]
pub enum Successor {
    /// The option still exists.
    Same {
        /// The section.
        section: &'static str,
        /// The option.
        key: &'static str,
    },
    /// The option no longer exists.
    Gone {
        /// The reason.
        reason: &'static str,
        /// Section and option with the same purpose, if there are any.
        instead: Option<(&'static str, &'static str)>,
    },
}

impl FormerOption {
    /// All options of WWWOFFLE 2.9, grouped by section.
    pub fn all() -> impl Iterator<Item = Self> {
        rows().filter_map(Self::parse)
    }

    /// Finds the option of 2.9 with this section and name. `None` if 2.9 has no such option.
    #[must_use]
    pub fn find(section: &str, key: &str) -> Option<Self> {
        Self::all().find(|former| {
            former.section.eq_ignore_ascii_case(section) && former.key.eq_ignore_ascii_case(key)
        })
    }

    /// The section and option with the same purpose, if there are any.
    #[must_use]
    pub fn replacement(self) -> Option<(&'static str, &'static str)> {
        match self.now {
            Successor::Same { section, key } => Some((section, key)),
            Successor::Gone { instead, .. } => instead,
        }
    }

    /// Parses a row of [`TABLE`].
    fn parse(row: &'static str) -> Option<Self> {
        let mut rest = row;
        let mut column = || {
            let (text, after) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = after.trim_start();
            if text == "-" { "" } else { text }
        };
        let (section, key, now, now_key) = (column(), column(), column(), column());
        let now = match (now, now_key, rest) {
            ("", "", "") => return None,
            ("", "", reason) => Successor::Gone { reason, instead: None },
            (section, key, "") => Successor::Same { section, key },
            (section, key, reason) => Successor::Gone { reason, instead: Some((section, key)) },
        };
        Some(Self { section, key, now })
    }
}

/// The rows of [`TABLE`].
fn rows() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.starts_with('#'))
}

/// The sections of WWWOFFLE 2.9, in the order of [`TABLE`].
pub(crate) fn sections() -> impl Iterator<Item = &'static str> {
    let mut last = None;
    let names = FormerOption::all().map(|former| former.section);
    names.filter(move |name| last.replace(*name) != Some(name))
}

/// Whether `text` begins like a configuration of 2.9: the name of a section, and the opening `{` or
/// `[` of the section on the next line.
pub(crate) fn is_former(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let mut written = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_section = |name: &str| sections().any(|known| known.eq_ignore_ascii_case(name));
    written.next().is_some_and(is_section) && matches!(written.next(), Some("{" | "["))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_an_option() {
        for row in rows() {
            assert!(FormerOption::parse(row).is_some(), "{row}");
        }
    }
}

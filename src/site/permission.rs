//! Permissions of the callers of our own pages.

use wwwoffle_config::ChangeScope;

/// The permission that a caller has, or that a form or call needs. Each permission includes the
/// previous ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Permission {
    /// Read pages of ours, and press the buttons of a message page.
    Read,
    /// Request pages, and manage one's own requests.
    Request,
    /// Change what all share: the mode, stored entries, ordinary options.
    Change,
    /// Change protected options, and decide which response is stored for a URL: write, move or
    /// import entries.
    Administer,
}

impl Permission {
    /// Returns the permission of a caller without the control password. `has_password` says whether
    /// a control password exists, and `is_here` whether the caller connects from this machine.
    pub(super) fn without_password(has_password: bool, is_here: bool) -> Self {
        match (has_password, is_here) {
            (true, _) => Self::Read,
            (false, true) => Self::Change,
            (false, false) => Self::Request,
        }
    }

    /// Returns the options that a caller with this permission may change.
    pub(super) fn reach(self) -> ChangeScope {
        if self >= Self::Administer { ChangeScope::Whole } else { ChangeScope::Guarded }
    }
}

#[cfg(test)]
mod tests {
    use super::Permission::{self, Administer, Change, Read, Request};
    use wwwoffle_config::ChangeScope;

    #[test]
    fn only_an_administrator_reaches_protected_options() {
        for (permission, want) in [
            (Read, ChangeScope::Guarded),
            (Request, ChangeScope::Guarded),
            (Change, ChangeScope::Guarded),
            (Administer, ChangeScope::Whole),
        ] {
            assert_eq!(permission.reach(), want, "{permission:?}");
        }
    }

    #[test]
    fn a_control_password_allows_others_to_read() {
        for (has_password, is_here, want) in [
            (false, true, Change),
            (false, false, Request),
            (true, true, Read),
            (true, false, Read),
        ] {
            assert_eq!(Permission::without_password(has_password, is_here), want);
        }
    }
}

//! What pages tell of the link: how it is, why, and whether the mode goes by it.

use jiff::Timestamp;
use serde::Serialize;

use crate::base::shown::{ShownTime, ShownUrl};
use crate::base::text::Text;
use crate::page::Shell;

/// How the link is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// How it is, and why.
    pub reason: Text,
    /// Since when the mode goes by it; `None` where it does not.
    pub decides: Option<Timestamp>,
    /// Where to log in, if a captive portal answers.
    pub portal: Option<String>,
}

/// The same for the macro `link_state`.
#[derive(Serialize)]
pub(super) struct LinkView {
    reason: Text,
    since: Option<ShownTime>,
    portal: Option<ShownUrl>,
}

impl LinkView {
    pub(super) fn new(link: &Link, shell: &Shell) -> Self {
        Self {
            reason: link.reason.clone(),
            since: link.decides.map(|since| ShownTime::new(since, &shell.zone)),
            portal: link.portal.as_deref().map(ShownUrl::new),
        }
    }
}

#[cfg(test)]
/// A link that does not decide.
pub(crate) fn link() -> Link {
    Link { reason: crate::base::text::say("there is a way out"), decides: None, portal: None }
}

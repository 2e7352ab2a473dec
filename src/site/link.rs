//! The state of the link on local pages: its state, the reason, and whether the mode follows it.

use jiff::Timestamp;
use serde::Serialize;

use crate::base::shown::{ShownTime, ShownUrl};
use crate::base::text::Text;
use crate::page::Shell;

/// The state of the link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkReport {
    /// The state and its reason, in words.
    pub reason: Text,
    /// Since when the mode follows the link; `None` if it does not.
    pub decides: Option<Timestamp>,
    /// Login page, if a captive portal intercepts requests.
    pub portal: Option<String>,
}

/// The same values for the macro `link_state`.
#[derive(Serialize)]
pub(super) struct LinkView {
    reason: Text,
    since: Option<ShownTime>,
    portal: Option<ShownUrl>,
}

impl LinkView {
    pub(super) fn new(link: &LinkReport, shell: &Shell) -> Self {
        Self {
            reason: link.reason.clone(),
            since: link.decides.map(|since| ShownTime::new(since, &shell.zone)),
            portal: link.portal.as_deref().map(ShownUrl::new),
        }
    }
}

#[cfg(test)]
/// A link that the mode does not follow.
pub(crate) fn link() -> LinkReport {
    LinkReport { reason: crate::base::text::say("connected"), decides: None, portal: None }
}

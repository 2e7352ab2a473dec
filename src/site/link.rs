//! The network link on local pages: its state, the reason, and whether the mode follows the link.

use jiff::Timestamp;
use serde::Serialize;

use crate::base::text::Text;

/// The state of the network link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkReport {
    /// The state and its reason, in words.
    pub reason: Text,
    /// When the state of the link was judged, if the mode follows the link; otherwise `None`.
    pub decides: Option<Timestamp>,
    /// The URL of the login page, if a captive portal intercepts requests.
    pub portal: Option<String>,
}

#[cfg(test)]
/// A link that the mode does not follow.
pub(crate) fn link() -> LinkReport {
    LinkReport { reason: crate::base::text::tr("connected"), decides: None, portal: None }
}

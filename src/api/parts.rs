//! Which parts of a page are kept: a member of `GET /api/info`.

use serde::{Deserialize, Serialize};

use crate::base::text::Text;

/// What a page needs to be shown whole, and how much of that is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// All of it is kept, less what is left out by rule; and nothing of it is unknown.
    pub complete: bool,
    /// How many parts are how.
    pub counts: PartCounts,
    /// Why there may be parts that are not known of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Text>,
    /// Those that are missing first, then those left out, then those kept; not all, if they are very
    /// many.
    pub list: Vec<PartItem>,
}

/// How many parts of a page are how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PartCounts {
    /// See [`PartState::Absent`].
    pub absent: u64,
    /// See [`PartState::Failed`].
    pub failed: u64,
    /// See [`PartState::Queued`].
    pub queued: u64,
    /// See [`PartState::LeftOut`].
    pub left_out: u64,
    /// See [`PartState::Kept`].
    pub kept: u64,
}

impl PartCounts {
    /// How many are neither kept nor left out.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.absent.saturating_add(self.failed).saturating_add(self.queued)
    }

    /// Counts one more.
    pub fn add(&mut self, state: PartState) {
        let count = match state {
            PartState::Absent => &mut self.absent,
            PartState::Failed => &mut self.failed,
            PartState::Queued => &mut self.queued,
            PartState::LeftOut => &mut self.left_out,
            PartState::Kept => &mut self.kept,
        };
        *count = count.saturating_add(1);
    }
}

/// One part of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartItem {
    /// Its URL, without credentials.
    pub url: String,
    /// As what the page needs it: `stylesheet`, `image`, `font` and so on.
    pub class: String,
    /// What refers to it, if that is not the page itself: a style sheet, a frame, a redirect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Whether it is kept.
    pub state: PartState,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
}

/// Whether a part is kept, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartState {
    /// It is not kept, and nobody has asked for it.
    Absent,
    /// It could not be had, or its origin answered with an error.
    Failed,
    /// It waits on the outgoing queue.
    Queued,
    /// It is not kept, and would not be fetched with the page.
    LeftOut,
    /// It is kept.
    Kept,
}

impl PartState {
    /// It in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "missing",
            Self::Failed => "failed",
            Self::Queued => "queued",
            Self::LeftOut => "left out",
            Self::Kept => "kept",
        }
    }
}

//! The sub-resources of a page: a member of the response to `GET /api/info`.

use serde::{Deserialize, Serialize};

/// The sub-resources that a page needs, and whether they are stored.
///
/// `Words` is the type of the texts for people: the daemon uses a type that its pages can
/// translate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageParts<Words = String> {
    /// Whether all sub-resources are known, and all are stored except those left out by rule.
    pub complete: bool,
    /// The number of sub-resources in each state.
    pub counts: PartCounts,
    /// Why there may be unknown sub-resources; absent if all are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Words>,
    /// The missing sub-resources first, then those left out, then the stored ones. Truncated if
    /// there are very many.
    pub list: Vec<PartItem<Words>>,
}

impl<Words> Default for PageParts<Words> {
    fn default() -> Self {
        Self { complete: false, counts: PartCounts::default(), cut: None, list: Vec::new() }
    }
}

/// The number of sub-resources in each state.
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
    /// The number of stored sub-resources; see [`PartState::Kept`].
    pub kept: u64,
}

impl PartCounts {
    /// The number of sub-resources that are neither stored nor left out.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.absent.saturating_add(self.failed).saturating_add(self.queued)
    }

    /// Counts one sub-resource.
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

/// One sub-resource of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartItem<Words = String> {
    /// The URL of the sub-resource, without credentials.
    pub url: String,
    /// The role of the sub-resource in the page: `stylesheet`, `image`, `font` and so on.
    pub class: String,
    /// The document that refers to the sub-resource: a style sheet, a frame or a redirect. Absent
    /// if it is the page itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Whether the sub-resource is stored, left out or missing.
    pub state: PartState,
    /// Why the sub-resource is not stored; absent if it is stored or the reason is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Words>,
}

wwwoffle_url::named! {
    /// The state of a sub-resource, the worst first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum PartState {
        /// The sub-resource is not stored and was not requested.
        Absent = "missing",
        /// The sub-resource could not be fetched, or its origin responded with an error.
        Failed = "failed",
        /// The sub-resource is queued.
        Queued = "queued",
        /// The sub-resource is not stored, and would not be fetched with the page.
        LeftOut = "left out",
        /// The sub-resource is stored.
        Kept = "stored",
    }
}

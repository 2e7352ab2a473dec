//! The result of the last action on a list, shown above the list or on the page about a URL.

use serde::Serialize;
use wwwoffle_spool::RemovalSummary;

use super::RestoredCounts;
use crate::base::shown::ShownTime;
use crate::page::Shell;

/// The result of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionResult {
    /// Entries were deleted, and can be restored.
    Removed(RemovalSummary),
    /// A deletion was undone.
    Restored(RestoredCounts),
    /// Another action was performed on this many entries.
    Completed(CompletedAction, u64),
}

/// An action that cannot be undone with one button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletedAction {
    /// The entries were pinned: they stay whatever their age.
    Pinned,
    /// The pages are now fetched once a day.
    Monitored,
    /// The entries were queued to be fetched again.
    Queued,
    /// The entries were deleted permanently.
    Deleted,
}

impl CompletedAction {
    const ALL: [CompletedAction; 4] = [
        CompletedAction::Pinned,
        CompletedAction::Monitored,
        CompletedAction::Queued,
        CompletedAction::Deleted,
    ];

    /// Returns the name of the action in addresses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CompletedAction::Pinned => "pinned",
            CompletedAction::Monitored => "monitored",
            CompletedAction::Queued => "queued",
            CompletedAction::Deleted => "deleted",
        }
    }

    /// Parses the name of an action.
    #[must_use]
    pub fn named(name: &str) -> Option<CompletedAction> {
        CompletedAction::ALL.into_iter().find(|done| done.name() == name)
    }
}

/// The result of an action, above a list or on the page about a URL.
#[derive(Default, Serialize)]
pub(in crate::site) struct ActionResultView {
    undo: Option<UndoView>,
    back_again: Option<RestoredCountsView>,
    done: Option<CompletedActionView>,
}

impl ActionResultView {
    pub(in crate::site) fn new(result: Option<ActionResult>, shell: &Shell) -> ActionResultView {
        match result {
            Some(ActionResult::Removed(resting)) => ActionResultView {
                undo: Some(UndoView::new(&resting, shell)),
                ..ActionResultView::default()
            },
            Some(ActionResult::Restored(result)) => {
                let back_again = Some(RestoredCountsView { nothing: result.is_nothing(), result });
                ActionResultView { back_again, ..ActionResultView::default() }
            }
            Some(ActionResult::Completed(done, count)) => {
                let done = Some(CompletedActionView { what: done.name(), count });
                ActionResultView { done, ..ActionResultView::default() }
            }
            None => ActionResultView::default(),
        }
    }
}

/// A deletion that can be undone.
#[derive(Serialize)]
pub(super) struct UndoView {
    entries: u64,
    removal: String,
    at: ShownTime,
}

impl UndoView {
    pub(super) fn new(resting: &RemovalSummary, shell: &Shell) -> UndoView {
        UndoView {
            entries: resting.entries,
            removal: resting.removal.to_string(),
            at: ShownTime::new(resting.removal.at(), &shell.zone),
        }
    }
}

/// An undone deletion.
#[derive(Serialize)]
struct RestoredCountsView {
    nothing: bool,
    #[serde(flatten)]
    result: RestoredCounts,
}

/// Another action, and the number of entries.
#[derive(Serialize)]
struct CompletedActionView {
    what: &'static str,
    count: u64,
}

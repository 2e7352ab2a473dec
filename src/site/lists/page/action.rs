//! The result of the last action on a list, shown above the list or on the page about a URL.

use wwwoffle_spool::RemovalSummary;

use super::RestoredCounts;
use crate::base::shown::ShownTime;
use crate::page::{Shell, View, view};

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

/// Returns the result of an action, above a list or on the page about a URL.
pub(in crate::site) fn result_view(result: Option<ActionResult>, shell: &Shell) -> View {
    let (mut undo, mut back_again, mut done) = (None, None, None);
    match result {
        Some(ActionResult::Removed(resting)) => undo = Some(undoable(&resting, shell)),
        Some(ActionResult::Restored(result)) => {
            let RestoredCounts { entries, overtaken, there, left } = result;
            let nothing = result.is_nothing();
            back_again = Some(view! { nothing, entries, overtaken, there, left });
        }
        Some(ActionResult::Completed(action, count)) => {
            done = Some(view! { what: action.name(), count });
        }
        None => {}
    }
    view! { undo, back_again, done }
}

/// Returns a deletion that can be undone.
pub(super) fn undoable(resting: &RemovalSummary, shell: &Shell) -> View {
    view! {
        entries: resting.entries,
        removal: resting.removal.to_string(),
        at: ShownTime::new(resting.removal.at(), &shell.zone),
    }
}

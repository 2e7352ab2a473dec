//! The mode of a start without a mode on the command line.

use tracing::warn;
use wwwoffle_spool::{ProgramState, Spool};

use crate::base::error_chain::error_chain;
use crate::base::mode::ModeSetting;
use crate::net::link::kernel::has_default_route;

/// The word in place of a mode in a spool whose starts so far had no connection to follow. Programs
/// that do not know it start online.
const UNDECIDED: &str = "undecided";

/// Returns the mode to start with, and remembers the mode of a new spool, so that it stays when the
/// default changes. `state` is that of the spool; `is_damaged` says whether it could not be read.
pub(super) fn of(spool: &Spool, state: ProgramState, is_damaged: bool) -> ModeSetting {
    if spool.is_read_only() {
        return ModeSetting::Offline;
    }
    match decide(&state, is_damaged, has_default_route) {
        InitialMode::Known(mode) => mode,
        InitialMode::New(mode) => {
            remember(spool, state, mode);
            mode
        }
    }
}

/// The mode of a start.
#[derive(Debug, PartialEq, Eq)]
enum InitialMode {
    /// The remembered mode, or online for a spool that was used before without a choice.
    Known(ModeSetting),
    /// The mode of a new spool.
    New(ModeSetting),
}

/// Decides about the mode. A new spool follows the connection if the machine has a default route.
/// Without one there is nothing to follow, and the machine may reach the web in another way, such as
/// a parent proxy on its network: it begins online, and decides again at the next start.
fn decide(
    state: &ProgramState,
    is_damaged: bool,
    has_default_route: impl FnOnce() -> bool,
) -> InitialMode {
    if let Some(mode) = state.mode().and_then(|word| word.parse().ok()) {
        return InitialMode::Known(mode);
    }
    let is_new = state.is_empty() && !is_damaged;
    if !is_new && state.mode() != Some(UNDECIDED) {
        return InitialMode::Known(ModeSetting::Online);
    }
    InitialMode::New(if has_default_route() { ModeSetting::Auto } else { ModeSetting::Online })
}

fn remember(spool: &Spool, mut state: ProgramState, mode: ModeSetting) {
    let word = if mode == ModeSetting::Auto { mode.as_str() } else { UNDECIDED };
    if state.mode() == Some(word) {
        return;
    }
    if let Err(error) = state.set_mode(word).and_then(|()| spool.set_state(&state)) {
        warn!(error = error_chain(&error), "the next start will not know the mode");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_spool_follows_the_connection() {
        use InitialMode::{Known, New};
        use ModeSetting::{Auto, Autodial, Offline, Online};
        let state = |key: &str, value: &str| {
            let mut state = ProgramState::default();
            state.set_value(key, value).unwrap();
            state
        };
        let new = ProgramState::default;
        for (state, is_damaged, has_route, want) in [
            (new(), false, true, New(Auto)),
            (new(), false, false, New(Online)),
            (state("mode", UNDECIDED), false, true, New(Auto)),
            (state("mode", UNDECIDED), false, false, New(Online)),
            (state("mode", "auto"), false, false, Known(Auto)),
            (state("mode", "offline"), false, true, Known(Offline)),
            (state("mode", "autodial"), false, true, Known(Autodial)),
            // A spool that was used before, or may have been.
            (state("mode", "a-later-mode"), false, true, Known(Online)),
            (state("other", "value"), false, true, Known(Online)),
            (new(), true, true, Known(Online)),
        ] {
            assert_eq!(decide(&state, is_damaged, || has_route), want, "{state:?}");
        }
    }
}

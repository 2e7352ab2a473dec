//! Online, offline or autodial: the main switch of the program.
//!
//! The user chooses one of these modes, or [`ModeSetting::Auto`]. With `Auto`, [`crate::net::link`]
//! decides between online and offline. Requests only see the resulting mode.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::sync::watch;
pub use wwwoffle_api::{Mode, ModeSetting, NotAMode};

use crate::base::clock;
use crate::base::observer::Observer;

/// The maximum number of captive portal hosts that are reachable while offline.
const MAX_PORTAL_HOSTS: usize = 4;

/// The mode in force, which can be watched for changes.
#[derive(Clone, Debug)]
pub struct ModeSwitch {
    chosen: watch::Sender<ModeSetting>,
    mode: watch::Sender<Mode>,
    shared: Arc<Mutex<ModeState>>,
    /// Notified whenever the mode was set, with the previous mode.
    pub(crate) observer: Arc<Observer<Mode>>,
}

/// The data that changes together with the mode. It is locked during every change of the switch.
#[derive(Debug)]
struct ModeState {
    /// The time when connections to origins were last enabled.
    dials_since: SystemTime,
    /// The hosts of a captive portal, reachable until the user has logged in there.
    portal: Vec<String>,
    changes: ModeChanges,
}

/// The last times at which the mode changed to online or autodial, and to offline. Unlike
/// [`ModeSwitch::online_since`], a restart in the same mode is not a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeChanges {
    /// When connections to origins were last enabled.
    pub online: Option<SystemTime>,
    /// When connections to origins were last disabled.
    pub offline: Option<SystemTime>,
}

impl ModeChanges {
    /// Whether the last change was to a mode with connections; `None` if there was none.
    fn ended_online(&self) -> Option<bool> {
        (self.online.or(self.offline).is_some()).then_some(self.online > self.offline)
    }

    fn record(&mut self, may_dial: bool, now: SystemTime) {
        let time = if may_dial { &mut self.online } else { &mut self.offline };
        *time = Some(now);
    }
}

impl ModeSwitch {
    /// Creates a switch with `choice` chosen. With [`ModeSetting::Auto`], the link must be checked
    /// before any request goes out.
    #[must_use]
    pub fn new(choice: impl Into<ModeSetting>) -> Self {
        let choice = choice.into();
        let mode = choice.mode().unwrap_or(Mode::Offline);
        let (now, mut changes) = (clock::now(), ModeChanges::default());
        changes.record(mode.may_dial(), now);
        let shared = ModeState { dials_since: now, portal: Vec::new(), changes };
        Self {
            chosen: watch::Sender::new(choice),
            mode: watch::Sender::new(mode),
            shared: Arc::new(Mutex::new(shared)),
            observer: Arc::default(),
        }
    }

    /// The current mode.
    #[must_use]
    pub fn now(&self) -> Mode {
        *self.mode.borrow()
    }

    /// The current choice.
    #[must_use]
    pub fn chosen(&self) -> ModeSetting {
        *self.chosen.borrow()
    }

    /// Sets the choice, and returns the previous choice and mode. Each call notifies the watchers
    /// of the choice. The watchers of the mode are notified only if the mode changes. With
    /// [`ModeSetting::Auto`], the mode stays until the link is checked, except that autodial
    /// becomes online.
    pub fn set(&self, choice: impl Into<ModeSetting>) -> (ModeSetting, Mode) {
        let choice = choice.into();
        let mut shared = self.shared();
        shared.portal.clear();
        let chosen = self.chosen.send_replace(choice);
        let mode = match (choice.mode(), self.now()) {
            (Some(mode), _) => mode,
            (None, Mode::Autodial) => Mode::Online,
            (None, now) => now,
        };
        let was = self.put(&mut shared, mode);
        drop(shared);
        self.observer.notify(&was);
        (chosen, was)
    }

    /// Sets the mode according to the state of the link, and returns the previous mode. If the
    /// choice is not [`ModeSetting::Auto`], changes nothing and returns `None`. The hosts of a
    /// captive `portal` stay reachable while offline.
    #[expect(clippy::must_use_candidate, reason = "it is called to change the mode")]
    pub fn apply_link_state(&self, mode: Mode, portal: &[String]) -> Option<Mode> {
        let mut shared = self.shared();
        if self.chosen() != ModeSetting::Auto {
            return None;
        }
        shared.portal = portal.iter().take(MAX_PORTAL_HOSTS).cloned().collect();
        let was = self.put(&mut shared, mode);
        drop(shared);
        self.observer.notify(&was);
        Some(was)
    }

    /// Whether `host`, in canonical spelling, is reachable although the mode is offline. This is
    /// the case for a host of a captive portal, where the user must log in.
    #[must_use]
    pub fn allows(&self, host: &str) -> bool {
        self.now() == Mode::Offline
            && self.chosen() == ModeSetting::Auto
            && self.shared().portal.iter().any(|portal| portal == host)
    }

    fn put(&self, shared: &mut ModeState, mode: Mode) -> Mode {
        let mut was = mode;
        self.mode.send_if_modified(|current| {
            was = std::mem::replace(current, mode);
            if mode.may_dial() != was.may_dial() {
                shared.changes.record(mode.may_dial(), clock::now());
            }
            if mode.may_dial() && !was.may_dial() {
                // This time must be set before any request can start in the new mode.
                shared.dials_since = clock::now();
            }
            was != mode
        });
        was
    }

    fn shared(&self) -> MutexGuard<'_, ModeState> {
        // Each field is set by one call, so a panic leaves no field half-written.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time when connections to origins were last enabled: the last change from offline to
    /// another mode, or the start. The value does not change while offline.
    #[must_use]
    pub fn online_since(&self) -> SystemTime {
        self.shared().dials_since
    }

    /// The start of the session, which is the time from going online to going offline. `None` while
    /// offline.
    #[must_use]
    pub fn session(&self) -> Option<SystemTime> {
        self.changes().online.filter(|_| self.now().may_dial())
    }

    /// The last changes between modes with and without connections.
    #[must_use]
    pub fn changes(&self) -> ModeChanges {
        self.shared().changes
    }

    /// Continues with the changes that the previous daemon recorded. If it ended in the same mode,
    /// its start is not a change.
    pub fn resume(&self, earlier: ModeChanges) {
        let may_dial = self.now().may_dial();
        let changes = &mut self.shared().changes;
        if earlier.ended_online() == Some(may_dial) {
            *changes = earlier;
        } else if may_dial {
            changes.offline = earlier.offline;
        } else {
            changes.online = earlier.online;
        }
    }

    /// Watches the mode from now on.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<Mode> {
        self.mode.subscribe()
    }

    /// Watches the choice from now on.
    #[must_use]
    pub fn watch_choice(&self) -> watch::Receiver<ModeSetting> {
        self.chosen.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_names_round_trip() {
        for choice in ModeSetting::ALL {
            assert_eq!(choice.as_str().parse(), Ok(choice));
            assert_eq!(choice.mode().map_or(ModeSetting::Auto, ModeSetting::from), choice);
        }
        let error = "Online ".parse::<ModeSetting>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "expected the mode \"online\", \"offline\", \"autodial\" or \"auto\", not \"Online \""
        );
    }

    #[test]
    fn setting_a_mode_returns_the_old_one_and_wakes_only_on_change() {
        let switch = ModeSwitch::new(Mode::Online);
        let mut seen = switch.watch();
        assert_eq!(switch.set(Mode::Online), (ModeSetting::Online, Mode::Online));
        assert!(!seen.has_changed().unwrap());
        assert_eq!(switch.set(Mode::Offline), (ModeSetting::Online, Mode::Online));
        assert!(seen.has_changed().unwrap());
        assert_eq!(*seen.borrow_and_update(), Mode::Offline);
        assert_eq!(switch.now(), Mode::Offline);
    }

    #[test]
    fn the_link_decides_only_in_automatic_mode() {
        for (before, then) in [
            (Mode::Online, Mode::Online),
            (Mode::Offline, Mode::Offline),
            (Mode::Autodial, Mode::Online),
        ] {
            let switch = ModeSwitch::new(before);
            assert_eq!(switch.apply_link_state(Mode::Offline, &["p".to_owned()]), None);
            assert_eq!(switch.now(), before);
            assert_eq!(switch.set(ModeSetting::Auto), (before.into(), before));
            assert_eq!(switch.now(), then);
            assert!(!switch.allows("p"));
            assert_eq!(switch.apply_link_state(Mode::Offline, &["p".to_owned()]), Some(then));
            assert!(switch.allows("p") && !switch.allows("q"));
            assert_eq!(
                switch.apply_link_state(Mode::Online, &["p".to_owned()]),
                Some(Mode::Offline)
            );
            assert!(!switch.allows("p"), "online nothing is special");
            switch.apply_link_state(Mode::Offline, &["p".to_owned()]);
            assert_eq!(switch.set(Mode::Offline), (ModeSetting::Auto, Mode::Offline));
            assert!(!switch.allows("p"), "offline was chosen");
        }
        assert_eq!(ModeSwitch::new(ModeSetting::Auto).now(), Mode::Offline);
    }

    #[test]
    fn the_online_time_starts_at_the_last_change_from_offline() {
        let switch = ModeSwitch::new(Mode::Online);
        for (mode, is_new) in [
            (Mode::Autodial, false),
            (Mode::Offline, false),
            (Mode::Offline, false),
            (Mode::Autodial, true),
            (Mode::Online, false),
            (Mode::Offline, false),
            (Mode::Online, true),
        ] {
            let long_ago = SystemTime::UNIX_EPOCH;
            switch.shared().dials_since = long_ago;
            switch.set(mode);
            assert_eq!(switch.online_since() > long_ago, is_new, "{mode}");
        }
    }

    #[test]
    fn a_restart_in_the_same_mode_is_not_a_change() {
        let at = |second| Some(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(second));
        let online = ModeChanges { online: at(5), offline: at(3) };
        let offline = ModeChanges { online: at(5), offline: at(7) };
        let first = ModeChanges { online: at(5), offline: None };
        for (earlier, mode, is_change) in [
            (online, Mode::Autodial, false),
            (online, Mode::Offline, true),
            (offline, Mode::Offline, false),
            (offline, Mode::Online, true),
            (first, Mode::Online, false),
            (first, Mode::Offline, true),
            (ModeChanges::default(), Mode::Online, true),
        ] {
            let switch = ModeSwitch::new(mode);
            switch.resume(earlier);
            let changes = switch.changes();
            assert_eq!(changes != earlier, is_change, "{earlier:?} {mode}");
            let (other, was) = match mode {
                Mode::Offline => (changes.online, earlier.online),
                Mode::Online | Mode::Autodial => (changes.offline, earlier.offline),
            };
            assert_eq!(other, was, "{earlier:?} {mode}");
        }
    }
}

//! Reloads the configuration when its file changes, and changes it while the daemon runs.
//!
//! ```text
//! SIGHUP, the API ─┐                         ┌─ a faulty file: logged once, the old text stays in force
//! the file changed ┴─ BaseContext::reload ───┴─ in force from here on; Live's observer is notified
//! BaseContext::change_config ── the file ────┘
//! ```
//!
//! A request uses one configuration from its start to its end, from one call of
//! [`BaseContext::config`]. Every call here that touches the file runs to its end, even if its
//! caller is dropped.

use std::sync::Arc;
use std::time::Duration;

use tracing::error;
use wwwoffle_config::schema::Effect;
use wwwoffle_config::{
    AppliedChange, ChangeError, ChangeScope, Config, ConfigText, EarlierConfig, Faults, TextStamp,
    changes, load,
};

use crate::base::blocking::blocking;
use crate::base::clock;
use crate::base::context::BaseContext;
use crate::base::live::{AppliedOptions, Change, ConfigFileChange, ConfigFileState};

/// Interval between checks whether a file has changed. A change is used only if the next check
/// finds no further change, because an editor may still be writing.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Interval between attempts to reload a faulty configuration, even if no change was seen.
const TRY_AGAIN_EVERY: Duration = Duration::from_secs(10);

impl BaseContext {
    /// Reads the configuration again, and puts it in force if it is valid.
    ///
    /// # Errors
    ///
    /// All errors in the file. The old configuration then stays in force.
    pub async fn reload(self: &Arc<Self>) -> Result<AppliedOptions, Faults> {
        let base = Arc::clone(self);
        blocking(move || base.reload_now()).await
    }

    /// Changes the file, and puts the result in force. If `expected` is given, the file is changed
    /// only if it still has that text.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]. File and configuration are then unchanged.
    pub async fn change_config(
        self: &Arc<Self>,
        change: Change,
        expected: Option<TextStamp>,
        reach: ChangeScope,
    ) -> Result<ConfigFileChange, ChangeError> {
        let base = Arc::clone(self);
        blocking(move || base.change_now(&change, expected, reach)).await
    }

    /// The current text of the configuration file.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn config_text(self: &Arc<Self>) -> Result<ConfigText, ChangeError> {
        let file = self.live.file();
        blocking(move || file.read()).await
    }

    /// The earlier versions of the configuration file, oldest first.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub async fn config_versions(self: &Arc<Self>) -> Result<Vec<EarlierConfig>, ChangeError> {
        let file = self.live.file();
        blocking(move || file.versions()).await
    }

    /// The file, and its differences from the configuration in force.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn config_standing(self: &Arc<Self>) -> Result<ConfigFileState, ChangeError> {
        let base = Arc::clone(self);
        blocking(move || base.config_file_state()).await
    }

    fn config_file_state(&self) -> Result<ConfigFileState, ChangeError> {
        let state = self.live.state();
        let file = self.live.file();
        let text = file.read()?;
        let in_force = state.text.clone();
        let is_in_doubt = text.text != in_force || state.faults.is_some();
        let mut restart = changes(&state.first, &in_force);
        restart.retain(|change| change.effect == Effect::Restart);
        drop(state);
        let faults = is_in_doubt.then(|| Config::parse(&text.text, file.path()).err()).flatten();
        let versions = file.versions()?;
        Ok(ConfigFileState { text, in_force, faults, restart, versions })
    }

    fn reload_now(&self) -> Result<AppliedOptions, Faults> {
        let mut state = self.live.state();
        let (loaded, watch) = load(&self.live.lookup);
        state.watch = watch;
        match loaded {
            Ok(loaded) => {
                let applied = self.live.apply(&mut state, loaded.config, &loaded.text.text);
                drop(state);
                self.live.observer.notify(&applied);
                Ok(applied)
            }
            Err(faults) => {
                let message = faults.to_string();
                if state.faults.as_ref() != Some(&message) {
                    error!("the configuration is invalid and the one in force stays:\n{message}");
                    state.faults = Some(message);
                }
                Err(faults)
            }
        }
    }

    fn change_now(
        &self,
        change: &Change,
        expected: Option<TextStamp>,
        reach: ChangeScope,
    ) -> Result<ConfigFileChange, ChangeError> {
        let now = clock::now();
        let mut state = self.live.state();
        let file = self.live.file().limit_to(reach, self.config());
        let changed = match change {
            Change::Edit(edit) => file.edit(edit, expected, now),
            Change::Undo(number) => file.undo(*number, expected, now),
            Change::Replace(text) => {
                let expected = match expected {
                    Some(expected) => expected,
                    None => file.read()?.stamp,
                };
                file.replace(expected, text, now)
            }
        }?;
        let AppliedChange { text, config, edited, .. } = changed;
        let applied = self.live.apply(&mut state, config, &text.text);
        drop(state);
        self.live.observer.notify(&applied);
        Ok(ConfigFileChange { text, edited, applied })
    }
}

/// Reloads the configuration when one of its files has changed, or at intervals while it is faulty,
/// until the daemon stops.
pub async fn watch(base: Arc<BaseContext>) {
    let mut tick = tokio::time::interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut seen, mut tried) = (None, tokio::time::Instant::now());
    loop {
        tokio::select! {
            () = base.tasks.stopping() => return,
            _ = tick.tick() => {}
        }
        let looking = Arc::clone(&base);
        let (now, is_changed, is_faulty) = blocking(move || {
            let state = looking.live.state();
            let (watch, is_faulty) = (state.watch.clone(), state.faults.is_some());
            drop(state);
            let now = watch.reread();
            let is_changed = now != watch;
            (now, is_changed, is_faulty)
        })
        .await;
        let is_settled = is_changed && seen.as_ref() == Some(&now);
        seen = is_changed.then_some(now);
        if is_settled || (is_faulty && tried.elapsed() >= TRY_AGAIN_EVERY) {
            tried = tokio::time::Instant::now();
            // Errors have already been logged.
            let _in_force_or_not = base.reload().await;
        }
    }
}

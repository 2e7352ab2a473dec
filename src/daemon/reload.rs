//! How the configuration in force comes to be: read again when its file changes, and changed while the daemon runs.
//!
//! ```text
//! SIGHUP, the API ─┐                    ┌─ a faulty file: told once, the one in force stays
//! the file changed ┴─ Daemon::reload ───┴─ in force from here on
//! Daemon::change_config ── the file ────┘
//! ```
//!
//! A request keeps the configuration it began with, [`Daemon::config`] taken once. Every call here
//! that touches the file goes to its end, also when whoever asked for it leaves.

use std::sync::Arc;
use std::time::Duration;

use tracing::{error, info, warn};
use wwwoffle_config::schema::Effect;
use wwwoffle_config::{
    ChangeError, Changed, Config, ConfigText, Faults, OptionChange, Reach, Stamp, Version, changes,
    load,
};

use crate::base::clock;
use crate::base::hooks::Hook;
use crate::base::live::{Applied, Change, Done, Standing, State, blocking};
use crate::base::log;
use crate::daemon::Daemon;
use crate::net::upstream::Limits;

/// How often it is looked whether a file has changed. A change counts once nothing has changed any
/// more from one look to the next: an editor may be in the middle of writing.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often a faulty configuration is read again, though nothing is seen to have changed.
const TRY_AGAIN_EVERY: Duration = Duration::from_secs(10);

impl Daemon {
    fn apply(&self, state: &mut State, config: Config, text: &str) -> Applied {
        self.store.spool().queue().set_share(config.startup.queue_share.get());
        self.live.apply(state, config, text)
    }

    /// Reads the configuration again, and puts it in force if nothing in it is wrong.
    ///
    /// # Errors
    ///
    /// All that is wrong with it; the one in force stays.
    pub async fn reload(self: &Arc<Self>) -> Result<Applied, Faults> {
        let daemon = Arc::clone(self);
        blocking(move || daemon.reload_now()).await
    }

    /// Changes the file, with `expected` only if it is still that text, and puts what it says then
    /// in force.
    ///
    /// # Errors
    ///
    /// [`ChangeError`]; file and configuration stay as they were.
    pub async fn change_config(
        self: &Arc<Self>,
        change: Change,
        expected: Option<Stamp>,
        reach: Reach,
    ) -> Result<Done, ChangeError> {
        let daemon = Arc::clone(self);
        blocking(move || daemon.change_now(&change, expected, reach)).await
    }

    /// The text of the configuration as its file has it now.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn config_text(self: &Arc<Self>) -> Result<ConfigText, ChangeError> {
        let file = self.live.file();
        blocking(move || file.read()).await
    }

    /// The versions before the one in force, the oldest first.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub async fn config_versions(self: &Arc<Self>) -> Result<Vec<Version>, ChangeError> {
        let file = self.live.file();
        blocking(move || file.versions()).await
    }

    /// The file, and how it differs from what is in force.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn config_standing(self: &Arc<Self>) -> Result<Standing, ChangeError> {
        let daemon = Arc::clone(self);
        blocking(move || daemon.standing_now()).await
    }

    fn standing_now(&self) -> Result<Standing, ChangeError> {
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
        Ok(Standing { text, in_force, faults, restart, versions })
    }

    fn reload_now(&self) -> Result<Applied, Faults> {
        let mut state = self.live.state();
        let (loaded, watch) = load(&self.live.lookup);
        state.watch = watch;
        match loaded {
            Ok(loaded) => {
                let applied = self.apply(&mut state, loaded.config, &loaded.text.text);
                drop(state);
                self.in_force(&applied);
                Ok(applied)
            }
            Err(faults) => {
                let told = faults.to_string();
                if state.faults.as_ref() != Some(&told) {
                    error!("the configuration is faulty, the one in force stays:\n{told}");
                    state.faults = Some(told);
                }
                Err(faults)
            }
        }
    }

    fn change_now(
        &self,
        change: &Change,
        expected: Option<Stamp>,
        reach: Reach,
    ) -> Result<Done, ChangeError> {
        let now = clock::now();
        let mut state = self.live.state();
        let file = self.live.file().within(reach, self.config());
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
        let Changed { text, config, edited, .. } = changed;
        let applied = self.apply(&mut state, config, &text.text);
        drop(state);
        self.in_force(&applied);
        Ok(Done { text, edited, applied })
    }

    /// Does what a new configuration asks for besides being there to be looked at.
    fn in_force(&self, applied: &Applied) {
        let is_new = |section: &str, key: &str| {
            applied.options.iter().any(|change| (change.section, change.key) == (section, key))
        };
        if is_new("options", "log-level") {
            log::set_level(self.config().options.log_level);
        }
        let config = self.config();
        let options = &config.options;
        let (dns_timeout, connect_timeout) = (options.dns_timeout, options.connect_timeout);
        self.upstream.set_limits(Limits::of(options), dns_timeout, connect_timeout);
        self.link.nudge();
        // More may be fetched at once than before.
        self.fetcher.nudge();
        if !applied.options.is_empty() {
            info!(options = %Names(&applied.options), "the configuration has changed");
            self.happened(Hook::Changed);
        }
        if applied.options.iter().any(|change| change.effect == Effect::Restart) {
            warn!(options = %Names(&applied.restart), "a restart is needed for some options");
        }
    }
}

/// Reads the configuration again when a file of it has changed, until the daemon stops.
pub async fn watch(daemon: Arc<Daemon>) {
    let mut tick = tokio::time::interval(LOOK_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut seen, mut tried) = (None, tokio::time::Instant::now());
    loop {
        tokio::select! {
            () = daemon.tasks.stopping() => return,
            _ = tick.tick() => {}
        }
        let looking = Arc::clone(&daemon);
        let (now, is_changed, is_faulty) = blocking(move || {
            let state = looking.live.state();
            let (watch, is_faulty) = (state.watch.clone(), state.faults.is_some());
            drop(state);
            let now = watch.again();
            let is_changed = now != watch;
            (now, is_changed, is_faulty)
        })
        .await;
        let is_settled = is_changed && seen.as_ref() == Some(&now);
        seen = is_changed.then_some(now);
        if is_settled || (is_faulty && tried.elapsed() >= TRY_AGAIN_EVERY) {
            tried = tokio::time::Instant::now();
            // What is wrong with it is in the log.
            let _in_force_or_not = daemon.reload().await;
        }
    }
}

/// Names of options, as the log has them.
struct Names<'a>(&'a [OptionChange]);

impl std::fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, OptionChange { section, key, .. }) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{section}.{key}")?;
        }
        Ok(())
    }
}

//! The configuration in force, which a file says.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tokio::task::spawn_blocking;
use wwwoffle_config::edit::{Edit, EditResult};
use wwwoffle_config::schema::Effect;
use wwwoffle_config::{
    Config, ConfigFile, ConfigText, Faults, Lookup, OptionChange, Version, Watch, changes,
};

use super::observer::Observer;

/// The configuration of a daemon.
#[derive(Debug)]
pub struct Live {
    pub(crate) lookup: Lookup,
    pub(crate) config: Arc<ArcSwap<Config>>,
    /// Held by whoever reads or changes the file, until what it says is in force.
    pub(crate) state: Mutex<State>,
    /// Is told of each new configuration once it is in force.
    pub(crate) observer: Observer<Applied>,
}

#[derive(Debug)]
pub(crate) struct State {
    /// The text in force.
    pub(crate) text: String,
    /// What was told of the file when it was faulty, so that it is told once.
    pub(crate) faults: Option<String>,
    pub(crate) watch: Watch,
    /// When the daemon began, for options that are read only then.
    pub(crate) first: String,
}

/// What a new configuration has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The options, with when each comes into force.
    pub options: Vec<OptionChange>,
    /// Those that differ now from what the daemon started with, and are read only then.
    pub restart: Vec<OptionChange>,
}

/// A change of the file, and what it meant.
#[derive(Debug)]
pub struct Done {
    /// The text as it is now.
    pub text: ConfigText,
    /// What was done, if it was an edit.
    pub edited: Option<EditResult>,
    /// What it changed.
    pub applied: Applied,
}

/// The file, and how it differs from what is in force.
#[derive(Debug)]
pub struct Standing {
    /// The text as the file has it now.
    pub text: ConfigText,
    /// The text in force.
    pub in_force: String,
    /// What is wrong with the file, which is why it is not in force.
    pub faults: Option<Faults>,
    /// Options that differ from what the daemon started with, and are read only then.
    pub restart: Vec<OptionChange>,
    /// The versions before, the oldest first.
    pub versions: Vec<Version>,
}

/// A change of the file, as the daemon makes it.
#[derive(Clone, Debug)]
pub enum Change {
    /// One edit.
    Edit(Edit),
    /// A whole new text.
    Replace(String),
    /// The version of this number, or the one before.
    Undo(Option<u64>),
}

impl Live {
    /// `config` in force, read from `text`, which `lookup` found.
    #[must_use]
    pub fn new(lookup: Lookup, config: Config, text: String, watch: Watch) -> Self {
        let state = State { first: text.clone(), text, faults: None, watch };
        let config = Arc::new(ArcSwap::from_pointee(config));
        Self { lookup, config, state: Mutex::new(state), observer: Observer::default() }
    }

    /// `config` in force, from no file.
    #[must_use]
    pub fn without_file(config: Config) -> Self {
        Self::new(Lookup::FirstOf(Vec::new()), config, String::new(), Watch::default())
    }

    /// The configuration in force now.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Where the configuration in force is at any time, for what asks it without the daemon.
    #[must_use]
    pub fn in_force(&self) -> Arc<ArcSwap<Config>> {
        Arc::clone(&self.config)
    }

    /// The file it comes from, or that the first change makes.
    #[must_use]
    pub fn file(&self) -> ConfigFile {
        ConfigFile::of(&self.lookup)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Its fields are set one after the other, each to a whole value.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn apply(&self, state: &mut State, config: Config, text: &str) -> Applied {
        let options = changes(&state.text, text);
        let mut restart = changes(&state.first, text);
        restart.retain(|change| change.effect == Effect::Restart);
        text.clone_into(&mut state.text);
        state.faults = None;
        self.config.store(Arc::new(config));
        Applied { options, restart }
    }
}

/// Runs what waits for the disk where nothing else waits for it.
pub(crate) async fn blocking<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(run).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

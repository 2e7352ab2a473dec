//! The configuration in force, and its file.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use wwwoffle_config::edit::{Edit, EditResult};
use wwwoffle_config::schema::Effect;
use wwwoffle_config::{
    Config, ConfigFile, ConfigLookup, ConfigText, EarlierConfig, EnvironmentParents, Faults,
    OptionChange, WatchedFiles, changes,
};

use super::observer::Observer;

/// The configuration of a daemon.
#[derive(Debug)]
pub struct Live {
    pub(crate) lookup: ConfigLookup,
    pub(crate) config: Arc<ArcSwap<Config>>,
    /// Locked while the file is read or changed, until its content is in force.
    pub(crate) state: Mutex<LiveState>,
    /// Notified of each new configuration once it is in force.
    pub(crate) observer: Observer<AppliedOptions>,
    /// The parent proxies of the environment. Empty unless the configuration asks for them.
    pub(crate) environment: EnvironmentParents,
}

#[derive(Debug)]
pub(crate) struct LiveState {
    /// The text of the configuration in force.
    pub(crate) text: String,
    /// The last error that was logged about the file. An error is logged only when it is new.
    pub(crate) faults: Option<String>,
    pub(crate) watch: WatchedFiles,
    /// The text at the start of the daemon, for options that are read only then.
    pub(crate) first: String,
}

/// The changes made by a new configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedOptions {
    /// The changed options. Each says when it takes effect.
    pub options: Vec<OptionChange>,
    /// Options that are read only at the start and now differ from their values at the start.
    pub restart: Vec<OptionChange>,
}

/// A change of the file, and its effect.
#[derive(Debug)]
pub struct ConfigFileChange {
    /// The new text.
    pub text: ConfigText,
    /// The result of the edit, if the change was an edit.
    pub edited: Option<EditResult>,
    /// The changed options.
    pub applied: AppliedOptions,
}

/// The file, and its differences from the configuration in force.
#[derive(Debug)]
pub struct ConfigFileState {
    /// The current text of the file.
    pub text: ConfigText,
    /// The text of the configuration in force.
    pub in_force: String,
    /// The errors in the file, if they prevent it from taking effect.
    pub faults: Option<Faults>,
    /// Options that are read only at the start and now differ from their values at the start.
    pub restart: Vec<OptionChange>,
    /// The earlier versions, oldest first.
    pub versions: Vec<EarlierConfig>,
}

/// A change of the configuration file.
#[derive(Clone, Debug)]
pub enum Change {
    /// One edit.
    Edit(Edit),
    /// A whole new text.
    Replace(String),
    /// Restores the version of this number, or the previous version.
    Undo(Option<u64>),
}

impl Live {
    /// Puts `config` in force. It was parsed from `text`, in the file that `lookup` found.
    #[must_use]
    pub fn new(lookup: ConfigLookup, config: Config, text: String, watch: WatchedFiles) -> Self {
        let state = LiveState { first: text.clone(), text, faults: None, watch };
        let config = Arc::new(ArcSwap::from_pointee(config));
        let (observer, environment) = (Observer::default(), EnvironmentParents::default());
        Self { lookup, config, state: Mutex::new(state), observer, environment }
    }

    /// Uses the parent proxies of the environment where the configuration names none.
    #[must_use]
    pub fn with_environment(self, environment: EnvironmentParents) -> Self {
        Self { environment, ..self }
    }

    /// Puts `config` in force, without a file.
    #[must_use]
    pub fn without_file(config: Config) -> Self {
        Self::new(ConfigLookup::FirstOf(Vec::new()), config, String::new(), WatchedFiles::default())
    }

    /// The configuration in force now.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// A shared reference to the configuration in force, for code that has no access to the daemon.
    #[must_use]
    pub fn in_force(&self) -> Arc<ArcSwap<Config>> {
        Arc::clone(&self.config)
    }

    /// The configuration file. If it does not exist, the path of the file that the first change
    /// creates.
    #[must_use]
    pub fn file(&self) -> ConfigFile {
        ConfigFile::of(&self.lookup)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, LiveState> {
        // A panic leaves no field half-written, so the state can still be used.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn apply(
        &self,
        state: &mut LiveState,
        config: Config,
        text: &str,
    ) -> AppliedOptions {
        let options = changes(&state.text, text);
        let mut restart = changes(&state.first, text);
        restart.retain(|change| change.effect == Effect::Restart);
        text.clone_into(&mut state.text);
        state.faults = None;
        self.config.store(Arc::new(config));
        AppliedOptions { options, restart }
    }
}

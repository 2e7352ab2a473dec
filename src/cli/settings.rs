//! The options before the verb, combined with the configuration and the environment.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{cell::OnceCell, net::SocketAddr, time::Duration};

use arc_swap::ArcSwap;
use rustix::fs::{Access, access};
use rustix::io::Errno;
use wwwoffle_config::{
    Config, ConfigLookup, Environment, EnvironmentParents, Faults, LoadedConfig, load,
};
use wwwoffle_spool::fs::{owner_of, spool_owner};
use wwwoffle_url::LocalHost;

use super::args::Serve;
use super::control::{Control, RemoteDaemon};
use super::environment;
use super::failure::{VerbFailure, VerbResult};
use super::programs;
use crate::base::exit::ExitStatus;
use crate::base::live::Live;
use crate::base::service_manager::ServiceManager;
use crate::daemon::activation;
use crate::daemon::run::Start;
use crate::storage::lists::describe::Pages;
use crate::storage::lists::document::DocumentConverter;

/// The spool of the service of the machine, as the package and its units name it.
pub(crate) const SERVICE_SPOOL: &str = "/var/lib/wwwoffle";

/// The settings shared by all verbs. The configuration is read when a verb needs it.
#[derive(Debug)]
pub(crate) struct Settings<'a> {
    pub(crate) config_file: Option<PathBuf>,
    pub(crate) spool: Option<PathBuf>,
    pub(crate) environment: &'a Environment,
    /// The daemon on another machine, in place of the one on the spool.
    pub(crate) remote: Option<RemoteDaemon>,
    /// The configuration, once read. It is cached because this process may later become a user
    /// without permission to read the file.
    read: OnceCell<Config>,
}

impl<'a> Settings<'a> {
    pub(crate) fn new(
        config_file: Option<PathBuf>,
        spool: Option<PathBuf>,
        environment: &'a Environment,
    ) -> Self {
        Self { config_file, spool, environment, remote: None, read: OnceCell::new() }
    }

    /// Returns the options to run the daemon with, as the service of a service manager if there is
    /// one.
    pub(crate) fn service_options(&self, typed: Serve) -> VerbResult<Start> {
        let options = self.serve_options(typed)?;
        let sockets = activation::take_sockets(&self.environment.service)
            .map_err(|error| VerbFailure::Said(ExitStatus::BadConfig, error.to_string()))?;
        Ok(Start { sockets, manager: ServiceManager::of(&self.environment.service), ..options })
    }

    /// Returns the options to run a daemon with that is not a service.
    pub(crate) fn serve_options(&self, typed: Serve) -> VerbResult<Start> {
        let lookup = self.lookup();
        let (loaded, watch) = load(&lookup);
        let LoadedConfig { text, config, .. } = loaded.map_err(|faults| config_failure(&faults))?;
        let spool = match typed.spool {
            Some(spool) => spool,
            None => self.spool_of(&config)?,
        };
        let listen = if typed.listen.is_empty() {
            config.startup.listen.as_slice().to_vec()
        } else {
            typed.listen
        };
        let environment = if config.proxy.environment {
            EnvironmentParents::parse(&self.environment.proxies)
                .map_err(|fault| VerbFailure::Said(ExitStatus::BadConfig, fault.to_string()))?
        } else {
            EnvironmentParents::default()
        };
        let live = Live::new(lookup, config, text.text, watch).with_environment(environment);
        let rest = typed.rest.map(Duration::from_secs);
        let (mode, log_level) = (typed.mode, typed.log_level);
        let (sockets, manager, fixture) = (Vec::new(), ServiceManager::default(), None);
        let tier_secrets = environment::tier_secrets();
        Ok(Start {
            live,
            spool,
            listen,
            sockets,
            mode,
            log_level,
            rest,
            manager,
            fixture,
            tier_secrets,
        })
    }

    /// Returns a client of the daemon on the spool, whether the daemon runs or not, or of the one on
    /// another machine. With `--spool`, this needs no configuration.
    pub(crate) fn control(&self) -> VerbResult<Control> {
        match &self.remote {
            Some(daemon) => Ok(Control::remote(daemon.clone())),
            None => Ok(Control::new(&self.spool()?)),
        }
    }

    /// Returns a client of the daemon on the spool. `None` if no daemon runs.
    pub(crate) fn daemon(&self) -> VerbResult<Option<Control>> {
        let control = self.control()?;
        match control.get::<wwwoffle_api::Status>("/api/status") {
            Ok(_) => Ok(Some(control)),
            Err(VerbFailure::Said(ExitStatus::NoDaemon, _)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the path of the spool that verbs use, except those that run a daemon. For root without
    /// a spool of its own, it is that of the service of the machine.
    pub(crate) fn spool(&self) -> VerbResult<PathBuf> {
        match (&self.remote, &self.spool) {
            (Some(daemon), _) => return Err(daemon.not_here()),
            (None, Some(spool)) => return Ok(spool.clone()),
            (None, None) => {}
        }
        let config = self.config()?;
        let own = self.spool_of(&config)?;
        let is_default = config.startup.spool_dir.is_default();
        let is_root = rustix::process::geteuid().is_root();
        let service = PathBuf::from(SERVICE_SPOOL);
        let is_service = is_default && is_root && !is_spool(&own) && is_spool(&service);
        Ok(if is_service { service } else { own })
    }

    /// Whether this process is root, and the spool and so its daemon may belong to another user.
    pub(crate) fn is_root_for_other(&self) -> bool {
        self.remote.is_none()
            && rustix::process::geteuid().is_root()
            && self
                .spool()
                .is_ok_and(|spool| !matches!(spool_owner(&spool, true), Ok(None | Some((0, _)))))
    }

    /// Returns the domains to which a new authority is limited.
    pub(crate) fn name_constraints(&self) -> VerbResult<Vec<String>> {
        Ok(self.config()?.https.name_constraints.as_slice().to_vec())
    }

    /// Returns a command of this program as typed in a shell, for the same configuration and spool.
    pub(crate) fn command(&self, verb: &str) -> String {
        let mut line = String::from("wwwoffle");
        for (option, value) in [("--config", &self.config_file), ("--spool", &self.spool)] {
            if let Some(value) = value {
                line = format!("{line} {option} {}", programs::quoted(&value.to_string_lossy()));
            }
        }
        format!("{line} {verb}")
    }

    /// Returns the path of the program called `name`, as a shell finds it.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        let path = self.environment.path.clone().unwrap_or_default();
        let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
        programs::find(name, directories.iter().map(PathBuf::as_path))
    }

    /// Returns the names and ports of the proxy, on which canonical URLs depend.
    pub(crate) fn local_host(&self) -> VerbResult<LocalHost> {
        let config = self.config()?;
        let port = config.startup.listen.as_slice().first().map_or(8080, SocketAddr::port);
        Ok(config.local_host.names.at(port, None))
    }

    /// Returns the reader of pages for the index, with the configured programs.
    pub(crate) fn index_pages(&self) -> VerbResult<Pages> {
        let config = Arc::new(ArcSwap::from_pointee(self.config()?));
        Ok(Pages {
            local: self.local_host()?,
            documents: DocumentConverter::new(config, &self.spool()?),
        })
    }

    /// Returns the configuration, which is read on the first call.
    pub(crate) fn config(&self) -> VerbResult<Config> {
        if let Some(read) = self.read.get() {
            return Ok(read.clone());
        }
        let found = Config::find(&self.readable_lookup());
        let (config, _) = found.map_err(|faults| config_failure(&faults))?;
        Ok(self.read.get_or_init(|| config).clone())
    }

    /// Returns where to look for the configuration file.
    pub(crate) fn lookup(&self) -> ConfigLookup {
        ConfigLookup::new(self.config_file.as_deref(), self.environment)
    }

    /// Returns where verbs look for the configuration file. The one of the machine may have passwords,
    /// so that only its daemon may read it: then it is not meant for this user.
    fn readable_lookup(&self) -> ConfigLookup {
        let mut lookup = self.lookup();
        if let ConfigLookup::FirstOf(files) = &mut lookup
            && files.len() > 1
            && files.last().is_some_and(|file| access(file, Access::READ_OK) == Err(Errno::ACCESS))
        {
            files.pop();
        }
        lookup
    }

    /// Returns the configuration file if another environment may lead to another one: it is named
    /// by `WWWOFFLE_CONFIG`, or found by `XDG_CONFIG_HOME`.
    pub(crate) fn config_of_environment(&self) -> VerbResult<Option<PathBuf>> {
        let plain = ConfigLookup::new(None, &self.plain_environment());
        let lookup = self.lookup();
        if lookup == plain {
            return Ok(None);
        }
        Config::find(&lookup).map(|(_, file)| file).map_err(|faults| config_failure(&faults))
    }

    /// Returns the spool if another environment may lead to another one: it is below
    /// `XDG_DATA_HOME`.
    pub(crate) fn spool_of_environment(&self) -> VerbResult<Option<PathBuf>> {
        let spool = self.spool_of(&self.config()?)?;
        let plain = self.config()?.startup.spool_dir.resolve(&self.plain_environment());
        Ok((plain.as_ref() != Ok(&spool)).then_some(spool))
    }

    /// Returns the environment without the variables that name directories, except `HOME`.
    fn plain_environment(&self) -> Environment {
        let home = self.environment.home.clone();
        Environment { home, ..Environment::default() }
    }

    fn spool_of(&self, config: &Config) -> VerbResult<PathBuf> {
        if let Some(spool) = &self.spool {
            return Ok(spool.clone());
        }
        config
            .startup
            .spool_dir
            .resolve(self.environment)
            .map_err(|error| VerbFailure::Said(ExitStatus::BadSpool, error.to_string()))
    }
}

/// Whether a spool is in the directory: every daemon creates `tmp`.
fn is_spool(directory: &Path) -> bool {
    matches!(owner_of(&directory.join("tmp")), Ok(Some(_)))
}

/// Returns the failure for a faulty configuration, with all its faults.
pub(super) fn config_failure(faults: &Faults) -> VerbFailure {
    VerbFailure::Said(ExitStatus::BadConfig, faults.to_string())
}

//! What was typed before the verb, put together with the configuration and the environment.

use std::{net::SocketAddr, path::PathBuf};

use wwwoffle_config::{Config, Environment, Faults, Loaded, Lookup, load};
use wwwoffle_url::LocalHost;

use super::{ServeOptions, args::Serve, control::Control, failure::Failure};
use crate::exit::ExitStatus;
use crate::live::Live;

/// What all verbs share. The configuration is read when a verb needs it.
#[derive(Debug)]
pub(crate) struct Settings<'a> {
    pub(crate) config_file: Option<PathBuf>,
    pub(crate) spool: Option<PathBuf>,
    pub(crate) environment: &'a Environment,
}

impl Settings<'_> {
    /// What the daemon is to be run with.
    pub(crate) fn serve_options(&self, typed: Serve) -> Result<ServeOptions, Failure> {
        let lookup = self.lookup();
        let (loaded, watch) = load(&lookup);
        let Loaded { text, config, .. } = loaded.map_err(|faults| refused(&faults))?;
        let spool = match typed.spool {
            Some(spool) => spool,
            None => self.spool_of(&config)?,
        };
        let listen = if typed.listen.is_empty() {
            config.startup.listen.as_slice().to_vec()
        } else {
            typed.listen
        };
        let live = Live::new(lookup, config, text.text, watch);
        Ok(ServeOptions { live, spool, listen, mode: typed.mode })
    }

    /// The daemon the verbs speak to. With `--spool` no configuration is needed to find it.
    pub(crate) fn control(&self) -> Result<Control, Failure> {
        Ok(Control::new(&self.spool()?))
    }

    /// The spool the verbs mean.
    pub(crate) fn spool(&self) -> Result<PathBuf, Failure> {
        match &self.spool {
            Some(spool) => Ok(spool.clone()),
            None => self.spool_of(&self.config()?),
        }
    }

    /// The names and ports of the proxy, which are part of what a canonical URL is.
    pub(crate) fn local_host(&self) -> Result<LocalHost, Failure> {
        let config = self.config()?;
        let port = config.startup.listen.as_slice().first().map_or(8080, SocketAddr::port);
        Ok(config.local_host.names.at(port, None))
    }

    /// The configuration, whole.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let found = Config::find(&self.lookup());
        found.map(|(config, _)| config).map_err(|faults| refused(&faults))
    }

    /// Which file is the configuration.
    pub(crate) fn lookup(&self) -> Lookup {
        Lookup::new(self.config_file.as_deref(), self.environment)
    }

    fn spool_of(&self, config: &Config) -> Result<PathBuf, Failure> {
        if let Some(spool) = &self.spool {
            return Ok(spool.clone());
        }
        config
            .startup
            .spool_dir
            .resolve(self.environment)
            .map_err(|error| Failure::Said(ExitStatus::BadSpool, error.to_string()))
    }
}

/// The exit status for a faulty configuration, and all that is wrong with it.
pub(super) fn refused(faults: &Faults) -> Failure {
    Failure::Said(ExitStatus::BadConfig, faults.to_string())
}

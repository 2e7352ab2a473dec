//! The context that all layers share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use wwwoffle_config::Config;
use wwwoffle_url::LocalHost;

use super::hooks::{Hook, Hooks};
use super::live::Live;
use super::mode::ModeSwitch;
use super::tasks::Tasks;

/// The context that all layers share: configuration, mode, tasks, and the names and addresses of
/// this daemon.
#[derive(Debug)]
pub struct BaseContext {
    /// The configuration in force, and its file.
    pub live: Live,
    /// Online, offline or autodial.
    pub mode: ModeSwitch,
    /// All running tasks.
    pub tasks: Tasks,
    /// Programs of the user that run after certain events.
    pub hooks: Hooks,
    /// The names and the port of our own pages.
    pub local: LocalHost,
    /// Our name in `Via`. It is random at each start, so that a chain of two daemons is not taken
    /// for a loop.
    pub pseudonym: String,
    /// The addresses that the daemon listens on.
    pub listening: Vec<SocketAddr>,
    /// The time when the daemon started.
    pub since: SystemTime,
}

impl BaseContext {
    /// The configuration in force now. Code that acts on several options must call this once, so
    /// that a change of the file does not take effect halfway.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.live.config()
    }

    /// Passes a mail to the configured program. Returns whether the program has accepted it.
    pub async fn send_mail(&self, message: String) -> bool {
        self.hooks.send_mail(&self.config().options, self.mode.now(), message).await
    }

    /// Starts the program that the configuration names for this event, if any, and does not wait
    /// for its end.
    pub fn run_hook(&self, hook: Hook) {
        self.hooks.run(hook, &self.config().options, self.mode.now(), &self.tasks);
    }
}

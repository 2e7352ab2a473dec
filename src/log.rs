//! The log: where it goes and how much of it.

use std::io::IsTerminal;
use std::sync::OnceLock;

use tracing::warn;
use tracing_subscriber::EnvFilter;
use wwwoffle_config::LogLevel;

type SetLevel = Box<dyn Fn(LogLevel) + Send + Sync>;

/// How the level of the log is changed once it has been started.
static SET_LEVEL: OnceLock<SetLevel> = OnceLock::new();

/// Sends the log to standard error from now on, `level` and above.
///
/// Only the first call of a process has an effect: tests start several daemons in one.
pub fn start(level: LogLevel) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(level))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .with_filter_reloading();
    let handle = builder.reload_handle();
    if builder.try_init().is_ok() {
        let set = move |level| {
            if let Err(error) = handle.reload(filter(level)) {
                warn!(%error, "the log stays at its level");
            }
        };
        let _first = SET_LEVEL.set(Box::new(set));
    }
}

/// Logs `level` and above from now on.
pub fn set_level(level: LogLevel) {
    if let Some(set) = SET_LEVEL.get() {
        set(level);
    }
}

fn filter(level: LogLevel) -> EnvFilter {
    EnvFilter::new(format!("wwwoffle={}", level.as_str()))
}

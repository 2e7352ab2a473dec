//! The log: where it goes and how much of it.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use wwwoffle_config::LogLevel;

/// Sends the log to standard error from now on, `level` and above.
///
/// Only the first call of a process has an effect: tests start several daemons in one.
pub fn start(level: LogLevel) {
    let filter = EnvFilter::new(format!("wwwoffle={}", level.as_str()));
    let _already_started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .try_init();
}

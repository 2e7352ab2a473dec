//! The log: its destination and its level.

mod file;
mod syslog;

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use tracing::warn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, registry, reload};
use wwwoffle_config::{LogLevel, LogTo};

use self::file::LogFile;
use self::syslog::Syslog;

type SetLevel = Box<dyn Fn(LogLevel) + Send + Sync>;

/// The function that changes the level of the log. It is set when the log starts.
static SET_LEVEL: OnceLock<SetLevel> = OnceLock::new();

/// The socket of the system log (`syslog(3)`).
const SYSLOG: &str = "/dev/log";

/// The reason why the log cannot be sent to its destination.
#[derive(Debug, thiserror::Error)]
pub enum NoLog {
    /// There is no system log.
    #[error(
        "log-to = \"syslog\": no daemon reads {SYSLOG}; start a syslog daemon, or log to \"stderr\""
    )]
    Syslog(#[source] io::Error),
    /// There is no journal.
    #[error(
        "log-to = \"journal\": systemd's journal is not running; log to \"syslog\" or \"stderr\""
    )]
    Journal(#[source] io::Error),
    /// The file cannot be opened.
    #[error("log-to = {0:?}: the file cannot be written")]
    File(PathBuf, #[source] io::Error),
}

/// Starts the log at `level` and above.
///
/// Only the first call of a process has an effect: tests start several daemons in one process.
///
/// # Errors
///
/// [`NoLog`] if the destination is not available.
pub fn start(level: LogLevel, to: &LogTo) -> Result<(), NoLog> {
    let (level, handle) = reload::Layer::new(filter(level));
    // The level is the outermost filter, so it is checked before any formatting.
    if registry().with(output(to)?.and_then(level)).try_init().is_ok() {
        let set = move |level| {
            if let Err(error) = handle.reload(filter(level)) {
                warn!(%error, "the log level cannot be changed");
            }
        };
        let _first = SET_LEVEL.set(Box::new(set));
    }
    Ok(())
}

/// Logs `level` and above from now on. Has no effect before the log has started.
pub fn set_level(level: LogLevel) {
    if let Some(set) = SET_LEVEL.get() {
        set(level);
    }
}

fn output(to: &LogTo) -> Result<Box<dyn Layer<Registry> + Send + Sync>, NoLog> {
    let lines = fmt::layer().with_target(false);
    Ok(match to {
        LogTo::Stderr => {
            lines.with_ansi(io::stderr().is_terminal()).with_writer(io::stderr).boxed()
        }
        LogTo::Syslog => {
            let syslog = Syslog::open(Path::new(SYSLOG)).map_err(NoLog::Syslog)?;
            // The system log adds its own time and level.
            lines.with_ansi(false).without_time().with_level(false).with_writer(syslog).boxed()
        }
        LogTo::File(path) => {
            let file = LogFile::open(path).map_err(|error| NoLog::File(path.clone(), error))?;
            lines.with_ansi(false).with_writer(Mutex::new(file)).boxed()
        }
        LogTo::Journal => tracing_journald::layer().map_err(NoLog::Journal)?.boxed(),
    })
}

fn filter(level: LogLevel) -> EnvFilter {
    EnvFilter::new(format!("wwwoffle={}", level.as_str()))
}

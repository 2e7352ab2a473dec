//! The log: its destination and its level. The access log is a log of its own.

pub mod access;
mod access_line;
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

/// The reason why a log cannot be sent to its destination.
#[derive(Debug, thiserror::Error)]
pub enum NoLog {
    /// There is no system log.
    #[error(
        "{0} = \"syslog\": no daemon reads {SYSLOG}; start a syslog daemon, or log to \"stderr\""
    )]
    Syslog(&'static str, #[source] io::Error),
    /// There is no journal.
    #[error("{0} = \"journal\": systemd's journal is not running; log to \"syslog\" or \"stderr\"")]
    Journal(&'static str, #[source] io::Error),
    /// The file cannot be opened.
    #[error("{0} = {1:?}: the file cannot be written")]
    File(&'static str, PathBuf, #[source] io::Error),
    /// The thread that writes the log cannot be started.
    #[error("{0}: no thread can be started")]
    Thread(&'static str, #[source] io::Error),
}

impl NoLog {
    /// Opens a file, or names the option whose file cannot be opened.
    fn open_file(option: &'static str, path: &Path) -> Result<LogFile, Self> {
        LogFile::open(path).map_err(|error| Self::File(option, path.to_owned(), error))
    }

    /// Connects to the system log, or names the option that needs it.
    fn open_syslog(option: &'static str) -> Result<Syslog, Self> {
        Syslog::open(Path::new(SYSLOG)).map_err(|error| Self::Syslog(option, error))
    }
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
            let syslog = NoLog::open_syslog("log-to")?;
            // The system log adds its own time and level.
            lines.with_ansi(false).without_time().with_level(false).with_writer(syslog).boxed()
        }
        LogTo::File(path) => {
            let file = NoLog::open_file("log-to", path)?;
            lines.with_ansi(false).with_writer(Mutex::new(file)).boxed()
        }
        LogTo::Journal => {
            let journal = tracing_journald::layer();
            journal.map_err(|error| NoLog::Journal("log-to", error))?.boxed()
        }
    })
}

fn filter(level: LogLevel) -> EnvFilter {
    EnvFilter::new(format!("wwwoffle={}", level.as_str()))
}

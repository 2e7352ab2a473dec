//! The command line: what was typed becomes a request to a daemon, a look into the spool, or the
//! daemon itself.

mod args;
mod authority;
mod browse;
mod bundle;
mod by_hand;
mod chosen;
mod compress;
mod config;
mod control;
mod downloads;
pub mod environment;
mod exchange;
mod explain;
mod export;
mod failure;
mod files;
mod fsck;
mod fsck_index;
mod get;
mod history;
mod import;
mod index;
mod info;
mod list;
mod monitor;
mod offline;
mod own_daemon;
mod passwd;
mod plain;
mod plan;
mod programs;
mod progress;
mod purge;
mod queue;
mod settings;
mod trust;
mod url;
mod verbs;

use std::{
    ffi::OsString,
    fmt,
    io::{BufRead, Write},
    net::SocketAddr,
    path::PathBuf,
    time::Duration,
};

use clap::Parser as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use wwwoffle_config::Environment;

use self::args::{Arguments, Verb};
use self::failure::Failure;
use self::settings::Settings;
use crate::base::exit::ExitStatus;
use crate::base::live::Live;
use crate::base::mode::Choice;

/// Where a verb reads and writes.
pub struct Terminal<'a> {
    /// Standard input.
    pub stdin: &'a mut dyn BufRead,
    /// Standard output.
    pub stdout: &'a mut dyn Write,
    /// Standard error.
    pub stderr: &'a mut dyn Write,
    /// Whether standard output is a terminal, where progress may be drawn.
    pub live: bool,
    /// Whether standard input is one, where a person types.
    pub typed: bool,
}

impl fmt::Debug for Terminal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("live", &self.live).finish_non_exhaustive()
    }
}

/// What the daemon is to be run with.
#[derive(Debug)]
pub struct ServeOptions {
    /// The configuration, and where it is read again.
    pub live: Live,
    /// The spool: as typed, configured, or by the environment.
    pub spool: PathBuf,
    /// Where to listen: as typed or configured.
    pub listen: Vec<SocketAddr>,
    /// The mode to begin in, if not that of the last stop.
    pub mode: Option<Choice>,
    /// How long nothing is removed by itself, if not as long as else.
    pub rest: Option<Duration>,
}

/// Runs the program: `args` with the program's name first, `serve` to run the daemon.
///
/// `serve` gets the terminal too, for its one line on standard output and its refusals.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    environment: &Environment,
    terminal: &mut Terminal<'_>,
    serve: impl FnOnce(ServeOptions, &mut Terminal<'_>) -> ExitStatus,
) -> ExitStatus {
    let typed: Vec<OsString> = args.into_iter().collect();
    let arguments = match Arguments::try_parse_from(&typed) {
        Ok(arguments) => arguments,
        Err(error) => return explain(&error, &typed, terminal),
    };
    let outcome = dispatch(arguments, environment, terminal, serve);
    let flushed = terminal.stdout.flush().map_err(Failure::from);
    match outcome.and_then(|status| flushed.map(|()| status)) {
        Ok(status) => status,
        Err(Failure::NobodyReads) => ExitStatus::Done,
        Err(Failure::Said(status, message)) => {
            // There is nobody left to tell when standard error is gone too.
            let _ = writeln!(terminal.stderr, "wwwoffle: {message}");
            status
        }
    }
}

fn dispatch(
    arguments: Arguments,
    environment: &Environment,
    terminal: &mut Terminal<'_>,
    serve: impl FnOnce(ServeOptions, &mut Terminal<'_>) -> ExitStatus,
) -> Result<ExitStatus, Failure> {
    let Arguments { config, spool, verb } = arguments;
    let settings = Settings::new(config, spool, environment);
    match verb {
        Verb::Serve(typed) => Ok(serve(settings.serve_options(typed)?, terminal)),
        verb => verbs::run(verb, &settings, terminal),
    }
}

/// Help and version are answers; everything else is a usage error.
fn explain(error: &clap::Error, typed: &[OsString], terminal: &mut Terminal<'_>) -> ExitStatus {
    let text = error.render();
    let (written, status) = if error.use_stderr() {
        (write!(terminal.stderr, "{text}{}", tip(error, typed)), ExitStatus::Usage)
    } else {
        (write!(terminal.stdout, "{text}"), ExitStatus::Done)
    };
    // Whoever asked for help and went away needs none.
    let _ = written.and_then(|()| terminal.stdout.flush());
    status
}

/// What clap cannot know: `--config` and `--spool` exist, and only their place is wrong; and what was typed
/// for WWWOFFLE 2.9.
fn tip(error: &clap::Error, typed: &[OsString]) -> String {
    let first = typed.get(1).and_then(|first| first.to_str()).unwrap_or_default();
    if let Some((_, now)) = FORMER.iter().find(|(former, _)| *former == first) {
        return format!("In WWWOFFLE 2.9 it was `wwwoffle {first}`; now it is `wwwoffle {now}`.\n");
    }
    let tip = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given))
            if error.kind() == ErrorKind::UnknownArgument
                && ["--config", "--spool"].contains(&given.as_str()) =>
        {
            "--config FILE and --spool DIR go before the verb.\n"
        }
        _ => "",
    };
    tip.to_owned()
}

/// What the command line of WWWOFFLE 2.9 began with, and what it is now.
const FORMER: [(&str, &str); 13] = [
    ("-online", "online"),
    ("-autodial", "autodial"),
    ("-offline", "offline"),
    ("-fetch", "fetch --wait"),
    ("-status", "status"),
    ("-purge", "purge"),
    ("-config", "config reload"),
    ("-dump", "config get"),
    ("-kill", "stop"),
    ("-o", "cat URL"),
    ("-O", "cat --headers URL"),
    ("-r", "get -r URL"),
    ("-F", "get --refresh URL"),
];

#[cfg(test)]
mod tests;

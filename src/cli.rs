//! The command line: its verbs send requests to a daemon, read the spool, or run the daemon itself.

mod args;
mod authority;
mod browse;
mod bundle;
mod chosen;
mod collection;
mod compress;
mod config;
mod control;
mod downloads;
mod edit;
pub mod environment;
mod exchange;
mod explain;
mod export;
mod failure;
mod files;
mod fixture;
mod fsck;
mod fsck_index;
mod get;
mod help;
mod history;
mod hold;
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
mod profile;
mod programs;
mod progress;
mod purge;
mod queue;
mod service;
mod settings;
mod setup;
mod trust;
mod url;
mod usage;
mod verbs;

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use wwwoffle_config::Environment;

use self::args::{Arguments, Verb};
use self::control::RemoteDaemon;
use self::failure::VerbFailure;
use self::settings::Settings;
use crate::base::exit::ExitStatus;
use crate::daemon::run::Start;

/// The standard streams of a verb.
pub struct Terminal<'a> {
    /// Standard input.
    pub stdin: &'a mut dyn BufRead,
    /// Standard output.
    pub stdout: &'a mut dyn Write,
    /// Standard error.
    pub stderr: &'a mut dyn Write,
    /// Whether standard output is a terminal, where progress may be drawn.
    pub live: bool,
    /// Whether standard input is a terminal, where a person types.
    pub typed: bool,
}

impl fmt::Debug for Terminal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("live", &self.live).finish_non_exhaustive()
    }
}

/// What every verb works with.
#[derive(Debug)]
pub(crate) struct VerbContext<'a> {
    pub(crate) settings: Settings<'a>,
    pub(crate) terminal: Terminal<'a>,
}

/// Runs the program, and returns its exit status. The first of `args` is the name of the program.
/// `serve` is called to run the daemon.
///
/// `serve` gets the terminal too, for its one line on standard output and for startup errors.
pub fn run<'a>(
    args: impl IntoIterator<Item = OsString>,
    environment: &'a Environment,
    mut terminal: Terminal<'a>,
    serve: impl FnOnce(Start, &mut Terminal<'_>) -> ExitStatus,
) -> u8 {
    let typed: Vec<OsString> = args.into_iter().collect();
    let Arguments { config, spool, daemon, verb } = match args::parse(&typed) {
        Ok(arguments) => arguments,
        Err(error) => return explain(&error, &typed, &mut terminal).code(),
    };
    let mut context = VerbContext { settings: Settings::new(config, spool, environment), terminal };
    let outcome = match RemoteDaemon::of(daemon, &mut context.terminal) {
        Err(failure) => Err(failure),
        Ok(Some(daemon)) if !verb.works_elsewhere() => Err(daemon.not_here()),
        Ok(daemon) => {
            context.settings.remote = daemon;
            match verb {
                Verb::Serve(typed) => {
                    let options = context.settings.service_options(typed);
                    options.map(|options| serve(options, &mut context.terminal))
                }
                verb => verbs::run(verb, &mut context),
            }
        }
    };
    let VerbContext { terminal, .. } = context;
    let flushed = terminal.stdout.flush().map_err(VerbFailure::from);
    let (code, message) = match outcome.and_then(|status| flushed.map(|()| status)) {
        Ok(status) => return status.code(),
        Err(VerbFailure::NobodyReads) => return ExitStatus::Done.code(),
        Err(VerbFailure::CommandEnded(code)) => return code,
        Err(VerbFailure::Said(status, message)) => (status.code(), message),
    };
    // If standard error is closed too, the error cannot be reported.
    let _ = writeln!(terminal.stderr, "wwwoffle: {message}");
    code
}

/// Prints help and version to standard output; everything else is a usage error.
fn explain(error: &clap::Error, typed: &[OsString], terminal: &mut Terminal<'_>) -> ExitStatus {
    let text = error.render();
    let (written, status) = if error.use_stderr() {
        (write!(terminal.stderr, "{text}{}", tip(error, typed)), ExitStatus::Usage)
    } else {
        (write!(terminal.stdout, "{text}"), ExitStatus::Done)
    };
    // A reader that closed the output needs no error message.
    let _ = written.and_then(|()| terminal.stdout.flush());
    status
}

/// Returns a hint for an error that clap cannot explain: `--config` or `--spool` in the wrong
/// place, or an option of WWWOFFLE 2.9. Empty for other errors.
fn tip(error: &clap::Error, typed: &[OsString]) -> String {
    let first = typed.get(1).and_then(|first| first.to_str()).unwrap_or_default();
    if let Some((_, now)) = FORMER.iter().find(|(former, _)| *former == first) {
        return format!("In WWWOFFLE 2.9 it was `wwwoffle {first}`; now it is `wwwoffle {now}`.\n");
    }
    let tip = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given))
            if error.kind() == ErrorKind::UnknownArgument
                && BEFORE_VERB.contains(&given.as_str()) =>
        {
            "--config, --spool, --daemon, --password-file and --ca go before the verb.\n"
        }
        _ => "",
    };
    tip.to_owned()
}

/// The options that go before the verb.
const BEFORE_VERB: [&str; 5] = ["--config", "--spool", "--daemon", "--password-file", "--ca"];

/// Options of WWWOFFLE 2.9, and the verbs that replace them.
const FORMER: [(&str, &str); 15] = [
    ("-online", "online"),
    ("-autodial", "autodial"),
    ("-offline", "offline"),
    ("-fetch", "fetch --wait"),
    ("-status", "status"),
    ("-purge", "purge"),
    ("-config", "config reload"),
    ("-dump", "config get"),
    ("-kill", "stop"),
    ("-o", "cat --fetch URL"),
    ("-O", "cat --fetch --headers URL"),
    ("-r", "get -r URL"),
    ("-F", "get --refresh URL"),
    ("-post", "get --data @- URL"),
    ("-put", "get --upload - URL"),
];

#[cfg(test)]
mod tests;

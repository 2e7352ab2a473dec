//! The command line as typed, validated. What it means is decided by the verbs.

mod authority;
mod collection;
mod daemon;
mod exchange;
mod fetch;
mod fixture;
mod get;
mod history;
mod index;
mod monitor;
mod purge;
mod service;
mod setup;
mod spool_verb;

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

use clap::{Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use wwwoffle_config::LogLevel;

pub(crate) use self::authority::{AuthorityVerb, Install, Uninstall};
pub(crate) use self::collection::{CollectionFlags, CollectionVerb, MemberFlags};
pub(crate) use self::daemon::DaemonArgs;
pub(crate) use self::exchange::{Export, ExportChoice, ImportArgs};
pub(crate) use self::fetch::{Fetch, QueueArgs, UsageArgs};
pub(crate) use self::fixture::{AnswerArgs, ReportFormat, RuleArgs, RunArgs};
pub(crate) use self::get::{FormArgs, GetArgs, ProfileArgs};
pub(crate) use self::history::HistoryArgs;
pub(crate) use self::index::{IndexVerb, ListArgs, Search};
pub(crate) use self::monitor::{MonitorVerb, ScheduleFlags};
pub(crate) use self::purge::Purge;
pub(crate) use self::service::{ServiceArgs, ServiceVerb};
pub(crate) use self::setup::{SetupArgs, SetupAudience, SetupPart, SharingArgs};
pub(crate) use self::spool_verb::{Compress, Fsck, Mv, SpoolVerb, Write};
use super::help;
use crate::base::exit::ExitStatus;
use crate::base::mode::ModeSetting;
use crate::base::owner::Owner;
use crate::storage::versions::entered_time::EnteredTime;

/// An offline web proxy: stores the pages you read, serves them when you are offline, and fetches
/// missing ones when you are online.
#[derive(Debug, Parser)]
#[command(name = "wwwoffle", version, after_help = after_help(), arg_required_else_help = true)]
#[command(disable_help_subcommand = true, subcommand_value_name = "VERB")]
pub(crate) struct Arguments {
    /// The configuration file; by default the one named by the variable `WWWOFFLE_CONFIG`, else
    /// that of this user, else that of the machine.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The spool, by which a verb also finds its daemon; by default the configured one.
    #[arg(long, value_name = "DIR")]
    pub(crate) spool: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) daemon: DaemonArgs,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Start a browser that uses the proxy and trusts its certificates.
    ///
    /// The browser has its own profile, which is used again the next time. The system and your
    /// other profiles are not changed. If no daemon runs on the spool, one runs until the browser
    /// is closed.
    Browse(Browse),
    /// Run a command while its requests are recorded, or answered from a recording.
    ///
    /// The command runs with a proxy of its own, on a free port. Variables such as `https_proxy` and
    /// `SSL_CERT_FILE` name the proxy and its certificate authority. The exit status is that of the
    /// command.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Run the daemon in the foreground.
    Serve(Serve),
    /// Stop the daemon, and wait until it has stopped.
    Stop,
    /// Show the mode, its last changes, the queue, and the work in progress.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Go online: forward requests, and fetch the queue.
    Online,
    /// Go offline: serve everything from the spool, and send nothing out.
    Offline,
    /// Serve stored pages from the spool, and fetch the others.
    Autodial,
    /// Be online or offline depending on whether the connection works.
    Auto,
    /// Store pages in the spool, now or when online.
    Get(GetArgs),
    /// List the recursive fetches, or stop one.
    Runs {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Stop this fetch; requests that only it needs leave the queue.
        #[arg(long, value_name = "ID")]
        stop: Option<String>,
    },
    /// List the downloads in progress, or end one.
    Downloads {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// End this download, also for the clients that read it.
        #[arg(long, value_name = "ID")]
        end: Option<u64>,
    },
    /// List what users and clients have used by day, and their quotas.
    Usage(UsageArgs),
    /// List the requests that wait to be fetched, in order, or change the order.
    Queue(QueueArgs),
    /// Fetch the queue now.
    Fetch(Fetch),
    /// Fetch pages again on a schedule.
    Monitor {
        #[command(subcommand)]
        verb: MonitorVerb,
    },
    /// Put pages, sites and searches into collections, which are fetched and shared as one.
    Collection {
        #[command(subcommand)]
        verb: CollectionVerb,
    },
    /// List the entries of the spool.
    Ls(ListArgs),
    #[command(flatten)]
    Index(IndexVerb),
    /// Print the stored copy of a URL, decompressed.
    Cat {
        /// Print it byte for byte as it was received.
        #[arg(long)]
        raw: bool,
        /// Also print the head of the response.
        #[arg(long)]
        headers: bool,
        /// Print the version of that time: 2026-11-20, "2026-11-20 14:25" or 2026-11-20T14:25:15Z.
        #[arg(long, value_name = "DATE")]
        at: Option<EnteredTime>,
        /// If it is not stored, fetch it first, or queue it while offline.
        #[arg(long, conflicts_with_all = ["at", "owner"])]
        fetch: bool,
        /// The owner: local, user:NAME or client:ADDRESS; if it has no entry, the public one is
        /// used.
        #[arg(long, default_value = "local", value_name = "OWNER")]
        owner: Owner,
        /// The URL, in any spelling.
        #[arg(value_name = "URL")]
        url: String,
    },
    /// Show the details of a URL: status, dates, fields, certificates.
    Info {
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// The owner: local, user:NAME or client:ADDRESS; if it has no entry, the public one is
        /// used.
        #[arg(long, default_value = "local", value_name = "OWNER")]
        owner: Owner,
        /// The URL, in any spelling.
        #[arg(value_name = "URL")]
        url: String,
    },
    /// List the stored versions of a URL, or restore or remove one.
    History(HistoryArgs),
    /// Remove entries that have reached their age, set in the section [purge] of the configuration.
    Purge(Purge),
    /// Protect URLs from purging; without URLs, list the protected ones.
    Pin {
        /// Also protect all URLs in this file: a page, bookmarks or any text; - is standard input.
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
        /// The URLs, in any spelling.
        urls: Vec<String>,
    },
    /// End the protection of URLs from purging.
    Unpin {
        /// The URLs, in any spelling.
        #[arg(required = true)]
        urls: Vec<String>,
    },
    /// Delete URLs from the spool permanently.
    ///
    /// There is no undo. On the pages in a browser, the button Undo restores deleted entries for an
    /// hour.
    Rm {
        /// Delete the public entries and those of this owner: local, user:NAME or client:ADDRESS.
        #[arg(long, default_value = "local", value_name = "OWNER")]
        owner: Owner,
        /// The URLs, in any spelling.
        #[arg(required = true, value_name = "URL")]
        urls: Vec<String>,
    },
    #[command(flatten)]
    Kept(SpoolVerb),
    /// Show or change the configuration: comments are preserved, and a running daemon applies
    /// it at once.
    ///
    /// A value is written as in the file. A value that is not valid TOML is taken as a string, so
    /// 30s is "30s". If it contains a dollar sign, put it in single quotes for the shell.
    Config {
        #[command(subcommand)]
        verb: ConfigVerb,
    },
    /// Print the configuration line for a user's password or the control password.
    ///
    /// The password is typed twice, or read from standard input. The line contains only its hash.
    Passwd {
        /// The user of the proxy; the control password if omitted.
        #[arg(value_name = "USER")]
        user: Option<String>,
    },
    /// Show the certificate authority, or make browsers trust it so that HTTPS pages are stored.
    Ca {
        #[command(subcommand)]
        verb: AuthorityVerb,
    },
    /// Set up this machine: service, certificate and proxy settings; or take all of it back.
    ///
    /// It shows a plan with the values before and after, and asks before it changes anything. Root
    /// sets up the machine, everyone else their own account. What was changed is recorded, so that
    /// `--undo` restores the former state.
    #[command(after_help = SETUP_EXAMPLES)]
    Setup(Box<SetupArgs>),
    /// Run the daemon as a service of systemd.
    Service {
        #[command(subcommand)]
        verb: ServiceVerb,
    },
    /// Print the key of URLs and their paths in the spool.
    Hash {
        /// The URLs, in any spelling, stored or not.
        #[arg(required = true, value_name = "URL")]
        urls: Vec<String>,
    },
    /// Answer questions about URLs from standard input, one JSON object a line.
    Url(Url),
    /// Explain a verb, or a section or an option of the configuration.
    Help {
        /// A verb such as `config set`, a section such as `link`, or an option such as
        /// `purge.max-size`; the verbs if omitted.
        #[arg(value_name = "TOPIC")]
        topic: Vec<String>,
    },
}

/// Returns the definition of the command line, with the verbs of its help by task.
pub(crate) fn command() -> Command {
    let command = Arguments::command();
    let template = help::template(&command);
    command.help_template(template)
}

/// Parses the command line. The first of `typed` is the name of the program.
///
/// # Errors
///
/// What to print in place of running a verb: an error, the help, or the version.
pub(crate) fn parse(typed: &[OsString]) -> Result<Arguments, clap::Error> {
    let mut command = command();
    Arguments::from_arg_matches(&command.try_get_matches_from_mut(typed)?)
        .map_err(|error| error.format(&mut command))
}

/// The examples of `run`.
const RUN_EXAMPLES: &str = "Examples:\n  \
    wwwoffle run --record site.wacz -- npm test\n  \
    wwwoffle run --replay site.wacz --fail-missing --report run.xml -- npm test";

/// The examples of `setup`.
const SETUP_EXAMPLES: &str = "Examples:\n  \
    wwwoffle setup\n  \
    sudo wwwoffle setup --for household\n  \
    sudo wwwoffle setup --for school --user-file class7.txt\n  \
    wwwoffle setup --undo";

/// The arguments of `browse`.
#[derive(Debug, Args)]
pub(crate) struct Browse {
    /// chromium, chrome, brave, edge, vivaldi or firefox, or the path of a browser [default: the
    /// first of these that is installed].
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) browser: Option<PathBuf>,
    /// The directory of the browser's profile [default: one in this user's state directory,
    /// `~/.local/state/wwwoffle/browse`].
    #[arg(long, value_name = "DIR")]
    pub(crate) profile: Option<PathBuf>,
    /// The page to open; the start page of wwwoffle if omitted.
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// More arguments for the browser, after `--`.
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}

/// The subcommands of `config`. A value is written as in the file. A value that is not valid TOML
/// is taken as a string, so `30s` is `"30s"`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Show an option, the options of a section, or all, and where they are set.
    Get {
        /// Print everything as JSON.
        #[arg(long)]
        json: bool,
        /// The option or section; all if omitted.
        #[arg(value_name = "SECTION[.KEY]")]
        option: Option<String>,
    },
    /// Show the value of every option for a URL, with the file and line that set it.
    Explain {
        /// The URL, in any spelling; it is not fetched.
        #[arg(value_name = "URL")]
        url: String,
    },
    /// Convert a configuration of WWWOFFLE 2.9; options without counterpart are reported and
    /// preserved as comments.
    Import {
        /// The new file, which must not exist yet; standard output if omitted.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The old file; files that it includes are looked for beside it.
        #[arg(value_name = "OLD.conf")]
        file: PathBuf,
    },
    /// Set an option.
    Set {
        /// The option, such as options.log-level.
        #[arg(value_name = "SECTION.KEY")]
        option: String,
        /// The value.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Reset an option to its default.
    Unset {
        /// The option.
        #[arg(value_name = "SECTION.KEY")]
        option: String,
    },
    /// Add an element to an option that is an array.
    Add {
        /// Insert it before this element, counted from 0; at the end if omitted.
        #[arg(long, value_name = "N")]
        before: Option<usize>,
        /// The option.
        #[arg(value_name = "SECTION.KEY")]
        option: String,
        /// The element.
        #[arg(allow_hyphen_values = true)]
        item: String,
    },
    /// Remove an element from an option that is an array.
    Remove {
        /// The option.
        #[arg(value_name = "SECTION.KEY")]
        option: String,
        /// The element.
        #[arg(allow_hyphen_values = true)]
        item: String,
    },
    /// Add a rule, which sets options for some URLs.
    AddRule {
        /// Insert it before this rule of the section, counted from 0; at the end if omitted.
        #[arg(long, value_name = "N")]
        before: Option<usize>,
        /// The section whose options it sets.
        section: String,
        #[command(flatten)]
        rule: RuleOptions,
    },
    /// Remove a rule.
    RemoveRule {
        /// The section.
        section: String,
        /// Its number, counted from 0, as `wwwoffle config get` shows it.
        index: usize,
        /// The URL-SPECIFICATIONs of the rule, to be sure that the right one is removed.
        #[arg(required = true, value_name = "URL")]
        url: Vec<String>,
    },
    /// Restore the previous version, or one by its number; the current one becomes a version.
    Undo {
        /// The number, as `wwwoffle config versions` shows it.
        version: Option<u64>,
    },
    /// List the stored versions, at most ten.
    Versions,
    /// Report all errors in the configuration, or in another file.
    Check {
        /// The file to check; the configuration if omitted.
        file: Option<PathBuf>,
    },
    /// Make the daemon read the file again now.
    Reload,
    /// Print the path of the file, even if it does not exist.
    Path,
    /// Print the file.
    Show,
}

/// The URLs and options of a rule.
#[derive(Clone, Debug, Args)]
pub(crate) struct RuleOptions {
    /// The URL-SPECIFICATIONs; the first match decides.
    #[arg(required = true, value_name = "URL")]
    pub(crate) url: Vec<String>,
    /// An option and its value for these URLs; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", required = true)]
    pub(crate) options: Vec<String>,
}

/// The arguments of `serve`.
#[derive(Debug, Default, Args)]
pub(crate) struct Serve {
    /// The spool. Takes precedence over `--spool` before the verb and over the configuration.
    #[arg(long, value_name = "DIR")]
    pub(crate) spool: Option<PathBuf>,
    /// An address to listen on, instead of the configured ones; may be repeated.
    #[arg(long, value_name = "ADDR:PORT", value_parser = address_and_port)]
    pub(crate) listen: Vec<SocketAddr>,
    /// The mode to start in, instead of the one at the last stop: online, offline, autodial, auto.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<ModeSetting>,
    /// The level of the log until the configured one changes: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", value_parser = log_level)]
    pub(crate) log_level: Option<LogLevel>,
    /// For tests: the number of seconds after the start in which nothing is removed automatically.
    #[arg(long, value_name = "SECONDS", hide = true)]
    pub(crate) rest: Option<u64>,
}

/// The arguments of `url`: the names and ports of the proxy, as configured if none is given.
#[derive(Debug, Args)]
pub(crate) struct Url {
    /// The names of the proxy, the first one for links. Without these three options, names and
    /// ports are as configured.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) localhost: Vec<String>,
    /// The port of the proxy for HTTP, such as 8080.
    #[arg(long, value_name = "N")]
    pub(crate) http_port: Option<u16>,
    /// The port of the proxy for HTTPS, such as 8443.
    #[arg(long, value_name = "N")]
    pub(crate) https_port: Option<u16>,
    /// The hosts of the local network, first match wins; ! before one excludes it.
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub(crate) localnet: Vec<String>,
}

fn log_level(text: &str) -> Result<LogLevel, &'static str> {
    let level = LogLevel::ALL.into_iter().find(|level| level.as_str() == text);
    level.ok_or("expected error, warn, info, debug or trace")
}

fn address_and_port(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "expected an address and a port, as 127.0.0.1:8080 or [::1]:8080")
}

fn after_help() -> String {
    let mut help =
        "To begin: `wwwoffle browse https://www.example.org/`, or `wwwoffle serve` and then \
                    http://localhost:8080/ in a browser.\n\nExit statuses:"
            .to_owned();
    for status in ExitStatus::ALL {
        help = format!("{help}\n  {:>2}  {status}", status.code());
    }
    help
}

#[cfg(test)]
mod tests;

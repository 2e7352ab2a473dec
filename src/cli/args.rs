//! What was typed, validated and no more: what it means is for the verbs.

mod authority;
mod exchange;
mod fetch;
mod get;
mod history;
mod index;
mod kept;
mod monitor;
mod purge;

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};

pub(crate) use self::authority::{AuthorityVerb, Install, Uninstall};
pub(crate) use self::exchange::{Export, Import};
pub(crate) use self::fetch::{Fetch, QueueArgs};
pub(crate) use self::get::GetArgs;
pub(crate) use self::history::History;
pub(crate) use self::index::{IndexVerb, List, Search};
pub(crate) use self::kept::{Compress, Fsck, KeptVerb, Mv, Write};
pub(crate) use self::monitor::{MonitorVerb, When};
pub(crate) use self::purge::Purge;
use crate::base::exit::ExitStatus;
use crate::base::mode::Choice;
use crate::base::owner::Owner;
use crate::storage::versions::at::At;

/// An offline web proxy: keeps what you read, gives it back without a line, fetches what was
/// missing.
#[derive(Debug, Parser)]
#[command(name = "wwwoffle", version, after_help = after_help(), arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// The configuration; without it the file that the variable `WWWOFFLE_CONFIG` names, that of
    /// this user, or that of the machine.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The spool, which is also how a verb finds its daemon; without it as the configuration says.
    #[arg(long, value_name = "DIR")]
    pub(crate) spool: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Browse through the proxy with a browser that is set up for it and trusts its certificates.
    ///
    /// The browser has a profile of its own, which is kept; nothing of the system or of your other
    /// profiles is changed. If no daemon runs on the spool, one runs until the browser is closed.
    Browse(Browse),
    /// Run the daemon, in the foreground.
    Serve(Serve),
    /// Stop the daemon, and wait until it has stopped.
    Stop,
    /// Show the mode, the queue and what is being downloaded.
    Status {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Go online: requests go out, and the queue is worked off.
    Online,
    /// Go offline: everything comes from the spool, and nothing goes out.
    Offline,
    /// Serve what is kept from the spool and fetch the rest.
    Autodial,
    /// Be online or offline by what the link really does.
    Auto,
    /// Get pages into the spool, now or when online.
    Get(GetArgs),
    /// List the fetches that follow links, or end one.
    Runs {
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// End this one: what only it wants leaves the queue.
        #[arg(long, value_name = "ID")]
        stop: Option<String>,
    },
    /// List what is being received, or end one download.
    Downloads {
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// End this one, also for the programs that read it.
        #[arg(long, value_name = "ID")]
        end: Option<u64>,
    },
    /// List what waits to be fetched, in its order, or change that order.
    Queue(QueueArgs),
    /// Work the queue off now.
    Fetch(Fetch),
    /// Look at pages again on a schedule, by itself.
    Monitor {
        #[command(subcommand)]
        verb: MonitorVerb,
    },
    /// List what the spool has.
    Ls(List),
    #[command(flatten)]
    Index(IndexVerb),
    /// Print what the spool has of a URL, decoded if it is compressed.
    Cat {
        /// Byte for byte as it was received and is kept.
        #[arg(long)]
        raw: bool,
        /// The head of the response too.
        #[arg(long)]
        headers: bool,
        /// What was kept then: 2026-11-20, "2026-11-20 14:25", or an instant as 2026-11-20T14:25:15Z.
        #[arg(long, value_name = "DATE")]
        at: Option<At>,
        /// Whose answer: local, user:NAME or client:ADDRESS. Where there is none, it is everyone's.
        #[arg(long, default_value = "local", value_name = "OWNER")]
        owner: Owner,
        /// What to print, in any spelling.
        #[arg(value_name = "URL")]
        url: String,
    },
    /// Show what is known of a URL: status, dates, fields, certificates.
    Info {
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// Whose answer: local, user:NAME or client:ADDRESS. Where there is none, it is everyone's.
        #[arg(long, default_value = "local", value_name = "OWNER")]
        owner: Owner,
        /// What to tell of, in any spelling.
        #[arg(value_name = "URL")]
        url: String,
    },
    /// List what was kept of a URL over time, or restore or remove an older version.
    History(History),
    /// Remove what has reached its age, as the section [purge] of the configuration says.
    Purge(Purge),
    /// Have URLs stay whatever their age; without any, list those that do.
    Pin {
        /// Which, in any spelling.
        urls: Vec<String>,
    },
    /// Have URLs that were pinned stay no longer than others.
    Unpin {
        /// Which.
        #[arg(required = true)]
        urls: Vec<String>,
    },
    /// Remove URLs from the spool, for good.
    ///
    /// Nothing brings them back, as the button Undo on the pages in a browser does for an hour.
    Rm {
        /// Whose answers, besides everyone's: local, user:NAME or client:ADDRESS.
        #[arg(long, default_value = "local", value_name = "OWNER")]
        owner: Owner,
        /// What to remove, in any spelling.
        #[arg(required = true, value_name = "URL")]
        urls: Vec<String>,
    },
    #[command(flatten)]
    Kept(KeptVerb),
    /// Look at the configuration and change it: comments stay, and a running daemon obeys at once.
    ///
    /// A value is written as in the file; what is not TOML is taken as a text, so 30s is "30s". With
    /// a dollar sign in it, it needs single quotes in the shell.
    Config {
        #[command(subcommand)]
        verb: ConfigVerb,
    },
    /// Make the line of the configuration for a password of a user, or for the control password.
    ///
    /// The password is asked for twice, or read from standard input. The file takes only its hash,
    /// which is what the line has.
    Passwd {
        /// The user of the proxy; without one it is the control password.
        #[arg(value_name = "USER")]
        user: Option<String>,
    },
    /// Look at the certificate authority, and have browsers trust it, so that HTTPS is kept.
    Ca {
        #[command(subcommand)]
        verb: AuthorityVerb,
    },
    /// Print the key of URLs and where in the spool they are kept.
    Hash {
        /// What to tell of, in any spelling; nothing need be kept there.
        #[arg(required = true, value_name = "URL")]
        urls: Vec<String>,
    },
    /// Answer questions about URLs, one JSON object a line, from standard input.
    Url(Url),
}

/// How to browse.
#[derive(Debug, Args)]
pub(crate) struct Browse {
    /// chromium, chrome, brave, edge, vivaldi or firefox, or the path of one; without it the first
    /// of these that is installed.
    #[arg(long, value_name = "NAME|PATH")]
    pub(crate) browser: Option<PathBuf>,
    /// The directory of its profile; without it one in the directory for state of this user,
    /// `~/.local/state/wwwoffle/browse`.
    #[arg(long, value_name = "DIR")]
    pub(crate) profile: Option<PathBuf>,
    /// The page to open; without it that of wwwoffle itself.
    #[arg(value_name = "URL")]
    pub(crate) url: Option<String>,
    /// What else the browser is told, after `--`.
    #[arg(last = true, value_name = "ARGUMENT")]
    pub(crate) arguments: Vec<OsString>,
}

/// What to do with the configuration. A value is written as in the file; what is not TOML is taken
/// as a text, so `30s` is `"30s"`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Show an option's value, or the options of a section or all with where they are set.
    Get {
        /// Everything that is known, as JSON.
        #[arg(long)]
        json: bool,
        /// Which option or section; without it all.
        #[arg(value_name = "SECTION[.KEY]")]
        option: Option<String>,
    },
    /// Tell what every option is for a URL, with the file and line that say so.
    Explain {
        /// The URL, in any spelling; nothing is asked of it.
        #[arg(value_name = "URL")]
        url: String,
    },
    /// Write a configuration of WWWOFFLE 2.9 anew; what has no counterpart is told, and kept as a comment.
    Import {
        /// Where to write it: a file that is not there yet. Without it, to standard output.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The old file; the files that its sections name are looked for beside it.
        #[arg(value_name = "OLD.conf")]
        file: PathBuf,
    },
    /// Give an option a value.
    Set {
        /// Which option, such as options.log-level.
        #[arg(value_name = "SECTION.KEY")]
        option: String,
        /// The value.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Let an option have its default again.
    Unset {
        /// Which option.
        #[arg(value_name = "SECTION.KEY")]
        option: String,
    },
    /// Add an element to an option that is an array.
    Add {
        /// In front of which element, counted from 0; without it at the end.
        #[arg(long, value_name = "N")]
        before: Option<usize>,
        /// Which option.
        #[arg(value_name = "SECTION.KEY")]
        option: String,
        /// The element.
        #[arg(allow_hyphen_values = true)]
        item: String,
    },
    /// Remove an element from an option that is an array.
    Remove {
        /// Which option.
        #[arg(value_name = "SECTION.KEY")]
        option: String,
        /// The element.
        #[arg(allow_hyphen_values = true)]
        item: String,
    },
    /// Add a rule: other values of options for some URLs.
    AddRule {
        /// In front of which rule of the section, counted from 0; without it at the end.
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
        /// The URL-SPECIFICATIONs it has, so that no other is removed.
        #[arg(required = true, value_name = "URL")]
        url: Vec<String>,
    },
    /// Put back the version before, or that of a number. What is replaced is a version then.
    Undo {
        /// The number, as `wwwoffle config versions` shows it.
        version: Option<u64>,
    },
    /// List the versions that are kept, ten at most.
    Versions,
    /// Say what is wrong with the configuration, or with another file.
    Check {
        /// The other file.
        file: Option<PathBuf>,
    },
    /// Have the daemon read the file again now.
    Reload,
    /// Print where the file is, or would be.
    Path,
    /// Print the file.
    Show,
}

/// What a rule says.
#[derive(Clone, Debug, Args)]
pub(crate) struct RuleOptions {
    /// For which URLs: URL-SPECIFICATIONs, of which the first that matches decides.
    #[arg(required = true, value_name = "URL")]
    pub(crate) url: Vec<String>,
    /// An option and its value there; may be given more than once.
    #[arg(long = "set", value_name = "KEY=VALUE", required = true)]
    pub(crate) options: Vec<String>,
}

/// How to run the daemon.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The spool, in place of the one before the verb and of the configured one.
    #[arg(long, value_name = "DIR")]
    pub(crate) spool: Option<PathBuf>,
    /// Where to listen, in place of what is configured; may be given more than once.
    #[arg(long, value_name = "ADDR:PORT", value_parser = address_and_port)]
    pub(crate) listen: Vec<SocketAddr>,
    /// The mode to begin in, in place of the one it had when it stopped: online, offline, autodial,
    /// auto.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<Choice>,
    /// For tests: nothing is removed by itself in the first so many seconds.
    #[arg(long, value_name = "SECONDS", hide = true)]
    pub(crate) rest: Option<u64>,
}

/// Which names and ports are those of the proxy.
#[derive(Debug, Args)]
pub(crate) struct Url {
    /// The names of the proxy, the one in links first.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values_t = local_names())]
    pub(crate) localhost: Vec<String>,
    /// Its port for HTTP.
    #[arg(long, value_name = "N", default_value_t = 8080)]
    pub(crate) http_port: u16,
    /// Its port for HTTPS.
    #[arg(long, value_name = "N", default_value_t = 8443)]
    pub(crate) https_port: u16,
    /// The hosts of the local network, first match wins; ! before one excludes it.
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub(crate) localnet: Vec<String>,
}

fn address_and_port(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "expected an address and a port, as 127.0.0.1:8080 or [::1]:8080")
}

fn local_names() -> Vec<String> {
    ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec()
}

fn after_help() -> String {
    let mut help =
        "To begin: `wwwoffle browse https://www.example.org/`, or `wwwoffle serve` and then \
                    http://localhost:8080/ in a browser.\n\nExit statuses:"
            .to_owned();
    for status in ExitStatus::ALL {
        help = format!("{help}\n  {:>2}  {}", status.code(), status.meaning());
    }
    help
}

#[cfg(test)]
mod tests;

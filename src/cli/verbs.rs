//! Dispatches verbs, and implements those that only talk to a daemon.

use std::{
    io::{self, Write},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags},
};
use wwwoffle_config::Size;

use super::args::{CollectionVerb, ConfigVerb, Fetch, IndexVerb, ProfileArgs, SpoolVerb, Verb};
use super::control::{Control, invalid_response};
use super::failure::{VerbFailure, VerbResult};
use super::progress::ProgressDisplay;
use super::{
    Terminal, VerbContext, authority, browse, bundle, collection, compress, config, downloads,
    edit, exchange, explain, export, files, fixture, fsck, get, help, history, import, index, info,
    list, monitor, passwd, plan, purge, queue, service, setup, url, usage,
};
use crate::base::exit::ExitStatus;
use crate::base::shown;
use crate::site::fetches::progress;
use crate::storage::edit::compress::StoredForm;
use wwwoffle_api::plan::QueuePlan;
use wwwoffle_api::{
    DaemonActivity, DaemonProcess, FetchRequest, FetchResponse, ModeChange, ModeRequest,
    ModeSetting, OutgoingTrouble, Status, StopResponse, TierStatus,
};

/// Time limit for a daemon to stop: its own deadline, and a margin.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);

/// Interval between checks whether the daemon has stopped.
const STOP_POLL: Duration = Duration::from_millis(50);

/// Runs a verb, except `serve`, which the caller has handled.
pub(crate) fn run(verb: Verb, context: &mut VerbContext<'_>) -> VerbResult {
    match verb {
        Verb::Serve(_) => Ok(ExitStatus::Usage),
        Verb::Online => mode(ModeSetting::Online, context),
        Verb::Offline => mode(ModeSetting::Offline, context),
        Verb::Autodial => mode(ModeSetting::Autodial, context),
        Verb::Auto => mode(ModeSetting::Auto, context),
        Verb::Fetch(Fetch { bundle: Some(file), json, .. }) => bundle::fetch(&file, json, context),
        Verb::Fetch(typed) => fetch(&typed, context),
        Verb::Get(typed) => get::run(typed, context),
        Verb::Runs { json, stop } => get::runs(json, stop, context),
        Verb::Downloads { json, end } => downloads::run(json, end, context),
        Verb::Usage(typed) => usage::run(&typed, context),
        Verb::Status { json } => status(json, context),
        Verb::Queue(typed) => queue::run(typed, context),
        Verb::Rm { owner, urls } => edit::remove(&owner, urls, context),
        Verb::Config { verb: ConfigVerb::Explain { url } } => explain::run(&url, context),
        Verb::Config { verb: ConfigVerb::Import { output, file } } => {
            import::run(&file, output.as_deref(), &mut context.terminal)
        }
        Verb::Config { verb } => config::run(verb, context),
        Verb::Setup(typed) => setup::run(&typed, context),
        Verb::Service { verb } => service::run(&verb, context),
        Verb::Ca { verb } => authority::run(verb, context),
        Verb::Browse(typed) => browse::run(&typed, context),
        Verb::Run(typed) => fixture::run(&typed, context),
        Verb::Stop => stop(context),
        Verb::Hash { urls } => files::hash(&urls, context),
        Verb::Cat { raw, headers, at, fetch, owner, url } => {
            let what = if raw { files::BodyForm::Raw } else { files::BodyForm::Plain };
            files::cat(&files::CopySelector { url, owner, at, fetch }, what, headers, context)
        }
        Verb::Purge(typed) => purge::run(typed, context),
        Verb::Pin { from, urls } => {
            let urls = {
                let any = ProfileArgs::default();
                get::with_urls_of(from.as_deref(), &any, urls, &mut context.terminal)?
            };
            purge::pin(urls, true, context)
        }
        Verb::Unpin { urls } => purge::pin(urls, false, context),
        Verb::History(typed) => history::run(typed, context),
        Verb::Info { json, owner, url } => info::print(&url, &owner, json, context),
        Verb::Ls(typed) => list::list(&typed, context),
        Verb::Index(IndexVerb::Search(typed)) => index::search(&typed, context),
        Verb::Index(IndexVerb::Reindex { changed }) => index::reindex(changed, context),
        Verb::Kept(SpoolVerb::Fsck(typed)) => fsck::run(&typed, context),
        Verb::Kept(SpoolVerb::Mv(typed)) => edit::rename(typed, context),
        Verb::Kept(SpoolVerb::Write(typed)) => edit::write(&typed, context),
        Verb::Kept(SpoolVerb::Gzip(typed)) => compress::run(typed, StoredForm::Compressed, context),
        Verb::Kept(SpoolVerb::Gunzip(typed)) => compress::run(typed, StoredForm::Plain, context),
        Verb::Kept(SpoolVerb::Import(typed)) => exchange::run(&typed, context),
        Verb::Kept(SpoolVerb::Export(typed)) => export::run(&typed, context),
        Verb::Monitor { verb } => monitor::run(verb, context),
        Verb::Collection { verb } => collection::run(verb, context),
        Verb::Passwd { user } => passwd::passwd(user.as_deref(), &mut context.terminal),
        Verb::Url(local) => url::answer(&local, context),
        Verb::Help { topic } => help::run(&topic, &mut context.terminal),
    }
}

impl Verb {
    /// Whether the verb also works with a daemon on another machine: it only calls the API.
    pub(super) fn works_elsewhere(&self) -> bool {
        match self {
            Self::Fetch(typed) => typed.bundle.is_none(),
            Self::Config { verb } => !matches!(
                verb,
                ConfigVerb::Explain { .. }
                    | ConfigVerb::Import { .. }
                    | ConfigVerb::Check { .. }
                    | ConfigVerb::Path
                    | ConfigVerb::Show
            ),
            Self::Kept(verb) => matches!(
                verb,
                SpoolVerb::Mv(_) | SpoolVerb::Write(_) | SpoolVerb::Gzip(_) | SpoolVerb::Gunzip(_)
            ),
            // The pages of a WACZ are imported by the daemon of this machine.
            Self::Collection { verb } => !matches!(verb, CollectionVerb::Import { .. }),
            Self::Online
            | Self::Offline
            | Self::Autodial
            | Self::Auto
            | Self::Status { .. }
            | Self::Get(_)
            | Self::Runs { .. }
            | Self::Downloads { .. }
            | Self::Usage(_)
            | Self::Queue(_)
            | Self::Monitor { .. }
            | Self::Ls(_)
            | Self::Index(_)
            | Self::Info { .. }
            | Self::History(_)
            | Self::Purge(_)
            | Self::Pin { .. }
            | Self::Unpin { .. }
            | Self::Rm { .. } => true,
            Self::Browse(_)
            | Self::Run(_)
            | Self::Serve(_)
            | Self::Stop
            | Self::Cat { .. }
            | Self::Passwd { .. }
            | Self::Ca { .. }
            | Self::Setup(_)
            | Self::Service { .. }
            | Self::Hash { .. }
            | Self::Url(_)
            | Self::Help { .. } => false,
        }
    }
}

fn mode(mode: ModeSetting, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let change: ModeChange = settings.control()?.post("/api/mode", &ModeRequest { mode })?;
    if change.mode == change.was {
        writeln!(terminal.stdout, "{} (as before)", change.mode)?;
    } else {
        writeln!(terminal.stdout, "{} (was {})", change.mode, change.was)?;
    }
    Ok(ExitStatus::Done)
}

fn fetch(typed: &Fetch, context: &mut VerbContext<'_>) -> VerbResult {
    let (control, terminal) = (context.settings.control()?, &mut context.terminal);
    let Fetch { wait, budget, plan, json, .. } = *typed;
    if plan {
        let planned: QueuePlan = control.get("/api/queue/plan")?;
        return plan::queue(&planned, json, terminal);
    }
    let wanted = FetchRequest { wait, budget: budget.map(Size::bytes) };
    if wait {
        return follow(&control, "/api/fetch", &wanted, EventFormat::of(json), terminal);
    }
    let started: FetchResponse = control.post("/api/fetch", &wanted)?;
    if json {
        return files::print_only_json(&started, terminal.stdout);
    }
    match started.started {
        0 => writeln!(terminal.stdout, "nothing waits to be fetched")?,
        1 => writeln!(terminal.stdout, "fetching 1 request")?,
        many => writeln!(terminal.stdout, "fetching {many} requests")?,
    }
    Ok(ExitStatus::Done)
}

/// How events are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventFormat {
    Words,
    /// As the daemon sends them: one JSON object a line.
    Lines,
}

impl EventFormat {
    pub(super) fn of(json: bool) -> Self {
        if json { Self::Lines } else { Self::Words }
    }
}

/// Sends a request to the API, and shows the events in the response until it ends. The totals in
/// the last event give the exit status.
pub(super) fn follow(
    control: &Control,
    path: &str,
    body: &impl serde::Serialize,
    telling: EventFormat,
    terminal: &mut Terminal<'_>,
) -> VerbResult {
    let is_live = terminal.live && telling == EventFormat::Words;
    let (begun, mut progress) = (Instant::now(), ProgressDisplay::new(is_live));
    let streamed = control.post_stream(path, body, &mut |line| {
        if line.is_empty() {
            return Ok(());
        }
        let event = serde_json::from_slice(line).map_err(|error| invalid_response(&error))?;
        match telling {
            EventFormat::Words => progress.event(event, begun.elapsed(), terminal.stdout)?,
            EventFormat::Lines => {
                progress.count(event);
                terminal.stdout.write_all(line)?;
                terminal.stdout.write_all(b"\n")?;
                terminal.stdout.flush()?;
            }
        }
        Ok(())
    });
    progress.finish(terminal.stdout)?;
    streamed?;
    let end = progress.end().ok_or_else(|| {
        VerbFailure::plain(
            "the daemon ended before all requests were done: `wwwoffle status` shows whether it \
             runs, `wwwoffle queue` what still waits",
        )
    })?;
    match end.exit_status() {
        ExitStatus::Failed => Err(VerbFailure::plain(format_args!(
            "{} failed, for the reasons above; `wwwoffle get URL` retries one",
            requests(end.failed)
        ))),
        status => Ok(status),
    }
}

fn requests(count: u64) -> String {
    if count == 1 { "1 request".to_owned() } else { format!("{count} requests") }
}

fn status(json: bool, context: &mut VerbContext<'_>) -> VerbResult {
    let status: Status = context.settings.control()?.get("/api/status")?;
    let out = &mut *context.terminal.stdout;
    if json {
        return files::print_only_json(&status, out);
    }
    let Status { queue, .. } = status;
    match &status.link {
        None => writeln!(out, "mode         {}", status.mode)?,
        Some(link) => {
            writeln!(out, "mode         {} (auto, since {:.0})", status.mode, link.since)?;
            writeln!(out, "link         {}", shown::line(&link.reason))?;
        }
    }
    let DaemonActivity { last_online, last_offline, runs, purge, tier } = status.activity;
    for (name, time) in [("last online", last_online), ("last offline", last_offline)] {
        if let Some(time) = time {
            writeln!(out, "{name:<12} {time:.0}")?;
        }
    }
    if status.metered {
        writeln!(out, "metered      this link is metered")?;
    }
    writeln!(
        out,
        "queue        {} waiting, {} under way, {} failed",
        queue.waiting, queue.active, queue.failed
    )?;
    if runs > 0 {
        writeln!(out, "fetches      {runs} recursive: `wwwoffle runs` lists them")?;
    }
    if let Some(looked) = purge {
        writeln!(out, "purge        is running, {looked} entries examined")?;
    }
    if let Some(tier) = tier {
        describe_tier(&tier, out)?;
    }
    for download in &status.downloads {
        let (line, url) = (progress::describe_download(download), shown::line(&download.url));
        writeln!(out, "download     {line} {url}")?;
        if let Some(waiting) = progress::describe_wait(download, |time| format!("{time:.0}")) {
            writeln!(out, "             {waiting}")?;
        }
    }
    for one in &status.rejections {
        let (host, client) = (shown::line(&one.host), shown::line(&one.client));
        writeln!(out, "not stored   {host}: {client} rejects our certificate")?;
    }
    writeln!(out, "listening    {}", status.process.listen.join(", "))?;
    writeln!(out, "connections  {}", status.connections)?;
    let OutgoingTrouble { outward_refused, failing_parents } = &status.outgoing;
    if *outward_refused > 0 {
        writeln!(out, "refused      {outward_refused} connections outward, while offline")?;
    }
    for one in failing_parents {
        let (parent, reason) = (shown::line(&one.parent), shown::line(&one.reason));
        writeln!(out, "parent proxy {parent} is avoided until {:.0}: {reason}", one.until)?;
    }
    writeln!(out, "spool        {}", status.process.spool)?;
    if status.process.read_only {
        writeln!(out, "             on a read-only file system: nothing is stored")?;
    }
    for program in &status.process.missing_programs {
        let program = shown::line(program);
        writeln!(out, "not searched documents: {program} cannot be executed")?;
    }
    writeln!(
        out,
        "daemon       {}, pid {}, since {:.0}",
        status.version, status.process.pid, status.process.since
    )?;
    Ok(ExitStatus::Done)
}

/// Prints the state of the archive tier.
fn describe_tier(tier: &TierStatus, out: &mut dyn Write) -> io::Result<()> {
    let state = match &tier.fault {
        Some(fault) => shown::line(fault),
        None if tier.connected => "connected".to_owned(),
        None => "connecting".to_owned(),
    };
    writeln!(out, "tier         {}: {state}", tier.node)?;
    let TierStatus { backlog, pushed, pulled, skipped, given, taken, .. } = tier;
    if tier.writes {
        let scanning = if tier.scanning { ", comparing the spool with it" } else { "" };
        let since = tier.since.map_or_else(String::new, |since| format!(" since {since:.0}"));
        writeln!(out, "             {backlog} waiting{since}, {pushed} added{scanning}")?;
    }
    if *skipped > 0 {
        writeln!(out, "             {skipped} not added: damaged or invalid")?;
    }
    writeln!(out, "             {pulled} read from it")?;
    if *given + *taken > 0 {
        writeln!(
            out,
            "             {given} requests wait for other nodes, {taken} are fetched for them"
        )?;
    }
    Ok(())
}

/// Asks the daemon to stop, and waits until its process has ended, which releases the spool.
fn stop(context: &mut VerbContext<'_>) -> VerbResult {
    let control = context.settings.control()?;
    let Status { process: DaemonProcess { pid, .. }, .. } = control.get("/api/status")?;
    let process = process(pid);
    let StopResponse { .. } = control.post("/api/stop", &serde_json::json!({}))?;
    let asked = Instant::now();
    while asked.elapsed() < STOP_TIMEOUT {
        if has_ended(process.as_ref(), &control, pid)? {
            writeln!(context.terminal.stdout, "stopped")?;
            return Ok(ExitStatus::Done);
        }
    }
    Err(VerbFailure::plain(format_args!(
        "the daemon (pid {pid}) still runs after {} s: end it with `kill {pid}`",
        STOP_TIMEOUT.as_secs()
    )))
}

/// Returns a handle on the process. `None` if it is not visible from here, such as in another
/// container.
fn process(pid: u32) -> Option<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
    rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Waits a moment for the end of the process, and returns whether it has ended. A process that is
/// not visible from here has ended if no daemon responds, or a daemon with another process ID.
fn has_ended(process: Option<&OwnedFd>, control: &Control, pid: u32) -> VerbResult<bool> {
    let Some(process) = process else {
        std::thread::sleep(STOP_POLL);
        return Ok(match control.get::<Status>("/api/status") {
            Ok(status) => status.process.pid != pid,
            Err(failure) => matches!(failure, VerbFailure::Said(ExitStatus::NoDaemon, _)),
        });
    };
    let moment = Timespec::try_from(STOP_POLL).ok();
    match poll(&mut [PollFd::new(process, PollFlags::IN)], moment.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(VerbFailure::plain(format_args!("cannot wait for the daemon: {error}"))),
    }
}

#[cfg(test)]
mod tests;

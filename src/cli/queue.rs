//! `wwwoffle queue`: what waits to be fetched, and what of it goes first or last.

use super::args::QueueArgs;
use super::control::Control;
use super::failure::Failure;
use super::settings::Settings;
use super::{Terminal, files};
use crate::api::{ItemState, Prioritized, Priority, PriorityRequest, Queue, QueueItem};
use crate::cli::exit::ExitStatus;
use crate::page::shown;

/// Lists the queue, or gives some of its requests a priority.
pub(super) fn run(
    typed: QueueArgs,
    settings: &Settings<'_>,
    terminal: &mut Terminal<'_>,
) -> Result<ExitStatus, Failure> {
    let control = settings.control()?;
    let priority = match &typed {
        QueueArgs { first: true, .. } => Priority::First,
        QueueArgs { last: true, .. } => Priority::Last,
        QueueArgs { usual: true, .. } => Priority::Usual,
        QueueArgs { json, .. } => return list(&control, *json, terminal),
    };
    prioritize(&control, priority, typed.urls, terminal)
}

/// Lists the requests in the order in which they go, and then those that do not wait.
fn list(control: &Control, json: bool, terminal: &mut Terminal<'_>) -> Result<ExitStatus, Failure> {
    let mut queue: Queue = control.get("/api/queue")?;
    let out = &mut *terminal.stdout;
    if json {
        files::print_json(&queue, out)?;
        return Ok(ExitStatus::Done);
    }
    // A stable sort: what an older daemon tells stays as it is.
    queue.queue.sort_by_key(|item| item.turn.unwrap_or(u64::MAX));
    for item in &queue.queue {
        writeln!(out, "{}", line(item))?;
    }
    Ok(ExitStatus::Done)
}

fn line(item: &QueueItem) -> String {
    let state = match item.state {
        ItemState::Waiting => "waiting",
        ItemState::Active => "active",
        ItemState::Failed => "failed",
        ItemState::Asking => "asking",
    };
    let url = shown::line(&item.url);
    let error = item.error.as_deref().map(|error| format!(": {}", shown::line(error)));
    let priority = match item.priority {
        Priority::First => "; first",
        Priority::Usual => "",
        Priority::Last => "; last",
    };
    let held = item.held.map(|held| held.in_words(|time| format!("{time:.0}")));
    let held = held.map(|held| format!("; {held}"));
    let [error, held] = [error, held].map(Option::unwrap_or_default);
    let method = shown::line(&item.method);
    format!("{state:<8} {:.0}  {method:<4} {url}{error}{priority}{held}", item.queued)
}

fn prioritize(
    control: &Control,
    priority: Priority,
    urls: Vec<String>,
    terminal: &mut Terminal<'_>,
) -> Result<ExitStatus, Failure> {
    let request = PriorityRequest { priority, keys: Vec::new(), urls };
    let done: Prioritized = control.post("/api/queue/priority", &request)?;
    let requests = if done.prioritized == 1 { "request" } else { "requests" };
    let when = match priority {
        Priority::First => "first",
        Priority::Usual => "in the usual order",
        Priority::Last => "last",
    };
    writeln!(terminal.stdout, "{} {requests} to be fetched {when}", done.prioritized)?;
    for url in &done.missing {
        let url = shown::line(url);
        writeln!(terminal.stderr, "wwwoffle: not on the queue: {url}")?;
    }
    Ok(if done.missing.is_empty() { ExitStatus::Done } else { ExitStatus::Failed })
}

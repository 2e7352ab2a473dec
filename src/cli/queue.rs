//! `wwwoffle queue`: lists, reorders, removes and retries queued requests.

use wwwoffle_url::CanonicalUrl;

use super::args::QueueArgs;
use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use super::hold::held_in_words;
use super::{Terminal, VerbContext, files};
use crate::base::exit::ExitStatus;
use crate::base::shown;
use wwwoffle_api::{
    DeleteResponse, ItemState, Prioritized, Priority, PriorityRequest, Queue, QueueItem,
    QueueTarget, RetryResponse,
};

/// Lists the queue, or changes some of its requests.
pub(super) fn run(typed: QueueArgs, context: &mut VerbContext<'_>) -> VerbResult {
    let control = context.settings.control()?;
    let call = match &typed {
        QueueArgs { remove: true, .. } => Some(QueueCall::Remove),
        QueueArgs { retry: true, .. } => Some(QueueCall::Retry),
        _ => None,
    };
    if let Some(call) = call {
        let targets = targets(&control, &typed, call, context)?;
        return change_queue(&control, call, &targets, &mut context.terminal);
    }
    let priority = match &typed {
        QueueArgs { first: true, .. } => Priority::First,
        QueueArgs { last: true, .. } => Priority::Last,
        QueueArgs { usual: true, .. } => Priority::Usual,
        QueueArgs { json, sort, .. } => return list(&control, *json, sort, &mut context.terminal),
    };
    prioritize(&control, priority, typed.urls, &mut context.terminal)
}

/// Lists the requests, sorted by `sort`: by default, in the order in which they will be fetched,
/// with those that are not waiting at the end.
fn list(control: &Control, json: bool, sort: &str, terminal: &mut Terminal<'_>) -> VerbResult {
    let mut queue: Queue = control.get("/api/queue")?;
    // The sort is stable, so the order from an older daemon, which sends no `turn`, is unchanged.
    queue.queue.sort_by_key(|item| item.turn.unwrap_or(u64::MAX));
    match sort {
        "age" => queue.queue.sort_by_key(|item| item.queued),
        "url" => queue.queue.sort_by(|one, other| one.url.cmp(&other.url)),
        _ => {}
    }
    files::print_lines(&queue, json, terminal.stdout, queue.queue.iter().map(line))
}

fn line(item: &QueueItem) -> String {
    let state = match item.state {
        ItemState::Waiting => "waiting",
        ItemState::Active => "active",
        ItemState::Failed => "failed",
        ItemState::Asking => "asking",
    };
    let url = shown::line(&item.url);
    let error = item.attempts.error.as_deref().map(|error| format!(": {}", shown::line(error)));
    let priority = match item.priority {
        Priority::First => "; first",
        Priority::Usual => "",
        Priority::Last => "; last",
    };
    let held = item.attempts.held.map(held_in_words);
    let held = held.map(|held| format!("; {held}"));
    let [error, held] = [error, held].map(Option::unwrap_or_default);
    let method = shown::line(&item.method);
    format!("{state:<8} {:.0}  {method:<4} {url}{error}{priority}{held}", item.queued)
}

/// The operation on the chosen requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueueCall {
    Remove,
    Retry,
}

/// The requests to change, and whether a typed URL is not in the queue.
struct Targets {
    requests: Vec<QueueTarget>,
    has_missing: bool,
}

fn targets(
    control: &Control,
    typed: &QueueArgs,
    call: QueueCall,
    context: &mut VerbContext<'_>,
) -> VerbResult<Targets> {
    if typed.all || (typed.urls.is_empty() && call == QueueCall::Retry) {
        return Ok(Targets { requests: vec![QueueTarget::All], has_missing: false });
    }
    if typed.urls.is_empty() {
        let message = "queue --remove: expected a URL, or --all";
        return Err(VerbFailure::usage(message));
    }
    let (queue, local): (Queue, _) = (control.get("/api/queue")?, context.settings.local_host()?);
    let mut targets = Targets { requests: Vec::new(), has_missing: false };
    for typed in &typed.urls {
        let url = CanonicalUrl::parse(typed, &local)
            .map_err(|error| files::invalid_url(typed, &error))?;
        let bare = url.without_credentials();
        let mut found = queue.queue.iter().filter(|item| item.url == bare.as_str()).peekable();
        if found.peek().is_none() {
            let url = shown::line(typed);
            writeln!(context.terminal.stderr, "wwwoffle: not on the queue: {url}")?;
            targets.has_missing = true;
        }
        targets.requests.extend(found.map(|item| QueueTarget::Key(item.key.clone())));
    }
    Ok(targets)
}

fn change_queue(
    control: &Control,
    call: QueueCall,
    targets: &Targets,
    terminal: &mut Terminal<'_>,
) -> VerbResult {
    let mut count = 0_u64;
    for target in &targets.requests {
        count += match call {
            QueueCall::Remove => {
                control.post::<DeleteResponse>("/api/queue/delete", target)?.deleted
            }
            QueueCall::Retry => control.post::<RetryResponse>("/api/queue/retry", target)?.retried,
        };
    }
    let requests = if count == 1 { "request" } else { "requests" };
    let what = match call {
        QueueCall::Remove => "removed from the queue",
        QueueCall::Retry => "to be retried",
    };
    writeln!(terminal.stdout, "{count} {requests} {what}")?;
    Ok(if targets.has_missing { ExitStatus::Failed } else { ExitStatus::Done })
}

fn prioritize(
    control: &Control,
    priority: Priority,
    urls: Vec<String>,
    terminal: &mut Terminal<'_>,
) -> VerbResult {
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

//! One page in a browser, as a conversation in the devtools protocol. Pure: takes messages and the
//! time, and returns messages.
//!
//! ```text
//! createTarget ─ attachToTarget ─ Network, Page, cookies ─ all answered ─ navigate ─ loaded ─ quiet ─ ping ─ over
//! ```
//!
//! Commands start in the order in which they are sent, and are complete when they are answered. The
//! page is requested only after the earlier commands are answered. Otherwise it could load before a
//! cookie is set, and would not be the requested page. Or it could load before the events are
//! subscribed, and the end of loading would be missed.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

/// The time without requests after which a page counts as quiet.
const QUIET: Duration = Duration::from_millis(500);

/// The largest number of requests of a page.
const MAX_REQUESTS: usize = 5_000;

/// The largest number of watched frames and workers of a page.
const MAX_SESSIONS: usize = 256;

/// Requests without an end, which are not waited for.
const ENDLESS: [&str; 3] = ["EventSource", "WebSocket", "Ping"];

/// A cookie set before the page is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cookie {
    pub(super) name: String,
    pub(super) value: String,
}

/// The end of a visit that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitEnd {
    /// The page is complete.
    Quiet,
    /// The page sent too many requests.
    Restless,
    /// The time limit of the visit was reached.
    OutOfTime,
    /// The budget was used up.
    OverBudget,
}

/// The actions after a message.
#[derive(Debug, Default, PartialEq)]
pub(super) struct VisitActions {
    /// Messages to send, in this order.
    pub(super) send: Vec<Value>,
    /// Bytes that the browser has received.
    pub(super) bytes: u64,
    /// The result, if the visit is over.
    pub(super) over: Option<Result<VisitEnd, String>>,
}

impl VisitActions {
    /// Combines the actions of two messages. If both have a result, the first counts.
    pub(super) fn and(&mut self, then: Self) {
        self.send.extend(then.send);
        self.bytes = self.bytes.saturating_add(then.bytes);
        self.over = self.over.take().or(then.over);
    }
}

/// The expected answers, identified by the numbers of their commands.
#[derive(Clone, Copy, Debug, Default)]
struct AwaitedCommands {
    target: u64,
    session: u64,
    navigation: u64,
}

/// A page being opened.
#[derive(Debug)]
pub(super) struct Visit {
    url: String,
    cookies: Vec<Cookie>,
    /// The unanswered commands that must be answered before the page is requested.
    prepares: HashSet<u64>,
    /// The session of the page itself.
    page: Option<String>,
    /// The watched frames and workers: the target id of each, by session.
    sessions: HashMap<String, String>,
    /// The running requests, by session and number.
    under_way: HashSet<(String, String)>,
    requests: usize,
    is_loaded: bool,
    last: Instant,
    sent: u64,
    awaited: AwaitedCommands,
    /// The unanswered pings to the page, its frames and its workers, which show whether they are
    /// busy.
    pings: HashSet<u64>,
}

impl Visit {
    /// Starts a visit. Returns the first messages.
    pub(super) fn begin(url: String, cookies: Vec<Cookie>, now: Instant) -> (Self, VisitActions) {
        let mut visit = Self {
            url,
            cookies,
            prepares: HashSet::new(),
            page: None,
            sessions: HashMap::new(),
            under_way: HashSet::new(),
            requests: 0,
            is_loaded: false,
            last: now,
            sent: 0,
            awaited: AwaitedCommands::default(),
            pings: HashSet::new(),
        };
        let mut next = VisitActions::default();
        // Downloads started by the page are denied.
        let deny = json!({"behavior": "deny"});
        visit.send(&mut next, None, "Browser.setDownloadBehavior", &deny);
        let empty = json!({"url": "about:blank"});
        visit.awaited.target = visit.send(&mut next, None, "Target.createTarget", &empty);
        (visit, next)
    }

    /// The time at which the page counts as quiet if no message arrives. `None` while it loads,
    /// requests are running or pings are unanswered.
    pub(super) fn quiet_at(&self) -> Option<Instant> {
        let is_idle = self.is_loaded && self.under_way.is_empty() && self.pings.is_empty();
        is_idle.then(|| self.last + QUIET)
    }

    /// If the page is quiet, pings the page, its frames and its workers. The visit is over when all
    /// have answered.
    pub(super) fn check_state(&mut self, now: Instant) -> VisitActions {
        let mut next = VisitActions::default();
        if self.quiet_at().is_some_and(|quiet| quiet <= now) {
            let all = self.page.iter().chain(self.sessions.keys());
            let all: Vec<_> = all.cloned().collect();
            let zero = json!({"expression": "0"});
            for session in all {
                let ping = self.send(&mut next, Some(&session), "Runtime.evaluate", &zero);
                self.pings.insert(ping);
            }
        }
        next
    }

    /// Takes a message that has just arrived.
    pub(super) fn handle_message(&mut self, message: &Value, now: Instant) -> VisitActions {
        let mut next = VisitActions::default();
        let session = text(message, "sessionId").unwrap_or_default();
        match (message.get("id").and_then(Value::as_u64), text(message, "method")) {
            (Some(id), _) => self.handle_response(id, message, &mut next),
            (None, Some(method)) => {
                let params = message.get("params").unwrap_or(&Value::Null);
                self.handle_event(method, session, params, now, &mut next);
            }
            (None, None) => {}
        }
        next
    }

    fn handle_response(&mut self, id: u64, message: &Value, next: &mut VisitActions) {
        let result = message.get("result").unwrap_or(&Value::Null);
        let refused = || {
            let why = message.get("error").and_then(|error| text(error, "message"));
            Some(Err(format!(
                "the browser refused: {}",
                printable(why.unwrap_or("no reason given"))
            )))
        };
        if id == self.awaited.target {
            let Some(target) = text(result, "targetId") else { return next.over = refused() };
            let attach = json!({"targetId": target, "flatten": true});
            self.awaited.session = self.send(next, None, "Target.attachToTarget", &attach);
        } else if id == self.awaited.session {
            let Some(session) = text(result, "sessionId") else { return next.over = refused() };
            self.page = Some(session.to_owned());
            self.open(session, next);
        } else if self.prepares.contains(&id) {
            if message.get("error").is_some() {
                return next.over = refused();
            }
            self.prepares.remove(&id);
            if self.prepares.is_empty() {
                self.navigate(next);
            }
        } else if id == self.awaited.navigation {
            if let Some(error) = text(result, "errorText") {
                next.over = Some(Err(format!("the browser cannot open it: {}", printable(error))));
            } else if message.get("error").is_some() {
                next.over = refused();
            }
        } else if self.pings.remove(&id) && self.pings.is_empty() {
            // The scripts have run to their end and requested nothing.
            next.over = Some(Ok(VisitEnd::Quiet));
        }
    }

    fn handle_event(
        &mut self,
        method: &str,
        session: &str,
        params: &Value,
        now: Instant,
        next: &mut VisitActions,
    ) {
        let is_page = self.page.as_deref() == Some(session);
        let request = || Some((session.to_owned(), text(params, "requestId")?.to_owned()));
        match method {
            "Network.requestWillBeSent" => {
                let is_endless = text(params, "type").is_some_and(|kind| ENDLESS.contains(&kind));
                if let Some(request) = request().filter(|_| !is_endless) {
                    self.under_way.insert(request);
                }
                self.requests += 1;
                if self.requests > MAX_REQUESTS {
                    next.over = Some(Ok(VisitEnd::Restless));
                }
            }
            "Network.loadingFinished" | "Network.loadingFailed" => {
                if let Some(request) = request() {
                    self.handle_request_end(&request);
                }
            }
            "Network.dataReceived" => {
                next.bytes = params.get("encodedDataLength").and_then(Value::as_u64).unwrap_or(0);
            }
            "Page.loadEventFired" if is_page => self.is_loaded = true,
            // Scripts wait for the dialog, and no person is there to close it.
            "Page.javascriptDialogOpening" => {
                let no = json!({"accept": false});
                self.send(next, Some(session), "Page.handleJavaScriptDialog", &no);
                return;
            }
            "Target.attachedToTarget" => self.handle_target(params, next),
            "Target.detachedFromTarget" => {
                let gone = text(params, "sessionId").unwrap_or_default();
                let target = self.sessions.remove(gone);
                self.under_way.retain(|(session, request)| {
                    session != gone && target.as_ref() != Some(request)
                });
            }
            "Inspector.targetCrashed" if is_page => {
                next.over = Some(Err(
                    "the page crashed the browser, or exceeded its memory limit".to_owned()
                ));
            }
            _ => return,
        }
        self.last = now;
        self.pings.clear();
    }

    /// Prepares the page, which exists and is still empty: subscribes to its events and sets the
    /// cookies.
    fn open(&mut self, session: &str, next: &mut VisitActions) {
        let listens = self.listen(session, next);
        self.prepares.extend(listens);
        let is_secure = self.url.starts_with("https:");
        for Cookie { name, value } in std::mem::take(&mut self.cookies) {
            let cookie = json!({"name": name, "value": value, "url": self.url, "path": "/", "secure": is_secure});
            let id = self.send(next, Some(session), "Network.setCookie", &cookie);
            self.prepares.insert(id);
        }
    }

    fn navigate(&mut self, next: &mut VisitActions) {
        let (page, to) = (self.page.clone(), json!({"url": self.url}));
        // Until now, only the empty page was loaded.
        self.is_loaded = false;
        self.awaited.navigation = self.send(next, page.as_deref(), "Page.navigate", &to);
    }

    /// Records that a request has ended. The script of a worker is requested in the session of its
    /// parent, and the request ends in the worker's own session. Both events use the target id of
    /// the worker as the number of the request.
    fn handle_request_end(&mut self, request: &(String, String)) {
        self.under_way.remove(request);
        let (session, number) = request;
        if self.sessions.get(session) == Some(number) {
            self.under_way.retain(|(_, other)| other != number);
        }
    }

    /// Handles a new frame with its own process, or a new worker. Each waits for permission to
    /// start.
    fn handle_target(&mut self, params: &Value, next: &mut VisitActions) {
        let Some(session) = text(params, "sessionId") else { return };
        let target = params.get("targetInfo").and_then(|info| text(info, "targetId"));
        // This event also comes for the page itself, which does not wait.
        let is_new = self.sessions.len() < MAX_SESSIONS
            && params.get("waitingForDebugger").and_then(Value::as_bool) == Some(true)
            && !self.sessions.contains_key(session);
        if is_new {
            self.sessions.insert(session.to_owned(), target.unwrap_or_default().to_owned());
            self.listen(session, next);
            self.send(next, Some(session), "Runtime.runIfWaitingForDebugger", &json!({}));
        }
    }

    fn listen(&mut self, session: &str, next: &mut VisitActions) -> [u64; 3] {
        let all = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
        [
            ("Network.enable", &json!({"maxPostDataSize": 0})),
            ("Page.enable", &json!({})),
            ("Target.setAutoAttach", &all),
        ]
        .map(|(method, how)| self.send(next, Some(session), method, how))
    }

    fn send(
        &mut self,
        next: &mut VisitActions,
        session: Option<&str>,
        method: &str,
        how: &Value,
    ) -> u64 {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": how});
        if let (Some(session), Some(fields)) = (session, message.as_object_mut()) {
            fields.insert("sessionId".to_owned(), session.into());
        }
        next.send.push(message);
        self.sent
    }
}

fn text<'a>(of: &'a Value, name: &str) -> Option<&'a str> {
    of.get(name)?.as_str()
}

/// A text of the browser without control characters and cut to 200 characters, for a message.
fn printable(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(200).collect()
}

//! Every JSON shape of the API. Times are RFC 3339 in UTC, sizes are bytes, keys are hex.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use wwwoffle_spool::RequestKind;

use super::held::Held;
use super::progress::Whole;
use super::queue::Priority;
pub use crate::base::mode::{Choice, Mode};

/// `GET /api/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The version of the daemon, which may differ from that of the command line.
    pub version: String,
    /// The mode in force.
    pub mode: Mode,
    /// What was chosen: the mode, or `auto`.
    #[serde(default)]
    pub chosen: Choice,
    /// What is known of the link, if `auto` is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkStatus>,
    /// Whether the way out is one of `metered-interfaces`.
    #[serde(default)]
    pub metered: bool,
    /// The daemon's process.
    pub pid: u32,
    /// The spool it holds the lock of.
    pub spool: String,
    /// The addresses it listens on, with the real ports.
    pub listen: Vec<String>,
    /// When it was started.
    pub since: Timestamp,
    /// How much is on the outgoing queue.
    pub queue: QueueCounts,
    /// What is being received now.
    pub downloads: Vec<Download>,
    /// Clients connected.
    pub connections: u64,
    /// Connections outward that the offline mode refused since the start.
    pub outward_refused: u64,
    /// Clients that did not take our certificate for a host within the last hour, by host; the
    /// first hundred.
    #[serde(default)]
    pub rejections: Vec<Rejection>,
}

/// What is known of the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// Why the mode is what it is.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// Where to log in, if a captive portal answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portal: Option<String>,
    /// When the last probe ended; absent when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<Timestamp>,
    /// Connections that were begun for probes since the start.
    pub probes: u64,
}

/// A client whose connections to a host pass unread, because it does not take our certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// The host.
    pub host: String,
    /// The address of the client.
    pub client: String,
    /// Until when.
    pub until: Timestamp,
}

/// The outgoing queue in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCounts {
    /// Requests to be fetched when the mode allows.
    pub waiting: u64,
    /// Requests given up, kept with their reason.
    pub failed: u64,
    /// Requests on their way now.
    pub active: u64,
    /// Requests that are longer than what is fetched unasked.
    #[serde(default)]
    pub asking: u64,
}

/// One body being received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Download {
    /// What it is known by while it runs.
    #[serde(default)]
    pub id: u64,
    /// What is being received.
    pub url: String,
    /// Bytes received so far.
    pub bytes: u64,
    /// Bytes announced, when the origin announced them.
    pub total: Option<u64>,
    /// Bytes in a second, over the last ten; absent while nothing can be said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// How long the rest takes at that rate; absent where that cannot be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
    /// How often it was taken up again after it broke off.
    #[serde(default)]
    pub resumed: u32,
    /// What it waits for, when it has broken off and will be taken up again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<DownloadWaiting>,
}

/// A download that has broken off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadWaiting {
    /// Since when nothing has come.
    pub since: Timestamp,
    /// When the rest is asked for next; a moment that has passed while that is under way.
    pub next: Timestamp,
    /// How many attempts in a row have brought nothing, with the next.
    pub attempts: u32,
    /// Why it broke off.
    pub error: String,
}

/// The body of `POST /api/mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeRequest {
    /// The mode wanted.
    pub mode: Choice,
}

/// The answer to `POST /api/mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeChange {
    /// What is chosen from now on.
    pub mode: Choice,
    /// What was chosen before.
    pub was: Choice,
}

/// `GET /api/queue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// All that is on the outgoing queue, oldest first.
    pub queue: Vec<QueueItem>,
}

/// One request on the outgoing queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueItem {
    /// The key of its canonical URL, 64 hex digits.
    pub key: String,
    /// The URL, without credentials.
    pub url: String,
    /// The method it will be sent with.
    pub method: String,
    /// Why it is on the queue.
    pub kind: ItemKind,
    /// The page it is a part of.
    pub page: Option<String>,
    /// When it was recorded.
    pub queued: Timestamp,
    /// Where it stands.
    pub state: ItemState,
    /// How often it was tried.
    pub attempts: u32,
    /// Not tried again before this time.
    pub not_before: Option<Timestamp>,
    /// What holds it back; absent where nothing does, and once it is given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// What the last attempt ended with.
    pub error: Option<String>,
    /// What a person has said of when it goes.
    #[serde(default, skip_serializing_if = "Priority::is_usual")]
    pub priority: Priority,
    /// The how manieth it is to go of those of the caller's that wait, from 1 on; absent where it does not
    /// wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// Whose it is, as `user:ada` or `client:192.0.2.1`; not there for this machine's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// Why a request is on the outgoing queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// A person asked for this page.
    Page,
    /// A page on the queue, or in the spool, refers to it.
    Part,
    /// It is kept, and a newer version was asked for.
    Refresh,
    /// A form that its user confirmed.
    Post,
    /// A recursive fetch goes on to it.
    Recursive,
    /// It is looked at on a schedule.
    Monitored,
}

impl From<RequestKind> for ItemKind {
    fn from(kind: RequestKind) -> Self {
        match kind {
            RequestKind::Page => Self::Page,
            RequestKind::Part => Self::Part,
            RequestKind::Refresh => Self::Refresh,
            RequestKind::Post => Self::Post,
            RequestKind::Recursive => Self::Recursive,
            RequestKind::Monitored => Self::Monitored,
        }
    }
}

/// Where a request on the outgoing queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemState {
    /// It is fetched when the mode allows.
    Waiting,
    /// It is on its way.
    Active,
    /// It was given up.
    Failed,
    /// It is longer than what is fetched unasked (`ask-above`): to try it again says that it may come.
    Asking,
}

/// The body of `POST /api/queue/retry` and `POST /api/queue/delete`: `{"key": "…"}` or
/// `{"all": true}`, never both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "QueueTargetFields", into = "QueueTargetFields")]
pub enum QueueTarget {
    /// The request with this key.
    Key(String),
    /// Every request it can be done to.
    All,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueueTargetFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all: Option<bool>,
}

impl TryFrom<QueueTargetFields> for QueueTarget {
    type Error = &'static str;

    fn try_from(fields: QueueTargetFields) -> Result<Self, Self::Error> {
        match (fields.key, fields.all) {
            (Some(key), None | Some(false)) => Ok(Self::Key(key)),
            (None, Some(true)) => Ok(Self::All),
            _ => Err("expected either a \"key\" or \"all\": true"),
        }
    }
}

impl From<QueueTarget> for QueueTargetFields {
    fn from(target: QueueTarget) -> Self {
        match target {
            QueueTarget::Key(key) => Self { key: Some(key), all: None },
            QueueTarget::All => Self { key: None, all: Some(true) },
        }
    }
}

/// The answer to `POST /api/queue/retry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retried {
    /// How many requests wait again.
    pub retried: u64,
}

/// The answer to `POST /api/queue/delete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deleted {
    /// How many requests are no longer on the queue.
    pub deleted: u64,
}

/// The body of `POST /api/get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetRequest {
    /// What to get into the spool.
    pub urls: Vec<String>,
    /// Whether to get it even when the spool has it.
    #[serde(default)]
    pub refresh: bool,
}

/// The body of `POST /api/fetch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchRequest {
    /// Whether to answer with events until the queue is worked off, or at once with [`Started`].
    #[serde(default)]
    pub wait: bool,
    /// How many bytes may come this time, in place of what the configuration says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
}

/// The answer to `POST /api/fetch` that does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// How many requests are being fetched or will be.
    pub started: u64,
}

/// One line of the answer to `POST /api/get` and `POST /api/fetch`.
///
/// The last line is [`Event::End`]; a stream without it was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// The request is on its way.
    Start {
        /// What is fetched.
        url: String,
    },
    /// More of the body has come.
    Progress {
        /// What is fetched.
        url: String,
        /// Bytes received so far.
        bytes: u64,
        /// Bytes announced.
        #[serde(default)]
        total: Option<u64>,
        /// Bytes in a second, of late.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate: Option<u64>,
        /// How long the rest takes at that rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seconds_left: Option<u64>,
    },
    /// How far all of it has come together.
    Whole(Whole),
    /// It is in the spool.
    Done {
        /// What was fetched.
        url: String,
        /// The status the origin answered with.
        status: u16,
        /// The length of the body.
        bytes: u64,
    },
    /// It was given up.
    Failed {
        /// What was not fetched.
        url: String,
        /// The status, when the origin answered at all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Why.
        error: String,
    },
    /// It is fetched, but could not be opened in a browser.
    Browser {
        /// What is fetched.
        url: String,
        /// Why it could not.
        error: String,
    },
    /// It failed in a way that may pass, and is tried again.
    Retry {
        /// What is fetched.
        url: String,
        /// Why it failed.
        error: String,
        /// When it is tried again.
        next: Timestamp,
    },
    /// It is on the outgoing queue until the mode allows.
    Queued {
        /// What will be fetched.
        url: String,
    },
    /// Some of it is held back, and not waited for.
    Held {
        /// What holds it back.
        held: Held,
        /// How many requests.
        count: u64,
    },
    /// The origin answered with a redirect, which is followed.
    Redirect {
        /// What was asked for.
        url: String,
        /// The status of the redirect.
        status: u16,
        /// Where it leads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        location: Option<String>,
    },
    /// How far a fetch that follows links has come, or what it came to.
    Run {
        /// The fetch.
        run: Box<super::runs::RunItem>,
    },
    /// All is settled.
    End {
        /// How many are in the spool now.
        fetched: u64,
        /// How many were given up.
        failed: u64,
        /// How many wait on the queue.
        waiting: u64,
    },
    /// An event of a newer daemon.
    #[serde(other)]
    Unknown,
}

/// One line of `GET /api/entries`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryItem {
    /// The URL, without credentials.
    pub url: String,
    /// The key it is kept under, 64 hex digits.
    pub key: String,
    /// The status the origin answered with; `None` for a request on the queue.
    pub status: Option<u16>,
    /// The `Content-Type` as stored.
    #[serde(rename = "type")]
    pub content_type: Option<String>,
    /// The length of the stored body.
    pub bytes: u64,
    /// When it was stored.
    pub stored: Timestamp,
    /// For whom it is kept, as `local`, `user:ada` or `client:192.0.2.1`; not there for everyone's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What holds a request on the queue back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
}

/// The body of `POST /api/entries/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntriesToDelete {
    /// What to remove from the spool: the caller's own answers and everyone's.
    pub urls: Vec<String>,
    /// Whose answers to remove in place of the caller's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The answer to `POST /api/entries/delete`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedUrls {
    /// What was removed.
    pub deleted: Vec<String>,
    /// What the spool did not have.
    pub missing: Vec<String>,
}

/// The answer to `POST /api/flush`: all that was kept by then can be read from the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flushed {
    /// Always true.
    pub flushed: bool,
}

/// The answer to `POST /api/stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopping {
    /// Always true.
    pub stopping: bool,
}

/// The body of every 4xx and 5xx answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// What is wrong, for a person.
    pub error: String,
}

#[cfg(test)]
mod tests;

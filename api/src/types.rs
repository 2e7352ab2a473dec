//! The common JSON types of the API. Times are RFC 3339 in UTC, sizes are bytes, keys are hex.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use wwwoffle_spool::{Place, Priority, RequestKind};

use super::hold::Hold;
use crate::{Mode, ModeSetting};

/// The response to `GET /api/status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The version of the daemon, which may differ from that of the command line.
    pub version: String,
    /// The mode in force.
    pub mode: Mode,
    /// The chosen mode, which may be `auto`.
    #[serde(default)]
    pub chosen: ModeSetting,
    /// The state of the link, if `auto` is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkStatus>,
    /// Whether the outward interface is one of `metered-interfaces`.
    #[serde(default)]
    pub metered: bool,
    /// The work in progress, and the last changes of the mode.
    #[serde(flatten)]
    pub activity: DaemonActivity,
    /// The process of the daemon.
    #[serde(flatten)]
    pub process: DaemonProcess,
    /// The counts of the queue.
    pub queue: QueueCounts,
    /// The downloads in progress.
    pub downloads: Vec<DownloadItem>,
    /// The number of connected clients.
    pub connections: u64,
    /// Trouble with outgoing connections.
    #[serde(flatten)]
    pub outgoing: OutgoingTrouble,
    /// Clients that rejected our certificate for a host within the last hour, by host; the first
    /// hundred.
    #[serde(default)]
    pub rejections: Vec<RejectionItem>,
}

/// Outgoing connections that are not made, and parent proxies that do not work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingTrouble {
    /// The number of outward connections refused in offline mode since the start.
    pub outward_refused: u64,
    /// The parent proxies that failed and are avoided.
    #[serde(default)]
    pub failing_parents: Vec<FailingParentItem>,
}

/// A parent proxy that failed, and is tried only after the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingParentItem {
    /// The parent: host and port.
    pub parent: String,
    /// The reason.
    pub reason: String,
    /// When it failed first.
    pub since: Timestamp,
    /// When it is tried again in its place.
    pub until: Timestamp,
}

/// The work of the daemon, and the last changes of its mode.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonActivity {
    /// When the mode last became online or autodial; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_online: Option<Timestamp>,
    /// When the mode last became offline; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_offline: Option<Timestamp>,
    /// The number of recursive fetches in progress.
    #[serde(default)]
    pub runs: u64,
    /// The number of entries that a running purge has examined; absent if no purge is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purge: Option<u64>,
    /// The archive tier; absent if this node belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierStatus>,
}

/// The state of the archive tier, as this node sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TierStatus {
    /// The name of this node.
    pub node: String,
    /// Whether this node adds its entries.
    pub writes: bool,
    /// Whether there is a connection to the catalogue.
    pub connected: bool,
    /// The reason why an engine is not used now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The number of URLs whose entries wait to be added.
    pub backlog: u64,
    /// The time since which one of them waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Whether the entries of the spool are being compared with the catalogue.
    pub scanning: bool,
    /// The number of entries added since the start.
    pub pushed: u64,
    /// The number of entries that were not added because they are damaged or invalid.
    pub skipped: u64,
    /// The number of entries read from the tier since the start.
    pub pulled: u64,
    /// The number of queued requests that other nodes may fetch now.
    #[serde(default)]
    pub given: u64,
    /// The number of requests of other nodes that this node fetches now.
    #[serde(default)]
    pub taken: u64,
}

/// The process of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonProcess {
    /// The process ID of the daemon.
    pub pid: u32,
    /// The spool that the daemon has locked.
    pub spool: String,
    /// Whether the spool is on a read-only file system, so that nothing is stored.
    #[serde(default)]
    pub read_only: bool,
    /// The addresses that the daemon listens on, with the actual ports.
    pub listen: Vec<String>,
    /// When the daemon was started.
    pub since: Timestamp,
    /// The configured programs that do not exist or may not be executed, so that the documents of
    /// their types are not searchable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_programs: Vec<String>,
}

/// The state of the link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// The reason of the current mode.
    pub reason: String,
    /// When the link entered this state.
    pub since: Timestamp,
    /// The login page, if a captive portal was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portal: Option<String>,
    /// When the last probe ended; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probed: Option<Timestamp>,
    /// The number of probe connections since the start.
    pub probes: u64,
}

/// A client whose connections to a host are not intercepted, because it rejected our certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectionItem {
    /// The host.
    pub host: String,
    /// The address of the client.
    pub client: String,
    /// When the connections of the client to the host are intercepted again.
    pub until: Timestamp,
}

/// The counts of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCounts {
    /// The number of requests that will be fetched when the mode allows.
    pub waiting: u64,
    /// The number of requests that failed permanently. They stay in the queue with their reason.
    pub failed: u64,
    /// The number of requests that are being fetched.
    pub active: u64,
    /// The number of requests whose response is larger than `ask-above`, which need the user's
    /// consent.
    #[serde(default)]
    pub asking: u64,
}

/// A download in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadItem {
    /// The identifier of the download while it is in progress.
    #[serde(default)]
    pub id: u64,
    /// The URL.
    pub url: String,
    /// Bytes received so far.
    pub bytes: u64,
    /// The length announced by the origin, in bytes; `None` if it did not announce one.
    pub total: Option<u64>,
    /// Bytes per second over the last ten seconds; absent while unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// The estimated time for the rest, in seconds; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
    /// How often the download was resumed after an interruption.
    #[serde(default)]
    pub resumed: u32,
    /// The next attempt, if the download was interrupted and will be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<DownloadWaiting>,
}

/// An interrupted download.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadWaiting {
    /// When the last bytes were received.
    pub since: Timestamp,
    /// When the rest is requested next; in the past during an attempt.
    pub next: Timestamp,
    /// The number of consecutive attempts without progress, including the next.
    pub attempts: u32,
    /// Why the download was interrupted.
    pub error: String,
}

/// The body of `POST /api/mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeRequest {
    /// The mode to set.
    pub mode: ModeSetting,
}

/// The response to `POST /api/mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModeChange {
    /// The new choice.
    pub mode: ModeSetting,
    /// The previous choice.
    pub was: ModeSetting,
}

/// The response to `GET /api/queue`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// All requests in the queue, oldest first.
    pub queue: Vec<QueueItem>,
}

/// A request in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueItem {
    /// The key of the canonical URL, 64 hex digits.
    pub key: String,
    /// The URL, without credentials.
    pub url: String,
    /// The method of the request.
    pub method: String,
    /// Why the request is in the queue.
    pub kind: RequestKind,
    /// The page to which the request belongs, such as the page that uses a sub-resource; `None` if
    /// there is no such page.
    pub page: Option<String>,
    /// When the request was recorded.
    pub queued: Timestamp,
    /// The state of the request.
    pub state: ItemState,
    /// The attempts to fetch the request.
    #[serde(flatten)]
    pub attempts: FetchAttempts,
    /// The priority set by the user.
    #[serde(default, skip_serializing_if = "Priority::is_usual")]
    pub priority: Priority,
    /// The position of the request among the waiting requests of the caller, counted from 1; absent
    /// if the request is not waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The owner, as `user:ada` or `client:192.0.2.1`; absent for this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The attempts to fetch a queued request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchAttempts {
    /// Their number.
    #[serde(rename = "attempts")]
    pub count: u32,
    /// The earliest time of the next attempt; `None` if it need not wait.
    pub not_before: Option<Timestamp>,
    /// The reason that holds the request back. Absent if the request is not held back, or has
    /// failed permanently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Hold>,
    /// The error of the last attempt, if it failed.
    pub error: Option<String>,
}

/// The state of a request in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemState {
    /// The request will be sent when the mode allows.
    Waiting,
    /// The request is being sent.
    Active,
    /// The request failed permanently.
    Failed,
    /// The response is larger than `ask-above`. Retrying counts as the user's consent.
    Asking,
}

/// The body of `POST /api/queue/retry` and `POST /api/queue/delete`: `{"key": "…"}` or
/// `{"all": true}`, never both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "QueueTargetFields", into = "QueueTargetFields")]
pub enum QueueTarget {
    /// The request with this key.
    Key(String),
    /// Every request to which the call applies.
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

/// The response to `POST /api/queue/retry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryResponse {
    /// The number of requests that wait again.
    pub retried: u64,
}

/// The response to `POST /api/queue/delete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteResponse {
    /// The number of requests removed from the queue.
    pub deleted: u64,
}

/// The body of `POST /api/get`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetRequest {
    /// The URLs to store.
    pub urls: Vec<String>,
    /// Whether stored copies are fetched again.
    #[serde(default)]
    pub refresh: bool,
    /// The form to send to each URL, once, in place of a request for a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<FormToSend>,
}

/// A form, or a file to upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormToSend {
    /// The method.
    pub method: FormMethod,
    /// The media type of the body.
    #[serde(rename = "type")]
    pub content_type: String,
    /// The body in base64.
    pub body: String,
}

/// The method of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum FormMethod {
    /// Sends data to a program.
    Post,
    /// Stores the body at the URL.
    Put,
}

/// The body of `POST /api/fetch`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchRequest {
    /// Whether the response consists of events until the queue is fetched. Otherwise it is
    /// [`FetchResponse`], sent at once.
    #[serde(default)]
    pub wait: bool,
    /// The budget of this fetch in bytes; the configured budget if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
}

/// The response to a `POST /api/fetch` that does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchResponse {
    /// The number of requests that are being fetched or will be.
    pub started: u64,
}

/// The person to whom an entry belongs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryOwner {
    /// The owner, as `local`, `user:ada` or `client:192.0.2.1`; absent for public entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The user name of the site's login with which the entry was stored, as a URL has it; absent
    /// for an entry without a login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
}

impl From<&Place> for EntryOwner {
    fn from(place: &Place) -> Self {
        let [owner, login] = [place.owner(), place.login()].map(|text| text.map(str::to_owned));
        Self { owner, login }
    }
}

/// A line of the response to `GET /api/entries`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryItem {
    /// The URL, without credentials.
    pub url: String,
    /// The key of the URL in the spool, 64 hex digits.
    pub key: String,
    /// The status of the response. For a queued request that has failed, the status of the failure;
    /// `None` if there was no response.
    pub status: Option<u16>,
    /// The `Content-Type` as stored.
    #[serde(rename = "type")]
    pub content_type: Option<String>,
    /// The length of the stored body in bytes; 0 for a queued request.
    pub bytes: u64,
    /// When the entry was stored, or the request was queued.
    pub stored: Timestamp,
    /// The owner and the login.
    #[serde(flatten)]
    pub whose: EntryOwner,
    /// The reason that holds back a queued request; absent if it is not held back, or for an entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Hold>,
}

/// The body of `POST /api/entries/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntriesToDelete {
    /// The URLs whose entries are deleted: the caller's own and the public ones.
    pub urls: Vec<String>,
    /// The owner whose entries are deleted; the caller's own entries if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// The response to `POST /api/entries/delete`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedUrls {
    /// The deleted URLs.
    pub deleted: Vec<String>,
    /// The URLs without an entry.
    pub missing: Vec<String>,
}

/// The response to `POST /api/flush`. Every entry stored before the call can now be read from the
/// files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlushResponse {
    /// Always true.
    pub flushed: bool,
}

/// The response to `POST /api/stop`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopResponse {
    /// Always true.
    pub stopping: bool,
}

/// The body of every 4xx and 5xx response.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiError {
    /// The message for the user.
    pub error: String,
}

#[cfg(test)]
mod tests;

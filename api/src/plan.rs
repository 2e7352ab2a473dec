//! The expected result of a fetch: measured for stored responses, estimated for others.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::runs::{FailedUrl, FetchSpec, LeftOut, LeftOutLinks};
use wwwoffle_spool::RequestKind;

/// A number of responses and their total length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// The number of responses.
    pub count: u64,
    /// The bytes of the response bodies, as transferred.
    pub bytes: u64,
}

impl Amount {
    /// Adds `count` responses with `bytes` in all.
    pub fn add(&mut self, count: u64, bytes: u64) {
        self.count = self.count.saturating_add(count);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The expected transfers for some requests. A measured amount is known from stored responses; an
/// estimated one is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedTransfers {
    /// Responses that are stored and fresh. Measured; nothing is transferred.
    pub fresh: Amount,
    /// Responses that are stored and will be revalidated. Measured: the bytes transferred if all
    /// have changed.
    pub again: Amount,
    /// Responses of which a part is stored. Measured: the missing bytes.
    pub rest: Amount,
    /// Responses that are not stored. Estimated.
    pub new: Amount,
}

impl ExpectedTransfers {
    /// The maximum number of requests that are sent.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.again.count.saturating_add(self.rest.count).saturating_add(self.new.count)
    }

    /// The maximum number of bytes that are transferred, not counting estimated ones.
    #[must_use]
    pub fn measured(&self) -> u64 {
        self.again.bytes.saturating_add(self.rest.bytes)
    }

    /// The sum of `self` and `other`.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        for (mine, theirs) in [
            (&mut self.fresh, other.fresh),
            (&mut self.again, other.again),
            (&mut self.rest, other.rest),
            (&mut self.new, other.new),
        ] {
            mine.add(theirs.count, theirs.bytes);
        }
        self
    }
}

/// The number of responses whose length was estimated, by method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EstimateBasis {
    /// The number estimated by the mean of stored responses of the same class and host.
    pub host: u64,
    /// The number estimated by the mean of stored responses of the same class on other hosts.
    pub class: u64,
    /// The number estimated by a default length.
    pub default: u64,
}

impl EstimateBasis {
    /// Adds the counts of another basis.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.host, other.host),
            (&mut self.class, other.class),
            (&mut self.default, other.default),
        ] {
            *mine = mine.saturating_add(theirs);
        }
    }
}

/// The body of `POST /api/runs/plan`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunPlanRequest {
    /// The start pages.
    pub urls: Vec<String>,
    /// The extent of each fetch.
    #[serde(default, rename = "aim")]
    pub spec: FetchSpec,
}

/// The response to `POST /api/runs/plan`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlans {
    /// The plans, in the order of the URLs.
    pub plans: Vec<RunPlan>,
}

/// The expected result of a recursive fetch, as far as stored pages show it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The start page.
    pub start: String,
    /// Whether the start page is stored. If it is not, only the start page itself is known.
    pub start_kept: bool,
    /// The expected transfers of pages.
    pub pages: ExpectedTransfers,
    /// The expected transfers of sub-resources.
    pub parts: ExpectedTransfers,
    /// The basis for the estimated lengths.
    pub basis: EstimateBasis,
    /// The number of pages and sub-resources that are not stored and may refer to unknown URLs.
    pub unread: u64,
    /// The number of hosts whose `robots.txt` applies but is not stored; the plan assumes that it
    /// allows everything.
    pub robots_unknown: u64,
    /// The first thousand URLs that would fail at once.
    pub failed: Vec<FailedUrl>,
    /// The links that would be left out, by reason.
    pub left_out: BTreeMap<LeftOut, LeftOutLinks>,
    /// Whether a limit of time or memory was reached; the rest counts as new.
    pub cut: bool,
}

/// The response to `GET /api/queue/plan`: the expected result of fetching the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlan {
    /// Whether the mode allows fetching now.
    pub may_fetch: bool,
    /// The expected transfers of all waiting requests.
    pub all: ExpectedTransfers,
    /// The basis for the estimated lengths.
    pub basis: EstimateBasis,
    /// The hosts with the largest transfers, at most a hundred.
    pub hosts: Vec<HostPlan>,
    /// The number of further hosts.
    pub more_hosts: u64,
    /// The number of requests that would fail at once, because of the configuration or missing
    /// secrets.
    pub failing: u64,
    /// The number of requests that have failed and are not retried automatically.
    pub failed: u64,
    /// Large requests that wait for consent, with the lengths announced by their origins.
    pub asking: Amount,
    /// The remaining budgets.
    pub budget: PlanBudget,
    /// Whether the time limit was reached; the rest counts as new.
    pub cut: bool,
}

/// The expected result for one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPlan {
    /// The name of the host, with its port.
    pub host: String,
    /// The number of requests of each kind.
    pub kinds: BTreeMap<RequestKind, u64>,
    /// The expected transfers.
    pub expected: ExpectedTransfers,
    /// When the first request to the host may be sent; `None` if it may be sent now, or as soon as
    /// the mode allows.
    pub from: Option<Timestamp>,
    /// The minimum duration of all requests to the host, in seconds: the sum of the pauses between
    /// them.
    pub seconds: u64,
}

/// The remaining budgets of the configuration; `None` if unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanBudget {
    /// The budget for one fetch of the queue, in bytes.
    pub fetch: Option<u64>,
    /// The rest of the budget for this day, in bytes.
    pub day: Option<u64>,
    /// When the next budget begins, if that of the day is spent.
    pub until: Option<Timestamp>,
}

//! What a fetch would bring: measured where something is kept, estimated where it is not.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::runs::{Aim, Failed, Left, LeftOut};
use super::types::ItemKind;

/// So many, so long in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// How many.
    pub count: u64,
    /// The bytes of their bodies, as they come.
    pub bytes: u64,
}

impl Amount {
    /// Adds `count` of `bytes` in all.
    pub fn add(&mut self, count: u64, bytes: u64) {
        self.count = self.count.saturating_add(count);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// What comes of some requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Kept, and so good that nobody is asked. Measured; none of it comes.
    pub fresh: Amount,
    /// Kept, and asked about again. Measured: so much comes if all of it has changed.
    pub again: Amount,
    /// Kept in part. Measured: what is missing.
    pub rest: Amount,
    /// Not kept. Estimated.
    pub new: Amount,
}

impl Expected {
    /// How many requests may go out.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.again.count.saturating_add(self.rest.count).saturating_add(self.new.count)
    }

    /// At most so many bytes of what is known come.
    #[must_use]
    pub fn measured(&self) -> u64 {
        self.again.bytes.saturating_add(self.rest.bytes)
    }

    /// Both.
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

/// From what the lengths of what is not kept are estimated: how many from which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// From the mean of what of the same class is kept of the same host.
    pub host: u64,
    /// From the mean of what of the same class is kept of others.
    pub class: u64,
    /// From nothing but experience.
    pub default: u64,
}

impl Basis {
    /// Adds those of another one.
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
    /// The pages to begin at.
    pub urls: Vec<String>,
    /// What each would bring.
    #[serde(default)]
    pub aim: Aim,
}

/// The answer to `POST /api/runs/plan`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlans {
    /// In the order of the URLs.
    pub plans: Vec<RunPlan>,
}

/// What a fetch with parts and along links would bring, by what is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The page that it would begin at.
    pub start: String,
    /// Whether that page is kept; if not, nothing is known beyond it.
    pub start_kept: bool,
    /// The pages.
    pub pages: Expected,
    /// Their parts.
    pub parts: Expected,
    /// From what the lengths of the new ones are estimated.
    pub basis: Basis,
    /// Pages and parts that may lead to more, of which nothing can be known: they are not kept.
    pub unread: u64,
    /// Hosts whose `robots.txt` would be heeded and is not known here: as if they allowed all.
    pub robots_unknown: u64,
    /// What would fail at once: the first thousand.
    pub failed: Vec<Failed>,
    /// What would be left out, by reason.
    pub left_out: BTreeMap<LeftOut, Left>,
    /// Whether not everything was looked at, for want of time or memory: what was not counts as new.
    pub cut: bool,
}

/// The answer to `GET /api/queue/plan`: what the queue would bring.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuePlan {
    /// Whether the mode lets anything be fetched now.
    pub may_fetch: bool,
    /// All that waits.
    pub all: Expected,
    /// From what the lengths of the new ones are estimated.
    pub basis: Basis,
    /// By host: those that bring most, at most a hundred.
    pub hosts: Vec<HostPlan>,
    /// How many more hosts there are.
    pub more_hosts: u64,
    /// Requests that would fail at once, by the configuration or for want of their secrets.
    pub failing: u64,
    /// Requests that have failed, and are not tried again of themselves.
    pub failed: u64,
    /// Requests that wait for a person, as they are long; and what their origins have said of that.
    pub asking: Amount,
    /// What may come.
    pub budget: PlanBudget,
    /// Whether not everything was looked at, for want of time: what was not counts as new.
    pub cut: bool,
}

/// What the queue would bring from one host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPlan {
    /// Its name, with its port.
    pub host: String,
    /// How many requests of which kind.
    pub kinds: BTreeMap<ItemKind, u64>,
    /// What comes of them.
    pub expected: Expected,
    /// When the first of them may go; `None` for now, or as soon as the mode lets it.
    pub from: Option<Timestamp>,
    /// From then on it takes at least so many seconds, by the pause that is kept between requests.
    pub seconds: u64,
}

/// How much may come by the budgets of the configuration; `None` where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanBudget {
    /// In one fetch, from its beginning, in bytes.
    pub fetch: Option<u64>,
    /// What is left of the day, in bytes.
    pub day: Option<u64>,
    /// When there will be one again, if that of the day is spent.
    pub until: Option<Timestamp>,
}

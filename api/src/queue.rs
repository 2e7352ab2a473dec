//! The priority of queued requests: the JSON types of `POST /api/queue/priority`.

use serde::{Deserialize, Serialize};

use super::types::{ItemState, QueueCounts};

/// The priority that the user gave a request.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before all others.
    First,
    /// No priority was set.
    #[default]
    Usual,
    /// After all others.
    Last,
}

impl Priority {
    /// Whether no priority was set. It is then omitted from the JSON.
    #[must_use]
    pub fn is_usual(&self) -> bool {
        *self == Self::Usual
    }
}

impl From<wwwoffle_spool::Priority> for Priority {
    fn from(priority: wwwoffle_spool::Priority) -> Self {
        match priority {
            wwwoffle_spool::Priority::First => Self::First,
            wwwoffle_spool::Priority::Usual => Self::Usual,
            wwwoffle_spool::Priority::Last => Self::Last,
        }
    }
}

impl From<Priority> for wwwoffle_spool::Priority {
    fn from(priority: Priority) -> Self {
        match priority {
            Priority::First => Self::First,
            Priority::Usual => Self::Usual,
            Priority::Last => Self::Last,
        }
    }
}

impl QueueCounts {
    /// Counts a request in this state.
    pub fn add(&mut self, state: ItemState) {
        let count = match state {
            ItemState::Waiting => &mut self.waiting,
            ItemState::Active => &mut self.active,
            ItemState::Failed => &mut self.failed,
            ItemState::Asking => &mut self.asking,
        };
        *count = count.saturating_add(1);
    }
}

/// The body of `POST /api/queue/priority`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityRequest {
    /// The new priority.
    pub priority: Priority,
    /// The keys of requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// The URLs of requests. All requests of the caller for these URLs are meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
}

/// The response to `POST /api/queue/priority`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prioritized {
    /// The number of requests that now have this priority.
    pub prioritized: u64,
    /// The URLs without a queued request.
    pub missing: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_are_as_scripts_know_them() {
        let text = r#"{"priority":"first","urls":["http://a/"]}"#;
        let urls = vec!["http://a/".to_owned()];
        let request = PriorityRequest { priority: Priority::First, keys: Vec::new(), urls };
        assert_eq!(serde_json::to_string(&request).unwrap(), text);
        assert_eq!(serde_json::from_str::<PriorityRequest>(text).unwrap(), request);
        let text = r#"{"prioritized":2,"missing":["http://b/"]}"#;
        let answer = Prioritized { prioritized: 2, missing: vec!["http://b/".to_owned()] };
        assert_eq!(serde_json::to_string(&answer).unwrap(), text);
        assert_eq!(serde_json::from_str::<Prioritized>(text).unwrap(), answer);
        for bad in [r#"{"keys":[]}"#, r#"{"priority":"soon"}"#, r#"{"priority":"last","all":true}"#]
        {
            assert!(serde_json::from_str::<PriorityRequest>(bad).is_err(), "{bad}");
        }
        for one in wwwoffle_spool::Priority::ALL {
            assert_eq!(serde_json::to_string(&Priority::from(one)).unwrap(), format!("\"{one}\""));
            assert_eq!(wwwoffle_spool::Priority::from(Priority::from(one)), one);
        }
    }
}

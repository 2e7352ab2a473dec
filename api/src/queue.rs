//! The priority of queued requests: the JSON types of `POST /api/queue/priority`.

use serde::{Deserialize, Serialize};
use wwwoffle_spool::Priority;

use super::types::{ItemState, QueueCounts};

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
    /// The keys of the requests.
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
    fn the_json_shapes_are_stable() {
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
        for one in Priority::ALL {
            assert_eq!(serde_json::to_string(&one).unwrap(), format!("\"{one}\""));
        }
    }
}

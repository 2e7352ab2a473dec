//! Counting the queued requests of each client and user, so that none of them can fill the queue.

use std::collections::HashMap;

use super::outgoing::RequestKind;
use super::{MAX_QUEUE, RESERVED};

/// Counts of requests by a name: that of their owner, or the URL of their page.
#[derive(Debug, Default)]
pub(super) struct NameCounts(HashMap<String, usize>);

impl NameCounts {
    pub(super) fn of(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, name: Option<String>) {
        if let Some(name) = name {
            *self.0.entry(name).or_default() += 1;
        }
    }

    pub(super) fn remove(&mut self, name: Option<&str>) {
        let Some(name) = name else { return };
        if let Some(count) = self.0.get_mut(name) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.0.remove(name);
            }
        }
    }
}

/// Returns the number of requests at which the queue is full for a request of `owner`. One machine
/// may have many addresses, each with its own share. So requests of clients without a login leave
/// room for the requests and the runs of this machine and of users.
pub(super) fn largest_queue(owner: Option<&str>, kind: RequestKind) -> usize {
    match kind {
        _ if owner.is_some_and(|owner| owner.starts_with("client:")) => MAX_QUEUE - 2 * RESERVED,
        RequestKind::Recursive | RequestKind::Monitored => MAX_QUEUE - RESERVED,
        _ => MAX_QUEUE,
    }
}

#[cfg(test)]
mod tests {
    use super::{NameCounts, largest_queue};
    use crate::entry::place::share_name;
    use crate::queue::outgoing::RequestKind::{Monitored, Page, Recursive};

    #[test]
    fn addresses_of_one_machine_share_a_limit() {
        let mut shares = NameCounts::default();
        for owner in
            ["client:2001:db8::1", "client:2001:db8::2", "client:192.0.2.1", "user:client:::1"]
        {
            shares.add(Some(share_name(owner)));
        }
        for (owner, count) in [
            ("client:2001:db8::3", 2),
            ("client:2001:db8:0:1::1", 0),
            ("client:192.0.2.1", 1),
            ("client:192.0.2.2", 0),
            ("user:client:::1", 1),
            ("user:client:::2", 0),
        ] {
            assert_eq!(shares.of(&share_name(owner)), count, "{owner}");
        }
        shares.remove(Some(&share_name("client:2001:db8::1")));
        assert_eq!(shares.of(&share_name("client:2001:db8::1")), 1);
        shares.remove(Some(&share_name("client:2001:db8::2")));
        assert_eq!(shares.0.len(), 2, "a count of zero is removed");
    }

    #[test]
    fn guests_leave_queue_space_for_local_users() {
        for (owner, kind, want) in [
            (None, Page, 120_000),
            (Some("user:ada"), Page, 120_000),
            (Some("user:client:192.0.2.1"), Page, 120_000),
            (None, Recursive, 100_000),
            (Some("user:ada"), Monitored, 100_000),
            (Some("client:192.0.2.1"), Page, 80_000),
            (Some("client:2001:db8::1"), Recursive, 80_000),
        ] {
            assert_eq!(largest_queue(owner, kind), want, "{owner:?} {kind:?}");
        }
    }
}

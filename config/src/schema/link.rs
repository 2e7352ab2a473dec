//! How it is found out whether there is a link.

use crate::values::links::{ExpectedStatus, Interfaces, Phrase, ProbeUrl};
use std::{num::NonZeroUsize, time::Duration};

section! {
    /// Whether there is a link, as the mode auto finds it out.
    "link" => Link {
        /// What is asked for to find out whether the link works; "" asks nobody for that, and goes by what the kernel says and by the hosts that are asked anyway. It should be a small page that never redirects; with http, captive portals can be told.
        "probe-url" => probe_url: ProbeUrl = r#""""#, Live, Ordinary;
        /// The status with which a good probe is answered.
        "probe-status" => probe_status: ExpectedStatus = r#""2xx""#, Live, Ordinary;
        /// What the answer to a good probe has in its first 64 KiB; "" is anything.
        "probe-body" => probe_body: Phrase = r#""""#, Live, Ordinary;
        /// How often is probed while online. Offline it begins more often, and each wait is twice as long as the one before.
        "probe-interval" => probe_interval: Duration = r#""2m""#, Live, Ordinary;
        /// The longest wait between two probes while offline.
        "probe-longest-interval" => probe_longest_interval: Duration = r#""10m""#, Live, Ordinary;
        /// How long a probe may take.
        "probe-timeout" => probe_timeout: Duration = r#""10s""#, Live, Ordinary;
        /// How many hosts have to fail, with none answering between them, before the link is in doubt: then a probe decides.
        "failing-hosts" => failing_hosts: NonZeroUsize = "3", Live, Ordinary;
        /// Within which time they have to fail.
        "failing-within" => failing_within: Duration = r#""2m""#, Live, Ordinary;
        /// Whether the kernel is listened to: which interfaces have a carrier, and where the default route leads.
        "watch-kernel" => watch_kernel: bool = "true", Live, Ordinary;
        /// How long what the kernel says has to hold before it counts.
        "settle" => settle: Duration = r#""2s""#, Live, Ordinary;
        /// The interfaces on which each byte costs: while the default route leads out by one of them, the link counts as metered, and the budgets of such links hold.
        "metered-interfaces" => metered_interfaces: Interfaces = "[]", Live, Ordinary;
    }
}

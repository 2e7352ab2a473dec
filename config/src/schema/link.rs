//! How the daemon detects whether the link works.

use crate::values::links::{ExpectedStatus, ExpectedText, Interfaces, ProbeUrl};
use std::{num::NonZeroUsize, time::Duration};

section! {
    /// How the mode auto detects whether the link works.
    "link" => Link {
        /// The URL that is requested to find out whether the link works. With "" no URL is requested, and the mode relies on the kernel and on the requests that are sent anyway. Choose a small page that never redirects; with http, captive portals can be detected.
        "probe-url" => probe_url: ProbeUrl = r#""""#, Live, Ordinary;
        /// The status of a good response to a probe.
        "probe-status" => probe_status: ExpectedStatus = r#""2xx""#, Live, Ordinary;
        /// Text that the first 64 KiB of a good response to a probe contain; "" accepts any body.
        "probe-body" => probe_body: ExpectedText = r#""""#, Live, Ordinary;
        /// The time between two probes while online. Offline, probes begin at shorter intervals, and each interval is twice as long as the one before.
        "probe-interval" => probe_interval: Duration = r#""2m""#, Live, Ordinary;
        /// The longest interval between two probes while offline.
        "probe-longest-interval" => probe_longest_interval: Duration = r#""10m""#, Live, Ordinary;
        /// How long a probe may take.
        "probe-timeout" => probe_timeout: Duration = r#""10s""#, Live, Ordinary;
        /// How many hosts must fail, with no host answering in between, before a probe checks the link.
        "failing-hosts" => failing_hosts: NonZeroUsize = "3", Live, Ordinary;
        /// The time within which `failing-hosts` hosts must fail.
        "failing-within" => failing_within: Duration = r#""2m""#, Live, Ordinary;
        /// Whether the daemon listens to the kernel: which interfaces have a carrier, and where the default route leads.
        "watch-kernel" => watch_kernel: bool = "true", Live, Ordinary;
        /// How long a change reported by the kernel must last before it counts.
        "settle" => settle: Duration = r#""2s""#, Live, Ordinary;
        /// The interfaces that are charged by volume. While the default route uses one of them, the link counts as metered, and the budgets for metered links apply.
        "metered-interfaces" => metered_interfaces: Interfaces = "[]", Live, Ordinary;
    }
}

//! What Chromium and its kin are told so that they use this proxy, and trust it, and nothing else
//! changes.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;

const DISABLED_FEATURES: [&str; 5] = [
    // A page asked for by http is another page to us than the one by https.
    "HttpsUpgrades",
    // These ask servers of the vendor.
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "Translate",
    // This looks for devices in the local network.
    "MediaRouter",
];

/// Without these the browser asks servers of its vendor at each start. Port 1 is one that browsers
/// never connect to (WHATWG Fetch, "port blocking").
const QUIET: [&str; 11] = [
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--component-updater=url-source=http://127.0.0.1:1/",
    "--apps-gallery-update-url=http://127.0.0.1:1/",
    "--gaia-url=http://127.0.0.1:1/",
];

/// The arguments for a browser with a `profile` of its own that asks `proxy` for everything, and takes
/// certificates of the authority whose public key has the SHA-256 `key`, in base64.
#[must_use]
pub fn arguments(proxy: SocketAddr, profile: &Path, key: &str) -> Vec<OsString> {
    let mut directory = OsString::from("--user-data-dir=");
    directory.push(profile);
    vec![
        directory,
        format!("--proxy-server=http://{proxy}").into(),
        // Without this the sites of this machine go past the proxy.
        "--proxy-bypass-list=<-loopback>".into(),
        // Every chain that has a certificate with this key is taken: ours are sent with that of
        // the authority, so its key is enough. Chromium wants a profile of its own for it.
        format!("--ignore-certificate-errors-spki-list={key}").into(),
        // QUIC goes round every proxy.
        "--disable-quic".into(),
        format!("--disable-features={}", DISABLED_FEATURES.join(",")).into(),
    ]
    .into_iter()
    .chain(QUIET.map(OsString::from))
    .collect()
}

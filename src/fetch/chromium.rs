//! The arguments with which Chromium and its relatives use and trust this proxy, and contact no
//! servers on their own.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;

const DISABLED_FEATURES: [&str; 5] = [
    // A page requested by http is a different page from one requested by https.
    "HttpsUpgrades",
    // These features contact servers of the vendor.
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "Translate",
    // This feature searches the local network for devices.
    "MediaRouter",
];

/// Arguments that keep the browser from contacting servers of its vendor at each start. The
/// addresses with port 1 disable such requests, because browsers never connect to that port (WHATWG
/// Fetch, "port blocking").
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

/// The arguments for a browser with its own `profile` that sends all requests to `proxy` and
/// accepts certificates of the authority whose public key has the SHA-256 `key`, in base64.
#[must_use]
pub fn arguments(proxy: SocketAddr, profile: &Path, key: &str) -> Vec<OsString> {
    let mut directory = OsString::from("--user-data-dir=");
    directory.push(profile);
    vec![
        directory,
        format!("--proxy-server=http://{proxy}").into(),
        // Without this argument, requests to this machine bypass the proxy.
        "--proxy-bypass-list=<-loopback>".into(),
        // Accepts every chain that contains a certificate with this key. Our chains contain the
        // authority, so the key of the authority is enough. Chromium requires a separate profile
        // for this argument.
        format!("--ignore-certificate-errors-spki-list={key}").into(),
        // QUIC bypasses every proxy.
        "--disable-quic".into(),
        format!("--disable-features={}", DISABLED_FEATURES.join(",")).into(),
    ]
    .into_iter()
    .chain(QUIET.map(OsString::from))
    .collect()
}

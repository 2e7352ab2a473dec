//! What Chromium and its kin are told so that they use this proxy, and trust it, and nothing else
//! changes.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;

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
        // A page asked for by http is another page to us than the one by https.
        "--disable-features=HttpsUpgrades".into(),
        "--no-first-run".into(),
        "--no-default-browser-check".into(),
    ]
}

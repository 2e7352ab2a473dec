//! The policies of browsers, which apply to all users of the machine.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::change::MachineChange;
use super::disk;
use super::file::{FileChange, FileReaders};
use super::keyed::{KeyedChange, Notation};
use super::plan::{Machine, PlanItem, PlanStep, Stage};
use super::proxies::ProxyTrust;
use crate::base::small_file;

/// The directories of which one exists if Firefox is installed, below the root.
const FIREFOX: [&str; 6] = [
    "usr/lib/firefox",
    "usr/lib/firefox-esr",
    "usr/lib64/firefox",
    "opt/firefox",
    "snap/firefox",
    "etc/firefox",
];

/// Browsers with the policies of Chromium: the name, the directory of the policies below the root,
/// and the directories of which one exists if the browser is installed.
const CHROMIUM: [(&str, &str, &[&str]); 4] = [
    (
        "Chromium",
        "etc/chromium/policies/managed",
        &[
            "usr/lib/chromium",
            "usr/lib/chromium-browser",
            "usr/lib64/chromium-browser",
            "snap/chromium",
            "etc/chromium",
        ],
    ),
    ("Chrome", "etc/opt/chrome/policies/managed", &["opt/google/chrome", "etc/opt/chrome"]),
    ("Brave", "etc/brave/policies/managed", &["opt/brave.com/brave", "snap/brave", "etc/brave"]),
    ("Edge", "etc/opt/edge/policies/managed", &["opt/microsoft/msedge", "etc/opt/edge"]),
];

/// The name of our file among the policies of Chromium.
const OUR_POLICIES: &str = "wwwoffle.json";

/// The policies of Chromium that another file must not set.
const OUR_KEYS: [&str; 6] = [
    "ProxySettings",
    "ProxyMode",
    "ProxyServer",
    "ProxyPacUrl",
    "ProxyBypassList",
    "CACertificates",
];

/// Plans the policies of the installed browsers.
pub(super) fn plan(
    machine: &Machine<'_>,
    proxy: SocketAddr,
    trust: &ProxyTrust<'_>,
    certificate: Option<&str>,
) -> Vec<PlanItem> {
    if machine.is_user {
        return Vec::new();
    }
    let exists = |path: &str| small_file::is_directory(&machine.root.join(path));
    let mut items = Vec::new();
    if FIREFOX.iter().any(|path| exists(path)) {
        items.push(PlanItem::of(
            Stage::Proxies,
            "policies of Firefox",
            firefox(&machine.root, proxy, trust, certificate.is_some()).map(MachineChange::Keyed),
        ));
    }
    for (name, directory, signs) in CHROMIUM {
        if signs.iter().any(|path| exists(path)) {
            let planned = chromium(&machine.root.join(directory), proxy, certificate);
            let what = format!("policies of {name}");
            items.push(PlanItem::of(Stage::Proxies, &what, planned.map(MachineChange::File)));
        }
    }
    if items.is_empty() {
        let why = "none is installed here: install one, then run setup again".to_owned();
        items.push(PlanItem::proxies(PlanStep::ByHand { what: "browsers".to_owned(), why }));
    }
    items
}

/// Plans the policies of Firefox, which are in one file for all programs that set some. HTTPS goes to the
/// proxy only if they make Firefox trust the authority.
fn firefox(
    root: &Path,
    proxy: SocketAddr,
    trust: &ProxyTrust<'_>,
    installs: bool,
) -> Result<KeyedChange, String> {
    let path = root.join("etc/firefox/policies/policies.json");
    // Firefox reads only one file: ours would switch these policies off.
    let mut shipped = FIREFOX.iter().map(|one| root.join(one).join("distribution/policies.json"));
    let shipped = shipped.find(|path| rustix::fs::stat(path).is_ok());
    if let Some(shipped) = shipped
        && rustix::fs::stat(&path).is_err()
    {
        return Err(format!(
            "the policies in {} would not apply any more: add the proxy to them",
            shipped.display()
        ));
    }
    let mut installed = installed(&path)?;
    let file = trust.file().map(|file| {
        let file = Path::new("/").join(file.strip_prefix(root).unwrap_or(&file));
        Value::from(file.to_string_lossy())
    });
    let new = file.clone().filter(|file| installs && !installed.contains(file));
    installed.extend(new);
    let is_trusting = file.as_ref().is_some_and(|file| installed.contains(file));
    let mut values: Vec<(&[&str], String)> = vec![(
        &["policies", "Proxy"],
        json!({
            "Mode": "manual",
            "HTTPProxy": proxy.to_string(),
            "UseHTTPProxyForAllProtocols": is_trusting,
        })
        .to_string(),
    )];
    if is_trusting {
        values.push((&["policies", "Certificates", "Install"], Value::from(installed).to_string()));
    }
    KeyedChange::plan(&path, Notation::Json, "", &values, FileReaders::Everyone)
}

/// Returns the certificates that the policies of Firefox install. A fault of the text is found later.
fn installed(path: &Path) -> Result<Vec<Value>, String> {
    let found = disk::read(path)?;
    let policies = found.and_then(|file| serde_json::from_slice::<Value>(&file.content.0).ok());
    match policies.as_ref().and_then(|all| all.pointer("/policies/Certificates/Install")) {
        None => Ok(Vec::new()),
        Some(Value::Array(installed)) => Ok(installed.clone()),
        Some(_) => {
            Err(format!("{}: the policy Certificates.Install is not an array", path.display()))
        }
    }
}

/// Plans our file among the policies of Chromium. The certificate is in base64. Without one, HTTPS does
/// not go to the proxy.
fn chromium(
    directory: &Path,
    proxy: SocketAddr,
    certificate: Option<&str>,
) -> Result<FileChange, String> {
    if let Some((other, key)) = conflict(directory) {
        return Err(format!("{} sets {key} already", other.display()));
    }
    let only_http = if certificate.is_some() { "" } else { "http=" };
    let server = format!("{only_http}{proxy}");
    let server = json!({ "ProxyMode": "fixed_servers", "ProxyServer": server });
    let mut policies = json!({ "ProxySettings": server });
    if let (Some(certificate), Some(all)) = (certificate, policies.as_object_mut()) {
        all.insert("CACertificates".to_owned(), json!([certificate]));
    }
    let text = serde_json::to_string_pretty(&policies).map_err(|error| error.to_string())?;
    FileChange::plan(
        &directory.join(OUR_POLICIES),
        (text + "\n").into_bytes(),
        FileReaders::Everyone,
    )
}

/// Returns another file that sets one of our policies, and the policy.
fn conflict(directory: &Path) -> Option<(PathBuf, &'static str)> {
    let names = small_file::names(directory).into_iter();
    names.filter(|name| name != OUR_POLICIES).find_map(|name| {
        let path = directory.join(name);
        let text = small_file::read(&path).ok()??;
        let policies: Value = serde_json::from_slice(&text).ok()?;
        let key = OUR_KEYS.into_iter().find(|key| policies.get(key).is_some())?;
        Some((path, key))
    })
}

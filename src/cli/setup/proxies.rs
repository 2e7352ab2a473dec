//! The proxy settings of the environment and of desktops.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use super::change::MachineChange;
use super::daemon::DaemonPlan;
use super::file::FileChange;
use super::firefox::ProfileChange;
use super::plan::{Machine, PlanItem, PlanStep, Stage};
use super::setting::{Desktop, SettingChange};
use crate::cli::settings::Settings;
use crate::cli::trust::{self, TrustStore};

/// The first lines of a file for programs.
const HEAD: &str = "# Written by `wwwoffle setup`. `wwwoffle setup --undo` removes it.\n";

/// The hosts of this machine.
const THIS_MACHINE: &str = "localhost,127.0.0.1,::1";

/// The schema of GNOME.
const GNOME: &str = "org.gnome.system.proxy";

/// The programs that trust the authority after the set-up.
#[derive(Debug)]
pub(super) struct ProxyTrust<'a> {
    /// The store of the system, if it trusts the authority.
    pub(super) system: Option<&'a TrustStore>,
    /// Whether the set-up makes the browsers of this user trust the authority.
    pub(super) browsers: bool,
    /// The SHA-256 of the certificate. `None` if it does not exist yet.
    pub(super) fingerprint: Option<String>,
}

impl ProxyTrust<'_> {
    /// Returns the file of the certificate in the store of the system.
    pub(super) fn file(&self) -> Option<std::path::PathBuf> {
        self.system?.file_for(self.fingerprint.as_deref())
    }

    /// Whether a profile of Firefox trusts the authority.
    fn includes(&self, profile: &Path, settings: &Settings<'_>) -> bool {
        let has_already = || {
            let database = TrustStore::database(profile, trust::tool(settings)?)?;
            Some(database.has(self.fingerprint.as_deref()?))
        };
        self.browsers || has_already() == Some(true)
    }
}

/// Plans the settings.
pub(super) fn plan(
    machine: &Machine<'_>,
    daemon: &DaemonPlan,
    trust: &ProxyTrust<'_>,
) -> Vec<PlanItem> {
    let mut items = environment(machine, daemon, trust);
    if machine.is_user {
        items.extend(gnome(machine, daemon.proxy, trust.system.is_some()));
        items.extend(kde(machine, daemon.proxy, trust.system.is_some()));
        for profile in trust::firefox_profiles(machine.settings) {
            let is_trusting = trust.includes(&profile, machine.settings);
            let planned = ProfileChange::plan(&profile, daemon.proxy, is_trusting);
            let what = format!("Firefox profile {}", profile.display());
            items.push(PlanItem::of(Stage::Proxies, &what, planned.map(MachineChange::Profile)));
        }
    }
    items
}

fn by_hand(what: &str, why: impl Into<String>) -> PlanItem {
    PlanItem::proxies(PlanStep::ByHand { what: what.to_owned(), why: why.into() })
}

/// Plans the variables of programs. HTTPS of programs goes to the proxy only if the system trusts the
/// authority: a program that does not trust it would fail.
fn environment(
    machine: &Machine<'_>,
    daemon: &DaemonPlan,
    trust: &ProxyTrust<'_>,
) -> Vec<PlanItem> {
    const WHAT: &str = "environment";
    let mut items = Vec::new();
    if daemon.config.proxy.environment {
        let why = "[proxy] has `environment = true`, so the daemon would use itself as its parent";
        return vec![by_hand(WHAT, why)];
    }
    if !daemon.config.allowed_users.users.is_empty() {
        let why = "the proxy has users, so a variable would need a password: see Sharing the proxy in \
                   the guide";
        return vec![by_hand(WHAT, why)];
    }
    if trust.system.is_none() {
        let why = "the store of the system does not have the certificate, so programs use the proxy for \
                   HTTP only: `wwwoffle ca install` prints the commands; then run setup again";
        items.push(by_hand("HTTPS of programs", why));
    }
    let names = &machine.settings.environment.proxies;
    let proxy = format!("http://{}", daemon.proxy);
    let is_other = |value: &Option<std::ffi::OsString>| {
        value.as_ref().is_some_and(|value| {
            !value.is_empty()
                && value.to_str().map(|text| text.trim_end_matches('/')) != Some(&proxy)
        })
    };
    if is_other(&names.http) || is_other(&names.https) {
        let why = "the environment names a proxy already: wwwoffle uses it only if it is a parent proxy \
                   in [proxy], see Configuration in the guide";
        items.push(by_hand("parent proxy", why));
    }
    let variables = variables(machine, daemon.proxy, trust);
    let lines = |export: &str| {
        let line = |(name, value): &(&str, String)| format!("{export}{name}={value}");
        variables.iter().map(line).collect::<Vec<String>>().join("\n") + "\n"
    };
    let add = |path: &Path, text: &str| {
        let planned = FileChange::plan_lines(path, &(HEAD.to_owned() + text));
        PlanItem::of(Stage::Proxies, WHAT, planned.map(MachineChange::File))
    };
    if machine.is_user {
        items.push(match machine.settings.environment.config_home() {
            Some(config) => add(&config.join("environment.d/60-wwwoffle.conf"), &lines("")),
            None => by_hand(WHAT, "the home directory is unknown: set HOME"),
        });
        return items;
    }
    items.push(add(&machine.root.join("etc/environment.d/60-wwwoffle.conf"), &lines("")));
    items.push(add(&machine.root.join("etc/profile.d/wwwoffle.sh"), &lines("export ")));
    items
}

fn variables(
    machine: &Machine<'_>,
    proxy: SocketAddr,
    trust: &ProxyTrust<'_>,
) -> Vec<(&'static str, String)> {
    let url = format!("http://{proxy}");
    let mut all = vec![("http_proxy", url.clone())];
    if trust.system.is_some() {
        all.extend([("https_proxy", url.clone()), ("HTTPS_PROXY", url)]);
        // Python and Node have lists of their own. These paths need no quotes.
        let bundle = trust.system.and_then(TrustStore::bundle);
        all.extend(bundle.map(|path| ("REQUESTS_CA_BUNDLE", path.to_owned())));
        let file = trust.file();
        let file = file.as_ref().and_then(|file| file.strip_prefix(&machine.root).ok());
        all.extend(file.map(|file| ("NODE_EXTRA_CA_CERTS", format!("/{}", file.display()))));
    }
    all.extend([("no_proxy", THIS_MACHINE.to_owned()), ("NO_PROXY", THIS_MACHINE.to_owned())]);
    all
}

/// Plans the settings of GNOME, which Chromium also follows. HTTPS goes to the proxy only if the
/// system trusts the authority: most programs of a desktop use its store.
fn gnome(machine: &Machine<'_>, proxy: SocketAddr, is_trusted: bool) -> Vec<PlanItem> {
    const WHAT: &str = "proxy of GNOME";
    let Some(desktop) = Desktop::gnome(machine.settings) else {
        return vec![by_hand(
            WHAT,
            "there is no `gsettings`: set the proxy in the settings of the desktop",
        )];
    };
    let (host, port) = (format!("'{}'", proxy.ip()), proxy.port().to_string());
    let mut items = Vec::new();
    // The mode comes last: until then, the others have no effect.
    for (schema, key, value) in [
        ("http", "host", host.as_str()),
        ("http", "port", &port),
        ("https", "host", &host),
        ("https", "port", &port),
        ("", "mode", "'manual'"),
    ] {
        if schema == "https" && !is_trusted {
            continue;
        }
        let schema = if schema.is_empty() { GNOME.to_owned() } else { format!("{GNOME}.{schema}") };
        match SettingChange::plan(&desktop, &schema, key, value) {
            Ok(change) => {
                items.push(PlanItem::proxies(PlanStep::Change(MachineChange::Setting(change))));
            }
            Err(why) => {
                return vec![by_hand(WHAT, format!("{why}; this is not a desktop of GNOME"))];
            }
        }
    }
    items
}

/// Plans the settings of KDE.
fn kde(machine: &Machine<'_>, proxy: SocketAddr, is_trusted: bool) -> Vec<PlanItem> {
    const WHAT: &str = "proxy of KDE";
    let Some(desktop) = Desktop::kde(machine.settings) else {
        return vec![by_hand(
            WHAT,
            "there is no `kwriteconfig6` or `kwriteconfig5`: in KDE, set the proxy in System Settings",
        )];
    };
    // KDE separates the port by a space.
    let url = match proxy.ip() {
        IpAddr::V4(ip) => format!("http://{ip} {}", proxy.port()),
        IpAddr::V6(ip) => format!("http://[{ip}] {}", proxy.port()),
    };
    let mut values = vec![("httpProxy", url.as_str()), ("httpsProxy", &url), ("ProxyType", "1")];
    values.retain(|(key, _)| is_trusted || *key != "httpsProxy");
    let plan = |(key, value)| {
        let planned = SettingChange::plan(&desktop, "", key, value);
        PlanItem::of(Stage::Proxies, WHAT, planned.map(MachineChange::Setting))
    };
    values.into_iter().map(plan).collect()
}

//! Presets: the options that people set for a situation, changed together.
//!
//! A preset is applied as one change of the file, so it is undone as one too. The options of a
//! section's rules stay as they are, and so does a value that no preset sets.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use wwwoffle_config::Config;
use wwwoffle_config::edit::{
    Edit, EditError, OptionState, Overview, apply, elements, overview, quoted,
};

use crate::base::text::{Text, tr};
use crate::net::upstream::reachable_addresses;
use crate::site::caller::Caller;

/// Maximum number of addresses of this machine that are added to its names.
const MAX_NAMES: usize = 8;

/// The port of the default of `listen`.
const DEFAULT_PORT: u16 = 8080;

/// The networks that are not routed on the Internet (RFC 1918, RFC 4193, RFC 4291 §2.5.6), as in
/// the file.
const PRIVATE: &str =
    r#"["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fe80::/10"]"#;

/// This machine, as in the file. An empty list would not close the proxy: if users are listed, it
/// permits every address.
const LOOPBACK: &str = r#"["127.0.0.1", "::1"]"#;

/// A situation in which the proxy is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum ConfigPreset {
    /// One machine.
    Machine,
    /// A few people who trust each other.
    Household,
    /// Many people.
    School,
    /// Many people behind a slow or expensive connection.
    Ship,
}

impl ConfigPreset {
    pub(super) const ALL: [Self; 4] = [Self::Machine, Self::Household, Self::School, Self::Ship];

    /// Parses the name of a preset.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Household => "household",
            Self::School => "school",
            Self::Ship => "ship",
        }
    }

    pub(super) const fn label(self) -> Text {
        match self {
            Self::Machine => tr("This machine only"),
            Self::Household => tr("My household"),
            Self::School => tr("A school"),
            Self::Ship => tr("A ship"),
        }
    }

    pub(super) const fn explanation(self) -> Text {
        match self {
            Self::Machine => tr("No other device can use the proxy."),
            Self::Household => tr("The devices of your network may use the proxy."),
            Self::School => {
                tr("Many people use the proxy. Settings need the control password, and large \
                 downloads ask first.")
            }
            Self::Ship => {
                tr("As for a school, and the connection is slow or expensive: large pictures and \
                 films are left out.")
            }
        }
    }

    /// Whether other machines may use the proxy.
    const fn is_shared(self) -> bool {
        !matches!(self, Self::Machine)
    }

    /// Whether the preset requires that a control password is set.
    pub(super) const fn needs_password(self) -> bool {
        matches!(self, Self::School | Self::Ship)
    }
}

/// An option of the presets: its section and key, its purpose, and its values for a household, a
/// school and a ship. `None` is the default, as all are on a single machine.
type OptionRow = (&'static str, &'static str, Text, [Option<&'static str>; 3]);

/// The options that do not depend on the machine. Those that open the proxy are [`opening`].
const OPTIONS: [OptionRow; 7] = [
    (
        "startup",
        "queue-share",
        tr("Requests that one person may have on the queue"),
        [None, Some("500"), Some("500")],
    ),
    ("usage", "count", tr("Count how much each person uses"), [None, Some("true"), Some("true")]),
    (
        "fetch-options",
        "ask-above",
        tr("Size above which a queued download asks first"),
        [None, Some("\"100 MB\""), Some("\"5 MB\"")],
    ),
    (
        "data-saver",
        "pictures-above",
        tr("Leave out large pictures"),
        [None, None, Some("\"200 kB\"")],
    ),
    ("data-saver", "no-media", tr("Leave out audio and video"), [None, None, Some("true")]),
    (
        "caching",
        "serve-unreachable",
        tr("Show saved pages if a site does not answer"),
        [None, None, Some("true")],
    ),
    (
        "fetch-options",
        "metered",
        tr("Count the connection as charged by volume"),
        [None, None, Some("true")],
    ),
];

/// The facts about this machine that a preset depends on.
#[derive(Clone, Debug)]
pub(super) struct Surroundings {
    /// The configured addresses to listen on.
    pub(super) listen: Vec<SocketAddr>,
    /// Whether a control password is set.
    pub(super) has_password: bool,
    /// Whether users are listed, who may use the proxy with a password.
    pub(super) has_users: bool,
    /// The addresses by which other machines reach this one.
    pub(super) addresses: Vec<IpAddr>,
}

impl Surroundings {
    /// Looks around for a caller. `config` is the configuration in force. People on other machines
    /// without the control password do not see the addresses of this one.
    pub(super) fn of(caller: &Caller, config: &Config) -> Self {
        let is_trusted = caller.is_here() || caller.is_administrator();
        Self {
            listen: config.startup.listen.as_slice().to_vec(),
            has_password: config.startup.password.hash().is_some(),
            has_users: !config.allowed_users.users.is_empty(),
            addresses: if is_trusted { reachable_addresses() } else { Vec::new() },
        }
    }
}

/// Returns the purpose of an option of the presets.
pub(super) fn purpose(section: &str, key: &str) -> Option<Text> {
    let opening = match (section, key) {
        ("startup", "listen") => Some(tr("Let other devices reach the proxy")),
        ("startup", "redirect-listen" | "tproxy-listen") => {
            Some(tr("Let a firewall redirect other devices to the proxy"))
        }
        ("startup", "share-without-password") => Some(tr("Share without a control password")),
        ("allowed-connect-hosts", "hosts") => Some(tr("Devices that may use the proxy")),
        ("local-host", "names") => Some(tr("Addresses at which devices open these pages")),
        _ => None,
    };
    opening.or_else(|| {
        let row = OPTIONS.into_iter().find(|row| (row.0, row.1) == (section, key));
        row.map(|row| row.2)
    })
}

/// An option with its value in the file. `None` removes it from the file.
type OptionEdit = (&'static str, &'static str, Option<String>);

/// Returns `text`, the text of a configuration, with the options of `preset`.
pub(super) fn edited(
    preset: ConfigPreset,
    text: &str,
    around: &Surroundings,
) -> Result<String, EditError> {
    let edits = edits(preset, &SetOptions::of(text)?, around);
    edits.into_iter().try_fold(text.to_owned(), |text, (section, key, value)| {
        let (section, key) = (section.to_owned(), key.to_owned());
        let edit = match value {
            Some(value) => Edit::Set { section, key, value },
            None => Edit::Unset { section, key },
        };
        Ok(apply(&text, &edit)?.text)
    })
}

/// Returns the options of `preset` that are set in a file which the configuration `file` includes,
/// each with that file. A preset cannot change them.
pub(super) fn included(
    preset: ConfigPreset,
    text: &str,
    around: &Surroundings,
    (config, file): (&Config, &Path),
) -> Result<Vec<(String, String)>, EditError> {
    let edits = edits(preset, &SetOptions::of(text)?, around);
    let elsewhere = edits.into_iter().filter_map(|(section, key, _)| {
        let set_in = config.origin_of(section, key)?.file();
        (set_in != file).then(|| (format!("{section}.{key}"), set_in.display().to_string()))
    });
    Ok(elsewhere.collect())
}

/// The options that are set in the text of a configuration.
struct SetOptions(Overview);

impl SetOptions {
    fn of(text: &str) -> Result<Self, EditError> {
        overview(text).map(Self)
    }

    fn state(&self, section: &str, key: &str) -> Option<&OptionState> {
        self.0.options.iter().find(|one| (one.section, one.option.key) == (section, key))
    }

    fn value(&self, section: &str, key: &str) -> Option<&str> {
        self.state(section, key)?.value.as_deref()
    }
}

fn edits(preset: ConfigPreset, set: &SetOptions, around: &Surroundings) -> Vec<OptionEdit> {
    let mut edits =
        if preset.is_shared() { opening(preset, set, around) } else { closing(set, around) };
    for (section, key, _, values) in OPTIONS {
        let [household, school, ship] = values;
        let value = match preset {
            ConfigPreset::Machine => None,
            ConfigPreset::Household => household,
            ConfigPreset::School => school,
            ConfigPreset::Ship => ship,
        };
        // A value that no preset sets is a person's own.
        let is_ours = set.value(section, key).is_some_and(|now| values.contains(&Some(now)));
        if value.is_some() || is_ours {
            edits.push((section, key, value.map(str::to_owned)));
        }
    }
    edits
}

/// Returns the edits after which only this machine can use the proxy.
fn closing(set: &SetOptions, around: &Surroundings) -> Vec<OptionEdit> {
    let mut edits = Vec::new();
    if around.listen.iter().any(|address| !address.ip().is_loopback()) {
        let close = |address: &SocketAddr| {
            let is_closed = address.ip().is_loopback();
            if is_closed { *address } else { (Ipv4Addr::LOCALHOST, address.port()).into() }
        };
        let closed = addresses(around.listen.iter().map(close));
        let is_default = closed == addresses([(Ipv4Addr::LOCALHOST, DEFAULT_PORT).into()]);
        edits.push(("startup", "listen", (!is_default).then_some(closed)));
    }
    for key in ["redirect-listen", "tproxy-listen", "share-without-password"] {
        edits.push(("startup", key, None));
    }
    // The listeners stay open until the restart, and listeners from elsewhere stay open after it.
    let has_users = around.has_users || set.value("allowed-connect-users", "users").is_some();
    let is_listed = has_users || set.value("allowed-connect-hosts", "hosts").is_some();
    edits.push(("allowed-connect-hosts", "hosts", is_listed.then(|| LOOPBACK.to_owned())));
    edits
}

/// Returns the edits after which other machines can use the proxy.
fn opening(preset: ConfigPreset, set: &SetOptions, around: &Surroundings) -> Vec<OptionEdit> {
    let mut edits = Vec::new();
    if around.listen.iter().all(|address| address.ip().is_loopback()) {
        let port = around.listen.first().map_or(DEFAULT_PORT, SocketAddr::port);
        let open = |address: &SocketAddr| match address {
            SocketAddr::V4(v4) => (Ipv4Addr::UNSPECIFIED, v4.port()).into(),
            SocketAddr::V6(_) => *address,
        };
        let mut listen: Vec<_> = around.listen.iter().map(open).collect();
        if listen.iter().all(SocketAddr::is_ipv6) {
            listen.insert(0, (Ipv4Addr::UNSPECIFIED, port).into());
        }
        edits.push(("startup", "listen", Some(addresses(listen))));
        if let Some(names) = names(set, around) {
            edits.push(("local-host", "names", Some(names)));
        }
    }
    let is_open = !preset.needs_password() && !around.has_password;
    edits.push(("startup", "share-without-password", is_open.then(|| "true".to_owned())));
    edits.push(("allowed-connect-hosts", "hosts", Some(PRIVATE.to_owned())));
    edits
}

/// Returns addresses as in the file, each once.
fn addresses(all: impl IntoIterator<Item = SocketAddr>) -> String {
    let mut listed: Vec<String> = Vec::new();
    for address in all {
        let address = quoted(&address.to_string());
        if !listed.contains(&address) {
            listed.push(address);
        }
    }
    format!("[{}]", listed.join(", "))
}

/// Returns the names of this machine with its IPv4 addresses, as a preset opens no IPv6 address.
/// `None` if there is no address to add.
fn names(set: &SetOptions, around: &Surroundings) -> Option<String> {
    let state = set.state("local-host", "names")?;
    let value = state.value.as_deref().unwrap_or(state.option.default);
    let mut names = elements(value).unwrap_or_default();
    let before = names.len();
    let addresses = around.addresses.iter().filter(|address| address.is_ipv4()).take(MAX_NAMES);
    for address in addresses.map(|address| quoted(&address.to_string())) {
        if !names.contains(&address) {
            names.push(address);
        }
    }
    (names.len() > before).then(|| format!("[{}]", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use wwwoffle_config::{PasswordHash, ResolvedNames};

    use super::*;

    fn around(listen: &str, has_password: bool) -> Surroundings {
        let addresses = ["192.168.1.5", "fd00::5"].map(|text| text.parse().unwrap());
        Surroundings {
            listen: vec![listen.parse().unwrap()],
            has_password,
            has_users: false,
            addresses: addresses.into(),
        }
    }

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("test.conf")).map_err(|faults| faults.to_string())
    }

    #[test]
    fn presets_set_the_options_of_a_situation() {
        let household =
            edited(ConfigPreset::Household, "", &around("127.0.0.1:8080", false)).unwrap();
        let config = parse(&household).unwrap();
        let listen = config.startup.listen.as_slice();
        assert_eq!(listen, ["0.0.0.0:8080".parse().unwrap()]);
        assert!(config.may_listen(listen).is_ok() && config.startup.share_without_password);
        for want in ["\"localhost\"", "\"192.168.1.5\"", "192.168.0.0/16"] {
            assert!(household.contains(want), "{want} in {household}");
        }
        // It listens on IPv4 addresses only.
        assert!(!household.contains("fd00::5"), "{household}");
        assert!(!household.contains("data-saver"), "{household}");
        // Shared with a password, the household needs no permission without one.
        let hash = PasswordHash::make("correct horse").unwrap();
        let password = format!("[startup]\npassword = {:?}\n", hash.as_str());
        let ship = edited(ConfigPreset::Ship, &password, &around("127.0.0.1:8080", true)).unwrap();
        let config = parse(&ship).unwrap();
        assert!(config.may_listen(config.startup.listen.as_slice()).is_ok());
        assert!(!config.startup.share_without_password && config.usage.count);
        assert!(ship.contains("no-media = true"), "{ship}");
        // From one preset to another: what the former has set does not stay.
        let school = edited(ConfigPreset::School, &ship, &around("0.0.0.0:8080", true)).unwrap();
        assert!(!school.contains("no-media") && school.contains("100 MB"), "{school}");
        let machine =
            edited(ConfigPreset::Machine, &school, &around("0.0.0.0:8080", true)).unwrap();
        let config = parse(&machine).unwrap();
        assert_eq!(config.startup.listen, Config::default().startup.listen);
        assert!(machine.contains("hosts = [\"127.0.0.1\", \"::1\"]"), "{machine}");
        assert!(!config.usage.count, "{machine}");
        assert!(machine.contains("argon2"), "{machine}");
    }

    #[test]
    fn a_preset_keeps_the_port_and_addresses_that_are_open_already() {
        let open = "[startup]\nlisten = [\"192.168.1.5:3128\"]\n";
        let at = around("192.168.1.5:3128", false);
        assert!(
            edited(ConfigPreset::Household, open, &at).unwrap().contains("[\"192.168.1.5:3128\"]")
        );
        assert!(edited(ConfigPreset::Machine, open, &at).unwrap().contains("[\"127.0.0.1:3128\"]"));
        let own = "[startup]\nlisten = [\"127.0.0.1:3128\"]\n";
        let at = around("127.0.0.1:3128", false);
        assert_eq!(edited(ConfigPreset::Machine, own, &at).unwrap(), own);
        assert!(edited(ConfigPreset::School, own, &at).unwrap().contains("[\"0.0.0.0:3128\"]"));
        let mut both = around("127.0.0.1:3128", true);
        both.listen.push("[::1]:3128".parse().unwrap());
        let opened = edited(ConfigPreset::School, "", &both).unwrap();
        assert!(opened.contains("[\"0.0.0.0:3128\", \"[::1]:3128\"]"), "{opened}");
        both.listen = vec!["[::1]:3128".parse().unwrap()];
        let opened = edited(ConfigPreset::School, "", &both).unwrap();
        assert!(opened.contains("[\"0.0.0.0:3128\", \"[::1]:3128\"]"), "{opened}");
    }

    /// Users without hosts would open the proxy to every address.
    #[test]
    fn this_machine_only_serves_no_other_machine() {
        let hash = PasswordHash::make("correct horse").unwrap();
        let users = format!("[allowed-connect-users]\nusers = [\"ada:{}\"]\n", hash.as_str());
        let open = "[startup]\nlisten = [\"0.0.0.0:8080\"]\n";
        let hosts = format!("[allowed-connect-hosts]\nhosts = {PRIVATE}\n");
        for text in [format!("{open}{users}"), format!("{open}{hosts}{users}"), open.to_owned()] {
            for has_users in [false, true] {
                let at = Surroundings { has_users, ..around("0.0.0.0:8080", true) };
                let machine = edited(ConfigPreset::Machine, &text, &at).unwrap();
                let config = parse(&machine).unwrap();
                let serves = |client: &str| {
                    let (client, ours) = (client.parse().unwrap(), "192.168.1.5".parse().unwrap());
                    config.serves(client, ours, &ResolvedNames::default(), None)
                };
                assert!(!serves("192.0.2.1") && !serves("192.168.1.9"), "{machine}");
                assert!(serves("127.0.0.1") && serves("::1"), "{machine}");
                assert!(!has_users || machine.contains(LOOPBACK), "{machine}");
            }
        }
    }

    #[test]
    fn values_that_no_preset_sets_stay() {
        let own = "[fetch-options]\nask-above = \"7 MB\"\n\n[purge]\nage = \"10y\"\n";
        let at = around("127.0.0.1:8080", true);
        assert_eq!(edited(ConfigPreset::Machine, own, &at).unwrap(), own);
        let household = edited(ConfigPreset::Household, own, &at).unwrap();
        assert!(household.contains("7 MB") && household.contains("10y"), "{household}");
        let ship = edited(ConfigPreset::Ship, own, &at).unwrap();
        assert!(ship.contains("\"5 MB\"") && ship.contains("age = \"10y\""), "{ship}");
        let machine = edited(ConfigPreset::Machine, &ship, &at).unwrap();
        assert!(!machine.contains("ask-above") && machine.contains("age = \"10y\""), "{machine}");
    }

    #[test]
    fn options_in_included_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (main, net) = (folder.path().join("main.toml"), folder.path().join("net.toml"));
        #[allow(clippy::disallowed_methods, reason = "a test prepares a file")]
        std::fs::write(&net, "listen = [\"192.168.1.5:8080\"]\nshare-without-password = true\n")
            .unwrap();
        let text = "[startup]\ninclude = \"net.toml\"\n\n\
                    [allowed-connect-hosts]\nhosts = [\"192.168.1.0/24\"]\n";
        let config = Config::parse(text, &main).unwrap();
        let at = around("192.168.1.5:8080", false);
        let of = |preset| included(preset, text, &at, (&config, &main)).unwrap();
        let want = |key: &str| (format!("startup.{key}"), net.display().to_string());
        assert_eq!(of(ConfigPreset::Machine), [want("listen"), want("share-without-password")]);
        assert_eq!(of(ConfigPreset::Household), [want("share-without-password")]);
        let alone = Config::default();
        let none = included(ConfigPreset::Machine, "", &at, (&alone, &main)).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn every_option_of_a_preset_exists_and_has_a_purpose() {
        for preset in ConfigPreset::ALL {
            assert_eq!(ConfigPreset::named(preset.name()), Some(preset));
            let text = edited(preset, "", &around("127.0.0.1:8080", true)).unwrap();
            for changed in wwwoffle_config::changes("", &text) {
                assert!(purpose(changed.section, changed.key).is_some(), "{changed:?}");
            }
        }
        assert_eq!(ConfigPreset::named("<script>"), None);
    }
}

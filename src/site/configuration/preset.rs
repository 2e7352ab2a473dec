//! Presets: the options that people set for a situation, changed together.
//!
//! A preset is applied as one change of the file, so it is undone as one too. The options of a
//! section's rules stay as they are.

use std::net::{IpAddr, SocketAddr};

use wwwoffle_config::Config;
use wwwoffle_config::edit::{Edit, EditError, apply, elements, overview, quoted};

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
/// school and a ship. `None` is the default. On a single machine all have their defaults.
type OptionRow = (&'static str, &'static str, Text, [Option<&'static str>; 3]);

/// The options that do not depend on the machine. Those that open the proxy are [`opening`].
const OPTIONS: [OptionRow; 8] = [
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
    ("purge", "age", tr("How long pages stay saved"), [None, Some("\"1y\""), Some("\"1y\"")]),
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

/// Returns `text`, the text of a configuration, with the options of `preset`.
pub(super) fn edited(
    preset: ConfigPreset,
    text: &str,
    around: &Surroundings,
) -> Result<String, EditError> {
    let mut edits = opening(preset, text, around)?;
    edits.extend(OPTIONS.iter().map(|(section, key, _, [household, school, ship])| {
        let value = match preset {
            ConfigPreset::Machine => &None,
            ConfigPreset::Household => household,
            ConfigPreset::School => school,
            ConfigPreset::Ship => ship,
        };
        edit(section, key, value.map(str::to_owned))
    }));
    edits.iter().try_fold(text.to_owned(), |text, edit| Ok(apply(&text, edit)?.text))
}

/// Returns the edits that decide which machines can use the proxy.
fn opening(
    preset: ConfigPreset,
    text: &str,
    around: &Surroundings,
) -> Result<Vec<Edit>, EditError> {
    let mut edits = Vec::new();
    let port = around.listen.first().map_or(DEFAULT_PORT, SocketAddr::port);
    let is_closed = around.listen.iter().all(|address| address.ip().is_loopback());
    if !preset.is_shared() {
        if !is_closed {
            let only = (port != DEFAULT_PORT).then(|| format!("[\"127.0.0.1:{port}\"]"));
            edits.push(edit("startup", "listen", only));
        }
        for key in ["redirect-listen", "tproxy-listen", "share-without-password"] {
            edits.push(edit("startup", key, None));
        }
        edits.push(edit("allowed-connect-hosts", "hosts", None));
        return Ok(edits);
    }
    if is_closed {
        edits.push(edit("startup", "listen", Some(format!("[\"0.0.0.0:{port}\"]"))));
        if let Some(names) = names(text, around)? {
            edits.push(edit("local-host", "names", Some(names)));
        }
    }
    let is_open = !preset.needs_password() && !around.has_password;
    edits.push(edit("startup", "share-without-password", is_open.then(|| "true".to_owned())));
    edits.push(edit("allowed-connect-hosts", "hosts", Some(PRIVATE.to_owned())));
    Ok(edits)
}

/// Returns the names of this machine with its addresses. `None` if it has no address to add.
fn names(text: &str, around: &Surroundings) -> Result<Option<String>, EditError> {
    let known = overview(text)?.options.into_iter();
    let mut known = known.filter(|one| (one.section, one.option.key) == ("local-host", "names"));
    let Some(state) = known.next() else { return Ok(None) };
    let value = state.value.as_deref().unwrap_or(state.option.default);
    let mut names = elements(value).unwrap_or_default();
    let before = names.len();
    let addresses = around.addresses.iter().take(MAX_NAMES);
    for address in addresses.map(|address| quoted(&address.to_string())) {
        if !names.contains(&address) {
            names.push(address);
        }
    }
    Ok((names.len() > before).then(|| format!("[{}]", names.join(", "))))
}

fn edit(section: &str, key: &str, value: Option<String>) -> Edit {
    let (section, key) = (section.to_owned(), key.to_owned());
    match value {
        Some(value) => Edit::Set { section, key, value },
        None => Edit::Unset { section, key },
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wwwoffle_config::PasswordHash;

    use super::*;

    fn around(listen: &str, has_password: bool) -> Surroundings {
        let addresses = ["192.168.1.5", "fd00::5"].map(|text| text.parse().unwrap());
        Surroundings {
            listen: vec![listen.parse().unwrap()],
            has_password,
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
        for want in ["\"localhost\"", "\"192.168.1.5\"", "\"fd00::5\"", "192.168.0.0/16"] {
            assert!(household.contains(want), "{want} in {household}");
        }
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
        assert!(config.allowed_hosts.hosts.is_empty() && !config.usage.count, "{machine}");
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

//! A proxy for a household or a school: addresses, names, clients, users and the control password.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;
use toml::Value;
use wwwoffle_config::{Config, PasswordHash, User, Users};

use crate::base::small_file::MAX_FILE;
use crate::cli::args::{SetupAudience, SharingArgs};
use crate::cli::control::{password_of, private_text};
use crate::cli::failure::{VerbFailure, VerbResult};
use crate::cli::{Terminal, passwd};

/// The beginnings of the names of interfaces that lead to no local network: containers, virtual
/// machines and tunnels.
const VIRTUAL: [&str; 14] = [
    "docker",
    "br-",
    "veth",
    "virbr",
    "lxc",
    "lxd",
    "cni",
    "podman",
    "vmnet",
    "vboxnet",
    "tun",
    "tap",
    "wg",
    "tailscale",
];

/// The start of a hash of a password in a file of users.
const HASH: &str = "$argon2";

/// An address of this machine in a private network.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LocalAddress {
    interface: String,
    address: Ipv4Addr,
    /// The number of bits of the network.
    prefix: u32,
}

impl LocalAddress {
    fn of(interface: &InterfaceAddress) -> Option<Self> {
        let flags = interface.flags;
        let is_up = flags.contains(InterfaceFlags::IFF_UP);
        let name = &interface.interface_name;
        let is_virtual = VIRTUAL.iter().any(|begin| name.starts_with(begin));
        if !is_up || flags.contains(InterfaceFlags::IFF_LOOPBACK) || is_virtual {
            return None;
        }
        let address = interface.address.as_ref()?.as_sockaddr_in()?.ip();
        let mask = u32::from(interface.netmask.as_ref()?.as_sockaddr_in()?.ip());
        let (interface, prefix) = (name.clone(), mask.count_ones());
        address.is_private().then_some(Self { interface, address, prefix })
    }

    fn network(&self) -> String {
        let mask = u32::MAX.checked_shl(32 - self.prefix.min(32)).unwrap_or_default();
        format!("{}/{}", Ipv4Addr::from(u32::from(self.address) & mask), self.prefix)
    }
}

/// The options for other machines, in TOML.
#[derive(Debug, Default)]
pub(super) struct SharingPlan {
    pub(super) values: Vec<(&'static [&'static str], String)>,
    /// Host and port for other machines.
    pub(super) address: Option<String>,
    /// Whether the values contain hashes of passwords.
    pub(super) has_secrets: bool,
}

/// The control password and the users that were typed or read.
#[derive(Debug, Default)]
pub(super) struct NewLogins {
    password: Option<PasswordHash>,
    users: Vec<User>,
}

impl NewLogins {
    /// Reads the missing passwords from their files, or asks for them. For a plan that is only
    /// shown, nothing is asked.
    pub(super) fn read(
        typed: &SharingArgs,
        (audience, is_only_shown): (SetupAudience, bool),
        config: &Config,
        terminal: &mut Terminal<'_>,
    ) -> VerbResult<Self> {
        let mut logins = Self::default();
        if audience == SetupAudience::ThisMachine {
            return Ok(logins);
        }
        let known = config.startup.password.hash();
        let password = match (&typed.password, known) {
            (Some(file), _) => Some(password_of(file)?),
            (None, Some(_)) => None,
            (None, None) if is_only_shown => Some("shown".to_owned()),
            (None, None) if terminal.typed => Some(passwd::prompt_password(None, terminal)?),
            (None, None) => {
                return Err(VerbFailure::usage(
                    "other machines need a control password: name a file with --control-password \
                     FILE",
                ));
            }
        };
        if let Some(password) = password
            && !known.is_some_and(|known| known.verify(password.as_bytes()))
        {
            logins.password = Some(PasswordHash::make(&password).map_err(bad)?);
        }
        for name in &typed.user_name {
            if is_only_shown {
                logins.users.push(User::make(name, "shown").map_err(bad)?);
            } else if terminal.typed {
                let password = passwd::prompt_password(Some(name), terminal)?;
                logins.users.push(User::make(name, &password).map_err(bad)?);
            } else {
                return Err(VerbFailure::usage(
                    "there is no terminal to ask for the passwords of users: use --user-file FILE",
                ));
            }
        }
        if let Some(file) = &typed.user_file {
            logins.users.extend(users(file, &private_text(file)?, &config.allowed_users.users)?);
        }
        if audience == SetupAudience::School
            && logins.users.is_empty()
            && config.allowed_users.users.is_empty()
        {
            return Err(VerbFailure::usage(
                "in a school everyone logs in: name users with --user-name NAME or --user-file FILE",
            ));
        }
        Ok(logins)
    }
}

/// Parses a file of users: a name, a colon, and a password or the hash of `wwwoffle passwd`. Users
/// who have this password already keep their hash.
fn users(file: &Path, text: &str, known: &Users) -> VerbResult<Vec<User>> {
    let mut found: Vec<User> = Vec::new();
    if u64::try_from(text.len()).is_ok_and(|length| length >= MAX_FILE) {
        let most = MAX_FILE / 1024;
        return Err(VerbFailure::usage(format_args!("{} has {most} KiB or more", file.display())));
    }
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{}:{number}", file.display());
        let (name, password) = line
            .split_once(':')
            .ok_or_else(|| VerbFailure::usage(format_args!("{place}: expected NAME:PASSWORD")))?;
        let present = known
            .named(name.as_bytes())
            .filter(|user| user.hash.as_str() == password || user.hash.verify(password.as_bytes()));
        let user = if let Some(user) = present {
            Ok(user.clone())
        } else if password.starts_with(HASH) {
            PasswordHash::parse(password)
                .map(|hash| User { name: name.into(), hash })
                .map_err(ToString::to_string)
        } else {
            User::make(name, password).map_err(|error| error.to_string())
        };
        let user = user.map_err(|why| VerbFailure::usage(format_args!("{place}: {why}")))?;
        if found.iter().any(|other| other.name == user.name) {
            return Err(VerbFailure::usage(format_args!("{place}: this user is listed twice")));
        }
        found.push(user);
    }
    Ok(found)
}

fn bad(error: impl std::fmt::Display) -> VerbFailure {
    VerbFailure::usage(format_args!("the password cannot be hashed: {error}"))
}

/// Returns the address of this machine for other machines, with `port`.
///
/// # Errors
///
/// There is no such address, or more than one.
pub(super) fn local_address(port: u16) -> VerbResult<SocketAddr> {
    match local_addresses().as_slice() {
        [one] => Ok(SocketAddr::from((one.address, port))),
        [] => Err(VerbFailure::usage(
            "this machine has no address in a private network: name one with --listen ADDR:PORT",
        )),
        many => {
            let listed: Vec<String> =
                many.iter().map(|one| format!("{} ({})", one.address, one.interface)).collect();
            Err(VerbFailure::usage(format_args!(
                "this machine has several addresses, {}: name the ones to listen on with --listen \
                 ADDR:PORT",
                listed.join(", ")
            )))
        }
    }
}

fn local_addresses() -> Vec<LocalAddress> {
    let found = getifaddrs().into_iter().flatten();
    found.filter_map(|interface| LocalAddress::of(&interface)).collect()
}

/// Plans the options for other machines that reach this one at `listen`.
pub(super) fn plan(
    typed: &SharingArgs,
    (config, text): (&Config, &str),
    listen: &[SocketAddr],
    logins: &NewLogins,
) -> VerbResult<SharingPlan> {
    let listens_on = |ip: IpAddr| {
        listen.iter().any(|one| one.ip() == ip || (one.ip().is_unspecified() && one.is_ipv4()))
    };
    let local: Vec<LocalAddress> =
        local_addresses().into_iter().filter(|one| listens_on(IpAddr::V4(one.address))).collect();
    let given = listen.iter().find(|one| !one.ip().is_loopback() && !one.ip().is_unspecified());
    let port = listen.first().map_or(8080, SocketAddr::port);
    let first = local.first().map(|one| SocketAddr::from((one.address, port)));
    let address = given.copied().or(first).map(|address| address.to_string());
    let address = address.or_else(|| typed.name.first().map(|name| format!("{name}:{port}")));

    let mut names: Vec<String> = config.local_host.names.as_slice().to_vec();
    let ips = local.iter().map(|one| one.address.to_string());
    let typed_ips = given.map(|one| one.ip().to_string());
    for name in typed.name.iter().cloned().chain(ips).chain(typed_ips).chain(machine_name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut clients = listed(text, "allowed-connect-hosts", "hosts");
    if typed.client.is_empty() && clients.is_empty() {
        clients.extend(local.iter().map(LocalAddress::network));
    }
    for client in &typed.client {
        if !clients.contains(client) {
            clients.push(client.clone());
        }
    }
    let mut users = listed(text, "allowed-connect-users", "users");
    for user in &logins.users {
        let line = user.to_string();
        let begin = format!("{}:", user.name);
        match users.iter_mut().find(|one| one.starts_with(&begin)) {
            Some(present) => *present = line,
            None => users.push(line),
        }
    }
    if clients.is_empty() && users.is_empty() {
        return Err(VerbFailure::usage(
            "name the machines that may use the proxy with --client ADDRESS, such as 192.168.1.0/24",
        ));
    }
    let mut values: Vec<(&'static [&'static str], String)> =
        vec![(&["local-host", "names"], array(names))];
    if !clients.is_empty() {
        values.push((&["allowed-connect-hosts", "hosts"], array(clients)));
    }
    if !logins.users.is_empty() {
        values.push((&["allowed-connect-users", "users"], array(users)));
    }
    if let Some(hash) = &logins.password {
        values.push((&["startup", "password"], Value::from(hash.as_str()).to_string()));
    }
    let has_secrets = logins.password.is_some() || !logins.users.is_empty();
    Ok(SharingPlan { values, address, has_secrets })
}

/// Returns the elements of an option as written, without its default.
fn listed(text: &str, section: &str, option: &str) -> Vec<String> {
    let table: toml::Table = text.parse().unwrap_or_default();
    let array = table.get(section).and_then(|table| table.get(option)?.as_array());
    let texts = array.into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned));
    texts.collect()
}

/// Returns a TOML array.
pub(super) fn array(texts: Vec<String>) -> String {
    Value::Array(texts.into_iter().map(Value::String).collect()).to_string()
}

/// Returns the name of this machine, if other machines may know it.
fn machine_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_ascii_lowercase();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let is_name = !name.is_empty() && name.bytes().all(is_plain) && name.parse::<IpAddr>().is_err();
    (is_name && name != "localhost").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_of_an_address_follows_from_its_mask() {
        for (address, prefix, want) in [
            ([192, 168, 1, 5], 24, "192.168.1.0/24"),
            ([10, 1, 2, 3], 8, "10.0.0.0/8"),
            ([10, 1, 2, 3], 32, "10.1.2.3/32"),
            ([10, 1, 2, 3], 0, "0.0.0.0/0"),
        ] {
            let interface = "lan0".to_owned();
            let local = LocalAddress { interface, address: Ipv4Addr::from(address), prefix };
            assert_eq!(local.network(), want);
        }
    }

    #[test]
    fn users_are_read_with_passwords_or_hashes() {
        let hash = PasswordHash::make("x").unwrap();
        let text = format!("# class 7\nada:sésame:2\n\nbob:{}\n", hash.as_str());
        let found = users(Path::new("u"), &text, &Users::default()).unwrap();
        let names: Vec<&str> = found.iter().map(|user| &*user.name).collect();
        assert_eq!(names, ["ada", "bob"]);
        assert!(found[0].hash.verify("sésame:2".as_bytes()) && found[1].hash.verify(b"x"));
        for bad in ["ada", "ada:", ":x", "ada:x\nada:y", "ada:$argon2id$rubbish"] {
            assert!(users(Path::new("u"), bad, &Users::default()).is_err(), "{bad}");
        }
    }
}

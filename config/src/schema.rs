//! Every option, declared once.
//!
//! To add one, add its lines here, and run `UPDATE=1 cargo test -p wwwoffle-config` to write
//! `docs/options.md` and `wwwoffle.conf.example` anew. A new type of value is an implementation of
//! `Value` in the `value` module.

use crate::{
    access::ClientHosts,
    authorities::ExtraAuthorities,
    certificates::AllowedCertificates,
    domains::Domains,
    noise::Noise,
    passed::Passed,
    password::{ControlPassword, Users},
    ports::PortRanges,
    reader::Source,
    rules::UrlSpecSet,
    value::{Durability, HostNames, Listen, LogLevel, SpoolDir, Value},
};
use std::{num::NonZeroUsize, time::Duration};

/// A group of options, `[name]` in the file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// As the file writes it, without the brackets.
    pub name: &'static str,
    /// What its options are about.
    pub sentence: &'static str,
    /// In the order of the documents.
    pub options: &'static [OptionInfo],
}

/// What is known of one option before any file is read.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// As the file writes it.
    pub key: &'static str,
    /// Its type, in the words of `docs/options.md`.
    pub kind: &'static str,
    /// Whether its value is shown to nobody, as that of a password is.
    pub is_secret: bool,
    /// How a value of that type is written.
    pub meaning: &'static str,
    /// Its default, as the file would write it.
    pub default: &'static str,
    /// When a new value comes into force.
    pub effect: Effect,
    /// What it does.
    pub sentence: &'static str,
}

/// When a new value comes into force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// When the daemon starts.
    Restart,
    /// With the first request after the file is read again.
    Live,
}

/// From one table: the types of the sections, [`Config`], [`SECTIONS`] and the taking of each option
/// from the text.
macro_rules! schema {
    ($(
        $(#[doc = $section_doc:literal])+
        $section:literal => $field:ident: $Section:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:literal => $name:ident: $Type:ty = $default:literal, $effect:ident;
            )+
        }
    )+) => {
        /// The whole configuration: what the file gives, and the defaults for the rest.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Config {
            $( $(#[doc = $section_doc])+ pub $field: $Section, )+
            /// Follows from the offline options; made once, because every miss asks it.
            pub(crate) noise: Noise,
            /// Follows from the options of HTTPS; every CONNECT asks it.
            pub(crate) passed: Passed,
        }

        $(
            $(#[doc = $section_doc])+
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub struct $Section {
                $( $(#[doc = $doc])+ pub $name: $Type, )+
            }
        )+

        /// Every section with every option.
        pub const SECTIONS: &[Section] = &[$(
            Section {
                name: $section,
                sentence: concat!($($section_doc),+),
                options: &[$(
                    OptionInfo {
                        key: $key,
                        kind: <$Type as Value>::KIND,
                        is_secret: <$Type as Value>::IS_SECRET,
                        meaning: <$Type as Value>::MEANING,
                        default: $default,
                        effect: Effect::$effect,
                        sentence: concat!($($doc),+),
                    },
                )+],
            },
        )+];

        impl Config {
            /// Takes each option from the text, or its default. What is wrong is told to `source`.
            pub(crate) fn take(source: &mut Source<'_>) -> Self {
                $(
                    let $field = $Section {
                        $( $name: source.option($section, $key, $default), )+
                    };
                )+
                let mut config =
                    Self { $( $field, )+ noise: Noise::default(), passed: Passed::default() };
                config.noise = Noise::of(&config.offline_options);
                config.passed = Passed::of(&config.https);
                config
            }
        }
    };
}

schema! {
    /// How the daemon starts: where it listens and where it keeps what it stores.
    "startup" => startup: Startup {
        /// The addresses and ports that browsers connect to.
        "listen" => listen: Listen = r#"["127.0.0.1:8080"]"#, Restart;
        /// The directory of the spool, where everything is kept; "" is wwwoffle in the XDG data directory.
        "spool-dir" => spool_dir: SpoolDir = r#""""#, Restart;
        /// When a finished page is made safe against a power cut: each at once, a batch within a second, or none.
        "durability" => durability: Durability = r#""batch""#, Restart;
        /// How many connections of browsers are served at once; one more waits to be accepted. So many requests of HTTP/2 are answered at once, too, on all connections together.
        "max-connections" => max_connections: NonZeroUsize = "10000", Restart;
        /// The control password: whoever changes something, on a page or through the API, has to know it; "" asks for none. `wwwoffle passwd` makes the line. The socket in the spool needs none.
        "password" => password: ControlPassword = r#""""#, Live;
    }

    /// What holds for every request.
    "options" => options: Options {
        /// How much is logged: this level and those before it.
        "log-level" => log_level: LogLevel = r#""info""#, Live;
        /// How long to wait for an origin to accept a connection.
        "connect-timeout" => connect_timeout: Duration = r#""30s""#, Live;
        /// How long to wait for the address of a host.
        "dns-timeout" => dns_timeout: Duration = r#""1m""#, Live;
        /// How long a transfer may stand still, no byte moving, before it is given up.
        "socket-timeout" => socket_timeout: Duration = r#""2m""#, Live;
        /// How long an origin may take to begin its answer, after the last byte of the request.
        "head-timeout" => head_timeout: Duration = r#""1m""#, Live;
        /// How long a connection is kept open without a request on it; a browser that begins one has this long for its head.
        "idle-timeout" => idle_timeout: Duration = r#""1m""#, Live;
        /// How many connections to one origin are open at once; over HTTP/2 one is enough for all requests.
        "connections-per-host" => connections_per_host: NonZeroUsize = "16", Live;
        /// Whether a download goes on to its end when the browser that asked for it leaves.
        "finish-downloads" => finish_downloads: bool = "true", Live;
    }

    /// The names of this proxy itself, under which its own pages are reached.
    "local-host" => local_host: LocalNames {
        /// Names and addresses that mean this proxy; the first is used in links.
        "names" => names: HostNames = r#"["localhost", "127.0.0.1", "::1"]"#, Restart;
    }

    /// Which machines may use this proxy. It may listen for others only when this section or the next says who.
    "allowed-connect-hosts" => allowed_hosts: AllowedHosts {
        /// The clients that are served, besides this machine; the first match decides, and no match is a refusal. Without any it is whoever knows a password of [allowed-connect-users], or this machine alone.
        "hosts" => hosts: ClientHosts = "[]", Live;
    }

    /// Who may use this proxy.
    "allowed-connect-users" => allowed_users: AllowedUsers {
        /// The users that are served, each with a password, from whatever machine, also this one; without any nobody is asked. `wwwoffle passwd USER` makes the entries.
        "users" => users: Users = "[]", Live;
    }

    /// Connections that a browser opens through the proxy with CONNECT.
    "tunnel" => tunnel: Tunnel {
        /// The ports that may be connected to; a request for any other is refused.
        "ports" => ports: PortRanges = r#"["443", "1024-65535"]"#, Live;
    }

    /// HTTPS: what is read and kept, with a certificate of ours, and what passes unread.
    "https" => https: Https {
        /// Whether HTTPS is answered by this proxy and kept; a browser has to trust its certificate authority for that. Otherwise all of it passes through tunnels.
        "intercept" => intercept: bool = "true", Live;
        /// HTTPS that passes through a tunnel, unread and not kept, added to the shipped list, and with ! excepted from it; patterns are compared with https://HOST:PORT/ alone.
        "tunnel" => tunnel: UrlSpecSet = "[]", Live;
        /// Whether the shipped list of such hosts is used: payment, health, updates of systems, programs with keys of their own.
        "shipped-tunnel" => shipped_tunnel: bool = "true", Live;
        /// HTTPS that is refused; patterns are compared with https://HOST:PORT/ alone.
        "refuse" => refuse: UrlSpecSet = "[]", Live;
        /// Authorities that origins may have their certificates from, besides those that the system trusts.
        "extra-ca" => extra_ca: ExtraAuthorities = "[]", Restart;
        /// Certificates of origins that are accepted though something is wrong with them, one by one.
        "allowed-certificates" => allowed_certificates: AllowedCertificates = "[]", Live;
        /// What our certificate authority is limited to when it is made or renewed: it is good for these domains and nothing else, and all other HTTPS passes unread.
        "name-constraints" => name_constraints: Domains = "[]", Restart;
    }

    /// Fetching what was asked for offline, once the line is back.
    "fetch-options" => fetch_options: FetchOptions {
        /// How many requests to one host are under way at once.
        "per-host" => per_host: NonZeroUsize = "6", Live;
        /// How many requests are under way at once, over all hosts.
        "at-once" => at_once: NonZeroUsize = "32", Live;
        /// How often a request is tried before it counts as failed.
        "attempts" => attempts: NonZeroUsize = "5", Live;
        /// How long to wait before the second attempt; each further wait is longer.
        "retry-delay" => retry_delay: Duration = r#""2s""#, Live;
    }

    /// What happens to requests while offline.
    "offline-options" => offline_options: OfflineOptions {
        /// URLs that browsers ask for of their own accord, added to the shipped list: neither queued nor listed, and with ! excepted from it.
        "noise" => noise: UrlSpecSet = "[]", Live;
        /// Whether the shipped list of such URLs is used.
        "shipped-noise" => shipped_noise: bool = "true", Live;
    }
}

impl Config {
    /// What browsers and systems ask for of their own accord, as the offline options have it. It
    /// follows the options as they were read: changing the field later does not change it.
    #[must_use]
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// The HTTPS that passes unread, as the options of HTTPS have it. It follows the options as they
    /// were read.
    #[must_use]
    pub fn passed(&self) -> &Passed {
        &self.passed
    }
}

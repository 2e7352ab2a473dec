//! HTTPS, and the tunnels for HTTPS that is not intercepted.

use crate::{
    pattern::set::UrlSpecSet,
    values::{
        authorities::ExtraAuthorities, certificates::AllowedCertificates, domains::Domains,
        ports::PortRanges,
    },
};

section! {
    /// Connections that a browser opens through the proxy with CONNECT.
    "tunnel" => Tunnel {
        /// The ports that may be connected to; a request for any other port is refused. Ports of other protocols, such as mail or chat, must be listed one by one: no range includes them. Browsers do not connect to these ports either.
        "ports" => ports: PortRanges = r#"["443", "1024-65535"]"#, Live, Access;
    }
}

section! {
    /// HTTPS: which connections are intercepted with a certificate of this proxy and stored, and which are not.
    "https" => Https {
        /// Whether this proxy answers HTTPS itself and stores it; browsers must trust its certificate authority for that. Otherwise all HTTPS passes through tunnels.
        "intercept" => intercept: bool = "true", Live, Trust;
        /// HTTPS that passes through a tunnel and is not stored, in addition to the shipped list. A pattern with ! makes an exception from the shipped list. Patterns are compared with https://HOST:PORT/ alone.
        "tunnel" => tunnel: UrlSpecSet = "[]", Live, Ordinary;
        /// Whether the HTTPS of the hosts in the shipped list passes through a tunnel: payment, health, system updates, programs with keys of their own.
        "shipped-tunnel" => shipped_tunnel: bool = "true", Live, Ordinary;
        /// HTTPS that is refused; patterns are compared with https://HOST:PORT/ alone.
        "refuse" => refuse: UrlSpecSet = "[]", Live, Ordinary;
        /// Certificate authorities that may sign the certificates of origins, in addition to those that the system trusts.
        "extra-ca" => extra_ca: ExtraAuthorities = "[]", Restart, Trust;
        /// Individual certificates of origins that are accepted despite an error.
        "allowed-certificates" => allowed_certificates: AllowedCertificates = "[]", Live, Trust;
        /// The domains to which the certificate authority of wwwoffle is limited when it is created or renewed. HTTPS of all other hosts then passes through tunnels. Without domains there is no limit.
        "name-constraints" => name_constraints: Domains = "[]", Restart, Trust;
    }
}

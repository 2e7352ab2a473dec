//! HTTPS, and the tunnels that it passes through otherwise.

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
        /// The ports that may be connected to; a request for any other is refused. Ports of other protocols, such as mail or chat, must be listed one by one: no range includes them. Browsers do not connect to these ports either.
        "ports" => ports: PortRanges = r#"["443", "1024-65535"]"#, Live, Access;
    }
}

section! {
    /// HTTPS: what is read and kept, with a certificate of ours, and what passes unread.
    "https" => Https {
        /// Whether HTTPS is answered by this proxy and kept; a browser has to trust its certificate authority for that. Otherwise all of it passes through tunnels.
        "intercept" => intercept: bool = "true", Live, Trust;
        /// HTTPS that passes through a tunnel, unread and not kept, added to the shipped list, and with ! excepted from it; patterns are compared with https://HOST:PORT/ alone.
        "tunnel" => tunnel: UrlSpecSet = "[]", Live, Ordinary;
        /// Whether the shipped list of such hosts is used: payment, health, updates of systems, programs with keys of their own.
        "shipped-tunnel" => shipped_tunnel: bool = "true", Live, Ordinary;
        /// HTTPS that is refused; patterns are compared with https://HOST:PORT/ alone.
        "refuse" => refuse: UrlSpecSet = "[]", Live, Ordinary;
        /// Authorities that origins may have their certificates from, besides those that the system trusts.
        "extra-ca" => extra_ca: ExtraAuthorities = "[]", Restart, Trust;
        /// Certificates of origins that are accepted though something is wrong with them, one by one.
        "allowed-certificates" => allowed_certificates: AllowedCertificates = "[]", Live, Trust;
        /// What our certificate authority is limited to when it is made or renewed: it is good for these domains and nothing else, and all other HTTPS passes unread.
        "name-constraints" => name_constraints: Domains = "[]", Restart, Trust;
    }
}

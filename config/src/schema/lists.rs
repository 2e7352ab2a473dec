//! URLs that are blocked, not stored or redirected; header fields; parent proxies.

use crate::{
    blocklist::BlockList,
    pattern::set::UrlSpecSet,
    source::rule::UrlRules,
    values::{
        aliases::Aliases,
        archives::TimeGates,
        censored::CensoredFields,
        hosts::HostList,
        media::{Extensions, MediaTypes},
        methods::Methods,
        parent::{ParentProxy, Replacement},
        ports::PortRanges,
        texts::{Secret, UserName},
        words::FtpTls,
    },
};
use std::time::Duration;

section! {
    /// URLs that are blocked.
    "dont-get" => DontGet {
        /// The blocked URLs. The first entry that matches a request decides.
        "urls" => urls: BlockList = "[]", Live, Ordinary;
        /// The URL to which requests for a blocked URL are redirected, if their method is safe.
        "replacement" => replacement: UrlRules<Replacement> = r#""""#, Live, Trust;
        /// Whether a URL may be fetched because a page refers to it. With false, it is fetched only if a browser requests it.
        "get-recursive" => get_recursive: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a redirect to a blocked URL is answered as a missing page.
        "location-error" => location_error: UrlRules<bool> = "false", Live, Ordinary;
        /// Ports of other protocols, such as mail, to which requests are allowed nevertheless. All other ports that browsers do not connect to are refused (the bad ports of the Fetch standard).
        "allowed-ports" => allowed_ports: UrlRules<PortRanges> = "[]", Live, Access;
        /// Methods that are not registered with IANA and are allowed nevertheless.
        "allowed-methods" => allowed_methods: UrlRules<Methods> = "[]", Live, Access;
    }
}

section! {
    /// URLs whose responses are passed through and never stored.
    "dont-cache" => DontCache {
        /// The URLs.
        "urls" => urls: UrlSpecSet = "[]", Live, Ordinary;
    }
}

section! {
    /// Files that are compressed already, and are not compressed again.
    "dont-compress" => DontCompress {
        /// Bodies of these types are not compressed when they reach `compress-age`.
        "mime-type" => mime_type: MediaTypes = r#"["image/*", "video/*", "audio/*", "font/woff", "font/woff2", "application/pdf", "application/zip", "application/gzip", "application/zstd"]"#, Live, Ordinary;
        /// For paths that end with these extensions, origins are not asked for compressed bodies.
        "file-ext" => file_ext: Extensions = r#"[".gz", ".bz2", ".xz", ".zst", ".tgz", ".zip", ".7z"]"#, Live, Ordinary;
    }
}

section! {
    /// Header fields that are removed from requests and responses, or replaced in them.
    "censor-header" => CensorHeader {
        /// The fields of requests and responses that are removed or replaced.
        "headers" => headers: CensoredFields = "{}", Live, Trust;
        /// Whether the Referer of a request is its own URL.
        "referer-self" => referer_self: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether the Referer of a request is the directory of its own URL.
        "referer-self-dir" => referer_self_dir: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether requests that come from a page are sent without Referer; the rule is found by the URL of that page.
        "referer-from" => referer_from: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a request without User-Agent gets that of wwwoffle.
        "force-user-agent" => force_user_agent: UrlRules<bool> = "false", Live, Ordinary;
    }
}

section! {
    /// Parent proxies between this one and the origins.
    "proxy" => Proxy {
        /// The parent proxy for requests over HTTP and FTP, or several, which are tried in order.
        "proxy" => proxy: UrlRules<ParentProxy> = r#""""#, Live, Trust;
        /// The parent proxy that opens the connections for HTTPS and tunnels, or several, which are tried in order.
        "ssl" => ssl: UrlRules<ParentProxy> = r#""""#, Live, Trust;
        /// The user name at the parent proxies; the rule is found by the requested URL.
        "auth-username" => auth_username: UrlRules<UserName> = r#""""#, Live, Trust;
        /// The password at the parent proxies.
        "auth-password" => auth_password: UrlRules<Secret> = r#""""#, Live, Trust;
        /// Hosts that are always connected to without a parent proxy, as named in the URL.
        "except" => except: HostList = "[]", Live, Trust;
        /// How long a parent proxy that failed is tried only after the others.
        "avoid-for" => avoid_for: Duration = r#""1m""#, Live, Ordinary;
        /// Whether `http_proxy`, `https_proxy`, `ftp_proxy`, `all_proxy` and `no_proxy` of the environment apply to URLs for which no parent proxy is configured.
        "environment" => environment: bool = "false", Restart, Trust;
    }
}

section! {
    /// Requests to FTP servers.
    "ftp-options" => FtpOptions {
        /// The user name at servers for which no other is configured.
        "anon-username" => anon_username: UserName = r#""anonymous""#, Live, Ordinary;
        /// The password that goes with `anon-username`; it is not secret.
        "anon-password" => anon_password: UserName = r#""wwwoffle@""#, Live, Ordinary;
        /// The user name at a server. A login in the URL or in the request comes first.
        "auth-username" => auth_username: UrlRules<UserName> = r#""""#, Live, Trust;
        /// The password that goes with `auth-username`.
        "auth-password" => auth_password: UrlRules<Secret> = r#""""#, Live, Trust;
        /// Whether connections to a server are encrypted.
        "tls" => tls: UrlRules<FtpTls> = r#""offered""#, Live, Trust;
        /// Whether files may be sent to a server (PUT).
        "upload" => upload: UrlRules<bool> = "false", Live, Access;
    }
}

section! {
    /// URLs that have moved.
    "alias" => Alias {
        /// The old URLs and their new ones; browsers are redirected there.
        "urls" => urls: Aliases = "[]", Live, Trust;
    }
}

section! {
    /// Web archives, from which a person can get the captures of pages that are missing.
    "web-archives" => WebArchives {
        /// The TimeGates (RFC 7089) that look up captures. When a person looks a page up, each of them learns its URL, with its arguments. Only URLs of public hosts are sent, and never a user name or a password. Without an address nothing is offered and nothing is sent.
        "time-gates" => time_gates: TimeGates = "[]", Live, Trust;
        /// Whether captures are offered for a page that is missing: its host does not exist or refuses connections, or it answers 404 or 410.
        "offer" => offer: UrlRules<bool> = "true", Live, Ordinary;
    }
}

//! What is not got, not kept or not sent.

use crate::{
    blocklist::BlockList,
    pattern::set::UrlSpecSet,
    source::rule::UrlRules,
    values::{
        aliases::Aliases,
        censored::CensoredFields,
        media::{Extensions, MediaTypes},
        methods::Methods,
        parent::{ParentProxy, Replacement},
        ports::PortRanges,
        texts::{Secret, UserName},
    },
};

section! {
    /// URLs that are never got.
    "dont-get" => DontGet {
        /// The URLs.
        "urls" => urls: BlockList = "[]", Live, Ordinary;
        /// What is served in their place.
        "replacement" => replacement: UrlRules<Replacement> = r#""""#, Live, Trust;
        /// Whether pages here may be got because other pages refer to them; false leaves them to browsers alone.
        "get-recursive" => get_recursive: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a redirection to a URL that is not got is answered as a page that is not there.
        "location-error" => location_error: UrlRules<bool> = "false", Live, Ordinary;
        /// Ports of other protocols, such as mail, that requests may go to nevertheless. Otherwise the ports are refused to which browsers do not connect (the bad ports of the Fetch standard).
        "allowed-ports" => allowed_ports: UrlRules<PortRanges> = "[]", Live, Access;
        /// Methods that are not registered with IANA and that requests may have nevertheless.
        "allowed-methods" => allowed_methods: UrlRules<Methods> = "[]", Live, Access;
    }
}

section! {
    /// URLs that are passed through and never kept.
    "dont-cache" => DontCache {
        /// The URLs.
        "urls" => urls: UrlSpecSet = "[]", Live, Ordinary;
    }
}

section! {
    /// What is compressed already, and is not compressed again.
    "dont-compress" => DontCompress {
        /// Bodies of these types are not compressed when they have reached `compress-age`.
        "mime-type" => mime_type: MediaTypes = r#"["image/*", "video/*", "audio/*", "font/woff", "font/woff2", "application/pdf", "application/zip", "application/gzip", "application/zstd"]"#, Live, Ordinary;
        /// Of paths that end so, origins are not asked for compressed bodies.
        "file-ext" => file_ext: Extensions = r#"[".gz", ".bz2", ".xz", ".zst", ".tgz", ".zip", ".7z"]"#, Live, Ordinary;
    }
}

section! {
    /// What is removed from requests and answers, or replaced in them.
    "censor-header" => CensorHeader {
        /// The fields of requests and answers that are removed or replaced.
        "headers" => headers: CensoredFields = "{}", Live, Trust;
        /// Whether the Referer of a request is the URL that is asked for.
        "referer-self" => referer_self: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether the Referer of a request is the directory of the URL that is asked for.
        "referer-self-dir" => referer_self_dir: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether requests that a page here refers to go without Referer; the rule is found by the URL of that page.
        "referer-from" => referer_from: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a request without User-Agent gets that of wwwoffle.
        "force-user-agent" => force_user_agent: UrlRules<bool> = "false", Live, Ordinary;
    }
}

section! {
    /// A proxy between this one and the origins.
    "proxy" => Proxy {
        /// The proxy that requests over HTTP go through.
        "proxy" => proxy: UrlRules<ParentProxy> = r#""""#, Live, Trust;
        /// The proxy that opens the connections for HTTPS (CONNECT).
        "ssl" => ssl: UrlRules<ParentProxy> = r#""""#, Live, Trust;
        /// The user that this proxy is to the other; the rule is found by the URL that is asked for.
        "auth-username" => auth_username: UrlRules<UserName> = r#""""#, Live, Trust;
        /// The password of that user.
        "auth-password" => auth_password: UrlRules<Secret> = r#""""#, Live, Trust;
    }
}

section! {
    /// URLs that have become others.
    "alias" => Alias {
        /// The URLs and what they have become; browsers are sent there.
        "urls" => urls: Aliases = "[]", Live, Trust;
    }
}

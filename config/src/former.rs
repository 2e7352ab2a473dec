//! The options of WWWOFFLE 2.9 and their successors.

/// An option of WWWOFFLE 2.9.
#[derive(Clone, Copy, Debug)]
pub struct FormerOption {
    /// The section in 2.9.
    pub section: &'static str,
    /// The name in 2.9; "" for the entries of a section that is a list.
    pub key: &'static str,
    /// The successor.
    pub now: Successor,
}

/// The successor of an option of 2.9.
#[derive(Clone, Copy, Debug)]
pub enum Successor {
    /// The option still exists.
    Same {
        /// The section.
        section: &'static str,
        /// The option.
        key: &'static str,
    },
    /// The option no longer exists.
    Gone {
        /// The reason.
        reason: &'static str,
        /// Section and option with the same purpose, if there are any.
        instead: Option<(&'static str, &'static str)>,
    },
}

impl FormerOption {
    /// Finds the option of 2.9 with this section and name. `None` if 2.9 has no such option.
    #[must_use]
    pub fn find(section: &str, key: &str) -> Option<&'static Self> {
        FORMER.iter().find(|former| {
            former.section.eq_ignore_ascii_case(section) && former.key.eq_ignore_ascii_case(key)
        })
    }
}

/// The sections of WWWOFFLE 2.9, in the order of [`FORMER`].
pub(crate) fn sections() -> impl Iterator<Item = &'static str> {
    let mut last = None;
    FORMER.iter().map(|former| former.section).filter(move |name| last.replace(*name) != Some(name))
}

/// Whether `text` begins like a configuration of 2.9: the name of a section, and the opening `{` or
/// `[` of the section on the next line.
pub(crate) fn is_former(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let mut written = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let is_section = |name: &str| sections().any(|known| known.eq_ignore_ascii_case(name));
    written.next().is_some_and(is_section) && matches!(written.next(), Some("{" | "["))
}

const fn is(
    (section, key): (&'static str, &'static str),
    (now, now_key): (&'static str, &'static str),
) -> FormerOption {
    FormerOption { section, key, now: Successor::Same { section: now, key: now_key } }
}

const fn gone(
    section: &'static str,
    key: &'static str,
    reason: &'static str,
    instead: Option<(&'static str, &'static str)>,
) -> FormerOption {
    FormerOption { section, key, now: Successor::Gone { reason, instead } }
}

/// All options of WWWOFFLE 2.9, grouped by section.
pub const FORMER: &[FormerOption] = &[
    is(("StartUp", "spool-dir"), ("startup", "spool-dir")),
    is(("StartUp", "run-uid"), ("startup", "run-uid")),
    is(("StartUp", "run-gid"), ("startup", "run-gid")),
    gone(
        "StartUp",
        "bind-ipv4",
        "One list contains all addresses and ports that the proxy listens on.",
        Some(("startup", "listen")),
    ),
    gone(
        "StartUp",
        "bind-ipv6",
        "One list contains all addresses and ports that the proxy listens on.",
        Some(("startup", "listen")),
    ),
    gone(
        "StartUp",
        "http-port",
        "One list contains all addresses and ports that the proxy listens on.",
        Some(("startup", "listen")),
    ),
    gone(
        "StartUp",
        "https-port",
        "One list contains all addresses and ports that the proxy listens on.",
        Some(("startup", "listen")),
    ),
    gone(
        "StartUp",
        "wwwoffle-port",
        "Commands go over a socket in the spool, which only its owner can open.",
        None,
    ),
    gone(
        "StartUp",
        "use-syslog",
        "The log goes to standard error, the log of the system or the journal.",
        Some(("startup", "log-to")),
    ),
    gone(
        "StartUp",
        "password",
        "The password is stored as a hash, which `wwwoffle passwd` makes.",
        Some(("startup", "password")),
    ),
    gone(
        "StartUp",
        "max-servers",
        "The daemon is one process; connections are limited instead.",
        Some(("startup", "max-connections")),
    ),
    gone(
        "StartUp",
        "max-fetch-servers",
        "The daemon is one process; simultaneous requests are limited instead.",
        Some(("fetch-options", "at-once")),
    ),
    is(("Options", "log-level"), ("options", "log-level")),
    is(("Options", "socket-timeout"), ("options", "socket-timeout")),
    is(("Options", "dns-timeout"), ("options", "dns-timeout")),
    is(("Options", "connect-timeout"), ("options", "connect-timeout")),
    is(("Options", "run-online"), ("options", "run-online")),
    is(("Options", "run-offline"), ("options", "run-offline")),
    is(("Options", "run-autodial"), ("options", "run-autodial")),
    is(("Options", "run-fetch"), ("options", "run-fetch")),
    is(("Options", "dir-perm"), ("startup", "dir-perm")),
    is(("Options", "file-perm"), ("startup", "file-perm")),
    gone(
        "Options",
        "connect-retry",
        "Every address of a host is tried, and failed fetches are retried automatically.",
        Some(("fetch-options", "attempts")),
    ),
    gone("Options", "lock-files", "One download is shared by all clients that request it.", None),
    gone(
        "Options",
        "reply-compressed-data",
        "A body reaches the browser in the content coding of the origin.",
        None,
    ),
    gone(
        "Options",
        "reply-chunked-data",
        "Chunks are part of HTTP/1.1 and are used as needed.",
        None,
    ),
    gone("Options", "exec-cgi", "A proxy does not run programs for pages.", None),
    is(("OnlineOptions", "pragma-no-cache"), ("online-options", "pragma-no-cache")),
    is(("OnlineOptions", "cache-control-no-cache"), ("online-options", "cache-control-no-cache")),
    is(("OnlineOptions", "cache-control-max-age-0"), ("online-options", "cache-control-max-age-0")),
    is(("OnlineOptions", "cookies-force-refresh"), ("online-options", "cookies-force-refresh")),
    is(("OnlineOptions", "request-changed"), ("online-options", "request-changed")),
    is(("OnlineOptions", "request-changed-once"), ("online-options", "request-changed-once")),
    is(("OnlineOptions", "request-expired"), ("online-options", "request-expired")),
    is(("OnlineOptions", "request-no-cache"), ("online-options", "request-no-cache")),
    is(("OnlineOptions", "request-redirection"), ("online-options", "request-redirection")),
    is(("OnlineOptions", "request-conditional"), ("online-options", "request-conditional")),
    is(("OnlineOptions", "validate-with-etag"), ("online-options", "validate-with-etag")),
    is(("OnlineOptions", "intr-download-keep"), ("online-options", "intr-download-keep")),
    is(("OnlineOptions", "intr-download-size"), ("online-options", "intr-download-size")),
    is(("OnlineOptions", "intr-download-percent"), ("online-options", "intr-download-percent")),
    is(("OnlineOptions", "timeout-download-keep"), ("online-options", "timeout-download-keep")),
    is(("OnlineOptions", "keep-cache-if-not-found"), ("online-options", "keep-cache-if-not-found")),
    is(("OnlineOptions", "request-compressed-data"), ("online-options", "request-compressed-data")),
    gone(
        "OnlineOptions",
        "try-without-password",
        "A response to a user and password is stored for that user only.",
        None,
    ),
    gone(
        "OnlineOptions",
        "request-chunked-data",
        "Chunks are part of HTTP/1.1, so every origin may send them.",
        None,
    ),
    is(("OfflineOptions", "pragma-no-cache"), ("offline-options", "pragma-no-cache")),
    is(("OfflineOptions", "cache-control-no-cache"), ("offline-options", "cache-control-no-cache")),
    is(
        ("OfflineOptions", "cache-control-max-age-0"),
        ("offline-options", "cache-control-max-age-0"),
    ),
    is(("OfflineOptions", "confirm-requests"), ("offline-options", "confirm-requests")),
    is(("OfflineOptions", "dont-request"), ("offline-options", "dont-request")),
    gone(
        "SSLOptions",
        "quick-key-gen",
        "Keys are made immediately, with random numbers of the system.",
        None,
    ),
    gone(
        "SSLOptions",
        "expiration-time",
        "Certificates are valid as long as browsers accept, and are renewed automatically.",
        None,
    ),
    gone(
        "SSLOptions",
        "enable-caching",
        "HTTPS is stored by default, like any other page.",
        Some(("https", "intercept")),
    ),
    gone(
        "SSLOptions",
        "allow-tunnel",
        "URL-SPECIFICATIONs select the HTTPS that passes through a tunnel.",
        Some(("https", "tunnel")),
    ),
    gone(
        "SSLOptions",
        "disallow-tunnel",
        "URL-SPECIFICATIONs select the HTTPS that is refused.",
        Some(("https", "refuse")),
    ),
    gone(
        "SSLOptions",
        "allow-cache",
        "All HTTPS is stored unless it is tunnelled; ! makes an exception in that list.",
        Some(("https", "tunnel")),
    ),
    gone(
        "SSLOptions",
        "disallow-cache",
        "HTTPS that is not stored passes through a tunnel.",
        Some(("https", "tunnel")),
    ),
    is(("FetchOptions", "stylesheets"), ("fetch-options", "stylesheets")),
    is(("FetchOptions", "images"), ("fetch-options", "images")),
    is(("FetchOptions", "frames"), ("fetch-options", "frames")),
    is(("FetchOptions", "iframes"), ("fetch-options", "iframes")),
    is(("FetchOptions", "scripts"), ("fetch-options", "scripts")),
    is(("FetchOptions", "objects"), ("fetch-options", "objects")),
    is(("FetchOptions", "webbug-images"), ("fetch-options", "webbug-images")),
    is(("FetchOptions", "icon-images"), ("fetch-options", "icon-images")),
    is(("FetchOptions", "only-same-host-images"), ("fetch-options", "only-same-host-images")),
    is(("IndexOptions", "create-history-indexes"), ("index-options", "create-history-indexes")),
    is(("IndexOptions", "cycle-indexes-daily"), ("index-options", "cycle-indexes-daily")),
    is(("IndexOptions", "list-outgoing"), ("index-options", "list-outgoing")),
    is(("IndexOptions", "list-latest"), ("index-options", "list-latest")),
    is(("IndexOptions", "list-monitor"), ("index-options", "list-monitor")),
    is(("IndexOptions", "list-host"), ("index-options", "list-host")),
    is(("IndexOptions", "list-any"), ("index-options", "list-any")),
    is(("ModifyHTML", "enable-modify-html"), ("modify-html", "enable-modify-html")),
    is(("ModifyHTML", "add-cache-info"), ("modify-html", "add-cache-info")),
    is(("ModifyHTML", "anchor-cached-begin"), ("modify-html", "anchor-cached-begin")),
    is(("ModifyHTML", "anchor-cached-end"), ("modify-html", "anchor-cached-end")),
    is(("ModifyHTML", "anchor-requested-begin"), ("modify-html", "anchor-requested-begin")),
    is(("ModifyHTML", "anchor-requested-end"), ("modify-html", "anchor-requested-end")),
    is(("ModifyHTML", "anchor-not-cached-begin"), ("modify-html", "anchor-not-cached-begin")),
    is(("ModifyHTML", "anchor-not-cached-end"), ("modify-html", "anchor-not-cached-end")),
    is(("ModifyHTML", "disable-script"), ("modify-html", "disable-script")),
    is(("ModifyHTML", "disable-applet"), ("modify-html", "disable-applet")),
    is(("ModifyHTML", "disable-style"), ("modify-html", "disable-style")),
    is(("ModifyHTML", "disable-blink"), ("modify-html", "disable-blink")),
    is(("ModifyHTML", "disable-marquee"), ("modify-html", "disable-marquee")),
    is(("ModifyHTML", "disable-flash"), ("modify-html", "disable-flash")),
    is(("ModifyHTML", "disable-iframe"), ("modify-html", "disable-iframe")),
    is(("ModifyHTML", "disable-meta-refresh"), ("modify-html", "disable-meta-refresh")),
    is(("ModifyHTML", "disable-meta-refresh-self"), ("modify-html", "disable-meta-refresh-self")),
    is(("ModifyHTML", "disable-meta-set-cookie"), ("modify-html", "disable-meta-set-cookie")),
    is(("ModifyHTML", "disable-dontget-links"), ("modify-html", "disable-dontget-links")),
    is(("ModifyHTML", "disable-dontget-iframes"), ("modify-html", "disable-dontget-iframes")),
    is(("ModifyHTML", "replace-dontget-images"), ("modify-html", "replace-dontget-images")),
    is(("ModifyHTML", "replacement-dontget-image"), ("modify-html", "replacement-dontget-image")),
    is(("ModifyHTML", "replace-webbug-images"), ("modify-html", "replace-webbug-images")),
    is(("ModifyHTML", "replacement-webbug-image"), ("modify-html", "replacement-webbug-image")),
    is(("ModifyHTML", "demoronise-ms-chars"), ("modify-html", "demoronise-ms-chars")),
    is(("ModifyHTML", "fix-mixed-cyrillic"), ("modify-html", "fix-mixed-cyrillic")),
    is(("ModifyHTML", "disable-animated-gif"), ("modify-html", "disable-animated-gif")),
    is(("LocalHost", ""), ("local-host", "names")),
    is(("LocalNet", ""), ("local-net", "hosts")),
    is(("AllowedConnectHosts", ""), ("allowed-connect-hosts", "hosts")),
    gone(
        "AllowedConnectUsers",
        "",
        "Passwords are stored as hashes, which `wwwoffle passwd` makes.",
        Some(("allowed-connect-users", "users")),
    ),
    is(("DontCache", ""), ("dont-cache", "urls")),
    is(("DontGet", ""), ("dont-get", "urls")),
    is(("DontGet", "replacement"), ("dont-get", "replacement")),
    is(("DontGet", "get-recursive"), ("dont-get", "get-recursive")),
    is(("DontGet", "location-error"), ("dont-get", "location-error")),
    is(("DontCompress", "mime-type"), ("dont-compress", "mime-type")),
    is(("DontCompress", "file-ext"), ("dont-compress", "file-ext")),
    is(("CensorHeader", ""), ("censor-header", "headers")),
    is(("CensorHeader", "referer-self"), ("censor-header", "referer-self")),
    is(("CensorHeader", "referer-self-dir"), ("censor-header", "referer-self-dir")),
    is(("CensorHeader", "referer-from"), ("censor-header", "referer-from")),
    is(("CensorHeader", "force-user-agent"), ("censor-header", "force-user-agent")),
    gone(
        "CensorHeader",
        "pass-url-unchanged",
        "Requests to origins always have the path and the arguments as the browser spelled them.",
        None,
    ),
    gone(
        "FTPOptions",
        "anon-username",
        "FTP is not supported, because browsers have removed it.",
        None,
    ),
    gone(
        "FTPOptions",
        "anon-password",
        "FTP is not supported, because browsers have removed it.",
        None,
    ),
    gone(
        "FTPOptions",
        "auth-username",
        "FTP is not supported, because browsers have removed it.",
        None,
    ),
    gone(
        "FTPOptions",
        "auth-password",
        "FTP is not supported, because browsers have removed it.",
        None,
    ),
    is(("MIMETypes", ""), ("mime-types", "types")),
    is(("MIMETypes", "default"), ("mime-types", "default")),
    is(("Proxy", "proxy"), ("proxy", "proxy")),
    is(("Proxy", "ssl"), ("proxy", "ssl")),
    is(("Proxy", "auth-username"), ("proxy", "auth-username")),
    is(("Proxy", "auth-password"), ("proxy", "auth-password")),
    is(("Alias", ""), ("alias", "urls")),
    is(("Purge", "use-mtime"), ("purge", "use-mtime")),
    is(("Purge", "age"), ("purge", "age")),
    is(("Purge", "compress-age"), ("purge", "compress-age")),
    is(("Purge", "max-size"), ("purge", "max-size")),
    is(("Purge", "min-free"), ("purge", "min-free")),
    is(("Purge", "del-dontget"), ("purge", "del-dontget")),
    is(("Purge", "del-dontcache"), ("purge", "del-dontcache")),
    gone("Purge", "use-url", "A rule is always compared with the whole URL.", None),
];

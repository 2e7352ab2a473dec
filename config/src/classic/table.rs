//! What each option of 2.9 is here.

use super::values::{
    Convert, account, age, ask_again, count, kilobytes, level, megabytes, percent, syslog, text,
    time, truth,
};

/// What an option of 2.9 is here.
#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    /// This option, its value written anew.
    Option(&'static str, &'static str, Convert),
    /// A member of this array.
    Member(&'static str, &'static str),
    /// The address of the listening socket, or its port.
    Listen(Listen),
    /// A host and port whose HTTPS passes unread, or with `negated` does not.
    Tunnel { negated: bool },
    /// Nothing, for this reason.
    Gone(&'static str),
    /// Nothing, for this reason; and what it holds is a secret, which is not repeated.
    Secret(&'static str),
}

/// A part of where 2.9 listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listen {
    V4,
    V6,
    Port,
}

/// The section of ours that a section of 2.9 is for the most part.
pub(super) fn home(section: &str) -> &'static str {
    let pairs = [
        ("StartUp", "startup"),
        ("Options", "options"),
        ("OnlineOptions", "online-options"),
        ("OfflineOptions", "offline-options"),
        ("SSLOptions", "https"),
        ("FetchOptions", "fetch-options"),
        ("IndexOptions", "index-options"),
        ("ModifyHTML", "modify-html"),
        ("LocalHost", "local-host"),
        ("LocalNet", "local-net"),
        ("AllowedConnectHosts", "allowed-connect-hosts"),
        ("AllowedConnectUsers", "allowed-connect-users"),
        ("DontCache", "dont-cache"),
        ("DontGet", "dont-get"),
        ("DontCompress", "dont-compress"),
        ("CensorHeader", "censor-header"),
        ("FTPOptions", "proxy"),
        ("MIMETypes", "mime-types"),
        ("Proxy", "proxy"),
        ("Alias", "alias"),
        ("Purge", "purge"),
    ];
    pairs.into_iter().find(|(old, _)| *old == section).map_or("startup", |(_, new)| new)
}

/// What `key` in `section` is here. `None` if 2.9 has no such option, and the section is no list.
pub(super) fn target(section: &str, key: &str) -> Option<To> {
    match section {
        "StartUp" => startup(key),
        "Options" => options(key),
        "OnlineOptions" => online(key),
        "OfflineOptions" => named("offline-options", key, &OFFLINE).map(truthful),
        "SSLOptions" => ssl(key),
        "FetchOptions" => named("fetch-options", key, &FETCH).map(truthful),
        "IndexOptions" => named("index-options", key, &INDEX).map(truthful),
        "ModifyHTML" => html(key),
        "LocalHost" => Some(To::Member("local-host", "names")),
        "LocalNet" => Some(To::Member("local-net", "hosts")),
        "AllowedConnectHosts" => Some(To::Member("allowed-connect-hosts", "hosts")),
        "AllowedConnectUsers" => Some(To::Secret(
            "passwords are not kept in clear here: `wwwoffle passwd NAME` makes the line of a user",
        )),
        "DontCache" => Some(To::Member("dont-cache", "urls")),
        "DontGet" => Some(dont_get(key)),
        "DontCompress" => match key {
            "mime-type" => Some(To::Member("dont-compress", "mime-type")),
            "file-ext" => Some(To::Member("dont-compress", "file-ext")),
            _ => None,
        },
        "CensorHeader" => named("censor-header", key, &CENSOR).map(truthful),
        "FTPOptions" => Some(To::Gone("FTP is not spoken here")),
        "MIMETypes" if key == "default" => Some(To::Option("mime-types", "default", text)),
        "Proxy" => match key {
            "proxy" => Some(To::Option("proxy", "proxy", text)),
            "ssl" => Some(To::Option("proxy", "ssl", text)),
            "auth-username" => Some(To::Option("proxy", "auth-username", text)),
            "auth-password" => Some(To::Option("proxy", "auth-password", text)),
            _ => None,
        },
        "Purge" => purge(key),
        _ => None,
    }
}

fn startup(key: &str) -> Option<To> {
    Some(match key {
        "bind-ipv4" => To::Listen(Listen::V4),
        "bind-ipv6" => To::Listen(Listen::V6),
        "http-port" => To::Listen(Listen::Port),
        "https-port" => To::Gone("the one port speaks TLS as well"),
        "wwwoffle-port" => To::Gone("commands go through a socket in the spool"),
        "spool-dir" => To::Gone(
            "the spool has another form here, and must not lie where the old one does; set \
             \"spool-dir\" if the default does not suit",
        ),
        "run-uid" => To::Option("startup", "run-uid", account),
        "run-gid" => To::Option("startup", "run-gid", account),
        "use-syslog" => To::Option("startup", "log-to", syslog),
        "password" => To::Secret(
            "the password is not kept in clear here: `wwwoffle passwd` makes the line for it",
        ),
        "max-servers" => {
            To::Gone("there is no process to each connection; see \"max-connections\"")
        }
        "max-fetch-servers" => To::Option("fetch-options", "at-once", count),
        _ => return None,
    })
}

fn options(key: &str) -> Option<To> {
    Some(match key {
        "log-level" => To::Option("options", "log-level", level),
        "socket-timeout" => To::Option("options", "socket-timeout", time),
        "dns-timeout" => To::Option("options", "dns-timeout", time),
        "connect-timeout" => To::Option("options", "connect-timeout", time),
        "connect-retry" => {
            To::Gone("what fails is tried again; see \"attempts\" in [fetch-options]")
        }
        "dir-perm" | "file-perm" => To::Gone(
            "the spool has keys and private pages in it, and is for its owner alone unless \
             \"dir-perm\" and \"file-perm\" in [startup] say otherwise",
        ),
        "run-online" => To::Option("options", "run-online", text),
        "run-offline" => To::Option("options", "run-offline", text),
        "run-autodial" => To::Option("options", "run-autodial", text),
        "run-fetch" => To::Option("options", "run-fetch", text),
        "lock-files" => To::Gone("a page on its way is never fetched twice"),
        "reply-compressed-data" => To::Gone("a body is sent as the browser can take it"),
        "reply-chunked-data" => To::Gone("HTTP/1.1 and HTTP/2 see to it"),
        "exec-cgi" => To::Gone("no programs are run to make pages"),
        _ => return None,
    })
}

fn online(key: &str) -> Option<To> {
    Some(match key {
        "request-changed" => To::Option("online-options", "request-changed", ask_again),
        "intr-download-size" => To::Option("online-options", "intr-download-size", kilobytes),
        "intr-download-percent" => To::Option("online-options", "intr-download-percent", percent),
        "try-without-password" => To::Gone("a page with a password is an entry of its own"),
        "request-chunked-data" => To::Gone("HTTP/1.1 and HTTP/2 see to it"),
        _ => truthful(named("online-options", key, &ONLINE)?),
    })
}

fn ssl(key: &str) -> Option<To> {
    Some(match key {
        "quick-key-gen" => To::Gone("keys are made quickly, and from the system's randomness"),
        "expiration-time" => {
            To::Gone("a certificate is valid for 90 days at most, as browsers ask")
        }
        "enable-caching" => To::Option("https", "intercept", truth),
        "allow-tunnel" => To::Tunnel { negated: false },
        "disallow-tunnel" => To::Tunnel { negated: true },
        "allow-cache" => {
            To::Gone("all of HTTPS is kept, but for what \"tunnel\" and \"refuse\" name")
        }
        "disallow-cache" => To::Gone("name these hosts in \"tunnel\" or \"refuse\""),
        _ => return None,
    })
}

fn html(key: &str) -> Option<To> {
    if let Some(found) = named("modify-html", key, &HTML) {
        return Some(truthful(found));
    }
    let (section, key) = named("modify-html", key, &HTML_TEXT)?;
    Some(To::Option(section, key, text))
}

/// What is no option in this section is a URL.
fn dont_get(key: &str) -> To {
    match key {
        "replacement" => To::Option("dont-get", "replacement", text),
        "get-recursive" => To::Option("dont-get", "get-recursive", truth),
        "location-error" => To::Option("dont-get", "location-error", truth),
        _ => To::Member("dont-get", "urls"),
    }
}

fn purge(key: &str) -> Option<To> {
    Some(match key {
        "use-mtime" => To::Option("purge", "use-mtime", truth),
        "age" => To::Option("purge", "age", age),
        "compress-age" => To::Option("purge", "compress-age", age),
        "max-size" => To::Option("purge", "max-size", megabytes),
        "min-free" => To::Option("purge", "min-free", megabytes),
        "use-url" => To::Gone("patterns are compared with the whole URL in any case"),
        "del-dontget" => To::Option("purge", "del-dontget", truth),
        "del-dontcache" => To::Option("purge", "del-dontcache", truth),
        _ => return None,
    })
}

/// The option of ours with the same name, if it is among `names`.
fn named(
    section: &'static str,
    key: &str,
    names: &[&'static str],
) -> Option<(&'static str, &'static str)> {
    names.iter().find(|name| **name == key).map(|name| (section, *name))
}

fn truthful((section, key): (&'static str, &'static str)) -> To {
    To::Option(section, key, truth)
}

const ONLINE: [&str; 14] = [
    "pragma-no-cache",
    "cache-control-no-cache",
    "cache-control-max-age-0",
    "cookies-force-refresh",
    "request-changed-once",
    "request-expired",
    "request-no-cache",
    "request-redirection",
    "request-conditional",
    "validate-with-etag",
    "intr-download-keep",
    "timeout-download-keep",
    "keep-cache-if-not-found",
    "request-compressed-data",
];

const OFFLINE: [&str; 5] = [
    "pragma-no-cache",
    "cache-control-no-cache",
    "cache-control-max-age-0",
    "confirm-requests",
    "dont-request",
];

const FETCH: [&str; 9] = [
    "stylesheets",
    "images",
    "frames",
    "iframes",
    "scripts",
    "objects",
    "webbug-images",
    "icon-images",
    "only-same-host-images",
];

const INDEX: [&str; 7] = [
    "create-history-indexes",
    "cycle-indexes-daily",
    "list-outgoing",
    "list-latest",
    "list-monitor",
    "list-host",
    "list-any",
];

const CENSOR: [&str; 4] = ["referer-self", "referer-self-dir", "referer-from", "force-user-agent"];

const HTML: [&str; 19] = [
    "enable-modify-html",
    "add-cache-info",
    "disable-script",
    "disable-applet",
    "disable-style",
    "disable-blink",
    "disable-marquee",
    "disable-flash",
    "disable-iframe",
    "disable-meta-refresh",
    "disable-meta-refresh-self",
    "disable-meta-set-cookie",
    "disable-dontget-links",
    "disable-dontget-iframes",
    "replace-dontget-images",
    "replace-webbug-images",
    "demoronise-ms-chars",
    "fix-mixed-cyrillic",
    "disable-animated-gif",
];

const HTML_TEXT: [&str; 8] = [
    "anchor-cached-begin",
    "anchor-cached-end",
    "anchor-requested-begin",
    "anchor-requested-end",
    "anchor-not-cached-begin",
    "anchor-not-cached-end",
    "replacement-dontget-image",
    "replacement-webbug-image",
];

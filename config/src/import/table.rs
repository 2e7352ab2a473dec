//! The counterpart of each option of 2.9, and the conversion of its value.

use super::values::{
    Converter, account, age, convert_bool, convert_revalidation_age, count, intercept, kilobytes,
    level, megabytes, percent, syslog, text, time,
};
use crate::former::{FormerOption, Successor};

/// The counterpart of an option of 2.9.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counterpart {
    /// An option of this section and key, with a converted value.
    Option(&'static str, &'static str, Converter),
    /// A member of the array of this section and key.
    Member(&'static str, &'static str),
    /// A listening address or a port.
    Listen(ListenKey),
    /// A host and port whose HTTPS is tunnelled; with `negated`, whose HTTPS is not tunnelled.
    Tunnel { negated: bool },
    /// No counterpart, for this reason.
    Gone(&'static str),
    /// No counterpart, for this reason. The value is a secret and must not be repeated.
    Secret(&'static str),
}

/// A part of the listening addresses of 2.9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListenKey {
    V4,
    V6,
    Port,
}

/// The section that holds most options of a section of 2.9.
pub(super) fn home(section: &str) -> &'static str {
    let mut options = FormerOption::all().filter(|former| former.section == section);
    options.find_map(FormerOption::replacement).map_or("options", |(section, _)| section)
}

/// The counterpart of `key` in `section`. `None` if 2.9 has no such option and the section is not a
/// list.
pub(super) fn target(section: &str, key: &str) -> Option<Counterpart> {
    if let Some(to) = special_counterpart(section, key) {
        return Some(to);
    }
    if let Some(former) = FormerOption::find(section, key) {
        return Some(match former.now {
            Successor::Same { section, key } => {
                Counterpart::Option(section, key, convert(section, key))
            }
            Successor::Gone { reason, .. } => Counterpart::Gone(reason),
        });
    }
    // In these sections, any text that is not an option is a member of the list.
    match section {
        "LocalHost" | "LocalNet" | "AllowedConnectHosts" | "DontCache" | "DontGet" => {
            match FormerOption::find(section, "")?.now {
                Successor::Same { section, key } => Some(Counterpart::Member(section, key)),
                Successor::Gone { reason, .. } => Some(Counterpart::Gone(reason)),
            }
        }
        _ => None,
    }
}

/// The counterpart of an option for which [`FormerOption::now`] does not suffice. `None` for all
/// other options.
fn special_counterpart(section: &str, key: &str) -> Option<Counterpart> {
    Some(match (section, key) {
        ("StartUp", "bind-ipv4") => Counterpart::Listen(ListenKey::V4),
        ("StartUp", "bind-ipv6") => Counterpart::Listen(ListenKey::V6),
        ("StartUp", "http-port") => Counterpart::Listen(ListenKey::Port),
        ("StartUp", "spool-dir") => Counterpart::Gone(
            "the spool has a new format and must not be in the old directory; set \"spool-dir\" unless the default suits you",
        ),
        ("StartUp", "use-syslog") => Counterpart::Option("startup", "log-to", syslog),
        ("StartUp", "max-fetch-servers") => Counterpart::Option("fetch-options", "at-once", count),
        ("StartUp", "password") => Counterpart::Secret(
            "a password is no longer stored in clear text: `wwwoffle passwd` prints its line",
        ),
        ("AllowedConnectUsers", _) => Counterpart::Secret(
            "passwords are no longer stored in clear text: `wwwoffle passwd USER` prints the line of a user",
        ),
        ("Options", "dir-perm" | "file-perm") => Counterpart::Gone(
            "the spool contains keys and private pages, so only its owner can read it; to change that, set \"dir-perm\" and \"file-perm\" in [startup]",
        ),
        ("SSLOptions", "enable-caching") => Counterpart::Option("https", "intercept", intercept),
        ("SSLOptions", "allow-tunnel") => Counterpart::Tunnel { negated: false },
        ("SSLOptions", "disallow-tunnel") => Counterpart::Tunnel { negated: true },
        ("DontCompress", "mime-type") => Counterpart::Member("dont-compress", "mime-type"),
        ("DontCompress", "file-ext") => Counterpart::Member("dont-compress", "file-ext"),
        _ => return None,
    })
}

/// The converter from the value of 2.9 to that of an option.
fn convert(section: &str, key: &str) -> Converter {
    match (section, key) {
        ("startup", "run-uid" | "run-gid") => account,
        ("options", "log-level") => level,
        ("options", "socket-timeout" | "dns-timeout" | "connect-timeout") => time,
        ("options" | "proxy" | "ftp-options", _)
        | ("mime-types", "default")
        | ("dont-get", "replacement") => text,
        ("online-options", "request-changed") => convert_revalidation_age,
        ("online-options", "intr-download-size") => kilobytes,
        ("online-options", "intr-download-percent") => percent,
        ("modify-html", key) if key.starts_with("anchor-") || key.starts_with("replacement-") => {
            text
        }
        ("purge", "age" | "compress-age") => age,
        ("purge", "max-size" | "min-free") => megabytes,
        _ => convert_bool,
    }
}

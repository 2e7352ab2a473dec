//! The proxy auto-configuration file, `/proxy.pac` and `/wpad.dat`.

use std::fmt::Write as _;

use crate::page::{LocalOrigin, RenderedPage};

/// Content type by which browsers recognize a PAC file.
const CONTENT_TYPE: &str = "application/x-ns-proxy-autoconfig";

/// Returns a PAC file that sends every request through us, except those for our own names and for
/// names without a dot.
///
/// `used` is the address under which the client reached us, so that the file is correct on every
/// network on which the daemon listens. `local_names` are the configured names of this proxy:
/// requests for them must not go through the proxy.
///
/// # Examples
///
/// ```
/// # use wwwoffle::page::LocalOrigin;
/// # use wwwoffle::site::browser::pac;
/// let used = LocalOrigin::parse("http", "192.168.1.5:8080").unwrap();
/// let page = pac::page(&used, ["localhost"]);
/// assert!(page.body.contains(r#"return "PROXY 192.168.1.5:8080";"#));
/// ```
#[must_use]
pub fn page<'a>(
    used: &LocalOrigin,
    local_names: impl IntoIterator<Item = &'a str>,
) -> RenderedPage {
    let mut names = vec![bare(used.host())];
    for name in local_names {
        // Skips names that could end the string literal: no browser can request such a host.
        if name_is_plain(name) && !names.contains(&bare(name)) {
            names.push(bare(name));
        }
    }
    let mut tests = String::new();
    for name in &names {
        // Browsers differ in whether they pass an IPv6 address with or without brackets.
        let _ = write!(tests, " ||\n        host === \"{name}\"");
        if name.contains(':') {
            let _ = write!(tests, " || host === \"[{name}]\"");
        }
    }
    let body = format!(
        "// How to reach the web through wwwoffle.\n\
         function FindProxyForURL(url, host) {{\n    \
             if (isPlainHostName(host){tests}) {{\n        \
                 return \"DIRECT\";\n    \
             }}\n    \
             return \"PROXY {}\";\n\
         }}\n",
        used.host_port()
    );
    RenderedPage { status: 200, content_type: CONTENT_TYPE, body }
}

/// Returns the host in lower case, without the brackets of an IPv6 address.
fn bare(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase()
}

fn name_is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::page;
    use crate::page::LocalOrigin;

    #[test]
    fn the_pac_file_uses_the_requested_address_except_for_local_names() {
        let used = LocalOrigin::parse("http", "Proxy.LAN:8080").unwrap();
        let pac = page(&used, ["localhost", "127.0.0.1", "::1", "proxy.lan", "a\"b", "x\n", ""]);
        assert_eq!(pac.content_type, "application/x-ns-proxy-autoconfig");
        assert_eq!(
            pac.body,
            r#"// How to reach the web through wwwoffle.
function FindProxyForURL(url, host) {
    if (isPlainHostName(host) ||
        host === "proxy.lan" ||
        host === "localhost" ||
        host === "127.0.0.1" ||
        host === "::1" || host === "[::1]") {
        return "DIRECT";
    }
    return "PROXY proxy.lan:8080";
}
"#
        );
    }

    #[test]
    fn an_ipv6_address_keeps_its_brackets_as_proxy() {
        let used = LocalOrigin::parse("http", "[fe80::1]:8080").unwrap();
        assert!(page(&used, []).body.contains(r#"return "PROXY [fe80::1]:8080";"#));
    }
}

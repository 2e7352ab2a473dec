//! Chooses the browser and its arguments; does no I/O.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::fetch::chromium;

/// Browsers that are configured in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Browsers that take the proxy and the hash of our authority's public key from the command
    /// line.
    Chromium,
    /// Browsers that take the proxy and the certificate of our authority from files in the profile.
    Firefox,
}

/// The known browsers: the name that users type, the family, and the names of the program.
const KNOWN: [(&str, Family, &[&str]); 6] = [
    ("chromium", Family::Chromium, &["chromium", "chromium-browser"]),
    ("chrome", Family::Chromium, &["google-chrome", "google-chrome-stable", "chrome"]),
    ("brave", Family::Chromium, &["brave-browser", "brave"]),
    ("edge", Family::Chromium, &["microsoft-edge", "microsoft-edge-stable"]),
    ("vivaldi", Family::Chromium, &["vivaldi", "vivaldi-stable"]),
    ("firefox", Family::Firefox, &["firefox", "firefox-esr", "librewolf"]),
];

/// A browser to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Browser {
    pub(super) program: PathBuf,
    pub(super) family: Family,
    /// The name that the user typed, a name in [`KNOWN`], or the file name of the program. The
    /// default profile directory has the same name, unless the browser comes from a snap.
    pub(super) name: String,
}

/// Chooses the browser to start: `named`, which is a name or a path, or the first known browser
/// that is installed. `find` looks up a program name in `PATH`.
///
/// # Errors
///
/// A message that says which browser was not found, or that none was found.
pub(super) fn choose(
    named: Option<&Path>,
    find: impl Fn(&str) -> Option<PathBuf>,
) -> Result<Browser, String> {
    let Some(named) = named else {
        let first = KNOWN.iter().find_map(|(name, family, programs)| {
            let program = programs.iter().find_map(|program| find(program))?;
            Some(Browser { program, family: *family, name: (*name).to_owned() })
        });
        return first.ok_or_else(|| {
            format!("no browser found: install one of {}, or name one with --browser PATH", names())
        });
    };
    let text = named.to_string_lossy();
    if text.contains('/') {
        let name = named.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Browser { program: named.to_owned(), family: family(&name), name });
    }
    let programs = KNOWN.iter().find(|(name, ..)| *name == text);
    let programs = programs.map_or_else(|| vec![&*text], |(_, _, programs)| programs.to_vec());
    match programs.iter().find_map(|program| find(program)) {
        Some(program) => {
            let family = family(&program.to_string_lossy());
            Ok(Browser { program, family, name: text.into_owned() })
        }
        None => Err(format!("browser {text:?} not found: expected one of {}, or a path", names())),
    }
}

fn names() -> String {
    KNOWN.map(|(name, ..)| name).join(", ")
}

/// Returns the family of a program, by its name without the directory.
fn family(program: &str) -> Family {
    let name = program.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    if ["firefox", "librewolf"].iter().any(|kind| name.contains(kind)) {
        Family::Firefox
    } else {
        Family::Chromium
    }
}

/// The settings to start a browser with.
#[derive(Debug)]
pub(super) struct BrowserSession<'a> {
    /// The address of the proxy.
    pub(super) proxy: SocketAddr,
    /// The directory of the browser's profile.
    pub(super) profile: &'a Path,
    /// The SHA-256 of our authority's public key, in base64.
    pub(super) key: &'a str,
    /// Arguments added by the user.
    pub(super) more: &'a [OsString],
    /// The page to open.
    pub(super) url: &'a str,
}

impl BrowserSession<'_> {
    /// Returns the arguments of the browser.
    pub(super) fn arguments(&self, family: Family) -> Vec<OsString> {
        let mut line: Vec<OsString> = match family {
            Family::Chromium => chromium::arguments(self.proxy, self.profile, self.key),
            Family::Firefox => {
                vec!["--no-remote".into(), "--profile".into(), self.profile.into()]
            }
        };
        line.extend(self.more.iter().cloned());
        line.push(self.url.into());
        line
    }

    /// Returns the text of `user.js` in a Firefox profile.
    pub(super) fn firefox_settings(&self) -> String {
        let (host, port) = (self.proxy.ip(), self.proxy.port());
        let mut text = String::from("// Written by wwwoffle at each start.\n");
        let values = [
            ("network.proxy.type", "1".to_owned()),
            ("network.proxy.http", format!("\"{host}\"")),
            ("network.proxy.http_port", port.to_string()),
            ("network.proxy.ssl", format!("\"{host}\"")),
            ("network.proxy.ssl_port", port.to_string()),
            ("network.proxy.no_proxies_on", "\"\"".to_owned()),
            // Use the proxy for sites on this machine too, and never connect directly if the proxy
            // does not respond.
            ("network.proxy.allow_hijacking_localhost", "true".to_owned()),
            ("network.proxy.failover_direct", "false".to_owned()),
            ("network.http.http3.enable", "false".to_owned()),
            // The browser does not use DNS over HTTPS (5 is "off by choice"), because the proxy
            // resolves host names.
            ("network.trr.mode", "5".to_owned()),
            ("dom.security.https_first", "false".to_owned()),
            ("dom.security.https_first_schemeless", "false".to_owned()),
            // No first-run pages and no questions.
            ("browser.aboutwelcome.enabled", "false".to_owned()),
            ("browser.startup.homepage_override.mstone", "\"ignore\"".to_owned()),
            ("browser.shell.checkDefaultBrowser", "false".to_owned()),
            ("datareporting.policy.dataSubmissionEnabled", "false".to_owned()),
            ("network.captive-portal-service.enabled", "false".to_owned()),
            ("network.connectivity-service.enabled", "false".to_owned()),
        ];
        for (name, value) in values {
            text = format!("{text}user_pref(\"{name}\", {value});\n");
        }
        text
    }
}

/// Returns the address at which the browser reaches the proxy: a loopback address if the proxy
/// listens on one, or else the first address in `listening`. If that is an unspecified address such
/// as 0.0.0.0, returns the loopback address with the same port. `None` if `listening` has no
/// address.
pub(in crate::cli) fn proxy(listening: &[String]) -> Option<SocketAddr> {
    let all: Vec<SocketAddr> = listening.iter().filter_map(|text| text.parse().ok()).collect();
    let mut best = *all.iter().find(|one| one.ip().is_loopback()).or(all.first())?;
    if best.ip().is_unspecified() {
        best.set_ip(if best.is_ipv4() {
            std::net::Ipv4Addr::LOCALHOST.into()
        } else {
            std::net::Ipv6Addr::LOCALHOST.into()
        });
    }
    Some(best)
}

/// Returns the URL to open: our start page if `typed` is `None`, or else `typed`, preceded by
/// `http://` if it has no scheme.
///
/// The result never begins like an option. Chromium trims spaces from its arguments before it looks
/// for options among them, and some options name programs to run.
pub(super) fn address(typed: Option<&str>, proxy: SocketAddr) -> String {
    let Some(url) = typed.map(str::trim) else { return format!("http://{proxy}/") };
    let protocol = url.split_once("://").map(|(protocol, _)| protocol);
    let has_protocol = protocol.is_some_and(|protocol| {
        let is_of_one = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        protocol.starts_with(|first: char| first.is_ascii_alphabetic())
            && protocol.bytes().all(is_of_one)
    });
    if has_protocol || url.starts_with("about:") { url.to_owned() } else { format!("http://{url}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_or_an_installed_browser_is_used() {
        let has = |names: &'static [&'static str]| {
            move |name: &str| names.contains(&name).then(|| PathBuf::from(format!("/bin/{name}")))
        };
        for (named, there, want) in [
            (None, &["firefox", "google-chrome"][..], Ok(("/bin/google-chrome", "chrome"))),
            (None, &["firefox-esr"], Ok(("/bin/firefox-esr", "firefox"))),
            (None, &[], Err("no browser found")),
            (Some("firefox"), &["chromium", "firefox-esr"], Ok(("/bin/firefox-esr", "firefox"))),
            (Some("chrome"), &["chromium"], Err("browser \"chrome\" not found")),
            (
                Some("google-chrome"),
                &["google-chrome"],
                Ok(("/bin/google-chrome", "google-chrome")),
            ),
            (Some("/opt/x/firefox"), &[], Ok(("/opt/x/firefox", "firefox"))),
            (Some("./mine"), &[], Ok(("./mine", "mine"))),
        ] {
            match (choose(named.map(Path::new), has(there)), want) {
                (Ok(got), Ok((program, name))) => {
                    assert_eq!(
                        (got.program.as_path(), got.name.as_str()),
                        (Path::new(program), name)
                    );
                    let fox = program.contains("firefox");
                    assert_eq!(got.family == Family::Firefox, fox, "{program}");
                }
                (Err(got), Err(want)) => assert!(got.starts_with(want), "{got}"),
                (got, want) => panic!("{named:?}: {got:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn the_proxy_is_reached_on_this_machine() {
        for (listening, want) in [
            (&["127.0.0.1:8080"][..], Some("127.0.0.1:8080")),
            (&["10.0.0.1:1", "[::1]:2"], Some("[::1]:2")),
            (&["0.0.0.0:3"], Some("127.0.0.1:3")),
            (&["[::]:4"], Some("[::1]:4")),
            (&["10.0.0.1:1"], Some("10.0.0.1:1")),
            (&["rubbish"], None),
        ] {
            let listening: Vec<String> = listening.iter().map(|&text| text.to_owned()).collect();
            assert_eq!(proxy(&listening).map(|one| one.to_string()).as_deref(), want);
        }
    }

    #[test]
    fn the_browser_arguments_have_the_proxy_and_the_key() {
        let proxy: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        let more = ["--headless".into()];
        let (profile, url) = (Path::new("/p"), address(Some("a.example"), proxy));
        let session = BrowserSession { proxy, profile, key: "KEY=", more: &more, url: &url };
        let line = session.arguments(Family::Chromium);
        for want in ["--user-data-dir=/p", "--proxy-server=http://127.0.0.1:8080", "--disable-quic"]
        {
            assert!(line.contains(&want.into()), "{want} in {line:?}");
        }
        assert!(line.contains(&"--ignore-certificate-errors-spki-list=KEY=".into()));
        assert_eq!(line[line.len() - 2..], ["--headless", "http://a.example"]);
        let line = session.arguments(Family::Firefox);
        assert_eq!(line, ["--no-remote", "--profile", "/p", "--headless", "http://a.example"]);
        let settings = session.firefox_settings();
        assert!(settings.contains("user_pref(\"network.proxy.ssl\", \"127.0.0.1\");\n"));
        assert!(settings.contains("user_pref(\"network.proxy.ssl_port\", 8080);\n"));
        assert_eq!(address(None, proxy), "http://127.0.0.1:8080/");
        assert_eq!(address(Some("https://a/"), proxy), "https://a/");
        assert_eq!(address(Some("about:config"), proxy), "about:config");
        for (typed, want) in [
            (" --gpu-launcher=/tmp/x ://", "http://--gpu-launcher=/tmp/x ://"),
            ("-P=x://y", "http://-P=x://y"),
            ("\t\u{a0}https://a/ ", "https://a/"),
            ("a.example/?to=http://b", "http://a.example/?to=http://b"),
            ("://", "http://://"),
        ] {
            assert_eq!(address(Some(typed), proxy), want);
        }
    }
}

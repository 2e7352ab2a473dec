//! The first steps on the home page, each with a check that is made when the page is opened.

use crate::base::text::{Text, tr};
use crate::page::{LocalOrigin, Shell, View, links, view};
use crate::site::certificates::page::TEST;

/// The state of the first steps.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Whether no page is stored yet.
    pub is_new: bool,
    /// Whether a request of this person has come through the proxy.
    pub uses_proxy: bool,
    /// Our origin over TLS, for the test whether the browser trusts the authority. `None` if HTTPS
    /// is not intercepted.
    pub secure: Option<LocalOrigin>,
    /// The browser or system that opened the page.
    pub system: BrowserKind,
}

/// A browser or system with its own way to set a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrowserKind {
    /// Firefox on a desktop, which has a setting of its own.
    Firefox,
    /// Other browsers on Linux.
    Linux,
    /// Windows.
    Windows,
    /// macOS.
    MacOs,
    /// Android.
    Android,
    /// Phones and tablets of Apple.
    Ios,
}

impl BrowserKind {
    const ALL: [Self; 6] =
        [Self::Firefox, Self::Windows, Self::MacOs, Self::Linux, Self::Android, Self::Ios];

    /// Recognizes the browser or system by the field `User-Agent`.
    #[must_use]
    pub fn of(agent: &str) -> Self {
        let has = |word: &str| agent.contains(word);
        match () {
            () if has("Android") => Self::Android,
            () if has("iPhone") || has("iPad") => Self::Ios,
            () if has("Firefox/") => Self::Firefox,
            () if has("Windows") => Self::Windows,
            () if has("Macintosh") => Self::MacOs,
            () => Self::Linux,
        }
    }

    const fn steps(self) -> Text {
        match self {
            Self::Firefox => tr(
                "Firefox: Settings, General, Network Settings, Automatic proxy configuration URL: \
                 enter the PAC address.",
            ),
            Self::Windows => tr(
                "Windows: Settings, Network and Internet, Proxy, Use setup script: enter the PAC \
                 address.",
            ),
            Self::MacOs => {
                tr("macOS: System Settings, Network, your connection, Details, Proxies, Automatic \
                 proxy configuration: enter the PAC address.")
            }
            Self::Linux => tr(
                "Linux: network settings of your desktop, Network Proxy, Automatic: enter the PAC \
                 address.",
            ),
            Self::Android => {
                tr("Android: Settings, Wi-Fi, your network, Edit, Advanced options, Proxy, \
                 Auto-config: enter the PAC address.")
            }
            Self::Ios => tr(
                "iPhone and iPad: Settings, Wi-Fi, your network, Configure Proxy, Automatic: enter \
                 the PAC address.",
            ),
        }
    }
}

impl Setup {
    pub(super) fn view(&self, shell: &Shell) -> View {
        let others = BrowserKind::ALL.into_iter().filter(|other| *other != self.system);
        let ways = std::iter::once(self.system).chain(others).map(BrowserKind::steps);
        view! {
            is_new: self.is_new,
            uses_proxy: self.uses_proxy,
            // Address of the style sheet that tests the authority.
            test: self.secure.as_ref().map(|secure| format!("{secure}{TEST}")),
            // The way of this browser first.
            ways: ways.collect::<Vec<_>>(),
            proxy: shell.origin.host_port(),
            // Address of the proxy auto-configuration file.
            pac: format!("{}/proxy.pac", shell.origin),
            bookmarklets: bookmarklets(),
        }
    }
}

/// Returns the links that a browser can have as bookmarks. Each opens a page of ours with the address
/// that the browser shows; the path of that page ends where the address follows. Our pages run no
/// such scripts, so a click on the link itself does nothing.
fn bookmarklets() -> Vec<View> {
    let all = [
        ("/refresh-options/?", tr("Save with links")),
        ("/monitor-options/?", tr("Monitor this page")),
        ("/history/?", tr("Versions of this page")),
        (links::ABOUT, tr("About this page")),
    ];
    all.into_iter().map(|(path, label)| view! { path, label }).collect()
}

#[cfg(test)]
mod tests {
    use super::BrowserKind;

    #[test]
    fn the_system_follows_from_the_user_agent() {
        for (agent, want) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                BrowserKind::Firefox,
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0",
                BrowserKind::Firefox,
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64) Chrome/140.0 Safari/537.36",
                BrowserKind::Windows,
            ),
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 14) Version/17 Safari/605",
                BrowserKind::MacOs,
            ),
            ("Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36", BrowserKind::Linux),
            (
                "Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile Safari/537.36",
                BrowserKind::Android,
            ),
            ("Mozilla/5.0 (Android 15; Mobile; rv:140.0) Firefox/140.0", BrowserKind::Android),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604", BrowserKind::Ios),
            ("", BrowserKind::Linux),
            ("<script>", BrowserKind::Linux),
        ] {
            assert_eq!(BrowserKind::of(agent), want, "{agent}");
        }
    }
}

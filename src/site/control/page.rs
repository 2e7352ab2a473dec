//! The local page `/control/`: the mode switch, buttons that start and stop work, and their
//! confirmation pages.

pub mod question;

use crate::base::text::{Text, tr};
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::link::LinkReport;
use wwwoffle_api::{Mode, ModeSetting, QueueCounts};

/// Path of the page.
pub const PATH: &str = "/control/";

/// An action with a button and a confirmation page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlAction {
    /// Changes the mode.
    Mode(ModeSetting),
    /// Fetches the queue.
    Fetch,
    /// Stops fetching the queue.
    Hold,
    /// Reloads the configuration.
    Reload,
}

impl ControlAction {
    const ALL: [Self; 7] = [
        Self::Mode(ModeSetting::Online),
        Self::Mode(ModeSetting::Offline),
        Self::Mode(ModeSetting::Autodial),
        Self::Mode(ModeSetting::Auto),
        Self::Fetch,
        Self::Hold,
        Self::Reload,
    ];

    /// Returns the action of the form at `path`. WWWOFFLE 2.9 has the name `config` for `reload`.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        let name = path.strip_prefix(PATH)?;
        let name = if name == "config" { "reload" } else { name };
        Self::ALL.into_iter().find(|action| action.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Mode(choice) => choice.as_str(),
            Self::Fetch => "fetch",
            Self::Hold => "hold",
            Self::Reload => "reload",
        }
    }

    const fn label(self) -> Text {
        match self {
            Self::Mode(choice) => mode_label(choice),
            Self::Fetch => tr("Fetch now"),
            Self::Hold => tr("Stop fetching"),
            Self::Reload => tr("Reload the configuration"),
        }
    }

    const fn explanation(self) -> Text {
        match self {
            Self::Mode(ModeSetting::Online) => {
                tr("Pages come from the web, what you see is saved, and the queue is fetched.")
            }
            Self::Mode(ModeSetting::Offline) => {
                tr("Pages come from the spool. Missing pages are queued, and nothing is fetched.")
            }
            Self::Mode(ModeSetting::Autodial) => {
                tr("Saved copies are shown at once, the rest comes from the web.")
            }
            Self::Mode(ModeSetting::Auto) => {
                tr("Online while the connection works, offline while it does not.")
            }
            Self::Fetch => tr("The queue is being fetched."),
            Self::Hold => {
                tr("The part received so far is saved. The rest waits until the next fetch.")
            }
            Self::Reload => {
                tr("Reads the configuration file again, for example after you edited it.")
            }
        }
    }
}

/// The modes in the order of their buttons.
pub(in crate::site) const MODES: [ModeSetting; 4] =
    [ModeSetting::Auto, ModeSetting::Online, ModeSetting::Autodial, ModeSetting::Offline];

/// Returns the label of a mode's button.
pub(in crate::site) const fn mode_label(choice: ModeSetting) -> Text {
    match choice {
        ModeSetting::Online => tr("Online"),
        ModeSetting::Offline => tr("Offline"),
        ModeSetting::Autodial => tr("Saved first"),
        ModeSetting::Auto => tr("Automatic"),
    }
}

/// The content of the page.
#[derive(Clone, Debug)]
pub struct ControlPage {
    /// The chosen mode.
    pub chosen: ModeSetting,
    /// State of the link.
    pub link: LinkReport,
    /// Numbers of queued requests by state.
    pub counts: QueueCounts,
}

fn button(action: ControlAction, chosen: bool) -> View {
    let path = format!("{PATH}{}", action.name());
    view! { path, label: action.label(), explanation: action.explanation(), chosen }
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, content: &ControlPage) -> RenderedPage {
    let counts = content.counts;
    let may_dial = shell.mode != Mode::Offline;
    let is_some = |some: bool, action| (may_dial && some).then(|| button(action, false));
    let modes = MODES.map(|one| button(ControlAction::Mode(one), one == content.chosen));
    let view = view! {
        modes,
        link: &content.link,
        counts,
        fetch: is_some(counts.waiting > 0, ControlAction::Fetch),
        hold: is_some(counts.waiting > 0 || counts.active > 0, ControlAction::Hold),
        reload: button(ControlAction::Reload, false),
    };
    shell.page("control.html", 200, &view)
}

/// Renders the confirmation page.
#[must_use]
pub fn confirm(shell: &Shell, action: ControlAction) -> RenderedPage {
    let view = view! { button: button(action, false) };
    shell.page("control-confirm.html", 200, &view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, shell};
    use crate::site::link::link;

    #[test]
    fn each_button_address_has_a_confirmation_page() {
        for (path, want) in [
            ("/control/online", Some(ControlAction::Mode(ModeSetting::Online))),
            ("/control/auto", Some(ControlAction::Mode(ModeSetting::Auto))),
            ("/control/config", Some(ControlAction::Reload)),
            ("/control/reload", Some(ControlAction::Reload)),
            ("/control/hold", Some(ControlAction::Hold)),
            ("/control/", None),
            ("/control/delete/req-all", None),
            ("/controlonline", None),
        ] {
            assert_eq!(ControlAction::at(path), want, "{path}");
        }
        for action in ControlAction::ALL {
            let page = confirm(&shell(), action);
            assert_harmless(&page);
            let body = page.body;
            let to = format!("action=\"http://localhost:8080/control/{}\"", action.name());
            assert!(body.contains(&to) && body.contains("value=\"f00\""), "{body}");
        }
    }

    #[test]
    fn each_available_action_has_its_button() {
        let counts = QueueCounts { waiting: 2, ..QueueCounts::default() };
        for (mode, counts, fetch, hold) in [
            (Mode::Online, counts, true, true),
            (Mode::Offline, counts, false, false),
            (Mode::Online, QueueCounts::default(), false, false),
            (Mode::Online, QueueCounts { active: 1, ..QueueCounts::default() }, false, true),
        ] {
            let content = ControlPage { chosen: mode.into(), link: link(), counts };
            let page = page(&Shell { mode, ..shell() }, &content);
            assert_harmless(&page);
            let body = page.body;
            assert_eq!(body.contains("/control/fetch\""), fetch, "{mode} {counts:?}");
            assert_eq!(body.contains("/control/hold\""), hold, "{mode} {counts:?}");
            assert!(body.contains("/control/reload\"") && body.contains("/purge/\""), "{body}");
            assert_eq!(body.matches("aria-pressed=\"true\"").count(), 1);
        }
    }
}

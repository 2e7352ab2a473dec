//! The offers of each message: links to the pages of ours that help.

use super::{Message, OriginFailure, Ruled};
use crate::page::ways::PageLink;
use wwwoffle_api::Mode;

impl Message<'_> {
    /// Returns the links of the page, the most useful first. They must not disclose anything: the
    /// page may be shown under the name of another site, whose scripts may read it.
    pub(super) fn ways(&self, mode: Mode) -> Vec<PageLink> {
        let url = self.requested_url().unwrap_or_default();
        let mode = || Some(PageLink::mode(mode));
        let start = || Some(PageLink::start());
        let queue = || Some(PageLink::queue());
        let option = |section, key| Some(PageLink::option(section, key, None));
        let rule = |section, key| Some(PageLink::option(section, key, Some(url)));
        let ways = match self {
            Self::OriginFailed { failure: OriginFailure::Inward, .. } => {
                vec![option("allowed-connect-hosts", "inside")]
            }
            Self::OriginFailed { failure, .. } => {
                let cause = match failure {
                    OriginFailure::Parent(_) => rule("proxy", "proxy"),
                    OriginFailure::TooLarge(_) => option("options", "max-body"),
                    _ => None,
                };
                vec![cause, PageLink::like(url), PageLink::choices(url), mode()]
            }
            Self::MustAsk { .. } => vec![mode(), rule("caching", "serve-unreachable")],
            Self::Ruled { ruled, .. } => by_rule(*ruled, url, mode()),
            Self::NotKept { .. } | Self::NothingKept { .. } => {
                vec![PageLink::like(url), PageLink::choices(url)]
            }
            Self::Undecodable { .. }
            | Self::Locked { .. }
            | Self::LockedHere { .. }
            | Self::OfflineRefused { .. }
            | Self::TooLargeToQueue { .. } => vec![mode()],
            Self::TunnelOffline { .. } => {
                vec![mode(), option("https", "tunnel"), Some(PageLink::authority())]
            }
            Self::PortBlocked { .. } => vec![option("tunnel", "ports")],
            Self::HostRefused { .. } => vec![option("https", "refuse")],
            Self::Loop { .. } => vec![option("local-host", "names"), option("proxy", "proxy")],
            Self::Forbidden(_) => vec![start(), option("local-host", "names")],
            Self::QueueFull | Self::ShareUsedUp | Self::SpellingRefused => vec![queue(), mode()],
            Self::QuotaReached => vec![Some(PageLink::usage())],
            Self::SpoolFull => vec![Some(PageLink::purge()), queue()],
            Self::RefreshQueued { .. } => vec![PageLink::about(url), queue(), mode()],
            Self::FormUnknown { .. } => vec![PageLink::about(url), start()],
            Self::FormAnswer { .. } | Self::NotFound { .. } => {
                vec![start(), Some(PageLink::lists())]
            }
            Self::OpenedElsewhere { address } => vec![Some(PageLink::open(address)), start()],
            Self::NothingChosen { back } => vec![Some(PageLink::back(back))],
            Self::BadRequest { .. }
            | Self::BadAddress { .. }
            | Self::BadForm { .. }
            | Self::MethodNotAllowed { .. }
            | Self::SpoolFailed { .. }
            | Self::Internal => vec![start()],
            // A client without permission could not open any page of ours.
            Self::Denied(_) => Vec::new(),
        };
        ways.into_iter().flatten().collect()
    }
}

fn by_rule(ruled: Ruled, url: &str, mode: Option<PageLink>) -> Vec<Option<PageLink>> {
    let rule = |section, key| Some(PageLink::option(section, key, Some(url)));
    let overview = PageLink::rules(url);
    match ruled {
        Ruled::Blocked => vec![rule("dont-get", "urls"), overview],
        Ruled::OtherProtocol => vec![rule("dont-get", "allowed-ports"), overview],
        Ruled::UnknownMethod => vec![rule("dont-get", "allowed-methods"), overview],
        Ruled::LeadsToBlocked => {
            vec![rule("dont-get", "urls"), rule("dont-get", "location-error"), overview]
        }
        Ruled::NeverKept => vec![mode, rule("dont-cache", "urls"), overview],
        Ruled::NotQueued => {
            vec![PageLink::like(url), mode, rule("offline-options", "dont-request"), overview]
        }
    }
}

//! The offers of each message: links to the pages of ours that help.

use super::{Message, OriginFailure, Ruled};
use crate::page::ways::PageLink;
use wwwoffle_api::Mode;

impl Message<'_> {
    /// Returns the links of the page, the most useful first. They must not disclose anything: the
    /// page may be shown under the name of another site, whose scripts may read it.
    pub(super) fn ways(&self, mode: Mode) -> Vec<PageLink> {
        let url = self.requested_url().unwrap_or_default();
        match self {
            Self::OriginFailed { failure: OriginFailure::Inward, .. } => {
                vec![PageLink::option("allowed-connect-hosts", "inside", None)]
            }
            Self::OriginFailed { failure, .. } => {
                let parent = matches!(failure, OriginFailure::Parent(_))
                    .then(|| PageLink::option("proxy", "proxy", Some(url)));
                let too_large = matches!(failure, OriginFailure::TooLarge(_))
                    .then(|| PageLink::option("options", "max-body", None));
                let rest =
                    [PageLink::like(url), PageLink::choices(url), Some(PageLink::mode(mode))];
                [parent, too_large].into_iter().chain(rest).flatten().collect()
            }
            Self::MustAsk { .. } => {
                let shown = PageLink::option("caching", "serve-unreachable", Some(url));
                vec![PageLink::mode(mode), shown]
            }
            Self::Ruled { ruled, .. } => by_rule(*ruled, url, mode),
            Self::NotKept { .. } | Self::NothingKept { .. } => {
                [PageLink::like(url), PageLink::choices(url)].into_iter().flatten().collect()
            }
            Self::Undecodable { .. }
            | Self::OfflineRefused { .. }
            | Self::TooLargeToQueue { .. } => vec![PageLink::mode(mode)],
            Self::TunnelOffline { .. } => {
                vec![
                    PageLink::mode(mode),
                    PageLink::option("https", "tunnel", None),
                    PageLink::authority(),
                ]
            }
            Self::PortBlocked { .. } => vec![PageLink::option("tunnel", "ports", None)],
            Self::HostRefused { .. } => vec![PageLink::option("https", "refuse", None)],
            Self::Loop { .. } => {
                vec![
                    PageLink::option("local-host", "names", None),
                    PageLink::option("proxy", "proxy", None),
                ]
            }
            Self::Forbidden(_) => {
                vec![PageLink::start(), PageLink::option("local-host", "names", None)]
            }
            Self::QueueFull | Self::ShareUsedUp | Self::SpellingRefused => {
                vec![PageLink::queue(), PageLink::mode(mode)]
            }
            Self::SpoolFull => vec![PageLink::purge(), PageLink::queue()],
            Self::RefreshQueued { .. } => {
                let rest = [Some(PageLink::queue()), Some(PageLink::mode(mode))];
                [PageLink::about(url)].into_iter().chain(rest).flatten().collect()
            }
            Self::FormUnknown { .. } => {
                PageLink::about(url).into_iter().chain([PageLink::start()]).collect()
            }
            Self::FormAnswer { .. } | Self::NotFound { .. } | Self::NoLonger { .. } => {
                vec![PageLink::start(), PageLink::lists()]
            }
            Self::OpenedElsewhere { address } => vec![PageLink::open(address), PageLink::start()],
            Self::NothingChosen { back } => vec![PageLink::back(back)],
            Self::BadRequest { .. }
            | Self::BadAddress { .. }
            | Self::BadForm { .. }
            | Self::MethodNotAllowed { .. }
            | Self::SpoolFailed { .. }
            | Self::Internal => vec![PageLink::start()],
            // A client without permission could not open any page of ours.
            Self::Denied(_) => Vec::new(),
        }
    }
}

fn by_rule(ruled: Ruled, url: &str, mode: Mode) -> Vec<PageLink> {
    let option = |section, key| PageLink::option(section, key, Some(url));
    let ways = match ruled {
        Ruled::Blocked => vec![Some(option("dont-get", "urls"))],
        Ruled::OtherProtocol => vec![Some(option("dont-get", "allowed-ports"))],
        Ruled::UnknownMethod => vec![Some(option("dont-get", "allowed-methods"))],
        Ruled::LeadsToBlocked => {
            vec![Some(option("dont-get", "urls")), Some(option("dont-get", "location-error"))]
        }
        Ruled::NeverKept => vec![Some(PageLink::mode(mode)), Some(option("dont-cache", "urls"))],
        Ruled::NotQueued => vec![
            PageLink::like(url),
            Some(PageLink::mode(mode)),
            Some(option("offline-options", "dont-request")),
        ],
    };
    ways.into_iter().chain([PageLink::rules(url)]).flatten().collect()
}

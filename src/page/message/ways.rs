//! The offers of each message: links to the pages of ours that help.

use super::{Message, OriginFailure, Ruled};
use crate::api::Mode;
use crate::page::ways::Way;

impl Message<'_> {
    /// The links of the page, the most useful first. They disclose nothing, because the scripts of
    /// the site whose place the page takes may read it.
    pub(super) fn ways(&self, mode: Mode) -> Vec<Way> {
        let url = self.asked().unwrap_or_default();
        match self {
            Self::OriginFailed { failure: OriginFailure::Inward, .. } => {
                vec![Way::option("allowed-connect-hosts", "inside", None)]
            }
            Self::OriginFailed { failure, .. } => {
                let parent = matches!(failure, OriginFailure::Parent(_))
                    .then(|| Way::option("proxy", "proxy", Some(url)));
                let too_large = matches!(failure, OriginFailure::TooLarge(_))
                    .then(|| Way::option("options", "max-body", None));
                let rest = [Way::like(url), Way::choices(url), Some(Way::mode(mode))];
                [parent, too_large].into_iter().chain(rest).flatten().collect()
            }
            Self::MustAsk { .. } => {
                let shown = Way::option("caching", "serve-unreachable", Some(url));
                vec![Way::mode(mode), shown]
            }
            Self::Ruled { ruled, .. } => by_rule(*ruled, url, mode),
            Self::NotKept { .. } | Self::NothingKept { .. } => {
                [Way::like(url), Way::choices(url)].into_iter().flatten().collect()
            }
            Self::Undecodable { .. }
            | Self::OfflineRefused { .. }
            | Self::TooLargeToQueue { .. } => vec![Way::mode(mode)],
            Self::TunnelOffline { .. } => {
                vec![Way::mode(mode), Way::option("https", "tunnel", None), Way::authority()]
            }
            Self::PortBlocked { .. } => vec![Way::option("tunnel", "ports", None)],
            Self::HostRefused { .. } => vec![Way::option("https", "refuse", None)],
            Self::Loop { .. } => {
                vec![Way::option("local-host", "names", None), Way::option("proxy", "proxy", None)]
            }
            Self::Forbidden(_) => vec![Way::start(), Way::option("local-host", "names", None)],
            Self::QueueFull | Self::ShareUsedUp => vec![Way::queue(), Way::mode(mode)],
            Self::SpoolFull => vec![Way::purge(), Way::queue()],
            Self::RefreshQueued { .. } => {
                let rest = [Some(Way::queue()), Some(Way::mode(mode))];
                [Way::about(url)].into_iter().chain(rest).flatten().collect()
            }
            Self::FormAnswer { .. } | Self::NotFound { .. } | Self::NoLonger { .. } => {
                vec![Way::start(), Way::lists()]
            }
            Self::NothingChosen { back } => vec![Way::back(back)],
            Self::BadRequest { .. }
            | Self::BadAddress { .. }
            | Self::BadForm { .. }
            | Self::MethodNotAllowed { .. }
            | Self::SpoolFailed { .. }
            | Self::Internal => vec![Way::start()],
            // A client without permission could not open any page of ours.
            Self::Denied(_) => Vec::new(),
        }
    }
}

fn by_rule(ruled: Ruled, url: &str, mode: Mode) -> Vec<Way> {
    let option = |section, key| Way::option(section, key, Some(url));
    let ways = match ruled {
        Ruled::Blocked => vec![Some(option("dont-get", "urls"))],
        Ruled::OtherProtocol => vec![Some(option("dont-get", "allowed-ports"))],
        Ruled::UnknownMethod => vec![Some(option("dont-get", "allowed-methods"))],
        Ruled::LeadsToBlocked => {
            vec![Some(option("dont-get", "urls")), Some(option("dont-get", "location-error"))]
        }
        Ruled::NeverKept => vec![Some(Way::mode(mode)), Some(option("dont-cache", "urls"))],
        Ruled::NotQueued => vec![
            Way::like(url),
            Some(Way::mode(mode)),
            Some(option("offline-options", "dont-request")),
        ],
    };
    ways.into_iter().chain([Way::rules(url)]).flatten().collect()
}

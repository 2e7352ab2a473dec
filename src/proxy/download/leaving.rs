//! Decides what to do with a download whose readers have all left.

use wwwoffle_config::{Config, UrlParts};

/// The configured rules for a download without readers, and for one that breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeavingRules {
    /// Whether the download always continues to its end: `finish-downloads`, or a request of the
    /// queue.
    pub finishes: bool,
    /// Whether the bytes are saved as a segment: `intr-download-keep`.
    pub keeps: bool,
    /// The length, in bytes, below which a body continues to its end although its bytes could be
    /// saved: `intr-download-size`.
    pub below: u64,
    /// The received share, in percent, above which a body also continues to its end:
    /// `intr-download-percent`.
    pub above_percent: u8,
    /// Whether the bytes are saved as a segment if the connection to the origin breaks and no
    /// attempt is left: `timeout-download-keep`.
    pub keeps_broken: bool,
}

/// The action for a download without readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeavingAction {
    /// It continues.
    GoOn,
    /// It ends, and its bytes are saved as a segment.
    Keep,
    /// It ends, and its bytes are discarded.
    Drop,
}

impl LeavingRules {
    /// The configured rules for a URL that a client has requested.
    #[must_use]
    pub fn of(config: &Config, url: &UrlParts<'_>) -> Self {
        let online = &config.online_options;
        Self {
            finishes: config.options.finish_downloads,
            keeps: *online.intr_download_keep.of(url),
            below: online.intr_download_size.of(url).bytes(),
            above_percent: online.intr_download_percent.of(url).number(),
            keeps_broken: *online.timeout_download_keep.of(url),
        }
    }

    /// The rules for a request of the queue: it has no readers, and must complete.
    #[must_use]
    pub fn queued(config: &Config, url: &UrlParts<'_>) -> Self {
        Self { finishes: true, ..Self::of(config, url) }
    }

    /// What to do if all readers leave after `bytes` have arrived. `total` is the length of the
    /// body, if it is known.
    #[must_use]
    pub fn action(&self, bytes: u64, total: Option<u64>) -> LeavingAction {
        if self.finishes {
            return LeavingAction::GoOn;
        }
        if !self.keeps {
            return LeavingAction::Drop;
        }
        let is_worth_it = total.is_some_and(|total| {
            // A hundred times any length fits into 128 bits.
            let share = u128::from(bytes) * 100;
            total < self.below || share > u128::from(total) * u128::from(self.above_percent)
        });
        if is_worth_it { LeavingAction::GoOn } else { LeavingAction::Keep }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_or_nearly_complete_downloads_continue_without_readers() {
        let keeping = LeavingRules {
            finishes: false,
            keeps: true,
            below: 1_000,
            above_percent: 80,
            keeps_broken: true,
        };
        for (bytes, total, want) in [
            (0, Some(999), LeavingAction::GoOn),
            (0, Some(1_000), LeavingAction::Keep),
            (800, Some(1_000), LeavingAction::Keep),
            (801, Some(1_000), LeavingAction::GoOn),
            (u64::MAX, Some(u64::MAX), LeavingAction::GoOn),
            (1 << 40, None, LeavingAction::Keep),
            (0, Some(0), LeavingAction::GoOn),
        ] {
            assert_eq!(keeping.action(bytes, total), want, "{bytes} of {total:?}");
            let finishing = LeavingRules { finishes: true, keeps: false, ..keeping };
            assert_eq!(finishing.action(bytes, total), LeavingAction::GoOn);
            let dropping = LeavingRules { keeps: false, ..keeping };
            assert_eq!(dropping.action(bytes, total), LeavingAction::Drop, "the others need it");
        }
    }
}

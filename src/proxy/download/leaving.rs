//! What becomes of a download whose readers have all left.

use wwwoffle_config::{Config, UrlParts};

/// What is said of a download that nobody reads any more, and of one that breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// It goes on to its end in any case: `finish-downloads`, or the queue has asked for it.
    pub finishes: bool,
    /// What has come is kept aside: `intr-download-keep`.
    pub keeps: bool,
    /// With that, one that is smaller in all goes on: `intr-download-size`, in bytes.
    pub below: u64,
    /// With that, so does one of which more has come: `intr-download-percent`.
    pub above_percent: u8,
    /// What has come is kept aside when the way to the origin breaks for good:
    /// `timeout-download-keep`.
    pub keeps_broken: bool,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// It goes on.
    GoOn,
    /// It ends, and what has come is kept aside.
    Keep,
    /// It ends.
    Drop,
}

impl Leaving {
    /// What the configuration says of a URL that a client has asked for.
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

    /// The same of what the queue has asked for: nobody reads it, and it is wanted whole.
    #[must_use]
    pub fn queued(config: &Config, url: &UrlParts<'_>) -> Self {
        Self { finishes: true, ..Self::of(config, url) }
    }

    /// What becomes of a download when all have left it at so many bytes, of so many in all if that
    /// is known.
    #[must_use]
    pub fn then(&self, bytes: u64, total: Option<u64>) -> Then {
        if self.finishes {
            return Then::GoOn;
        }
        if !self.keeps {
            return Then::Drop;
        }
        let is_worth_it = total.is_some_and(|total| {
            // A hundred times any length that there is fits.
            let share = u128::from(bytes) * 100;
            total < self.below || share > u128::from(total) * u128::from(self.above_percent)
        });
        if is_worth_it { Then::GoOn } else { Then::Keep }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_small_or_nearly_here_is_finished_and_the_rest_kept_aside() {
        let keeping = Leaving {
            finishes: false,
            keeps: true,
            below: 1_000,
            above_percent: 80,
            keeps_broken: true,
        };
        for (bytes, total, want) in [
            (0, Some(999), Then::GoOn),
            (0, Some(1_000), Then::Keep),
            (800, Some(1_000), Then::Keep),
            (801, Some(1_000), Then::GoOn),
            (u64::MAX, Some(u64::MAX), Then::GoOn),
            (1 << 40, None, Then::Keep),
            (0, Some(0), Then::GoOn),
        ] {
            assert_eq!(keeping.then(bytes, total), want, "{bytes} of {total:?}");
            let finishing = Leaving { finishes: true, keeps: false, ..keeping };
            assert_eq!(finishing.then(bytes, total), Then::GoOn);
            let dropping = Leaving { keeps: false, ..keeping };
            assert_eq!(dropping.then(bytes, total), Then::Drop, "the others need it");
        }
    }
}

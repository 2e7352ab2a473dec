//! The limits of the spool's size and of free disk space.

use std::path::Path;

use wwwoffle_config::Config;
use wwwoffle_spool::purge::{Space, space};

/// With `max-size = "auto"`, the spool may use the size of the disk divided by this number.
const LARGEST: u64 = 2;

/// With `min-free = "auto"`, the size of the disk divided by the first number stays free, but at
/// most the second number of bytes. That is half of the amount below which the home page warns.
const FREE: (u64, u64) = (40, 500_000_000);

/// The maximum size of the spool in bytes (`max-size`); `None` without a limit.
#[must_use]
pub fn max_size(config: &Config, space: Option<Space>) -> Option<u64> {
    config.purge.max_size.bytes(space.map(|space| space.total / LARGEST))
}

/// The bytes of the disk to leave free (`min-free`); `None` without a limit.
#[must_use]
pub fn min_free(config: &Config, space: Option<Space>) -> Option<u64> {
    let (part, most) = FREE;
    config.purge.min_free.bytes(space.map(|space| (space.total / part).min(most)))
}

/// The bytes to leave free on the disk of the spool at `root`; 0 without a limit.
#[must_use]
pub fn min_free_at(config: &Config, root: &Path) -> u64 {
    min_free(config, space(root).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_limits_protect_the_disk() {
        let config = Config::default();
        let of = |total| {
            let space = Some(Space { total, free: 0 });
            (max_size(&config, space), min_free(&config, space))
        };
        assert_eq!(of(8_000_000), (Some(4_000_000), Some(200_000)));
        assert_eq!(of(1_000_000_000_000), (Some(500_000_000_000), Some(500_000_000)));
        assert_eq!((max_size(&config, None), min_free(&config, None)), (None, None));
    }
}

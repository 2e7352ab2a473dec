//! The content of a file after a power cut.

use std::sync::Arc;

/// The unit in which bytes are lost.
const BLOCK: usize = 512;

/// A possible mix of two states of a file. Synced bytes that were not overwritten stay.
pub fn torn(synced: &Arc<Vec<u8>>, now: &Arc<Vec<u8>>, chance: &mut Chance) -> Arc<Vec<u8>> {
    if Arc::ptr_eq(synced, now) || synced == now {
        return Arc::clone(now);
    }
    let len = match chance.of(3) {
        0 => synced.len(),
        1 => now.len(),
        _ => {
            synced.len().min(now.len())
                + chance.of(now.len().abs_diff(synced.len()) as u64 + 1) as usize
        }
    };
    let mut bytes = vec![0; len];
    for (index, block) in bytes.chunks_mut(BLOCK).enumerate() {
        let start = index * BLOCK;
        let [old, new] = [synced, now].map(|bytes| {
            let rest = bytes.get(start..).unwrap_or_default();
            &rest[..rest.len().min(block.len())]
        });
        // Appending to a block leaves the earlier bytes of the block.
        let kept = if new.starts_with(old) { old.len() } else { 0 };
        let source = match chance.of(3) {
            0 => old,
            1 => new,
            _ => &[],
        };
        block[..source.len()].copy_from_slice(source);
        block[..kept].copy_from_slice(&old[..kept]);
    }
    Arc::new(bytes)
}

/// Pseudo-random numbers, the same on each run (`SplitMix64`).
pub struct Chance(pub u64);

impl Chance {
    pub fn of(&mut self, many: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % many
    }
}

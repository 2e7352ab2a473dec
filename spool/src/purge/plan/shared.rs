//! Shared bodies: each is freed when the last entry that shares it is purged.

use std::collections::HashMap;

use super::expiry::Expiry;
use crate::entry::holder::SharedBody;

/// The shared bodies, each with the number of an entry that shares it.
#[derive(Debug, Default)]
pub(super) struct SharedUses(Vec<(usize, SharedBody)>);

impl SharedUses {
    pub(super) fn add(&mut self, number: usize, bodies: &[SharedBody]) {
        self.0.extend(bodies.iter().map(|held| (number, *held)));
    }

    /// The expiry of each body, which is that of its longest-lived entry, and its size. `expiry_of`
    /// returns the expiry of an entry by its number.
    pub(super) fn expiries(
        &self,
        expiry_of: impl Fn(usize) -> Option<Expiry>,
    ) -> Vec<(Expiry, u64)> {
        let mut shared: HashMap<u64, (Expiry, u64)> = HashMap::new();
        for (number, held) in &self.0 {
            let Some(expiry) = expiry_of(*number) else { continue };
            let known = shared.entry(held.name).or_insert((expiry, held.size));
            known.0 = known.0.min(expiry);
        }
        shared.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_body_is_removed_with_its_last_entry() {
        let mut shared = SharedUses::default();
        let held = |name| SharedBody { name, size: 500 };
        let expiries = [Expiry::Share(9), Expiry::Share(4), Expiry::Share(7)];
        shared.add(0, &[held(1)]);
        shared.add(1, &[held(1), held(2)]);
        shared.add(2, &[held(3), held(3)]);
        let mut found = shared.expiries(|number| expiries.get(number).copied());
        found.sort_unstable();
        assert_eq!(
            found,
            [(Expiry::Share(4), 500), (Expiry::Share(4), 500), (Expiry::Share(7), 500)]
        );
    }
}

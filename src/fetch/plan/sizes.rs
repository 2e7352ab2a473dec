//! Estimates the size of missing responses from stored ones of the same kind. Pure.

use std::collections::HashMap;

use wwwoffle_api::fetch_spec::PartClass;
use wwwoffle_api::plan::{Amount, EstimateBasis};

/// The largest number of pairs of host and class. Further hosts share the estimate of their class.
const MAX_KNOWN: usize = 10_000;

/// The class of a sub-resource; `None` for a page.
pub(super) type SizeClass = Option<PartClass>;

/// Measured and missing responses.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    of_host: HashMap<HostAndClass, MeanSize>,
    of_class: HashMap<SizeClass, MeanSize>,
    missing: HashMap<HostAndClass, u64>,
}

/// A host and a class. The host is empty for all hosts beyond [`MAX_KNOWN`].
type HostAndClass = (Box<str>, SizeClass);

#[derive(Clone, Copy, Debug, Default)]
struct MeanSize(Amount);

/// The estimate for the missing responses of a host and class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    pub(super) host: Box<str>,
    pub(super) class: SizeClass,
    pub(super) amount: Amount,
    pub(super) basis: EstimateBasis,
}

impl MeanSize {
    fn bytes(&self) -> Option<u64> {
        self.0.bytes.checked_div(self.0.count)
    }
}

impl Sizes {
    /// Counts the size of a stored response.
    pub(super) fn measured(&mut self, host: &str, class: SizeClass, bytes: u64) {
        self.of_host.entry(place(&self.of_host, host, class)).or_default().0.add(1, bytes);
        self.of_class.entry(class).or_default().0.add(1, bytes);
    }

    /// Counts a missing response. Returns its size as estimated now.
    pub(super) fn missing(&mut self, host: &str, class: SizeClass) -> u64 {
        let (bytes, _) = self.estimate(host, class);
        *self.missing.entry(place(&self.missing, host, class)).or_default() += 1;
        bytes
    }

    /// The missing responses, estimated from everything known now.
    pub(super) fn estimates(&self) -> impl Iterator<Item = Estimate> {
        self.missing.iter().map(|((host, class), &count)| {
            let (bytes, by) = self.estimate(host, *class);
            let mut basis = EstimateBasis::default();
            *by(&mut basis) = count;
            let amount = Amount { count, bytes: bytes.saturating_mul(count) };
            Estimate { host: host.clone(), class: *class, amount, basis }
        })
    }

    fn estimate(&self, host: &str, class: SizeClass) -> (u64, fn(&mut EstimateBasis) -> &mut u64) {
        let of: HostAndClass = (host.into(), class);
        let of_host = self.of_host.get(&of).and_then(MeanSize::bytes);
        let of_class = || self.of_class.get(&class).and_then(MeanSize::bytes);
        if let Some(bytes) = of_host {
            return (bytes, |basis| &mut basis.host);
        }
        match of_class() {
            Some(bytes) => (bytes, |basis| &mut basis.class),
            None => (default(class), |basis| &mut basis.default),
        }
    }
}

/// The key of a count: without the host if there are too many hosts.
fn place<T>(counts: &HashMap<HostAndClass, T>, host: &str, class: SizeClass) -> HostAndClass {
    let place: HostAndClass = (host.into(), class);
    let has_room = counts.len() < MAX_KNOWN || counts.contains_key(&place);
    if has_room { place } else { (Box::default(), class) }
}

/// The default size in bytes: a round number typical for today's pages.
const fn default(class: SizeClass) -> u64 {
    match class {
        None | Some(PartClass::Frames | PartClass::Iframes | PartClass::Scripts) => 30_000,
        Some(PartClass::Stylesheets) => 15_000,
        Some(PartClass::Images) => 50_000,
        Some(PartClass::Icons) => 5_000,
        Some(PartClass::Fonts) => 40_000,
        Some(PartClass::Media) => 5_000_000,
        Some(PartClass::Objects) => 100_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(sizes: &Sizes) -> Vec<(String, u64, u64, EstimateBasis)> {
        let mut described: Vec<_> = sizes
            .estimates()
            .map(|one| (one.host.into_string(), one.amount.count, one.amount.bytes, one.basis))
            .collect();
        described.sort_by(|one, other| one.0.cmp(&other.0));
        described
    }

    #[test]
    fn estimate_prefers_sizes_of_the_same_host() {
        let mut sizes = Sizes::default();
        assert_eq!(sizes.missing("a", None), default(None));
        sizes.measured("b", None, 100);
        assert_eq!(sizes.missing("a", None), 100);
        sizes.measured("a", None, 10);
        sizes.measured("a", None, 20);
        assert_eq!(sizes.missing("a", None), 15);
        assert_eq!(sizes.missing("c", None), 43);
        let media = Some(PartClass::Media);
        assert_eq!(sizes.missing("d", media), default(media));
        // The final estimate uses everything that is known then.
        let (none, one) = (EstimateBasis::default(), 1);
        assert_eq!(
            described(&sizes),
            [
                ("a".to_owned(), 3, 45, EstimateBasis { host: 3, ..none }),
                ("c".to_owned(), 1, 43, EstimateBasis { class: one, ..none }),
                ("d".to_owned(), 1, default(media), EstimateBasis { default: one, ..none }),
            ]
        );
    }

    #[test]
    fn the_number_of_estimated_hosts_is_limited() {
        let mut sizes = Sizes::default();
        for number in 0..MAX_KNOWN + 100 {
            sizes.measured(&number.to_string(), None, 7);
            sizes.missing(&format!("x{number}"), None);
        }
        assert!(sizes.of_host.len() <= MAX_KNOWN + 1 && sizes.missing.len() <= MAX_KNOWN + 1);
        let all = sizes.estimates().fold(0, |sum, one| sum + one.amount.count);
        assert_eq!(all, u64::try_from(MAX_KNOWN + 100).unwrap());
    }
}

//! The properties that most filters need, packed into one number that is part of every sort index.
//!
//! The number only excludes entries. The entries that it does not exclude are examined completely,
//! so host ids may be truncated.

use crate::class::ContentClass;

/// The number of bits of a host id that are stored.
const HOST_BITS: u32 = 24;

const STATUS: u32 = HOST_BITS;
pub(crate) const CLASS: u32 = STATUS + 10;
const OWNED: u32 = CLASS + 4;
const SCHEME: u32 = OWNED + 1;

/// The packed properties of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts(pub(crate) i64);

/// The number of a scheme. All unusual schemes have the same number.
pub(crate) fn scheme_number(scheme: &str) -> i64 {
    match scheme {
        "http" => 0,
        "https" => 1,
        "ftp" => 2,
        "finger" => 3,
        _ => 7,
    }
}

impl Facts {
    pub(crate) fn new(
        host: i64,
        scheme: &str,
        status: u16,
        class: ContentClass,
        is_owned: bool,
    ) -> Facts {
        let host = host & ((1 << HOST_BITS) - 1);
        let status = i64::from(status.min(1023)) << STATUS;
        let class = class.number() << CLASS;
        Facts(
            host | status | class | i64::from(is_owned) << OWNED | scheme_number(scheme) << SCHEME,
        )
    }

    /// Whether the entry may belong to this host.
    pub(crate) fn may_be_of(self, host: i64) -> bool {
        (self.0 ^ host) & ((1 << HOST_BITS) - 1) == 0
    }

    pub(crate) fn status(self) -> u16 {
        u16::try_from((self.0 >> STATUS) & 1023).unwrap_or_default()
    }

    pub(crate) fn class(self) -> ContentClass {
        ContentClass::of_number((self.0 >> CLASS) & 15)
    }

    pub(crate) fn is_owned(self) -> bool {
        (self.0 >> OWNED) & 1 == 1
    }

    pub(crate) fn scheme(self) -> i64 {
        (self.0 >> SCHEME) & 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_round_trip() {
        for (host, scheme, status, class, owned) in [
            (1, "http", 200, ContentClass::Page, false),
            ((1 << HOST_BITS) - 1, "https", 599, ContentClass::Other, true),
            (7, "gopher", 999, ContentClass::Image, false),
        ] {
            let facts = Facts::new(host, scheme, status, class, owned);
            assert!(facts.0 >= 0 && facts.may_be_of(host) && !facts.may_be_of(host ^ 1));
            assert_eq!((facts.status(), facts.class()), (status, class));
            assert_eq!((facts.is_owned(), facts.scheme()), (owned, scheme_number(scheme)));
        }
        // A host id that is too long for the bits also matches some other hosts.
        let facts = Facts::new(1 << HOST_BITS | 5, "http", 200, ContentClass::Page, false);
        assert!(facts.may_be_of(5) && facts.may_be_of(1 << HOST_BITS | 5));
    }
}

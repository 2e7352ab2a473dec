//! Which answers may be used again at all (RFC 9111 §3).
//!
//! The spool keeps more than a cache may: what is in it is read offline, where nobody else can be
//! asked. What this module refuses stays in it for that, and is never used again online.

use http::StatusCode;

use super::control::{AnswerControl, Scope, Seconds};
use super::freshness::{Basis, Freshness};

/// Why an answer may not be used again online.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReused {
    /// It says `no-store`.
    NoStore,
    /// The request that it answers said so.
    RequestNoStore,
    /// It is for one person, and we are a shared cache.
    Private,
    /// It answers a request with credentials, and we are a shared cache.
    Credentials,
    /// It is for those who understand its status, which we do not.
    NotUnderstood,
    /// It is a part, or says something of another answer.
    NotWhole,
    /// Neither it nor its status says that it may.
    NotCacheable,
}

impl NotReused {
    /// A word for `Cache-Status` and the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            NotReused::NoStore => "no-store",
            NotReused::RequestNoStore => "request-no-store",
            NotReused::Private => "private",
            NotReused::Credentials => "authorization",
            NotReused::NotUnderstood => "must-understand",
            NotReused::NotWhole => "not-whole",
            NotReused::NotCacheable => "not-cacheable",
        }
    }

    /// Whether the answer itself has said that it must not be used again, so that it is not served
    /// online though its origin cannot be asked.
    #[must_use]
    pub const fn is_forbidden(self) -> bool {
        !matches!(self, NotReused::NotCacheable)
    }
}

/// What counts of the request that an answer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    /// It said `no-store`.
    pub no_store: bool,
    /// It had credentials (`Authorization`).
    pub credentials: bool,
}

/// Whether an answer may be used again (RFC 9111 §3). `shared` is whether we are a shared cache.
///
/// # Errors
///
/// The reason why not.
pub fn may_reuse(
    status: StatusCode,
    control: &AnswerControl,
    requested: Requested,
    freshness: &Freshness,
    shared: bool,
) -> Result<(), NotReused> {
    // We combine no parts here, and a `304` is about another answer.
    if status.is_informational()
        || matches!(status, StatusCode::PARTIAL_CONTENT | StatusCode::NOT_MODIFIED)
    {
        return Err(NotReused::NotWhole);
    }
    if requested.no_store {
        return Err(NotReused::RequestNoStore);
    }
    if control.must_understand {
        // §5.2.2.3: for whoever understands the status, `no-store` beside it does not count.
        if !is_understood(status) {
            return Err(NotReused::NotUnderstood);
        }
    } else if control.no_store {
        return Err(NotReused::NoStore);
    }
    if shared && control.private == Scope::All {
        return Err(NotReused::Private);
    }
    if shared && requested.credentials && !may_share(control) {
        return Err(NotReused::Credentials);
    }
    let is_cacheable = control.public
        || (!shared && control.private != Scope::Nothing)
        || freshness.basis == Basis::Explicit
        || is_heuristically_cacheable(status);
    if is_cacheable { Ok(()) } else { Err(NotReused::NotCacheable) }
}

/// Whether an answer must not be stored by whoever heeds that (RFC 9111 §5.2.2.5).
#[must_use]
pub fn is_no_store(status: StatusCode, control: &AnswerControl, requested: Requested) -> bool {
    let is_excepted = control.must_understand && is_understood(status);
    requested.no_store || (control.no_store && !is_excepted)
}

/// Whether a shared cache may use an answer to a request with credentials for others (RFC 9111
/// §3.5).
#[must_use]
pub fn may_share(control: &AnswerControl) -> bool {
    control.public || control.must_revalidate || matches!(control.s_maxage, Seconds::Valid(_))
}

/// Whether an answer may be used again though nothing in it says so (RFC 9110 §15.1), parts aside.
#[must_use]
pub fn is_heuristically_cacheable(status: StatusCode) -> bool {
    matches!(status.as_u16(), 200 | 203 | 204 | 300 | 301 | 308 | 404 | 405 | 410 | 414 | 501)
}

/// Whether it is known what a status means for a cache (RFC 9111 §3: "understands"): those of RFC
/// 9110 §15 that can be final, less `206` and `304`, and what later standards added for whole
/// answers.
#[must_use]
pub fn is_understood(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        200..=205 | 300..=303 | 305 | 307 | 308
            | 400..=417 | 421..=426 | 428 | 429 | 431 | 451 | 500..=505 | 511
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caching::freshness::Exchange;
    use crate::caching::freshness::tests::{HEURISTICS, at, fields};

    #[test]
    fn what_may_be_used_again_is_what_the_table_says() {
        let mut wrong = Vec::new();
        for (number, row) in (1..).zip(include_str!("storing.txt").lines()) {
            let Some((given, want)) = row.split_once("->").filter(|_| !row.starts_with('#')) else {
                continue;
            };
            let (words, given) = given.split_once(':').unwrap();
            let has = |word| words.split_ascii_whitespace().any(|found| found == word);
            let status = words.split_ascii_whitespace().next().unwrap();
            let status = StatusCode::from_bytes(status.as_bytes()).unwrap();
            let fields = fields(given.trim());
            let requested =
                Requested { no_store: has("no-store"), credentials: has("authorization") };
            let exchange = Exchange { asked: at(0), received: at(0) };
            let cache = (has("shared"), HEURISTICS);
            let fresh = Freshness::of(status, &fields, exchange, cache, at(0));
            let control = AnswerControl::of(&fields);
            let got = match may_reuse(status, &control, requested, &fresh, has("shared")) {
                Ok(()) => "yes",
                Err(reason) => reason.as_str(),
            };
            if got != want.trim() {
                wrong.push(format!("storing.txt:{number}: {} got {got}", row.trim()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

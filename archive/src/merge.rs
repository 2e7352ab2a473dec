//! Decides how to handle a response of an archive, given the stored response. Pure: no I/O.

use jiff::Timestamp;

use crate::refusal::Reason;

/// A response of an archive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchivedResponse {
    pub(crate) status: u16,
    /// When the response arrived.
    pub(crate) when: Timestamp,
}

/// The stored response with which the response of the archive is compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentResponse {
    pub(crate) status: u16,
    /// When the response arrived or was last revalidated.
    pub(crate) checked: Timestamp,
}

/// The decision. Whether two responses are equal is only known once the body is complete; an equal
/// response is not stored again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MergeVerdict {
    /// Store it. The previous response becomes an older version, if older versions are stored.
    Newest,
    /// Store it as an older version, if older versions are stored.
    Older,
    /// Skip it, because it is an error and a page is stored.
    Worse,
    /// Refuse it.
    Unfit(Reason),
}

/// Decides about `new`. With `replace`, every response that is not unfit replaces the stored one.
pub(crate) fn decide(
    new: ArchivedResponse,
    kept: Option<CurrentResponse>,
    replace: bool,
) -> MergeVerdict {
    match new.status {
        100..200 => return MergeVerdict::Unfit("it is not a final response".into()),
        206 => return MergeVerdict::Unfit("it is a partial response".into()),
        304 => return MergeVerdict::Unfit("it only says that nothing has changed".into()),
        401 | 407 | 408 | 412 | 416 | 417 | 421 | 425 | 428 | 429 | 431 => {
            return MergeVerdict::Unfit("its status applies to that request only".into());
        }
        500.. => return MergeVerdict::Unfit("the origin failed".into()),
        _ => {}
    }
    let is_good = |status: u16| (200..400).contains(&status);
    match kept {
        None => MergeVerdict::Newest,
        Some(_) if replace => MergeVerdict::Newest,
        Some(kept) if is_good(kept.status) && !is_good(new.status) => MergeVerdict::Worse,
        // A page replaces a stored error, even if the error arrived later.
        Some(kept) if is_good(new.status) && !is_good(kept.status) => MergeVerdict::Newest,
        Some(kept) if kept.checked < new.when => MergeVerdict::Newest,
        Some(_) => MergeVerdict::Older,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_response_wins_and_errors_replace_nothing() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (new, kept, replace, want) in [
            ((200, 5), None, false, MergeVerdict::Newest),
            ((404, 5), None, false, MergeVerdict::Newest),
            ((200, 5), Some((200, 4)), false, MergeVerdict::Newest),
            ((200, 5), Some((200, 5)), false, MergeVerdict::Older),
            ((200, 5), Some((200, 6)), false, MergeVerdict::Older),
            ((200, 5), Some((200, 6)), true, MergeVerdict::Newest),
            ((404, 5), Some((200, 4)), false, MergeVerdict::Worse),
            ((404, 5), Some((200, 4)), true, MergeVerdict::Newest),
            ((404, 5), Some((404, 4)), false, MergeVerdict::Newest),
            ((200, 5), Some((404, 6)), false, MergeVerdict::Newest),
            ((301, 5), Some((200, 4)), false, MergeVerdict::Newest),
        ] {
            let new = ArchivedResponse { status: new.0, when: at(new.1) };
            let kept =
                kept.map(|(status, checked)| CurrentResponse { status, checked: at(checked) });
            assert_eq!(decide(new, kept, replace), want, "{new:?} over {kept:?}");
        }
        for status in [100, 103, 206, 304, 401, 416, 429, 500, 503, 599] {
            let new = ArchivedResponse { status, when: at(5) };
            assert!(matches!(decide(new, None, true), MergeVerdict::Unfit(_)), "{status}");
        }
    }
}

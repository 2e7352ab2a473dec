//! Decides how to handle a response of an archive, given the stored response. Pure: no I/O.

use jiff::Timestamp;

use crate::refusal::Reason;

/// A response of an archive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArchivedResponse {
    pub(crate) status: u16,
    /// When it arrived.
    pub(crate) when: Timestamp,
}

/// The response stored at its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredResponse {
    pub(crate) status: u16,
    /// When it arrived or was last revalidated.
    pub(crate) checked: Timestamp,
}

/// The decision. Whether two responses are equal is only known once the body is complete; an equal
/// response is not stored again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Store it. The previous response becomes an older version, if older versions are stored.
    Newest,
    /// Store it as an older version, if older versions are stored.
    Older,
    /// Skip it, because it is an error and a page is stored.
    Worse,
    /// Refuse it.
    Unfit(Reason),
}

/// Decides about `new`. With `replace`, it always replaces the stored response.
pub(crate) fn decide(
    new: ArchivedResponse,
    kept: Option<StoredResponse>,
    replace: bool,
) -> Verdict {
    match new.status {
        100..200 => return Verdict::Unfit("it is not a final response".into()),
        206 => return Verdict::Unfit("it is a partial response".into()),
        304 => return Verdict::Unfit("it only says that nothing has changed".into()),
        401 | 407 | 408 | 412 | 416 | 417 | 421 | 425 | 428 | 429 | 431 => {
            return Verdict::Unfit("its status applies to that request only".into());
        }
        500.. => return Verdict::Unfit("the origin failed".into()),
        _ => {}
    }
    let is_good = |status: u16| (200..400).contains(&status);
    match kept {
        None => Verdict::Newest,
        Some(_) if replace => Verdict::Newest,
        Some(kept) if is_good(kept.status) && !is_good(new.status) => Verdict::Worse,
        // A later error does not hide a page.
        Some(kept) if is_good(new.status) && !is_good(kept.status) => Verdict::Newest,
        Some(kept) if kept.checked < new.when => Verdict::Newest,
        Some(_) => Verdict::Older,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_wins_and_nothing_good_gives_way_to_an_error() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (new, kept, replace, want) in [
            ((200, 5), None, false, Verdict::Newest),
            ((404, 5), None, false, Verdict::Newest),
            ((200, 5), Some((200, 4)), false, Verdict::Newest),
            ((200, 5), Some((200, 5)), false, Verdict::Older),
            ((200, 5), Some((200, 6)), false, Verdict::Older),
            ((200, 5), Some((200, 6)), true, Verdict::Newest),
            ((404, 5), Some((200, 4)), false, Verdict::Worse),
            ((404, 5), Some((200, 4)), true, Verdict::Newest),
            ((404, 5), Some((404, 4)), false, Verdict::Newest),
            ((200, 5), Some((404, 6)), false, Verdict::Newest),
            ((301, 5), Some((200, 4)), false, Verdict::Newest),
        ] {
            let new = ArchivedResponse { status: new.0, when: at(new.1) };
            let kept =
                kept.map(|(status, checked)| StoredResponse { status, checked: at(checked) });
            assert_eq!(decide(new, kept, replace), want, "{new:?} over {kept:?}");
        }
        for status in [100, 103, 206, 304, 401, 416, 429, 500, 503, 599] {
            let new = ArchivedResponse { status, when: at(5) };
            assert!(matches!(decide(new, None, true), Verdict::Unfit(_)), "{status}");
        }
    }
}

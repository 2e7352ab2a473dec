//! What becomes of an answer that an archive has, beside what is kept. Pure: nothing is read or written.

use jiff::Timestamp;

use crate::refusal::Reason;

/// An answer of an archive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct New {
    pub(crate) status: u16,
    /// When it came.
    pub(crate) when: Timestamp,
}

/// The answer that is kept at its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) status: u16,
    /// When it came, or its origin said last that it is still right.
    pub(crate) checked: Timestamp,
}

/// What becomes of it. That it is the same is found out at its end, and it is not kept twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is kept, and what was there becomes an older version if those are kept.
    Newest,
    /// It is kept as an older version, if those are kept.
    Older,
    /// It is an error, and a page is kept.
    Worse,
    /// It is nothing that is kept.
    Unfit(Reason),
}

/// Decides. With `replace` it takes the place of what is there, whatever that is.
pub(crate) fn judge(new: New, kept: Option<Kept>, replace: bool) -> Verdict {
    match new.status {
        100..200 => return Verdict::Unfit("it is no final answer".into()),
        206 => return Verdict::Unfit("it is a part of an answer".into()),
        304 => return Verdict::Unfit("it says only that nothing has changed".into()),
        401 | 407 | 408 | 412 | 416 | 417 | 421 | 425 | 428 | 429 | 431 => {
            return Verdict::Unfit("it says something of that one request alone".into());
        }
        500.. => return Verdict::Unfit("its origin had trouble".into()),
        _ => {}
    }
    let is_good = |status: u16| (200..400).contains(&status);
    match kept {
        None => Verdict::Newest,
        Some(_) if replace => Verdict::Newest,
        Some(kept) if is_good(kept.status) && !is_good(new.status) => Verdict::Worse,
        // An error that came later hides no page.
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
            let new = New { status: new.0, when: at(new.1) };
            let kept = kept.map(|(status, checked)| Kept { status, checked: at(checked) });
            assert_eq!(judge(new, kept, replace), want, "{new:?} over {kept:?}");
        }
        for status in [100, 103, 206, 304, 401, 416, 429, 500, 503, 599] {
            let new = New { status, when: at(5) };
            assert!(matches!(judge(new, None, true), Verdict::Unfit(_)), "{status}");
        }
    }
}

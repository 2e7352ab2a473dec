//! Limiting the number of segments: two neighbours that touch or overlap are joined. If there are
//! none, the oldest segment is removed.
//!
//! The pair with the shortest total length is joined, so each byte is copied only a few times,
//! however many segments there are.

use std::sync::Arc;

use super::segment::{NewSegment, SegmentWriter};
use super::{MAX_SEGMENTS, Partial, files};
use crate::entry::Entry;
use crate::entry::place::Place;
use crate::entry::verified::span;
use crate::error::Result;
use crate::tree::session::Session;
use crate::tree::writer::NewEntry;

/// Limits the segments of a place to [`MAX_SEGMENTS`], and the variants of its key.
pub(crate) fn reduce(session: &Arc<Session>, place: &Place) -> Result<()> {
    files::reduce_variants(&session.tree, place)?;
    for _ in 0..MAX_SEGMENTS {
        let Some(partial) = files::read(&session.tree, place)? else { return Ok(()) };
        if partial.segments.len() <= MAX_SEGMENTS {
            return Ok(());
        }
        let joined = match neighbours(&partial.segments) {
            Some(pair) => join(session, &partial, pair).is_ok(),
            None => false,
        };
        if !joined && let Some(oldest) = partial.segments.first() {
            files::remove_one(&session.tree, oldest)?;
        }
    }
    Ok(())
}

/// Returns the two segments that touch or overlap and have the shortest total length, ordered by
/// start. `None` if no two segments touch.
fn neighbours(segments: &[Entry]) -> Option<[&Entry; 2]> {
    let mut ordered: Vec<&Entry> = segments.iter().collect();
    ordered.sort_by_key(|segment| span(segment));
    let pairs = ordered.windows(2).filter_map(|pair| match *pair {
        [one, other] => Some([one, other]),
        _ => None,
    });
    let touch = |[one, other]: &[&Entry; 2]| match (span(one), span(other)) {
        (Some(one), Some(other)) => other.0 <= one.1,
        _ => false,
    };
    pairs.filter(touch).min_by_key(|[one, other]| one.body_len().saturating_add(other.body_len()))
}

/// Writes one segment that replaces two.
fn join(session: &Arc<Session>, partial: &Partial, [one, other]: [&Entry; 2]) -> Result<()> {
    let newer = if (one.received(), one.stored()) < (other.received(), other.stored()) {
        other
    } else {
        one
    };
    let spans = [span(one).unwrap_or_default(), span(other).unwrap_or_default()];
    let [start, end] = [spans[0].0, spans[0].1.max(spans[1].1)];
    let new = NewSegment {
        entry: NewEntry::copy_of(newer),
        validator: partial.validator().to_vec(),
        complete_length: partial.complete_length(),
        start,
    };
    let mut writer = SegmentWriter::begin_copy(session, &partial.place, new)?;
    partial.verified().copy_to(start..end, |piece| writer.write(piece))?;
    writer.admit(false, &[one.stored(), other.stored()])
}

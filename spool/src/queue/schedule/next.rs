//! The next moment of a schedule.
//!
//! A schedule matches local time. If the clock skips a matching time, that time counts as reached
//! at the next time that the clock shows. If the clock shows a matching time twice, the first
//! counts. So each matching time has exactly one moment, and the moments are in the order of the
//! times.

use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Span, Timestamp};

use super::{DayCombination, Schedule, has};

/// The number of years that the search covers. The 29th of February falls on a given day of the
/// week at least once in 40 years; every other date does so more often.
const HORIZON: i16 = 41;

/// The largest number of steps of the binary search for a second. No change of a clock is longer
/// than some days, so fewer steps suffice.
const MAX_HALVINGS: usize = 40;

impl Schedule {
    /// The first moment after `now`, by the clocks of `zone`. `None` for a schedule without set
    /// times, and beyond the supported years.
    #[must_use]
    pub fn next_after(&self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        if self.each_session {
            return None;
        }
        let local = zone.to_datetime(now);
        let mut date = local.date();
        // On the first day, the times before the present local time have passed.
        let mut from = (local.hour(), local.minute());
        let end = date.checked_add(Span::new().years(HORIZON)).unwrap_or(Date::MAX);
        while date <= end {
            if u8::try_from(date.month()).is_ok_and(|month| self.has_month(month)) {
                if self.has_date(date) {
                    let mut moments = self
                        .times_from(from)
                        .filter_map(|(hour, minute)| moment(date.at(hour, minute, 0, 0), zone));
                    if let Some(next) = moments.find(|&moment| moment > now) {
                        return Some(next);
                    }
                }
                date = date.tomorrow().ok()?;
            } else {
                date = date.last_of_month().tomorrow().ok()?;
            }
            from = (0, 0);
        }
        None
    }

    fn has_date(&self, date: Date) -> bool {
        let is_in = |set, number: i8| u8::try_from(number).is_ok_and(|number| has(set, number));
        let by_month = is_in(self.days, date.day());
        let by_week = is_in(self.weekdays, date.weekday().to_sunday_zero_offset());
        match self.days_in {
            DayCombination::Both => by_month && by_week,
            DayCombination::Either => by_month || by_week,
        }
    }

    /// The matching times of a day, from `from` on.
    fn times_from(&self, from: (i8, i8)) -> impl Iterator<Item = (i8, i8)> {
        let is_in = |set, number: i8| u8::try_from(number).is_ok_and(|number| has(set, number));
        let Schedule { hours, minutes, .. } = *self;
        let hours = (from.0..24).filter(move |&hour| is_in(hours, hour));
        hours
            .flat_map(move |hour| {
                let minutes = (0..60).filter(move |&minute| is_in(minutes, minute));
                minutes.map(move |minute| (hour, minute))
            })
            .filter(move |&time| time >= from)
    }
}

/// The first moment at which the clocks show this time, or a later one if they skip it.
fn moment(time: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(time).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(time).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(time).ok(),
        AmbiguousOffset::Gap { before, after } => {
            let early = after.to_timestamp(time).ok()?;
            let late = before.to_timestamp(time).ok()?;
            Some(change(early, late, before, zone))
        }
    }
}

/// The first second after the change of offset. At `early` the offset is `before`; at `late` it is
/// another.
fn change(early: Timestamp, late: Timestamp, before: Offset, zone: &TimeZone) -> Timestamp {
    let (mut early, mut late) = (early.as_second(), late.as_second());
    for _ in 0..MAX_HALVINGS {
        if late - early <= 1 {
            break;
        }
        let middle = early + (late - early) / 2;
        let is_before = Timestamp::from_second(middle).is_ok_and(|it| zone.to_offset(it) == before);
        if is_before { early = middle } else { late = middle }
    }
    Timestamp::from_second(late).unwrap_or(Timestamp::MAX)
}

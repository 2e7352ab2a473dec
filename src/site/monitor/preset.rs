//! The schedules that most people want, in the words of the form.

use std::ops::RangeInclusive;

use wwwoffle_spool::Schedule;

use crate::base::text::{Text, tr};
use crate::page::form::SubmittedForm;

/// A schedule with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::site) enum Preset {
    Hour,
    Day,
    Week,
    Month,
    /// Each time the proxy goes online.
    Online,
    /// The times in the other fields of the form.
    Times,
}

impl Preset {
    /// Name of the field with the choice with which the form was filled in.
    const WAS: &'static str = "was";

    pub(in crate::site) const ALL: [Self; 6] =
        [Self::Hour, Self::Day, Self::Week, Self::Month, Self::Online, Self::Times];

    pub(in crate::site) const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Online => "online",
            Self::Times => "times",
        }
    }

    pub(in crate::site) const fn label(self) -> Text {
        match self {
            Self::Hour => tr("every hour"),
            Self::Day => tr("every day"),
            Self::Week => tr("every week"),
            Self::Month => tr("every month"),
            Self::Online => tr("each time the proxy goes online"),
            Self::Times => tr("at the times set below"),
        }
    }

    /// Returns the schedule; `None` if the other fields of the form set it.
    pub(in crate::site) fn schedule(self) -> Option<Schedule> {
        let line = match self {
            Self::Hour => "@hourly",
            Self::Day => "@daily",
            Self::Week => "@weekly",
            Self::Month => "@monthly",
            Self::Online => "@online",
            Self::Times => return None,
        };
        line.parse().ok()
    }

    /// Returns the name of a schedule. A page that is not monitored yet has the default, every day.
    pub(super) fn of(schedule: Option<Schedule>) -> Self {
        let Some(schedule) = schedule else { return Self::Day };
        let named = Self::ALL.into_iter().find(|preset| preset.schedule() == Some(schedule));
        named.unwrap_or(Self::Times)
    }

    /// Returns the choice in a form; `None` if the form has none, such as that of WWWOFFLE 2.9.
    fn chosen(form: &SubmittedForm) -> Option<Self> {
        let chosen = form.value("every")?;
        Self::ALL.into_iter().find(|preset| preset.as_str() == chosen)
    }

    /// Returns the choice that a form means.
    ///
    /// Times typed into the other fields count, although another schedule is chosen. If the form was
    /// filled in with times (the field [`WAS`](Self::WAS)), they do not show what the person typed,
    /// so the choice counts.
    pub(super) fn meant(form: &SubmittedForm) -> Self {
        let chosen = Self::chosen(form).unwrap_or(Self::Times);
        let was_times = form.value(Self::WAS) == Some(Self::Times.as_str());
        if was_times || has_usual_times(form) { chosen } else { Self::Times }
    }
}

/// Whether the fields for the times have their initial values, or are missing.
fn has_usual_times(form: &SubmittedForm) -> bool {
    let is_usual = |name: &str, usual: &str| {
        let text = form.value(name).map(str::trim).unwrap_or_default();
        text.is_empty() || text == usual
    };
    let all_alike = |name: &str, mut numbers: RangeInclusive<u8>| {
        let is_checked = |number: u8| form.value(&format!("{name}{number}")).is_some();
        let first = numbers.next().is_some_and(is_checked);
        numbers.all(|number| is_checked(number) == first)
    };
    is_usual("cron", "")
        && is_usual("dofm", "*")
        && is_usual("hofd", "0")
        && all_alike("mofy", 1..=12)
        && all_alike("dofw", 0..=6)
}

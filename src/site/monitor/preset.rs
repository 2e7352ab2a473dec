//! The schedules that most people want, in the words of the form.

use wwwoffle_spool::Schedule;

use crate::base::text::{Text, tr};
use crate::page::form::SubmittedForm;

/// A schedule with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preset {
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
    pub(super) const ALL: [Self; 6] =
        [Self::Hour, Self::Day, Self::Week, Self::Month, Self::Online, Self::Times];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Online => "online",
            Self::Times => "times",
        }
    }

    pub(super) const fn label(self) -> Text {
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
    pub(super) fn schedule(self) -> Option<Schedule> {
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
    pub(super) fn chosen(form: &SubmittedForm) -> Option<Self> {
        let chosen = form.value("every")?;
        Self::ALL.into_iter().find(|preset| preset.as_str() == chosen)
    }
}

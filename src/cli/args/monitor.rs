//! What is typed after `wwwoffle monitor`.

use clap::{Args, Subcommand};

use super::get::With;

/// What to do with the pages that are looked at on a schedule.
#[derive(Debug, Subcommand)]
pub(crate) enum MonitorVerb {
    /// Look at pages on a schedule, by the clocks of this machine: at midnight, unless more is said.
    ///
    /// A page that is monitored already has the new schedule from then on.
    Add {
        #[command(flatten)]
        when: When,
        /// How many older versions are kept at least.
        #[arg(long, value_name = "N", default_value_t = 0)]
        versions: u16,
        /// Follow links, so many one after the other.
        #[arg(long, value_name = "N", default_value_t = 0)]
        depth: u16,
        /// Where links may lead: any, protocol, host, site, directory or a URL-SPECIFICATION.
        #[arg(long, value_name = "WHERE", requires = "depth")]
        within: Option<String>,
        #[command(flatten)]
        with: With,
        /// What to look at.
        #[arg(required = true, value_name = "URL")]
        urls: Vec<String>,
    },
    /// List what is monitored, with the last time and the next.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print how the text of a page has changed since the version before.
    Diff {
        /// Since the version that was kept then, as --json tells.
        #[arg(long, value_name = "TIME")]
        from: Option<jiff::Timestamp>,
        /// In the version that was kept then, in place of the newest.
        #[arg(long, value_name = "TIME")]
        to: Option<jiff::Timestamp>,
        /// As JSON, with the times of all versions.
        #[arg(long)]
        json: bool,
        /// The page, in any spelling.
        #[arg(value_name = "URL")]
        url: String,
    },
    /// Look at pages on a schedule no longer.
    Rm {
        /// At all that are monitored.
        #[arg(long, conflicts_with = "urls")]
        all: bool,
        /// At which, in any spelling.
        #[arg(required_unless_present = "all", value_name = "URL")]
        urls: Vec<String>,
    },
}

/// When to look at a page. A list is as 1,3,5-10 or 20-, and * is all.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are typed")]
pub(crate) struct When {
    /// A line of cron: minute, hour, day of the month, month, day of the week.
    #[arg(long, value_name = "LINE", group = "how-often",
        conflicts_with_all = ["at", "months", "days", "weekdays", "hours"])]
    pub(crate) cron: Option<String>,
    /// Every hour.
    #[arg(long, group = "how-often")]
    pub(crate) hourly: bool,
    /// Every day.
    #[arg(long, group = "how-often")]
    pub(crate) daily: bool,
    /// Every week, on Sunday unless --weekdays says another day.
    #[arg(long, group = "how-often")]
    pub(crate) weekly: bool,
    /// Every month, on the first unless --days says other days.
    #[arg(long, group = "how-often")]
    pub(crate) monthly: bool,
    /// At which time of the day.
    #[arg(long, value_name = "H:MM", conflicts_with = "hours")]
    pub(crate) at: Option<String>,
    /// Only in these months, 1 to 12 or jan to dec.
    #[arg(long, value_name = "LIST")]
    pub(crate) months: Option<String>,
    /// Only on these days of the month.
    #[arg(long, value_name = "LIST")]
    pub(crate) days: Option<String>,
    /// Only on these days of the week, 0 to 6 or sun to sat.
    #[arg(long, value_name = "LIST")]
    pub(crate) weekdays: Option<String>,
    /// On these hours, 0 to 23.
    #[arg(long, value_name = "LIST")]
    pub(crate) hours: Option<String>,
}

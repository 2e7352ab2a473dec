//! The arguments of `wwwoffle monitor`.

use clap::{Args, Subcommand};

use super::get::PartFlags;

/// The subcommands of `monitor`.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "made once for each run of the program")]
pub(crate) enum MonitorVerb {
    /// Fetch pages on a schedule, in local time; by default every day at midnight.
    ///
    /// If a page is monitored already, in any spelling, it gets the new schedule and spelling.
    Add {
        #[command(flatten)]
        when: ScheduleFlags,
        /// Keep at least this many older versions.
        #[arg(long, value_name = "N", default_value_t = 0)]
        versions: u16,
        /// Follow links up to this depth.
        #[arg(long, value_name = "N", default_value_t = 0)]
        depth: u16,
        /// The pages to follow links to: any, protocol, host, site, directory or a
        /// URL-SPECIFICATION.
        #[arg(long, value_name = "WHERE", requires = "depth")]
        within: Option<String>,
        #[command(flatten)]
        with: PartFlags,
        /// Report only changes in the elements that match this CSS selector.
        #[arg(long, value_name = "SELECTOR")]
        select: Option<String>,
        /// Report only changes of lines that contain one of these words.
        #[arg(long, value_name = "WORDS")]
        words: Option<String>,
        /// Mail the changes to this address, with the program of [options] run-mail.
        #[arg(long, value_name = "ADDRESS")]
        mail: Option<String>,
        /// The pages to monitor.
        #[arg(required = true, value_name = "URL")]
        urls: Vec<String>,
    },
    /// List the monitored pages, with their last and next fetch.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print how the text of a page has changed since the previous version.
    Diff {
        /// Compare from the version stored at this time (see --json).
        #[arg(long, value_name = "TIME")]
        from: Option<jiff::Timestamp>,
        /// Compare to the version stored at this time instead of the newest.
        #[arg(long, value_name = "TIME")]
        to: Option<jiff::Timestamp>,
        /// Print JSON, with the times of all versions.
        #[arg(long)]
        json: bool,
        /// The page, in any spelling.
        #[arg(value_name = "URL")]
        url: String,
    },
    /// Stop monitoring pages.
    Rm {
        /// All monitored pages.
        #[arg(long, conflicts_with = "urls")]
        all: bool,
        /// The pages, in any spelling.
        #[arg(required_unless_present = "all", value_name = "URL")]
        urls: Vec<String>,
    },
}

/// When to fetch a page. A list looks like 1,3,5-10 or 20-, and * means all.
#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags as they are typed")]
pub(crate) struct ScheduleFlags {
    /// A cron line: minute, hour, day of the month, month, day of the week.
    #[arg(long, value_name = "LINE", group = "how-often",
        conflicts_with_all = ["at", "months", "days", "weekdays", "hours"])]
    pub(crate) cron: Option<String>,
    /// Once in each session: each time the proxy goes online.
    #[arg(long, group = "how-often",
        conflicts_with_all = ["at", "months", "days", "weekdays", "hours"])]
    pub(crate) each_session: bool,
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
    /// The time of day.
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
    /// At these hours, 0 to 23.
    #[arg(long, value_name = "LIST")]
    pub(crate) hours: Option<String>,
}

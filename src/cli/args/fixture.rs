//! The arguments of `wwwoffle run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hyper::header::HeaderName;
use wwwoffle_config::Size;

use super::fetch::size;
use crate::proxy::fixture::link::LinkSpeed;

/// The arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Record every exchange of the command in this file, which ends in .wacz.
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "replay",
        conflicts_with = "replay"
    )]
    pub(crate) record: Option<PathBuf>,
    /// Replace the file if it exists. The old one stays until the command has ended.
    #[arg(long, requires = "record")]
    pub(crate) replace: bool,
    /// Answer the requests of the command from this file; nothing goes out.
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
    /// Forward requests without a recorded response, and add them to the file.
    #[arg(long, requires = "replay")]
    pub(crate) record_missing: bool,
    /// Requests to this machine (localhost, 127.0.0.1) go through the proxy too.
    #[arg(long)]
    pub(crate) local: bool,
    /// Do not record bodies longer than this, such as 200M.
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    pub(crate) max_body: Size,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    #[command(flatten)]
    pub(crate) answers: AnswerArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    /// The command and its arguments, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Which differences between a request and a recorded one count.
#[derive(Debug, Args)]
pub(crate) struct RuleArgs {
    /// An argument of the URL that does not count, such as t or utm_*; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) ignore_argument: Vec<String>,
    /// A member of a JSON body or a field of a form that does not count, at any depth, or a path
    /// such as variables.now; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) ignore_field: Vec<String>,
    /// The body does not count.
    #[arg(long)]
    pub(crate) ignore_body: bool,
    /// A header field that counts, such as accept-language; may be repeated.
    #[arg(long, value_name = "NAME", value_parser = header_name)]
    pub(crate) match_header: Vec<String>,
}

/// How requests are answered.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Each recorded response answers one request. Without it, the last of several responses to
    /// the same request is repeated.
    #[arg(long, requires = "replay")]
    pub(crate) each_once: bool,
    /// Send Date, Age, Via and Cache-Status as recorded.
    #[arg(long)]
    pub(crate) all_fields: bool,
    /// Simulate a slow link: 2g, 3g or 4g.
    #[arg(long, value_name = "LINK", value_parser = link_speed)]
    pub(crate) slow: Option<LinkSpeed>,
    /// Break off this share of the responses, such as 5%.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    pub(crate) drop: u64,
}

/// What is reported at the end.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Fail if a request has no recorded response, even if the command succeeds.
    #[arg(long, requires = "replay")]
    pub(crate) fail_missing: bool,
    /// Write a report to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// The format of the report [default: junit if the file ends in .xml, else json].
    #[arg(long, value_name = "FORMAT", requires = "report")]
    pub(crate) report_format: Option<ReportFormat>,
}

/// The format of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One JSON object.
    Json,
    /// XML as JUnit writes it, for the reports of CI systems.
    Junit,
}

fn link_speed(text: &str) -> Result<LinkSpeed, &'static str> {
    let found = LinkSpeed::ALL.into_iter().find(|speed| speed.as_str() == text);
    found.ok_or("expected 2g, 3g or 4g")
}

fn percent(text: &str) -> Result<u64, &'static str> {
    let number = text.strip_suffix('%').unwrap_or(text).parse().ok();
    number.filter(|number| *number <= 100).ok_or("expected a whole percentage, such as 5%")
}

/// A header field that may be compared: the values of secret fields are not recorded.
fn header_name(text: &str) -> Result<String, &'static str> {
    let name = HeaderName::from_bytes(text.as_bytes()).map_err(|_| "expected a header field")?;
    if wwwoffle_http::head::is_secret(&name) {
        return Err("its values are secret, so they are not recorded and cannot be compared");
    }
    Ok(name.as_str().to_owned())
}

//! `wwwoffle downloads`: lists the downloads in progress, and ends one.

use super::VerbContext;
use super::failure::VerbResult;
use super::files::print_lines;
use crate::base::exit::ExitStatus;
use crate::base::shown;
use crate::site::fetches::progress;
use wwwoffle_api::{DownloadEnded, DownloadToEnd, Status};

/// Lists the downloads, or ends one.
pub(super) fn run(json: bool, end: Option<u64>, context: &mut VerbContext<'_>) -> VerbResult {
    let (control, out) = (context.settings.control()?, &mut *context.terminal.stdout);
    if let Some(id) = end {
        let done: DownloadEnded = control.post("/api/downloads/end", &DownloadToEnd { id })?;
        writeln!(out, "ended: {}", shown::line(&done.url))?;
        return Ok(ExitStatus::Done);
    }
    let status: Status = control.get("/api/status")?;
    let lines = status.downloads.iter().map(|download| {
        let (line, url) = (progress::describe_download(download), shown::line(&download.url));
        format!("{}  {line} {url}", download.id)
    });
    print_lines(&status.downloads, json, out, lines)
}

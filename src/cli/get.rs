//! `wwwoffle get` and `wwwoffle runs`: store pages with their sub-resources and links.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use wwwoffle_url::{BrowserUrl, CanonicalUrl, LocalHost, extract};

use super::args::{FormArgs, GetArgs, ProfileArgs};
use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use super::files::{print_json, print_lines};
use super::progress::report;
use super::verbs::{EventFormat, follow};
use super::{Terminal, VerbContext};
use super::{plan, profile};
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::base::{shown, small_file};
use crate::proxy::ask::MAX_KEPT_POST;
use wwwoffle_api::plan::RunPlanRequest;
use wwwoffle_api::runs::{FetchSpec, RunItem, RunList, RunRequest, RunStopped, RunToStop};
use wwwoffle_api::{CaptureOutcome, CaptureRequest, FormMethod, FormToSend, GetRequest};
use wwwoffle_html::references::{BodyKind, Finder, Viewport};

/// The longest text from which URLs are read, in bytes.
const MAX_TEXT: u64 = 64 << 20;

/// Time limit for a capture: longer than the daemon waits for the archives.
const ARCHIVE_WITHIN: Duration = Duration::from_secs(900);

/// The base URL for the references in a text from a file. Relative references are dropped, because
/// the real base URL is unknown.
const NOWHERE: &str = "http://nowhere.invalid/";

/// Gets the URLs, and shows the progress.
pub(super) fn run(typed: GetArgs, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let (spec, telling) = (fetch_spec(&typed), EventFormat::of(typed.json));
    let form = form(&typed.form, terminal)?;
    if form.is_some() && spec.is_some() {
        return Err(VerbFailure::usage("get: a form is sent without links and sub-resources"));
    }
    let urls = with_urls_of(typed.from.as_deref(), &typed.profile, typed.urls, terminal)?;
    let control = settings.control()?;
    if typed.from_archive {
        return from_archive(urls, typed.at, typed.json, &control, terminal);
    }
    if typed.plan {
        // If no option selects depth or sub-resources, a page is fetched with the sub-resources
        // that the configuration selects.
        let mut spec = spec.unwrap_or_default();
        spec.force |= typed.refresh;
        let planned = control.post("/api/runs/plan", &RunPlanRequest { urls, spec })?;
        return plan::runs(&planned, typed.json, terminal);
    }
    if let Some(spec) = spec {
        let wanted = RunRequest { urls, spec, wait: true };
        return follow(&control, "/api/runs", &wanted, telling, terminal);
    }
    let wanted = GetRequest { urls, refresh: typed.refresh, form };
    follow(&control, "/api/get", &wanted, telling, terminal)
}

/// Stores the captures of pages in web archives. A page without one does not stop the others.
fn from_archive(
    urls: Vec<String>,
    at: Option<Timestamp>,
    json: bool,
    control: &Control,
    terminal: &mut Terminal<'_>,
) -> VerbResult {
    const PATH: &str = "/api/captures/store";
    let mut status = ExitStatus::Done;
    for url in urls {
        let wanted = CaptureRequest { url: url.clone(), at, gate: None };
        match control.post_patiently::<CaptureOutcome>(PATH, &wanted, ARCHIVE_WITHIN) {
            Ok(outcome) if json => print_json(&outcome, terminal.stdout)?,
            Ok(CaptureOutcome::Queued { queued }) => {
                let url = shown::line(&queued);
                writeln!(
                    terminal.stdout,
                    "{url}: you are offline: its copy will be fetched later"
                )?;
            }
            Ok(CaptureOutcome::Stored(stored)) => {
                let (url, memento) =
                    (shown::line(&stored.url), shown::line(&stored.capture.memento));
                let (captured, bytes) = (stored.capture.captured, shown::bytes(stored.bytes));
                let (parts, missing) = (stored.parts, stored.missing);
                writeln!(
                    terminal.stdout,
                    "{url}: {bytes}, copy of {captured:.0} from {memento}; sub-resources: {parts} \
                     stored, {missing} missing"
                )?;
            }
            Err(VerbFailure::Said(ExitStatus::Failed, why)) => {
                let url = shown::address(&url);
                writeln!(terminal.stderr, "wwwoffle: {url}: {why}")?;
                status = ExitStatus::Failed;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(status)
}

/// Returns the fetch specification of a recursive fetch. `None` if no depth, no class of
/// sub-resources and no `--whole` was typed.
fn fetch_spec(typed: &GetArgs) -> Option<FetchSpec> {
    let parts: std::collections::BTreeMap<_, _> = typed.with.named().collect();
    if typed.depth.is_none() && parts.is_empty() && !typed.with.whole {
        return None;
    }
    let mut spec = FetchSpec {
        depth: typed.depth.unwrap_or_default(),
        scope: typed.reach.within.clone(),
        parts,
        force: typed.refresh,
        whole: typed.with.whole,
        robots: typed.reach.no_robots.then_some(false),
        ..FetchSpec::default()
    };
    if let Some(pages) = typed.reach.pages {
        spec.limits.pages = pages;
    }
    spec.limits.bytes = typed.reach.budget.map(wwwoffle_config::Size::bytes);
    spec.limits.minutes = typed.reach.minutes;
    Some(spec)
}

/// Reads the form or file to send, if one was typed.
fn form(typed: &FormArgs, terminal: &mut Terminal<'_>) -> VerbResult<Option<FormToSend>> {
    let (method, body, content_type) = match (&typed.data, &typed.upload) {
        (Some(data), _) => {
            let body = match data.strip_prefix('@') {
                Some(file) => read(Path::new(file), MAX_KEPT_POST, terminal)?,
                None => data.clone().into_bytes(),
            };
            (FormMethod::Post, body, "application/x-www-form-urlencoded")
        }
        (None, Some(file)) => {
            (FormMethod::Put, read(file, MAX_KEPT_POST, terminal)?, "application/octet-stream")
        }
        (None, None) if typed.media_type.is_some() => {
            return Err(VerbFailure::usage("get: --type needs --data or --upload"));
        }
        (None, None) => return Ok(None),
    };
    let content_type = typed.media_type.clone().unwrap_or_else(|| content_type.to_owned());
    Ok(Some(FormToSend { method, content_type, body: BASE64_STANDARD.encode(body) }))
}

/// Returns `urls` and the URLs in a file, or in the profile of a browser. Invalid URLs in the file
/// are left out and printed to standard error.
pub(super) fn with_urls_of(
    file: Option<&Path>,
    wanted: &ProfileArgs,
    mut urls: Vec<String>,
    terminal: &mut Terminal<'_>,
) -> VerbResult<Vec<String>> {
    let Some(file) = file else { return Ok(urls) };
    let of_profile =
        profile::read(file, wanted).map_err(|fault| VerbFailure::plain(error_chain(&fault)))?;
    let found = match of_profile {
        Some(found) => found,
        None if wanted.is_any() => {
            let why = format_args!("{} is not the profile of a browser", file.display());
            return Err(VerbFailure::usage(why));
        }
        None => {
            let text = String::from_utf8_lossy(&read(file, MAX_TEXT, terminal)?).into_owned();
            urls_in(&text)
        }
    };
    // Each URL in the file has a scheme, so the names of the proxy do not affect whether it is
    // valid.
    let local = LocalHost::default();
    for url in found {
        match CanonicalUrl::parse(&url, &local) {
            Ok(_) => urls.push(url),
            Err(error) => {
                let url = shown::text(&url);
                writeln!(terminal.stderr, "wwwoffle: left out: invalid URL {url}: {error}")?;
            }
        }
    }
    if urls.is_empty() {
        return Err(VerbFailure::plain(format_args!("no URL was found in {}", file.display())));
    }
    Ok(urls)
}

/// Reads a file of at most `most` bytes.
pub(super) fn read(file: &Path, most: u64, terminal: &mut Terminal<'_>) -> VerbResult<Vec<u8>> {
    let cannot = |error: std::io::Error| {
        let what = format!("{} cannot be read", file.display());
        VerbFailure::caused(ExitStatus::Usage, what, &error)
    };
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        (&mut *terminal.stdin).take(most + 1).read_to_end(&mut bytes).map_err(cannot)?;
    } else {
        bytes = small_file::read_at_most(file, most + 1)
            .map_err(cannot)?
            .ok_or_else(|| cannot(std::io::Error::from(std::io::ErrorKind::NotFound)))?;
    }
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        let what = format_args!("{} is longer than {}", file.display(), shown::bytes(most));
        return Err(VerbFailure::plain(what));
    }
    Ok(bytes)
}

/// Returns the URLs in a text, without duplicates. If the text is HTML, such as a page or exported
/// bookmarks, these are the targets of its links. Otherwise they are the web URLs written out in
/// the text (RFC 3986 Appendix C).
fn urls_in(text: &str) -> Vec<String> {
    let is_page = {
        let beginning: String = text.chars().take(2_000).collect::<String>().to_ascii_lowercase();
        ["<html", "<!doctype", "<a ", "<dl>", "<body"].iter().any(|tag| beginning.contains(tag))
    };
    let mut urls: Vec<String> = if is_page { links(text) } else { written(text) };
    let mut known = std::collections::HashSet::new();
    urls.retain(|url| known.insert(url.clone()));
    urls
}

fn links(text: &str) -> Vec<String> {
    let Ok(base) = BrowserUrl::parse(NOWHERE, None) else { return Vec::new() };
    let html = Some("text/html; charset=utf-8");
    let mut finder = Finder::new(BodyKind::Html, &base, html, &Viewport::default());
    finder.write(text.as_bytes());
    let found = finder.finish();
    let leads = found.links.into_iter().filter(|link| !link.class.is_part());
    leads.map(|link| link.url).filter(|url| !url.starts_with(NOWHERE)).collect()
}

fn written(text: &str) -> Vec<String> {
    let is_web = |url: &String| {
        let url = url.to_ascii_lowercase();
        url.starts_with("http://") || url.starts_with("https://")
    };
    extract(text).map(|found| found.url).filter(is_web).collect()
}

/// Lists the recursive fetches, or stops one.
pub(super) fn runs(json: bool, stop: Option<String>, context: &mut VerbContext<'_>) -> VerbResult {
    let (control, out) = (context.settings.control()?, &mut *context.terminal.stdout);
    if let Some(id) = stop {
        let RunStopped { removed } = control.post("/api/runs/stop", &RunToStop { id })?;
        writeln!(out, "stopped; requests removed from the queue: {removed}")?;
        return Ok(ExitStatus::Done);
    }
    let list: RunList = control.get("/api/runs")?;
    print_lines(&list, json, out, list.runs.iter().map(line))
}

fn line(run: &RunItem) -> String {
    let state = match run.ended {
        Some(ended) => format!("ended {ended:.0}"),
        None => format!("started {:.0}, {} left", run.begun, run.waiting),
    };
    format!("{}  {state}\n  {}", run.id, report(run))
}

#[cfg(test)]
mod tests {
    use super::urls_in;

    #[test]
    fn urls_are_found_in_pages_bookmarks_and_texts() {
        for (text, want) in [
            (
                "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF=\"http://a.example/x\">x</A>\n\
                 <DT><A HREF=\"https://b.example/?a=1&amp;b=2\">y</A>\n<DT><A HREF=\"/here\">z</A>",
                &["http://a.example/x", "https://b.example/?a=1&b=2"][..],
            ),
            (
                "see <http://a.example/x> and\nhttp://b.example/y, or mail me",
                &["http://a.example/x", "http://b.example/y"],
            ),
            ("http://a.example/\nhttp://a.example/\n", &["http://a.example/"]),
            ("nothing here", &[]),
        ] {
            assert_eq!(urls_in(text), want, "{text}");
        }
    }
}

//! Bundles: files that carry queued requests from an offline machine to an online one, and the
//! responses back. `wwwoffle export --queue` writes a bundle, and `wwwoffle fetch --bundle` fetches
//! its requests.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde_json::json;
use wwwoffle_archive::{Bundle, BundleScope, Error};
use wwwoffle_spool::Reader;

use super::args::Serve;
use super::control::Control;
use super::exchange::take_bundle;
use super::export::options;
use super::failure::{VerbFailure, VerbResult};
use super::files::{print_only_json, reader};
use super::own_daemon::OwnDaemon;
use super::settings::Settings;
use super::verbs::{EventFormat, follow};
use super::{Terminal, VerbContext};
use crate::base::exit::ExitStatus;
use crate::base::mode::ModeSetting;
use crate::base::{clock, shown, small_file};
use crate::storage::store::timestamp;
use wwwoffle_api::{FetchRequest, FlushResponse};

/// Writes the queued requests into a bundle.
pub(super) fn write(file: &Path, json: bool, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    if !file.to_string_lossy().ends_with(".warc.gz") {
        let what = "the name of a bundle must end with .warc.gz";
        return Err(VerbFailure::usage(what));
    }
    let reader = reader(settings)?;
    let bundle = Bundle::of_queue(&reader, &settings.local_host()?);
    let bundle = bundle.map_err(|error| failed(file, &error))?;
    bundle.write(&reader, file, &options(false)).map_err(|error| failed(file, &error))?;
    let (requests, kept_back) = (bundle.len(), bundle.kept_back());
    if json {
        let summary = json!({"requests": requests, "kept_back": kept_back});
        return print_only_json(&summary, terminal.stdout);
    }
    let name = file.to_string_lossy();
    writeln!(terminal.stdout, "{}: {requests} requests", shown::line(&name))?;
    if kept_back > 0 {
        writeln!(
            terminal.stdout,
            "  {kept_back} left out: they are forms, have a cookie or a login, or have failed"
        )?;
    }
    Ok(ExitStatus::Done)
}

/// Fetches the requests of a bundle, and adds the responses to it.
pub(super) fn fetch(file: &Path, json: bool, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let local = settings.local_host()?;
    let bundle = Bundle::read(file, &local).map_err(|error| failed(file, &error))?;
    if bundle.is_empty() {
        let name = file.display();
        return Err(VerbFailure::plain(format_args!("{name} has no request without a response")));
    }
    let spool = settings.spool.clone().unwrap_or_else(|| bundle_spool_path(file));
    let own =
        Settings::new(settings.config_file.clone(), Some(spool.clone()), settings.environment);
    // A spool named by the user contains other pages too, so only the responses fetched from now on
    // are added to the bundle.
    let of = match settings.spool {
        Some(_) => BundleScope::Since(timestamp(clock::now())),
        None => BundleScope::All,
    };
    let control = own.control()?;
    let daemon = start(&own)?;
    let taken = take_bundle(file, &control, terminal);
    let fetched = taken.map(|_| fetch_all(json, &control, terminal));
    let stopped = daemon.stop(&control);
    // If the requests cannot be imported, or if the daemon fails, the bundle is left unchanged.
    let status = fetched?;
    stopped?;
    // The received responses are added to the bundle even if the fetch failed or other requests
    // have no response.
    let reader = Reader::open(&spool)?;
    let filled = bundle.fill(&reader, file, &options(false), of);
    let (exported, unanswered) = filled.map_err(|error| failed(file, &error))?;
    if unanswered == 0 && exported.left_out == 0 && settings.spool.is_none() {
        // The spool was made for this bundle alone, and the bundle now contains all of it.
        small_file::remove_tree(&spool).map_err(|error| {
            VerbFailure::plain(format_args!("{} cannot be removed: {error}", spool.display()))
        })?;
    }
    if !json {
        let (name, bytes) = (file.to_string_lossy(), shown::bytes(exported.bytes));
        let (name, entries) = (shown::line(&name), exported.entries);
        writeln!(terminal.stdout, "{name}: {entries} responses, {bytes}")?;
        if unanswered > 0 {
            let again = "repeat the command to retry";
            writeln!(terminal.stdout, "  {unanswered} requests still wait: {again}")?;
        }
        if exported.left_out > 0 {
            let left_out = exported.left_out;
            writeln!(terminal.stdout, "  {left_out} responses left out: they cannot be read")?;
        }
    }
    status
}

/// Returns the path of the spool of a bundle. The spool is kept until every request has a response,
/// so that no response is fetched twice.
fn bundle_spool_path(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".spool");
    PathBuf::from(name)
}

fn start(settings: &Settings<'_>) -> VerbResult<OwnDaemon> {
    let typed = Serve { mode: Some(ModeSetting::Online), ..Serve::default() };
    let mut options = settings.serve_options(typed)?;
    options.listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    OwnDaemon::start(options).map(|(own, _)| own)
}

fn fetch_all(json: bool, control: &Control, terminal: &mut Terminal<'_>) -> VerbResult {
    let wanted = FetchRequest { wait: true, budget: None };
    let status = follow(control, "/api/fetch", &wanted, EventFormat::of(json), terminal);
    let FlushResponse { .. } = control.post("/api/flush", &serde_json::Value::Null)?;
    status
}

fn failed(file: &Path, error: &Error) -> VerbFailure {
    VerbFailure::failed(format!("{} cannot be used", file.display()), error)
}

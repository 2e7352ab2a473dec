//! `wwwoffle import`: imports archives into the spool, through the daemon or without one.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tempfile::NamedTempFile;
use wwwoffle_archive::{ImportControl, ImportEvent, ImportReport, SHOWN, import};
use wwwoffle_index::{Index, SessionRequest};
use wwwoffle_spool::Spool;
use wwwoffle_spool::fs::{Disk as _, DiskFile, OpenedFile, SYSTEM_DISK};
use wwwoffle_url::url_encode_form_args;

use super::args::ImportArgs;
use super::control::{Control, invalid_response};
use super::failure::{VerbFailure, VerbResult};
use super::files::print_json;
use super::offline;
use super::settings::Settings;
use super::{Terminal, VerbContext};
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::base::{clock, shown};
use crate::daemon::identity::Identity;
use crate::proxy::placer::Placer;
use crate::site::entries::exchange::options;
use crate::storage::lists::describe::Pages;
use crate::storage::lists::sessions::add_earlier_to_spool;
use crate::storage::store::timestamp;
use wwwoffle_api::ImportRequest;

/// Interval between updates of the progress line.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// The longest time to wait for the index, which may have to be built.
const INDEX_WITHIN: Duration = Duration::from_secs(10 * 60);

/// The number of bytes of an archive that are sent to the daemon at once.
const PIECE: u64 = 64 << 10;

/// The requests that waited in earlier sessions, with the begin of each session.
type EarlierRequests = Vec<(Timestamp, Vec<SessionRequest>)>;

/// Imports archives one after the other, and prints the result of each.
pub(super) fn run(typed: &ImportArgs, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let control = settings.control()?;
    let own = if settings.daemon()?.is_none() { Some(open(settings)?) } else { None };
    let mut status = ExitStatus::Done;
    for path in &typed.paths {
        let is_input = path == Path::new("-");
        let typed_in = (is_input && own.is_some()).then(|| standard_input(terminal)).transpose()?;
        let wanted = import_request(typed, typed_in.as_ref().map_or(path, |file| file.path()))?;
        let mut drawn = ProgressLine { is_live: terminal.live && !typed.json, last: None };
        let done = match &own {
            Some(own) => import_locally(&wanted, own, settings, &mut drawn, terminal),
            None if is_input => {
                let sent = send_archive(
                    &wanted,
                    &mut *terminal.stdin,
                    &control,
                    (&mut drawn, &mut *terminal.stdout),
                );
                sent.map(|outcome| outcome.map_err(|failure| failure.error))
            }
            None => import_by_daemon(&wanted, &control, &mut drawn, terminal),
        };
        drawn.clear(terminal.stdout)?;
        match done? {
            Ok(mut report) => {
                let sessions = own.as_ref().filter(|_| !typed.dry_run).map(|own| {
                    let asked = add_earlier_to_spool(&own.spool, &mut report);
                    (own, asked)
                });
                print_report(path, &report, typed, terminal)?;
                if let Some((own, asked)) = sessions {
                    terminal.stdout.flush()?;
                    let recorded = record_sessions(own, settings, asked, terminal)?;
                    if recorded != ExitStatus::Done {
                        status = recorded;
                    }
                }
            }
            // A bad archive does not stop the others.
            Err(error) => {
                writeln!(terminal.stderr, "wwwoffle: {}: {error}", path.display())?;
                status = ExitStatus::Failed;
            }
        }
    }
    Ok(status)
}

/// Copies standard input to a temporary file, since an archive is not read in sequence.
fn standard_input(terminal: &mut Terminal<'_>) -> VerbResult<NamedTempFile> {
    let read = NamedTempFile::new().and_then(|mut file| {
        std::io::copy(&mut *terminal.stdin, &mut file)?;
        Ok(file)
    });
    read.map_err(|error| VerbFailure::failed("standard input cannot be read", &error))
}

/// The open spool, and the user that this process has become to open it. `None` if that was not
/// needed.
struct ImportSpool {
    spool: Spool,
    identity: Option<Identity>,
}

impl ImportSpool {
    /// Returns the error in words. If access was denied after this process became another user,
    /// names that user.
    fn error_text(&self, error: &wwwoffle_archive::Error) -> String {
        let mut message = error_chain(error);
        if let Some(identity) = self.identity.as_ref().filter(|_| error.is_denied()) {
            message = format!("{message}; it was read as {identity}, the owner of the spool");
        }
        message
    }
}

/// Opens the spool for the whole import. No daemon can open it during that time.
fn open(settings: &Settings<'_>) -> VerbResult<ImportSpool> {
    let root = settings.spool()?;
    let identity = offline::make_and_become_owner(&root, settings)?;
    let (spool, _) = Spool::open(&root, &offline::options(settings)?).map_err(|error| {
        let status = if error.is_locked() { ExitStatus::Taken } else { ExitStatus::BadSpool };
        VerbFailure::caused(status, format!("the spool {} cannot be used", root.display()), &error)
    })?;
    Ok(ImportSpool { spool, identity })
}

/// Makes a path absolute, since the daemon has another working directory.
fn absolute(path: &Path) -> VerbResult<String> {
    let path = std::path::absolute(path)
        .map_err(|error| VerbFailure::plain(format_args!("{}: {error}", path.display())))?;
    path.into_os_string().into_string().map_err(|path| {
        VerbFailure::plain(format_args!("{}: the name is not UTF-8", path.display()))
    })
}

fn import_request(typed: &ImportArgs, path: &Path) -> VerbResult<ImportRequest> {
    Ok(ImportRequest {
        path: absolute(path)?,
        replace: typed.replace,
        dry_run: typed.dry_run,
        everyone: typed.everyone,
        owner: Some(typed.owner.to_string()),
        max_body: typed.max_size.map(wwwoffle_config::Size::bytes),
        scheme: Some(typed.scheme.clone()),
    })
}

/// Imports the requests of a bundle into the spool of a daemon.
pub(super) fn take_bundle(
    file: &Path,
    control: &Control,
    terminal: &mut Terminal<'_>,
) -> VerbResult<ImportReport> {
    let path = absolute(file)?;
    let wanted = ImportRequest { path, ..ImportRequest::default() };
    let mut drawn = ProgressLine { is_live: false, last: None };
    import_by_daemon(&wanted, control, &mut drawn, terminal)?.map_err(VerbFailure::plain)
}

/// The result of importing one archive: its report, or why it could not be imported.
type ImportOutcome = Result<ImportReport, String>;

fn import_locally(
    wanted: &ImportRequest,
    own: &ImportSpool,
    settings: &Settings<'_>,
    drawn: &mut ProgressLine,
    terminal: &mut Terminal<'_>,
) -> VerbResult<ImportOutcome> {
    let options = options(wanted, settings.local_host()?, timestamp(clock::now()))
        .map_err(VerbFailure::usage)?;
    let mut failed = None;
    let mut watch = |report: &ImportReport| match drawn.draw(report, terminal.stdout) {
        Ok(()) => ImportControl::Continue,
        Err(error) => {
            failed = Some(error);
            ImportControl::Stop
        }
    };
    let path = Path::new(&wanted.path);
    let done = import(&own.spool, path, &options, &Placer::default(), &mut watch);
    if let Some(failure) = failed {
        return Err(failure);
    }
    Ok(done.map_err(|error| own.error_text(&error)))
}

/// Records the requests of earlier sessions in the index. The entries are already imported, so a
/// failure is reported, and the import goes on.
fn record_sessions(
    own: &ImportSpool,
    settings: &Settings<'_>,
    asked: Result<EarlierRequests, wwwoffle_spool::Error>,
    terminal: &mut Terminal<'_>,
) -> VerbResult<ExitStatus> {
    let why = match asked {
        Ok(asked) if asked.is_empty() => return Ok(ExitStatus::Done),
        Ok(asked) => match record_session_requests(&own.spool, settings.index_pages()?, asked) {
            Ok(true) => return Ok(ExitStatus::Done),
            Ok(false) => "the index is not complete yet".to_owned(),
            Err(error) => error_chain(&error),
        },
        Err(error) => error_chain(&error),
    };
    writeln!(
        terminal.stderr,
        "wwwoffle: the requests of earlier sessions are not in the lists: {why}"
    )?;
    Ok(ExitStatus::Failed)
}

/// Records the requests in the index, and waits at most [`INDEX_WITHIN`]. Returns whether they are
/// recorded.
fn record_session_requests(
    spool: &Spool,
    pages: Pages,
    asked: EarlierRequests,
) -> Result<bool, wwwoffle_index::Error> {
    let index = Index::open(spool, Some(Arc::new(pages)))?;
    for (began, asked) in asked {
        index.record_session_requests(began, asked);
    }
    let is_recorded = index.is_level_within(INDEX_WITHIN);
    index.stop();
    Ok(is_recorded)
}

/// Lets the daemon import a path. It gets the bytes of a file that it cannot read itself: a service
/// runs as another user, and may see neither `/home` nor `/tmp`.
fn import_by_daemon(
    wanted: &ImportRequest,
    control: &Control,
    drawn: &mut ProgressLine,
    terminal: &mut Terminal<'_>,
) -> VerbResult<ImportOutcome> {
    let mut outcome = None;
    control.post_stream("/api/import", wanted, &mut |line| {
        note_event(line, &mut outcome, drawn, &mut *terminal.stdout)
    })?;
    let failure = match outcome.ok_or_else(cut_short)? {
        Ok(report) => return Ok(Ok(report)),
        Err(failure) if !failure.is_unreadable => return Ok(Err(failure.error)),
        Err(failure) => failure,
    };
    let path = Path::new(&wanted.path);
    if path.is_dir() {
        let hint = "the daemon cannot read this folder; name the files in it, which are sent to the daemon";
        return Ok(Err(format!("{}; {hint}", failure.error)));
    }
    let opened = path.canonicalize().and_then(|path| SYSTEM_DISK.open(&path));
    let Ok(OpenedFile::File(file, _)) = opened else { return Ok(Err(failure.error)) };
    let mut file = ArchiveFile { file, offset: 0 };
    let sent = send_archive(wanted, &mut file, control, (drawn, &mut *terminal.stdout))?;
    Ok(sent.map_err(|failure| failure.error))
}

/// Sends an archive to the daemon, which then imports it.
fn send_archive(
    wanted: &ImportRequest,
    input: &mut dyn Read,
    control: &Control,
    (drawn, out): (&mut ProgressLine, &mut dyn Write),
) -> VerbResult<Result<ImportReport, ImportFailure>> {
    let options = serde_json::to_vec(&ImportRequest { path: String::new(), ..wanted.clone() });
    let options =
        options.map_err(|error| VerbFailure::failed("the options are invalid", &error))?;
    let path = format!("/api/import/upload?options={}", url_encode_form_args(&options));
    let mut next = || {
        let mut piece = Vec::new();
        let read = (&mut *input).take(PIECE).read_to_end(&mut piece);
        read.map_err(|error| VerbFailure::failed("the archive cannot be read", &error))?;
        Ok((!piece.is_empty()).then(|| piece.into()))
    };
    let mut outcome = None;
    control.upload_for_lines(&path, &mut next, &mut |line| {
        note_event(line, &mut outcome, drawn, &mut *out)
    })?;
    outcome.ok_or_else(cut_short)
}

/// An open archive, read in sequence.
struct ArchiveFile {
    file: Arc<dyn DiskFile>,
    offset: u64,
}

impl Read for ArchiveFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += u64::try_from(read).unwrap_or_default();
        Ok(read)
    }
}

/// Why a daemon did not import an archive.
struct ImportFailure {
    error: String,
    is_unreadable: bool,
}

/// Handles a line of the daemon's response.
fn note_event(
    line: &[u8],
    outcome: &mut Option<Result<ImportReport, ImportFailure>>,
    drawn: &mut ProgressLine,
    out: &mut dyn Write,
) -> VerbResult<()> {
    if line.is_empty() {
        return Ok(());
    }
    match serde_json::from_slice(line).map_err(|error| invalid_response(&error))? {
        ImportEvent::Progress(report) => drawn.draw(&report, out)?,
        ImportEvent::End(report) => *outcome = Some(Ok(report)),
        ImportEvent::Failed { error, is_unreadable } => {
            *outcome = Some(Err(ImportFailure { error, is_unreadable }));
        }
    }
    Ok(())
}

fn cut_short() -> VerbFailure {
    VerbFailure::plain(
        "the daemon ended before the import was complete: repeat the command to continue",
    )
}

/// The progress line.
struct ProgressLine {
    is_live: bool,
    last: Option<Instant>,
}

impl ProgressLine {
    fn draw(&mut self, report: &ImportReport, out: &mut dyn Write) -> VerbResult<()> {
        if !self.is_live || self.last.is_some_and(|last| last.elapsed() < DRAW_EVERY) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        let (seen, bytes) = (report.seen(), shown::bytes(report.bytes));
        write!(out, "\r\x1b[K{seen} examined, {} stored, {bytes}", report.kept + report.older)?;
        Ok(out.flush()?)
    }

    fn clear(&mut self, out: &mut dyn Write) -> VerbResult<()> {
        if self.last.take().is_some() {
            write!(out, "\r\x1b[K")?;
        }
        Ok(())
    }
}

fn print_report(
    path: &Path,
    report: &ImportReport,
    typed: &ImportArgs,
    terminal: &mut Terminal<'_>,
) -> VerbResult<()> {
    if typed.json {
        return print_json(report, terminal.stdout);
    }
    let out = &mut *terminal.stdout;
    let name = shown::line(&path.to_string_lossy());
    let would = if typed.dry_run { "would be stored" } else { "stored" };
    writeln!(out, "{name}: {} {would}, {}", report.kept, shown::bytes(report.bytes))?;
    for (count, what) in [
        (report.older, "as older versions"),
        (report.same, "were stored already"),
        (report.outdated, "older than the stored copy, and not stored as older versions"),
        (report.worse, "errors, for which a page is stored"),
        (report.requests.queued, "requests queued"),
        (report.requests.answered, "requests removed from the queue, since they have a response"),
        (report.requests.monitored, "pages monitored"),
        (report.requests.listed, "requests in the lists of earlier sessions"),
        (report.passed, "records that are not responses"),
        (report.refused, "refused"),
    ] {
        if count > 0 {
            writeln!(out, "  {count} {what}")?;
        }
    }
    for refused in &report.refusals {
        let (name, reason) = (shown::line(&refused.name), shown::line(&refused.reason));
        writeln!(out, "    {name}: {reason}")?;
    }
    if report.refused > u64::try_from(SHOWN).unwrap_or(u64::MAX) {
        writeln!(out, "    … only the first {SHOWN} are listed")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Environment;

    #[test]
    fn an_import_fails_if_it_cannot_record_sessions() {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &wwwoffle_spool::Options::default()).unwrap();
        let own = ImportSpool { spool, identity: None };
        let environment = Environment::default();
        let settings = Settings::new(None, None, &environment);
        let unreadable = || wwwoffle_spool::Reader::open(&root.path().join("none")).unwrap_err();
        for (asked, want) in
            [(Ok(Vec::new()), ExitStatus::Done), (Err(unreadable()), ExitStatus::Failed)]
        {
            let (mut stdin, mut stdout, mut stderr) = (std::io::empty(), Vec::new(), Vec::new());
            let mut terminal = Terminal {
                stdin: &mut stdin,
                stdout: &mut stdout,
                stderr: &mut stderr,
                live: false,
                typed: false,
            };
            let status = record_sessions(&own, &settings, asked, &mut terminal).unwrap();
            assert_eq!(status, want);
            assert_eq!(stderr.is_empty(), want == ExitStatus::Done);
        }
    }
}

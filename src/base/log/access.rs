//! The access log: one line for each request of a client.
//!
//! A thread writes the lines, so a slow or full disk delays no request. If the disk cannot take the
//! lines, they are lost, and the log of the daemon says so once.

use std::io::{self, Write as _};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use jiff::tz::TimeZone;
use tracing::{info, warn};
use wwwoffle_config::{AccessLogFormat, LogTo};

use super::NoLog;
pub use super::access_line::AccessLine;
use super::file::LogFile;
use super::syslog::{self, Syslog, connect};

/// The option that names the destination.
const OPTION: &str = "access-log";

/// The maximum number of lines that wait to be written. Further lines are lost.
const MAX_WAITING: usize = 1_024;

/// The time that waiting lines get to be written when the daemon stops.
const FINISH_WITHIN: Duration = Duration::from_secs(2);

/// The socket of systemd's journal, for datagrams of its native protocol.
const JOURNAL: &str = "/run/systemd/journal/socket";

/// The access log: a handle that is cheap to clone.
#[derive(Clone, Debug)]
pub struct AccessLog {
    lines: SyncSender<LogMessage>,
    lost: Arc<AtomicU64>,
    format: AccessLogFormat,
    zone: TimeZone,
    /// The maximum length of a line in bytes.
    longest: usize,
}

#[derive(Debug)]
enum LogMessage {
    Line(String),
    /// A request to confirm that all lines before it were written.
    Finish(SyncSender<()>),
}

impl AccessLog {
    /// Starts the thread that writes.
    ///
    /// # Errors
    ///
    /// [`NoLog`] if the system has no thread for it.
    pub fn start(sink: AccessLogSink, format: AccessLogFormat) -> Result<Self, NoLog> {
        let (lines, waiting) = sync_channel(MAX_WAITING);
        let lost = Arc::<AtomicU64>::default();
        let longest = sink.0.longest_line();
        let writer = AccessLogWriter { sink: sink.0, lost: Arc::clone(&lost), is_failing: false };
        std::thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || writer.run(&waiting))
            .map_err(|error| NoLog::Thread(OPTION, error))?;
        Ok(Self { lines, lost, format, zone: TimeZone::system(), longest })
    }

    /// Writes a line, without waiting for it.
    pub fn write(&self, line: &AccessLine<'_>) {
        let line = LogMessage::Line(line.format(self.format, &self.zone, self.longest));
        if let Err(TrySendError::Full(_)) = self.lines.try_send(line) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until the lines so far are written, at most two seconds.
    pub fn finish(&self) {
        let (done, is_done) = sync_channel(1);
        let lines = self.lines.clone();
        // If too many lines wait, sending waits, and has no limit of time of its own.
        let sending =
            std::thread::Builder::new().spawn(move || drop(lines.send(LogMessage::Finish(done))));
        if sending.is_ok() {
            // If the disk does not answer, the lines are lost.
            let _is_written = is_done.recv_timeout(FINISH_WITHIN);
        }
    }
}

/// The thread that writes.
struct AccessLogWriter {
    sink: LogSink,
    /// The number of lines that were lost since the last report.
    lost: Arc<AtomicU64>,
    /// Whether the last report said that lines are lost.
    is_failing: bool,
}

impl AccessLogWriter {
    fn run(mut self, waiting: &Receiver<LogMessage>) {
        loop {
            let message = if let Ok(message) = waiting.try_recv() {
                message
            } else {
                self.report_overflow();
                let Ok(message) = waiting.recv() else { return };
                message
            };
            match message {
                LogMessage::Line(line) => {
                    let written = self.sink.write(&line);
                    self.report(written);
                }
                LogMessage::Finish(done) => {
                    self.is_failing = false;
                    self.report_overflow();
                    let _is_awaited = done.send(());
                }
            }
        }
    }

    /// Logs the number of lines that came faster than they could be written, once no line waits.
    fn report_overflow(&self) {
        if !self.is_failing {
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                warn!(lost, "lines of the access log were lost");
            }
        }
    }

    /// Logs the first lost line, and later the number of lost lines.
    fn report(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.lost.fetch_add(1, Ordering::Relaxed);
            if !self.is_failing {
                warn!(%error, "the access log cannot be written: lines are lost");
            }
            self.is_failing = true;
        } else if self.is_failing {
            let lost = self.lost.swap(0, Ordering::Relaxed);
            info!(lost, "the access log is complete again; lines were lost");
            self.is_failing = false;
        }
        if let LogSink::File(file) = &mut self.sink
            && let Some(error) = file.take_failed_replacement()
        {
            warn!(%error, "the access log was renamed, and no new file can be created");
        }
    }
}

/// The open destination of the lines.
#[derive(Debug)]
pub struct AccessLogSink(LogSink);

impl AccessLogSink {
    /// Opens the destination.
    ///
    /// # Errors
    ///
    /// [`NoLog`] if the destination is not available.
    pub fn open(to: &LogTo) -> Result<Self, NoLog> {
        LogSink::open(to).map(Self)
    }
}

#[derive(Debug)]
enum LogSink {
    Stderr,
    Syslog(Syslog),
    Journal(UnixDatagram),
    File(LogFile),
}

impl LogSink {
    fn open(to: &LogTo) -> Result<Self, NoLog> {
        Ok(match to {
            LogTo::Stderr => Self::Stderr,
            LogTo::Syslog => Self::Syslog(NoLog::open_syslog(OPTION)?),
            LogTo::Journal => Self::Journal(
                connect(Path::new(JOURNAL)).map_err(|error| NoLog::Journal(OPTION, error))?,
            ),
            LogTo::File(path) => Self::File(NoLog::open_file(OPTION, path)?),
        })
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        match self {
            Self::Stderr => writeln!(io::stderr().lock(), "{line}"),
            Self::Syslog(syslog) => syslog.inform(line),
            Self::Journal(socket) => {
                let event = format!("MESSAGE={line}\nPRIORITY=6\nSYSLOG_IDENTIFIER=wwwoffle\n");
                if socket.send(event.as_bytes()).is_err() {
                    // The journal may have been restarted.
                    *socket = connect(Path::new(JOURNAL))?;
                    socket.send(event.as_bytes())?;
                }
                Ok(())
            }
            Self::File(file) => file.append_line(line),
        }
    }

    /// The maximum length of a line in bytes. The system refuses long datagrams.
    fn longest_line(&self) -> usize {
        match self {
            Self::Syslog(_) | Self::Journal(_) => syslog::MAX_TEXT,
            Self::Stderr | Self::File(_) => usize::MAX,
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test renames and reads the file")]
mod tests {
    use std::fs::{read_to_string, rename};
    use std::time::SystemTime;

    use super::*;

    fn open(to: &LogTo) -> AccessLog {
        AccessLog::start(AccessLogSink::open(to).unwrap(), AccessLogFormat::Combined).unwrap()
    }

    fn line(status: u16) -> AccessLine<'static> {
        AccessLine {
            at: SystemTime::UNIX_EPOCH,
            took: Duration::ZERO,
            client: [127, 0, 0, 1].into(),
            user: None,
            method: "GET",
            url: "http://a.example/",
            version: "HTTP/1.1",
            status,
            bytes: 0,
            outcome: None,
            referer: None,
            agent: None,
        }
    }

    #[test]
    fn a_file_may_be_renamed_or_truncated() {
        let directory = tempfile::tempdir().unwrap();
        let (at, old) = (directory.path().join("log"), directory.path().join("log.1"));
        let log = open(&LogTo::File(at.clone()));
        let write = |status| {
            log.write(&line(status));
            log.finish();
        };
        write(201);
        rename(&at, &old).unwrap();
        write(202);
        let text = read_to_string(&at).unwrap();
        assert!(text.contains("\" 202 0 ") && text.lines().count() == 1, "{text}");
        // As with `copytruncate` of logrotate.
        std::fs::write(&at, "").unwrap();
        write(203);
        assert!(read_to_string(&at).unwrap().starts_with("127.0.0.1 - - ["));
        assert!(read_to_string(&old).unwrap().contains("\" 201 0 "));
    }

    #[test]
    fn finish_waits_for_a_full_queue() {
        let (lines, waiting) = sync_channel(1);
        let (format, zone, longest) = (AccessLogFormat::Combined, TimeZone::UTC, usize::MAX);
        let log = AccessLog { lines, lost: Arc::default(), format, zone, longest };
        log.write(&line(201));
        log.write(&line(202));
        assert_eq!(log.lost.load(Ordering::Relaxed), 1, "the queue is full");
        let finishing = std::thread::spawn(move || log.finish());
        assert!(matches!(waiting.recv(), Ok(LogMessage::Line(_))));
        let Ok(LogMessage::Finish(done)) = waiting.recv() else { panic!("no request to finish") };
        done.send(()).unwrap();
        finishing.join().unwrap();
    }

    #[test]
    fn lines_that_are_lost_while_others_are_written_are_reported_later() {
        let lost = Arc::new(AtomicU64::new(5));
        let mut writer =
            AccessLogWriter { sink: LogSink::Stderr, lost: Arc::clone(&lost), is_failing: false };
        writer.report(Ok(()));
        assert_eq!(lost.load(Ordering::Relaxed), 5, "the log is not complete yet");
        writer.report_overflow();
        assert_eq!(lost.load(Ordering::Relaxed), 0);
        writer.report(Err(io::ErrorKind::StorageFull.into()));
        writer.report_overflow();
        assert_eq!(lost.load(Ordering::Relaxed), 1, "a failure is reported once");
        writer.report(Ok(()));
        assert_eq!(lost.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_full_disk_delays_nothing() {
        let log = open(&LogTo::File("/dev/full".into()));
        for _ in 0..3 * MAX_WAITING {
            log.write(&line(200));
        }
        log.finish();
    }

    #[test]
    fn a_destination_that_is_missing_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("missing/log");
        let error = AccessLogSink::open(&LogTo::File(path)).unwrap_err();
        assert!(error.to_string().starts_with("access-log = \""), "{error}");
    }
}

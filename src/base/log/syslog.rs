//! The system log: a datagram for each event, as `syslog(3)` sends it.

use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Zoned;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// The maximum length of the text of an event, in bytes. Longer texts are truncated, because many
/// syslog daemons reject them.
pub(super) const MAX_TEXT: usize = 8 * 1024 - 64;

/// The syslog facility: a daemon (RFC 5424 §6.2.1).
const FACILITY: u8 = 3;

/// A log writer that sends each event to a socket.
#[derive(Debug)]
pub(super) struct Syslog {
    at: PathBuf,
    socket: Mutex<UnixDatagram>,
}

/// One event, sent when it is dropped.
#[derive(Debug)]
pub(super) struct SyslogEvent<'a> {
    to: &'a Syslog,
    severity: u8,
    text: Vec<u8>,
}

impl Syslog {
    /// Connects to the socket at `at`.
    ///
    /// # Errors
    ///
    /// If no daemon listens there.
    pub(super) fn open(at: &Path) -> io::Result<Self> {
        Ok(Self { at: at.to_owned(), socket: Mutex::new(connect(at)?) })
    }

    /// Sends an event of ordinary importance.
    ///
    /// # Errors
    ///
    /// If the syslog daemon does not read it.
    pub(super) fn inform(&self, text: &str) -> io::Result<()> {
        self.send(&datagram(severity(Level::INFO), text.as_bytes(), &Zoned::now()))
    }

    /// Sends a datagram. If the syslog daemon has restarted, connects again and retries once.
    fn send(&self, datagram: &[u8]) -> io::Result<()> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = match socket.send(datagram) {
            // A slow syslog daemon must not block us, so the event is lost.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            Err(_) => {
                *socket = connect(&self.at)?;
                socket.send(datagram)
            }
            sent => sent,
        };
        sent.map(drop)
    }
}

pub(super) fn connect(at: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(at)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

impl<'a> MakeWriter<'a> for Syslog {
    type Writer = SyslogEvent<'a>;

    fn make_writer(&'a self) -> SyslogEvent<'a> {
        SyslogEvent { to: self, severity: severity(Level::INFO), text: Vec::new() }
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> SyslogEvent<'a> {
        SyslogEvent { to: self, severity: severity(*about.level()), text: Vec::new() }
    }
}

/// The syslog severity of a level (RFC 5424 §6.2.1).
fn severity(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

impl Write for SyslogEvent<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = MAX_TEXT.saturating_sub(self.text.len());
        self.text.extend_from_slice(bytes.get(..left).unwrap_or(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for SyslogEvent<'_> {
    fn drop(&mut self) {
        // A failure of the log cannot be logged.
        let _nobody_reads = self.to.send(&datagram(self.severity, &self.text, &Zoned::now()));
    }
}

/// Formats an event as in RFC 3164 §4.1. The host is left out, since the message stays on this
/// machine.
fn datagram(severity: u8, text: &[u8], now: &Zoned) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let text: String = text.trim_end().chars().map(printable).collect();
    let (when, id) = (now.strftime("%b %e %H:%M:%S"), std::process::id());
    format!("<{}>{when} wwwoffle[{id}]: {text}", FACILITY * 8 + severity).into_bytes()
}

/// Replaces control characters, so that one event is one line.
fn printable(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_with_its_severity() {
        let now = "2026-11-05T07:08:09[UTC]".parse().unwrap();
        let id = std::process::id();
        for (level, text, want) in [
            (Level::ERROR, "no\n", format!("<27>Nov  5 07:08:09 wwwoffle[{id}]: no")),
            (Level::WARN, "a\nb\u{1b}c", format!("<28>Nov  5 07:08:09 wwwoffle[{id}]: a b c")),
            (Level::INFO, "", format!("<30>Nov  5 07:08:09 wwwoffle[{id}]: ")),
            (Level::TRACE, "x", format!("<31>Nov  5 07:08:09 wwwoffle[{id}]: x")),
        ] {
            let datagram = datagram(severity(level), text.as_bytes(), &now);
            assert_eq!(String::from_utf8(datagram).unwrap(), want);
        }
    }

    #[test]
    fn an_event_that_a_slow_syslog_daemon_does_not_take_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("log");
        let _reads_nothing = UnixDatagram::bind(&at).unwrap();
        let syslog = Syslog::open(&at).unwrap();
        let failed = (0..100_000).find_map(|_| syslog.inform("x").err());
        assert_eq!(failed.unwrap().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn syslog_reconnects_and_truncates_long_messages() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("log");
        assert!(Syslog::open(&at).is_err(), "nobody reads");
        let first = UnixDatagram::bind(&at).unwrap();
        let syslog = Syslog::open(&at).unwrap();
        let mut bytes = [0; 16 * 1024];
        let mut said = |socket: &UnixDatagram, text: &str| {
            syslog.make_writer().write_all(text.as_bytes()).unwrap();
            let length = socket.recv(&mut bytes).unwrap();
            String::from_utf8(bytes[..length].to_vec()).unwrap()
        };
        assert!(said(&first, "one").ends_with(": one"));
        drop(first);
        syslog.make_writer().write_all(b"lost").unwrap();
        rustix::fs::unlink(&at).unwrap();
        let second = UnixDatagram::bind(&at).unwrap();
        assert!(said(&second, "two").ends_with(": two"));
        let long = said(&second, &"x".repeat(100_000));
        assert!(long.len() < 8 * 1024 && long.len() > MAX_TEXT, "{}", long.len());
    }
}

//! `wwwoffle url`: answers questions about URLs, a JSON object a line. Each line of standard input
//! has one line of output, so that input and output can be compared line by line.

mod bytes;
mod text;

use std::io::{self, BufRead};
use std::net::SocketAddr;

use serde::Deserialize;
use serde_json::{Value, json};
use wwwoffle_url::{LocalHost, LocalNet, LocalScope};

use super::failure::{VerbFailure, VerbResult};
use super::files::print_json;
use super::settings::Settings;
use super::{VerbContext, args};
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::base::shown;

/// Maximum length of a line, in bytes: enough for two URLs of 1 MiB, each byte of which may be
/// escaped as six bytes.
const LONGEST_LINE: usize = 16 << 20;

/// The names and ports of the proxy in WWWOFFLE 2.9.
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
const HTTP_PORT: u16 = 8080;
const HTTPS_PORT: u16 = 8443;

#[derive(Deserialize)]
struct Question {
    #[serde(rename = "fn")]
    function: String,
    #[serde(rename = "in")]
    given: Value,
}

/// Why a question has no answer, for the `error` field.
#[derive(Debug)]
struct Unanswerable(String);

impl<E: std::error::Error> From<E> for Unanswerable {
    fn from(error: E) -> Self {
        Self(error_chain(&error))
    }
}

type UrlAnswer = Result<Value, Unanswerable>;

/// Answers questions until standard input ends. A question without an answer gets an `error` on its
/// line and does not stop the others.
pub(super) fn answer(typed: &args::Url, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let patterns: Vec<&str> = typed.localnet.iter().map(String::as_str).collect();
    let local_host = local_host(typed, settings)?;
    let around = LocalScope { local_host, local_net: LocalNet::new(&patterns) };
    let mut line = Vec::new();
    loop {
        let answer = match read_line(terminal.stdin, &mut line).map_err(unreadable)? {
            LineRead::End => return Ok(ExitStatus::Done),
            LineRead::TooLong => {
                Err(Unanswerable(format!("the line is longer than {LONGEST_LINE} bytes")))
            }
            LineRead::Whole => reply(&line, &around),
        };
        let answer = match answer {
            Ok(out) => json!({ "out": out }),
            Err(Unanswerable(message)) => json!({ "error": message }),
        };
        print_json(&answer, terminal.stdout)?;
        // The caller may wait for this answer before it sends the next question.
        terminal.stdout.flush()?;
    }
}

/// The names and ports of the proxy: those that were typed, or the configured ones if none was.
fn local_host(typed: &args::Url, settings: &Settings<'_>) -> VerbResult<LocalHost> {
    let args::Url { localhost, http_port, https_port, .. } = typed;
    if localhost.is_empty() && http_port.is_none() && https_port.is_none() {
        let config = settings.config()?;
        let port = config.startup.listen.as_slice().first().map_or(HTTP_PORT, SocketAddr::port);
        return Ok(config.local_host.names.at(port, Some(port)));
    }
    let names: Vec<&str> = localhost.iter().map(String::as_str).collect();
    let names = if names.is_empty() { &LOCAL_NAMES } else { names.as_slice() };
    LocalHost::new(names, http_port.unwrap_or(HTTP_PORT), https_port.or(Some(HTTPS_PORT)))
        .map_err(|error| VerbFailure::caused(ExitStatus::Usage, "--localhost", &error))
}

fn reply(line: &[u8], around: &LocalScope) -> UrlAnswer {
    let Question { function, given } = serde_json::from_slice(line)?;
    bytes::answer(&function, &given, around)
        .or_else(|| text::answer(&function, &given, &around.local_host))
        .unwrap_or_else(|| {
            Err(Unanswerable(format!("unknown function {:?}", shown::text(&function))))
        })
}

/// The result of reading a line.
#[derive(Debug, PartialEq, Eq)]
enum LineRead {
    Whole,
    TooLong,
    End,
}

/// Reads the next line into `line`, without its end. The rest of a line that is too long is
/// skipped.
fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<LineRead> {
    line.clear();
    let (mut begun, mut too_long) = (false, false);
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = available.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(available.len(), |end| end + 1);
        if available.is_empty() && !begun {
            return Ok(LineRead::End);
        }
        let last = end.is_some() || available.is_empty();
        begun = true;
        let piece = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        too_long |= line.len() + piece.len() > LONGEST_LINE;
        if !too_long {
            line.extend_from_slice(piece);
        }
        input.consume(used);
        if last {
            return Ok(if too_long { LineRead::TooLong } else { LineRead::Whole });
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn unreadable(error: io::Error) -> VerbFailure {
    VerbFailure::plain(format_args!("cannot read standard input: {error}"))
}

#[cfg(test)]
mod tests;

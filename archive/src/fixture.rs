//! Fixtures: WACZ files with all exchanges of a program, in the order of its requests.
//!
//! Any reader of WACZ opens a fixture. In addition to the usual members it has [`SETTINGS`]: the
//! version of this format, the certificate authority of the fixture, and the rules by which its
//! requests are matched. Unlike a spool, a fixture has every method, every status, and every
//! response to the same request.

mod read;
pub(crate) mod socket;
mod write;

use std::path::Path;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::export::ExportOptions;
use crate::refusal::Reason;

pub use self::socket::SocketMessage;

/// The member with the settings of a fixture.
pub(crate) const SETTINGS: &str = "wwwoffle/fixture.json";

/// The version of the format that this program writes. Programs read this version and older ones.
const VERSION: u32 = 1;

/// The maximum number of exchanges in a fixture.
pub const MAX_EXCHANGES: usize = 100_000;

/// The maximum total length of heads and bodies in a fixture, in bytes. A fixture is held in
/// memory.
pub const MAX_FIXTURE: u64 = 1 << 30;

/// The exchanges of a program, and how they are replayed.
#[derive(Clone, Debug, Default)]
pub struct Fixture {
    /// The exchanges in the order of their requests.
    pub exchanges: Vec<RecordedExchange>,
    /// How they are replayed.
    pub settings: FixtureSettings,
    /// How many exchanges were skipped, because their bodies are in another file (`revisit`).
    pub skipped: usize,
}

/// The settings of a fixture, from its member `wwwoffle/fixture.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FixtureSettings {
    /// The version of the format. 0 in a WACZ of another program.
    version: u32,
    /// Key and certificate of the authority that signs for the hosts of this fixture, in PEM.
    pub authority: Option<String>,
    /// The rules by which requests are matched.
    pub rules: MatchRules,
}

/// The differences between two requests that do not count, and the fields that do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MatchRules {
    /// Names of arguments of the URL that do not count. A star stands for any text.
    pub ignored_arguments: Vec<String>,
    /// Names of members of a JSON body, or of fields of a form, that do not count. A name with dots
    /// is a path from the top of the body.
    pub ignored_fields: Vec<String>,
    /// Whether the body does not count at all.
    pub ignore_body: bool,
    /// Header fields that count. Other header fields do not, except `Range`.
    pub matched_headers: Vec<String>,
}

/// A request and its response.
#[derive(Clone, Debug)]
pub struct RecordedExchange {
    /// The URL.
    pub url: String,
    /// When the response arrived.
    pub when: Timestamp,
    /// The request. Its head has no secret fields.
    pub request: RecordedMessage,
    /// The response.
    pub response: RecordedMessage,
    /// The messages, if the response switched to a WebSocket.
    pub socket: Option<Vec<SocketMessage>>,
}

/// A recorded request or response.
#[derive(Clone, Debug, Default)]
pub struct RecordedMessage {
    /// The head, with its first line and the empty line at its end.
    pub head: Vec<u8>,
    /// The body without its transfer coding.
    pub body: Bytes,
}

impl Fixture {
    /// Reads a fixture, or a WACZ of another program.
    ///
    /// # Errors
    ///
    /// If any part of the file is damaged, or the file was written by a newer version. A fixture
    /// is never read in part, because a test would then miss some of its responses.
    pub fn read(path: &Path) -> Result<Self> {
        read::fixture(path)
    }

    /// Checks that a fixture can be written to this path, by creating a temporary file beside it.
    ///
    /// # Errors
    ///
    /// If the file cannot be created.
    pub fn check_writable(path: &Path) -> Result<()> {
        write::check(path)
    }

    /// Writes the fixture. The file gets its name when it is complete, so an earlier file of this
    /// name stays until then.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, path: &Path, options: &ExportOptions) -> Result<()> {
        write::fixture(self, path, options)
    }
}

/// The length of the ids and the digest by which a fixture refers to an exchange, in bytes.
const REFERENCES: usize = 512;

impl RecordedExchange {
    /// The approximate memory use while it is recorded or read from a fixture, in bytes. It is not
    /// less than what counts for [`MAX_FIXTURE`] when the fixture is read.
    #[must_use]
    pub fn size(&self) -> u64 {
        let lengths = [&self.request, &self.response].map(|one| one.head.len() + one.body.len());
        let messages: u64 = self.socket.iter().flatten().map(SocketMessage::size).sum();
        let length = lengths.iter().sum::<usize>() + self.url.len() + REFERENCES;
        u64::try_from(length).unwrap_or(u64::MAX).saturating_add(messages)
    }

    /// The exchange as it will be read from a fixture, without its bodies.
    ///
    /// # Errors
    ///
    /// If a fixture cannot hold the exchange, for example because a head is too long.
    pub fn as_read(&self) -> std::result::Result<Self, Reason> {
        read::check_exchange(self)
    }
}

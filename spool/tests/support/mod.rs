//! Helpers for the tests of the spool.

#![allow(dead_code, unreachable_pub, reason = "no test uses all of it")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests are tests"
)]

pub mod full;
pub mod sim;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wwwoffle_spool::{
    Body, Durability, Entry, NewEntry, Options, Outgoing, Place, RequestKind, Spool, Timestamp,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

pub const CONNECTION: &[u8] = b"tls-version: TLSv1.3\r\ncertificate: MIIB\r\n";

pub const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n";

/// Opens a spool that writes batches only on demand.
pub fn open(root: &Path, durability: Durability) -> Spool {
    Spool::open(root, &options(durability)).unwrap().0
}

pub fn options(durability: Durability) -> Options {
    let batch_interval = std::time::Duration::from_secs(3_600);
    Options { durability, batch_interval, ..Options::default() }
}

pub fn place(url: &str) -> Place {
    Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
}

pub fn head(status: u16) -> Vec<u8> {
    format!("HTTP/1.1 {status} Some\r\nContent-Type: text/html; charset=utf-8\r\n\r\n").into_bytes()
}

pub fn entry(head: &[u8]) -> NewEntry {
    let when = Timestamp::from_second(1_700_000_000).unwrap();
    let (head, request) = (head.to_vec(), REQUEST.to_vec());
    NewEntry { asked: when, when, head, request, connection: None }
}

/// The body, if it matches its digest.
pub fn body(entry: &Entry) -> Option<Vec<u8>> {
    let bytes = match entry.body() {
        Body::Whole(whole) => whole.to_vec(),
        Body::File(file) => {
            let (mut all, mut piece, mut verifier) = (Vec::new(), [0; 10_000], file.verifier());
            loop {
                match file.read_at(all.len() as u64, &mut piece).ok()? {
                    0 => break,
                    read => all.extend_from_slice(&piece[..read]),
                }
            }
            verifier.update(&all);
            return verifier.finish().then_some(all);
        }
    };
    (<[u8; 32]>::from(Sha256::digest(&bytes)) == *entry.digest()).then_some(bytes)
}

/// Stores an entry.
pub fn store(spool: &Spool, url: &str, body: &[u8]) -> wwwoffle_spool::Result<()> {
    store_at(spool, &place(url), body)
}

/// Stores an entry at a place.
pub fn store_at(spool: &Spool, place: &Place, body: &[u8]) -> wwwoffle_spool::Result<()> {
    let new = NewEntry { connection: Some(CONNECTION.to_vec()), ..entry(&head(200)) };
    let mut writer = spool.begin(place, new)?;
    writer.write(body)?;
    writer.finish(None).map(|_| ())
}

/// Bytes without repetition inside a block.
pub fn bytes(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(next).collect()
}

/// The file of an entry as if it had been finished at this time.
pub fn with_stored(bytes: &[u8], stored: Timestamp) -> Vec<u8> {
    with_fixed(bytes.to_vec(), "Wwwoffle-Stored: ", &format!("{stored:.6}"))
}

/// The file of an entry as if its body had this digest.
pub fn with_digest(bytes: &[u8], digest: &[u8; 32]) -> Vec<u8> {
    with_fixed(bytes.to_vec(), "WARC-Payload-Digest: sha256:", &hex::encode(digest))
}

/// The file of an entry as if it had been written without its last record.
pub fn without_last_record(bytes: &[u8]) -> Vec<u8> {
    let last = bytes.windows(12).rposition(|window| window == b"\r\n\r\nWARC/1.1").unwrap() + 4;
    with_fixed(bytes[..last].to_vec(), "Wwwoffle-Length: ", &format!("{last:020}"))
}

/// The file of an entry with another value of a fixed-width field.
fn with_fixed(mut bytes: Vec<u8>, name: &str, value: &str) -> Vec<u8> {
    let mut put = |name: &str, value: &str| {
        let at = bytes.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
        bytes[at + name.len()..][..value.len()].copy_from_slice(value.as_bytes());
        at + name.len()
    };
    put(name, value);
    let check = put("Wwwoffle-Check: ", "");
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let end = head + bytes[head..].windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let covered = [&bytes[..check], &bytes[check + 8..end]].concat();
    let digits = format!("{:08x}", crc32fast::hash(&covered));
    bytes[check..check + 8].copy_from_slice(digits.as_bytes());
    bytes
}

/// An outgoing request.
pub fn outgoing(url: &str, kind: RequestKind) -> Outgoing {
    let queued = Timestamp::from_second(1_700_000_000).unwrap();
    Outgoing::new(place(url), b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), kind, queued)
}

/// Every file below a directory.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files
}

//! Hand-made archives, and a spool for importing them.

#![allow(dead_code, unreachable_pub, reason = "no test uses all of it")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "helpers of tests are tests"
)]

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use wwwoffle_archive::{
    ImportControl, ImportOptions, ImportReport, MAX_BODY, PersonalOwner, PlainPlacement, import,
};
use wwwoffle_spool::{Entry, Options, Place, Spool, Timestamp, Versions};
use wwwoffle_url::{CanonicalUrl, LocalHost, make_hash};

/// A folder with a spool that keeps three older versions, and space for archives.
pub struct Bench {
    folder: tempfile::TempDir,
    pub spool: Spool,
}

pub fn options() -> ImportOptions {
    ImportOptions {
        replace: false,
        dry_run: false,
        private: PersonalOwner::Owner("local".to_owned()),
        max_body: MAX_BODY,
        scheme: "https".to_owned(),
        local: LocalHost::default(),
        now: "2026-11-20T00:00:00Z".parse().unwrap(),
    }
}

pub fn place(url: &str) -> Place {
    Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
}

pub fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

impl Bench {
    pub fn new() -> Self {
        Self::keeping(3)
    }

    pub fn keeping(versions: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let versions = Versions::from_rule(move |_| versions);
        let options = Options { versions, ..Options::default() };
        let (spool, _) = Spool::open(&folder.path().join("spool"), &options).unwrap();
        Self { folder, spool }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and its parent directories.
    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[track_caller]
    pub fn import(&self, path: &Path) -> ImportReport {
        self.import_with(path, &options())
    }

    #[track_caller]
    pub fn import_with(&self, path: &Path, options: &ImportOptions) -> ImportReport {
        self.try_import(path, options).unwrap()
    }

    pub fn try_import(
        &self,
        path: &Path,
        options: &ImportOptions,
    ) -> wwwoffle_archive::Result<ImportReport> {
        import(&self.spool, path, options, &PlainPlacement, &mut |_| ImportControl::Continue)
    }

    pub fn entry(&self, url: &str) -> Option<Entry> {
        self.spool.entry(&place(url)).unwrap().found()
    }

    pub fn own(&self, url: &str) -> Option<Entry> {
        self.spool.entry(&place(url).owned_by("local")).unwrap().found()
    }

    /// The body of the shared response.
    #[track_caller]
    pub fn body(&self, url: &str) -> Vec<u8> {
        body(&self.entry(url).unwrap_or_else(|| panic!("{url} is not kept")))
    }

    /// The bodies of the older versions, the newest first.
    pub fn older(&self, url: &str) -> Vec<Vec<u8>> {
        let place = place(url);
        let versions = self.spool.versions(&place).unwrap();
        let read = |stored| self.spool.version(&place, stored).unwrap().found().unwrap();
        versions.iter().map(|version| body(&read(version.stored))).collect()
    }
}

pub fn body(entry: &Entry) -> Vec<u8> {
    let (mut verified, mut all, mut piece) = (entry.verified(), Vec::new(), vec![0; 10_000]);
    loop {
        match verified.read_at(all.len() as u64, &mut piece).unwrap() {
            0 => return all,
            read => all.extend_from_slice(&piece[..read]),
        }
    }
}

/// A record with additional fields.
pub fn record(kind: &str, fields: &[(&str, &str)], block: &[u8]) -> Vec<u8> {
    let mut bytes = format!("WARC/1.1\r\nWARC-Type: {kind}\r\n").into_bytes();
    for (name, value) in fields {
        bytes.extend(format!("{name}: {value}\r\n").bytes());
    }
    bytes.extend(format!("Content-Length: {}\r\n\r\n", block.len()).bytes());
    bytes.extend_from_slice(block);
    bytes.extend_from_slice(b"\r\n\r\n");
    bytes
}

/// A response record.
pub fn response(url: &str, date: &str, block: &[u8]) -> Vec<u8> {
    let fields = [
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("WARC-Record-ID", &format!("<urn:x:{url}:{date}>")),
        ("Content-Type", "application/http; msgtype=response"),
    ];
    record("response", &fields, block)
}

/// The matching request record, which may be anywhere in the archive.
pub fn request(url: &str, date: &str, block: &[u8]) -> Vec<u8> {
    let fields = [
        ("WARC-Target-URI", url),
        ("WARC-Date", date),
        ("WARC-Concurrent-To", &format!("<urn:x:{url}:{date}>")),
        ("Content-Type", "application/http; msgtype=request"),
    ];
    record("request", &fields, block)
}

/// A page with this body.
pub fn page(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap();
    out
}

/// A ZIP file of stored members, with extra fields in their local headers.
pub fn zip(members: &[(&str, &[u8], &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content, extra) in members {
        let offset = bytes.len() as u32;
        let mut common = Vec::new();
        common.extend([20_u16, 0, 0, 0, 0].map(u16::to_le_bytes).concat());
        let size = content.len() as u32;
        common.extend([crc32fast::hash(content), size, size].map(u32::to_le_bytes).concat());
        common.extend((name.len() as u16).to_le_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend((extra.len() as u16).to_le_bytes());
        bytes.extend(name.bytes());
        bytes.extend_from_slice(extra);
        bytes.extend_from_slice(content);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&common);
        directory.extend([0; 12]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.bytes());
    }
    let (start, length) = (bytes.len() as u32, directory.len() as u32);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([members.len() as u16; 2].map(u16::to_le_bytes).concat());
    bytes.extend([length, start].map(u32::to_le_bytes).concat());
    bytes.extend([0; 2]);
    bytes
}

/// Writes a file of a spool of 2.9, and the file with its URL.
pub fn classic(bench: &Bench, directory: &str, letter: char, url: &str, end: &str, content: &[u8]) {
    let hash = make_hash(url.as_bytes());
    bench.write(&format!("old/{directory}/{letter}{hash}{end}"), content);
    bench.write(&format!("old/{directory}/U{hash}{end}"), url.as_bytes());
}

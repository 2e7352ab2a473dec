//! The files of outgoing requests and of monitored pages: one request each, named by its key.

use std::ffi::OsString;
use std::path::Path;

use wwwoffle_url::Key;

use super::outgoing::{MAX_REQUEST_FILE, Outgoing, OutgoingSummary};
use super::seal::Vault;
use crate::durability::OUTGOING;
use crate::durability::outbox::request_path;
use crate::entry::place::EXTENSION;
use crate::entry::warc::Reason;
use crate::error::Result;
use crate::fs::Disk;
use crate::fs::names::names;
use crate::fs::whole::read_whole;

/// The content of the file of a request or of a monitored page.
pub(super) enum RequestFile<T> {
    Valid(T),
    Missing,
    Invalid(Reason),
}

/// The keys in the names of files, at most `most`. Other names are ignored.
pub(super) fn keys(names: impl Iterator<Item = Result<OsString>>, most: usize) -> Result<Vec<Key>> {
    let mut keys = Vec::new();
    for name in names {
        let name = name?;
        let key = name.to_str().and_then(|name| name.strip_suffix(EXTENSION));
        keys.extend(key.and_then(|key| key.parse::<Key>().ok()));
        if keys.len() >= most {
            break;
        }
    }
    Ok(keys)
}

/// Reads the file at `path`, which belongs to `key`. `decode` parses at most `most` bytes, and also
/// returns the key that the file contains.
pub(super) fn read_file<T>(
    disk: &dyn Disk,
    path: &Path,
    (key, most): (&Key, usize),
    decode: impl FnOnce(&[u8]) -> Result<(Key, T), Reason>,
) -> Result<RequestFile<T>> {
    let Some(bytes) = read_whole(disk, path, most)? else { return Ok(RequestFile::Missing) };
    Ok(match bytes.and_then(|bytes| decode(&bytes)) {
        Ok((found, content)) if found == *key => RequestFile::Valid(content),
        Ok(_) => RequestFile::Invalid("it belongs to another place"),
        Err(reason) => RequestFile::Invalid(reason),
    })
}

/// Reads the file of an outgoing request.
pub(super) fn read_request(
    disk: &dyn Disk,
    path: &Path,
    key: &Key,
    vault: Option<&Vault>,
) -> Result<RequestFile<Outgoing>> {
    read_file(disk, path, (key, MAX_REQUEST_FILE), |bytes| {
        Outgoing::decode(bytes, vault).map(|request| (request.summary.place.key(), request))
    })
}

/// Reads every valid request of a spool from its file, the oldest first.
pub(crate) fn list_requests(disk: &dyn Disk, root: &Path) -> Result<Vec<OutgoingSummary>> {
    let mut list = Vec::new();
    for key in keys(names(disk, &root.join(OUTGOING))?, usize::MAX)? {
        let path = request_path(root, &key);
        if let RequestFile::Valid(request) = read_request(disk, &path, &key, None)? {
            list.push(request.summary);
        }
    }
    sort_by_age(&mut list);
    Ok(list)
}

/// Reads one request from its file. `None` if the file is missing or invalid.
pub(crate) fn find_request(disk: &dyn Disk, root: &Path, key: &Key) -> Result<Option<Outgoing>> {
    Ok(match read_request(disk, &request_path(root, key), key, None)? {
        RequestFile::Valid(request) => Some(request),
        RequestFile::Missing | RequestFile::Invalid(_) => None,
    })
}

pub(super) fn sort_by_age(list: &mut [OutgoingSummary]) {
    list.sort_by_cached_key(|request| (request.queued, request.place.key()));
}

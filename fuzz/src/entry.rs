//! Any bytes as the file of an entry, and any change of a sound file.
//!
//! An entry that can be read must equal the stored one, since no other content has valid checksums.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::sim::SimDisk;
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{
    Body, Durability, Lookup, NewEntry, Options, Place, Reader, Spool, Timestamp,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
const CONNECTION: &[u8] = b"tls-version: TLSv1.3\r\n";
const BODY: &[u8] = b"the body";

/// The sound file that is changed.
static SOUND: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let disk = SimDisk::new();
    let options = Options { durability: Durability::None, ..Options::default() };
    let opened = Spool::open_with(Arc::new(disk.clone()), root(), &options);
    let (spool, _) = opened.expect("nothing fails on this disk");
    let new = NewEntry {
        asked: Timestamp::UNIX_EPOCH,
        when: Timestamp::UNIX_EPOCH,
        head: HEAD.into(),
        request: REQUEST.into(),
        connection: Some(CONNECTION.into()),
    };
    let mut writer = spool.begin(&place(), new).expect("the entry is sound");
    writer.write(BODY).expect("nothing fails on this disk");
    writer.finish(Some(b"A: b\r\n")).expect("nothing fails on this disk");
    disk.content(&root().join(place().relative_path())).expect("it has been stored")
});

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let Some((how, data)) = data.split_first() else { return };
    let bytes = if how % 2 == 0 { data.to_vec() } else { changed(data) };
    let disk = disk_with(&bytes).expect("nothing fails on this disk");
    let reader = Reader::open_with(Arc::new(disk), root()).expect("it is a spool");
    let summaries = reader.list(None, None).expect("nothing fails on this disk");
    let listed = summaries.filter(Result::is_ok).count();
    if let Lookup::Found(entry) = reader.entry(&place()).expect("nothing fails on this disk") {
        assert_eq!((entry.head(), entry.request()), (HEAD, REQUEST));
        assert_eq!(entry.connection(), Some(CONNECTION));
        assert!(matches!(entry.body(), Body::Whole(body) if **body == *BODY));
        assert_eq!(listed, 1);
    }
}

/// The sound file with bytes replaced. `data` has triples of an offset and a byte, then the number
/// of bytes to cut off.
fn changed(data: &[u8]) -> Vec<u8> {
    let mut bytes = SOUND.clone();
    let changes = data.chunks_exact(3);
    if let [cut, ..] = changes.remainder() {
        bytes.truncate(bytes.len() - usize::from(*cut));
    }
    for change in changes {
        let offset = usize::from(change[0]) << 8 | usize::from(change[1]);
        if let Some(byte) = bytes.get_mut(offset) {
            *byte = change[2];
        }
    }
    bytes
}

fn disk_with(bytes: &[u8]) -> std::io::Result<SimDisk> {
    let disk = SimDisk::new();
    let path = root().join(place().relative_path());
    let above: Vec<&Path> = path.ancestors().skip(1).collect();
    for directory in above.into_iter().rev().skip(1) {
        disk.create_dir(directory)?;
    }
    disk.create(&root().join("version"))?.write_all_at(b"wwwoffle-spool 1\n", 0)?;
    disk.create(&path)?.write_all_at(bytes, 0)?;
    Ok(disk)
}

fn root() -> &'static Path {
    Path::new("/spool")
}

fn place() -> Place {
    let url = CanonicalUrl::parse("http://example.org/", &LocalHost::default());
    Place::of(&url.expect("it is a URL"))
}

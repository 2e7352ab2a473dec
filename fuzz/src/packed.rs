//! Any change of the compressed file of an entry, including changes of the table in its header with
//! a correct checksum.
//!
//! All content that can be read must equal the stored one.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use super::sim::SimDisk;
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{
    Body, CheckOptions, Durability, Lookup, NewEntry, Options, Place, Reader, RewriteOutcome,
    Spool, Timestamp,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";

/// The offset of the table in the file: after the gzip header and the names of its extra field.
const TABLE: usize = 16;

/// An entry, and its sound compressed file.
struct Sound {
    body: Vec<u8>,
    file: Vec<u8>,
}

/// An entry whose file is read at once, and an entry whose file is divided into blocks.
static SOUND: LazyLock<[Sound; 2]> = LazyLock::new(|| [9_000, 1_200_000].map(sound));

fn sound(len: usize) -> Sound {
    let line = |number: usize| format!("line {number} of the body\n").into_bytes();
    let body: Vec<u8> = (0..).flat_map(line).take(len).collect();
    let disk = SimDisk::new();
    let options = Options { durability: Durability::None, ..Options::default() };
    let opened = Spool::open_with(Arc::new(disk.clone()), root(), &options);
    let (spool, _) = opened.expect("nothing fails on this disk");
    let new = NewEntry {
        asked: Timestamp::UNIX_EPOCH,
        when: Timestamp::UNIX_EPOCH,
        head: HEAD.into(),
        request: b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n".to_vec(),
        connection: None,
    };
    let mut writer = spool.begin(&place(), new).expect("the entry is sound");
    writer.write(&body).expect("nothing fails on this disk");
    writer.finish(None).expect("nothing fails on this disk");
    let done = spool.compress(&place()).expect("nothing fails on this disk");
    assert!(matches!(done, RewriteOutcome::Done { .. }));
    let file = disk.content(&root().join(place().relative_path())).expect("it has been stored");
    Sound { body, file }
}

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let Some((how, data)) = data.split_first() else { return };
    let sound = &SOUND[usize::from(how & 1)];
    let mut bytes = changed(&sound.file, data);
    if how & 2 != 0 {
        set_check(&mut bytes);
    }
    let disk = disk_with(&bytes).expect("nothing fails on this disk");
    let reader = Reader::open_with(Arc::new(disk), root()).expect("it is a spool");
    for listed in reader.list(None, None).expect("nothing fails on this disk") {
        let listed = listed.expect("nothing fails on this disk");
        assert_eq!(listed.body_len, u64::try_from(sound.body.len()).expect("it is short"));
    }
    reader.check(&CheckOptions::new(true), &mut |_| {}).expect("nothing fails on this disk");
    let Lookup::Found(entry) = reader.entry(&place()).expect("nothing fails on this disk") else {
        return;
    };
    assert_eq!(entry.head(), HEAD);
    if let Body::Whole(body) = entry.body() {
        assert!(**body == *sound.body);
    }
    let (mut verified, mut buffer) = (entry.verified(), vec![0; 5_000]);
    for from in [0, sound.body.len() / 2, sound.body.len() - 1] {
        match verified.read_at(u64::try_from(from).expect("it is short"), &mut buffer) {
            Ok(read) => assert!(buffer[..read] == sound.body[from..][..read]),
            Err(error) => assert!(error.is_damaged(), "{error}"),
        }
    }
}

/// The file with bytes replaced. `data` has triples of an offset and a byte, then the number of
/// bytes to cut off.
fn changed(file: &[u8], data: &[u8]) -> Vec<u8> {
    let mut bytes = file.to_vec();
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

/// Corrects the checksum of the table, so that it does not reveal the changes.
fn set_check(bytes: &mut [u8]) {
    let Some([low, high]) = bytes.get(TABLE - 2..TABLE) else { return };
    let end = TABLE + usize::from(u16::from_le_bytes([*low, *high]));
    let Some(table) = bytes.get(TABLE..end.saturating_sub(4)) else { return };
    let check = crc32fast::hash(table).to_le_bytes();
    if let Some(place) = bytes.get_mut(end - 4..end) {
        place.copy_from_slice(&check);
    }
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

//! Any change of one file of a spool: an entry, one of several variants, updated fields of an
//! entry, a segment, an unfinished download after a crash, a queued request, the state.
//!
//! Only stored content is returned, and the content of all other files is still there.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use sha2::{Digest, Sha256};
use wwwoffle_spool::fs::Disk;
use wwwoffle_spool::{
    AttemptState, Body, Durability, Entry, NewEntry, NewSegment, Options, Outgoing, Partial, Place,
    Priority, RequestKind, RequestState, RequesterLocation, Secrets, Spool, Timestamp, Update,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::input::Input;
use super::sim::SimDisk;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
const NEWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nAge: 5\r\n\r\n";
const PART: &[u8] = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/9\r\n\r\n";
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";
const CHECK: &[u8] = b"Wwwoffle-Check: ";

/// A body length above that of the first read of a file, so that updated fields are in a second
/// file.
const LARGE: usize = 150 << 10;

/// The received length of the unfinished download: enough for a checkpoint.
const UNFINISHED: usize = (2 << 20) + 70_000;

/// The length of the body that has segments.
const FILM: u64 = 2_000;

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let which = input.byte();
    let image = if which >= 0xf8 { &*KILLED } else { &*SOUND };
    let path = image.files[usize::from(which) % image.files.len()].clone();
    let how = input.byte();
    let content = change(image, &path, how, input);
    let disk = image.disk.restarted();
    disk.remove_file(&path).expect("it is there");
    let file = disk.create(&path).expect("nothing fails on this disk");
    file.write_all_at(&content, 0).expect("nothing fails on this disk");
    let changed = Changed { path: &path, is_mended: how & 2 != 0 };
    match Spool::open_with(Arc::new(disk), root(), &options()) {
        Ok((spool, recovery)) => {
            assert!(recovery.failures.is_empty(), "{:?}", recovery.failures);
            changed.is_told(&spool);
        }
        Err(error) => {
            let name = path.file_name().unwrap_or_default();
            assert!(name == "version" || name == "secret", "{error} for {}", path.display());
        }
    }
}

/// The new content of the file: arbitrary bytes, the content of another file, or its old content
/// with changes.
fn change(image: &Image, path: &Path, how: u8, mut input: Input<'_>) -> Vec<u8> {
    let old = |path: &Path| image.disk.content(path).expect("it is there");
    let mut bytes = match how % 16 {
        0 => return input.rest().to_vec(),
        1 => return old(&image.files[usize::from(input.byte()) % image.files.len()]),
        _ => old(path),
    };
    if how & 4 != 0 {
        bytes.truncate(bytes.len().saturating_sub(input.number().into()));
    }
    if how & 8 != 0 {
        bytes.extend_from_slice(&bytes.clone()[bytes.len().min(input.number().into())..]);
    }
    for change in input.rest().chunks_exact(3) {
        let offset = usize::from(change[0]) << 8 | usize::from(change[1]);
        if let Some(byte) = bytes.get_mut(offset) {
            *byte = change[2];
        }
    }
    if how & 2 != 0 {
        mend(&mut bytes);
    }
    bytes
}

/// Corrects the checksum of a record, so that the code behind it is tested: the checksum of a
/// header and the head after it, or of a whole file.
fn mend(bytes: &mut [u8]) {
    let find = |bytes: &[u8], what: &[u8]| bytes.windows(what.len()).position(|some| some == what);
    let (Some(check), Some(header)) = (find(bytes, CHECK), find(bytes, b"\r\n\r\n")) else {
        return;
    };
    let check = check + CHECK.len();
    let is_entry = find(&bytes[..header], b"response").is_some();
    let end = match find(&bytes[header + 4..], b"\r\n\r\n") {
        Some(head) if is_entry => header + 4 + head + 4,
        _ => bytes.len().saturating_sub(4),
    };
    if check + 8 > end {
        return;
    }
    let sum = crc32fast::hash(&[&bytes[..check], &bytes[check + 8..end]].concat());
    bytes[check..check + 8].copy_from_slice(format!("{sum:08x}").as_bytes());
}

/// The changed file.
struct Changed<'a> {
    path: &'a Path,
    /// Whether its checksums may be valid. If so, only content with a digest is verified.
    is_mended: bool,
}

impl Changed<'_> {
    /// Whether the file may belong to a place.
    fn is_of(&self, place: &Place) -> bool {
        let path = self.path.to_string_lossy();
        path.contains(&place.key().to_string()) || path.contains("/tmp/")
    }

    fn is_told(&self, spool: &Spool) {
        for (place, body) in entries() {
            self.entries(spool, &place, &body);
        }
        for place in [film(), killed()] {
            let partial = spool.partial(&place).expect("nothing fails on this disk");
            if let Some(partial) = &partial {
                self.is_part(partial);
            }
            let is_there = !self.is_of(&film()) && place == film();
            assert!(partial.is_some() || !is_there, "{}", self.path.display());
        }
        self.queue(spool);
        let (state, damage) = spool.state().expect("nothing fails on this disk");
        if !self.path.ends_with("state") {
            assert_eq!((state.mode(), damage.is_some()), (Some("offline"), false));
        }
        let listed = spool.list(None, None).expect("nothing fails on this disk");
        assert!(listed.filter_map(Result::ok).count() <= entries().len() + 1);
        for partial in spool.partials().expect("nothing fails on this disk") {
            let _ = partial.expect("nothing fails on this disk");
        }
    }

    fn entries(&self, spool: &Spool, place: &Place, body: &[u8]) {
        let all = spool.entries(place).expect("nothing fails on this disk");
        let own = all.found.iter().find(|entry| entry.place() == place);
        assert!(own.is_some() || self.is_of(place), "{place:?} is lost: {}", self.path.display());
        for entry in &all.found {
            assert_eq!(entry.place().url(), place.url(), "an answer to something else");
        }
        let Some(entry) = own else { return };
        let Some(found) = content(entry) else { return };
        if !self.is_mended || !self.is_of(place) {
            assert_eq!(found, body, "a wrong body");
            assert!([HEAD, NEWER].contains(&entry.head()), "a wrong head");
            assert_eq!(entry.request(), REQUEST);
        }
    }

    fn is_part(&self, partial: &Partial) {
        let is_film = *partial.place() == film();
        let (length, validator) =
            if is_film { (FILM, &b"\"v\""[..]) } else { (9 << 20, &b"\"w\""[..]) };
        let is_sure = !self.is_mended;
        if is_sure {
            assert_eq!(partial.validator(), validator);
            assert_eq!(partial.complete_length(), Some(length));
        }
        let mut verified = partial.verified();
        for range in partial.ranges() {
            let (mut at, mut piece) = (range.start, vec![0; 64 << 10]);
            while at < range.end {
                let Ok(read) = verified.read_at(at, &mut piece) else { return };
                if read == 0 {
                    break;
                }
                let same = piece[..read].iter().zip(at..).all(|(byte, at)| *byte == byte_at(at));
                assert!(same || !is_sure, "wrong bytes at {at}");
                at += read as u64;
            }
            assert!(at >= range.end, "it has {range:?}, and ends at {at}");
        }
    }

    fn queue(&self, spool: &Spool) {
        for mut want in requests() {
            let found =
                spool.queue().get(&want.summary.place.key()).expect("nothing fails on this disk");
            let is_changed = self.is_of(&want.summary.place);
            assert!(found.is_some() || is_changed, "a request is lost: {}", self.path.display());
            let Some(found) = found else { continue };
            if self.path.ends_with("secret") {
                want.secrets = found.secrets.clone();
            }
            assert!(found == want || (is_changed && self.is_mended), "{found:?}");
        }
        let listed = spool.queue().list().len();
        assert!(listed <= requests().len() + 1, "{listed} requests");
    }
}

/// The body, if it matches its digest. No other body is ever returned.
fn content(entry: &Entry) -> Option<Vec<u8>> {
    match entry.body() {
        Body::Whole(body) => {
            let digest: [u8; 32] = Sha256::digest(&**body).into();
            assert_eq!(digest, *entry.digest());
            Some(body.to_vec())
        }
        Body::File(file) => {
            let (mut verified, mut all) = (entry.verified(), Vec::new());
            let mut piece = vec![0; 64 << 10];
            while (all.len() as u64) < file.len() {
                match verified.read_at(all.len() as u64, &mut piece).ok()? {
                    0 => return None,
                    read => all.extend_from_slice(&piece[..read]),
                }
            }
            Some(all)
        }
    }
}

/// A disk, and the files below the root of the spool on it.
struct Image {
    disk: SimDisk,
    files: Vec<PathBuf>,
}

/// A spool that was closed normally.
static SOUND: LazyLock<Image> = LazyLock::new(|| {
    let disk = SimDisk::new();
    drop(filled(&disk));
    Image { files: disk.files(root()), disk: disk.restarted() }
});

/// A spool whose program was killed during a download. It also has the files of the other spool.
static KILLED: LazyLock<Image> = LazyLock::new(|| {
    let disk = SimDisk::new();
    let spool = filled(&disk);
    let mut writer =
        spool.begin_resumable(&killed(), new(), b"\"w\"", Some(9 << 20)).expect("it is sound");
    for at in (0..UNFINISHED).step_by(50_000) {
        let end = UNFINISHED.min(at + 50_000);
        writer.write(&bytes_of(at, end)).expect("nothing fails on this disk");
    }
    let at_death = disk.restarted();
    drop(writer);
    let mut files = at_death.files(root());
    files.retain(|path| path.parent().is_some_and(|parent| parent.ends_with("tmp")));
    assert!(files.len() == 2, "{files:?}");
    Image { disk: at_death, files }
});

fn filled(disk: &SimDisk) -> Spool {
    let opened = Spool::open_with(Arc::new(disk.clone()), root(), &options());
    let (spool, _) = opened.expect("nothing fails on this disk");
    for (place, body) in entries() {
        let mut writer = spool.begin(&place, new()).expect("it is sound");
        writer.write(&body).expect("nothing fails on this disk");
        let trailers: Option<&[u8]> = if body.len() % 2 == 0 { Some(b"A: b\r\n") } else { None };
        writer.finish(trailers).expect("nothing fails on this disk");
    }
    let (large, _) = entries().pop().expect("there is one");
    let entry = spool.entry(&large).expect("nothing fails").found().expect("it was stored");
    let update = Update::Confirmed { head: NEWER.into(), asked: at(5), responded: at(6) };
    assert!(spool.update(&entry, &update).expect("nothing fails on this disk").is_some());
    for (start, length) in [(0, 400), (600, 300)] {
        let mut writer = spool.begin_segment(&film(), part(start)).expect("it is sound");
        writer.write(&bytes_of(start, start + length)).expect("nothing fails on this disk");
        writer.finish().expect("nothing fails on this disk");
    }
    for request in requests() {
        spool.queue().add(&request).expect("nothing fails on this disk");
    }
    let mut state = wwwoffle_spool::ProgramState::default();
    state.set_mode("offline").expect("it is a word");
    spool.set_state(&state).expect("nothing fails on this disk");
    spool
}

fn options() -> Options {
    Options { durability: Durability::None, ..Options::default() }
}

/// The complete entries, the large one last.
fn entries() -> Vec<(Place, Vec<u8>)> {
    let varied = place("http://two.example/");
    vec![
        (place("http://one.example/?a=b"), b"the body".to_vec()),
        (varied.clone().with_variant("accept-language:de"), b"der Rumpf".to_vec()),
        (varied.with_variant("accept-language:en"), b"another body".to_vec()),
        (place("https://one.example:8443/own").owned_by("ada"), Vec::new()),
        (place("http://three.example/large"), bytes_of(0, LARGE)),
    ]
}

fn requests() -> [Outgoing; 3] {
    let first =
        Outgoing::new(place("http://q.example/a"), REQUEST.into(), RequestKind::Page, at(1));
    let mut second =
        Outgoing::new(place("http://q.example/b"), REQUEST.into(), RequestKind::Part, at(2));
    second.body = b"a=b".to_vec();
    second.secrets = Secrets::Open(b"Cookie: c=d\r\n".to_vec());
    second.summary.page = Some("http://q.example/".to_owned());
    second.summary.priority = Priority::First;
    second.summary.fetching = AttemptState {
        attempts: 3,
        not_before: Some(at(9)),
        state: RequestState::Failed {
            reason: "it is \u{e4} no more\n".to_owned(),
            status: Some(410),
        },
        last_error: None,
    };
    let mut third = Outgoing::new(
        place("http://q.example/c").owned_by("user:ada"),
        REQUEST.into(),
        RequestKind::Recursive,
        at(3),
    );
    third.summary.asked_from = RequesterLocation::Here;
    third.summary.priority = Priority::Last;
    [first, second, third]
}

fn new() -> NewEntry {
    NewEntry {
        asked: at(0),
        when: at(1),
        head: HEAD.into(),
        request: REQUEST.into(),
        connection: Some(b"tls-version: TLSv1.3\r\n".to_vec()),
    }
}

fn part(start: usize) -> NewSegment {
    NewSegment {
        entry: NewEntry { head: PART.into(), connection: None, ..new() },
        validator: b"\"v\"".to_vec(),
        complete_length: Some(FILM),
        start: start as u64,
    }
}

fn film() -> Place {
    place("http://film.example/part")
}

fn killed() -> Place {
    place("http://film.example/killed")
}

fn place(url: &str) -> Place {
    Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).expect("it is a URL"))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).expect("it is in range")
}

fn bytes_of(start: usize, end: usize) -> Vec<u8> {
    (start as u64..end as u64).map(byte_at).collect()
}

/// The byte at an offset of each long body.
fn byte_at(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).to_le_bytes()[0]
}

fn root() -> &'static Path {
    Path::new("/spool")
}

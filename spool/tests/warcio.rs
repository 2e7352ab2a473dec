//! Every file is WARC for an independent program: `warcio check` accepts each, and all of them
//! concatenated.
//!
//! `warcio` is found in `PATH`, or at the path in `WARCIO`.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test reads its environment and its files"
)]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{entry, head, open, outgoing, place};
use wwwoffle_spool::{
    Durability, NewEntry, NewSegment, RequestKind, RequestState, RewriteOutcome, Secrets, Spool,
    Update,
};

#[test]
#[ignore = "needs warcio"]
fn another_program_reads_every_file() {
    let program = std::env::var_os("WARCIO").unwrap_or_else(|| "warcio".into());
    let is_there = Command::new(&program).arg("--version").output().is_ok();
    assert!(is_there, "{program:?} is missing: pip install warcio");
    let root = tempfile::tempdir().unwrap();
    write_one_of_each(root.path());
    let files: Vec<_> = support::files(root.path())
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "warc"))
        .collect();
    assert_eq!(files.len(), 26);
    // Concatenated, but compressed files separately: few programs read both forms in one file.
    let read = |path: &Path| fs::read(path).unwrap();
    let is_gzip = |path: &&std::path::PathBuf| read(path).starts_with(&[0x1f, 0x8b]);
    let (packed, plain): (Vec<_>, Vec<_>) = files.iter().partition(is_gzip);
    assert_eq!(packed.len(), 3);
    let (all, all_packed) = (root.path().join("all.warc"), root.path().join("all.warc.gz"));
    for (to, of) in [(&all, plain), (&all_packed, packed)] {
        let pieces: Vec<_> = of.into_iter().map(|path| read(path)).collect();
        fs::write(to, pieces.concat()).unwrap();
    }
    for path in files.iter().chain([&all, &all_packed]) {
        let check = Command::new(&program).args(["check", "-v"]).arg(path).output().unwrap();
        let said = String::from_utf8_lossy(&check.stdout).into_owned();
        assert!(check.status.success() && !said.contains("fail"), "{path:?}: {said}");
        // `warcio` reports that it does not compare the digest of a revisit.
        let checked = said.contains("digest pass") || said.contains("not checked (revisit)");
        assert!(checked, "{path:?}: {said}");
        let index = Command::new(&program).arg("index").arg(path).output().unwrap();
        assert!(index.status.success(), "{path:?}: {index:?}");
    }
}

/// Writes a small and two large entries, each with an update, and a further variant of the large
/// ones.
fn write_updates_and_variants(spool: &Spool) {
    let place = place("http://example.org/updated");
    let german = place.clone().owned_by("user ä\n").with_variant("accept-language: de\r\n");
    for (place, len) in
        [(place, 1_000), (german.clone(), 200_000), (german.clone().with_variant(""), 300_000)]
    {
        let mut writer = spool.begin(&place, entry(&head(200))).unwrap();
        writer.write(&support::bytes(len)).unwrap();
        writer.finish(None).unwrap();
        let found = spool.entries(&place).unwrap().found;
        let entry = found.iter().find(|entry| *entry.place() == place).unwrap();
        let (asked, responded) = (entry.received(), entry.received());
        let update = Update::Confirmed { head: head(200), asked, responded };
        spool.update(entry, &update).unwrap().unwrap();
    }
    let found = spool.entries(&german).unwrap().found;
    spool.update(&found[0], &Update::Invalid { since: found[0].received() }).unwrap().unwrap();
    let another = german.with_variant("accept-language: en");
    let writer = spool.begin(&another, entry(&head(404))).unwrap();
    writer.finish(None).unwrap();
}

/// Writes compressed entries: one that is read at once, and two that are divided.
fn write_compressed(spool: &Spool) {
    for (number, len) in [30_000, 200_000, (2 << 20) + 1].into_iter().enumerate() {
        let place = place(&format!("http://example.org/packed/{number}"));
        let mut writer = spool.begin(&place, entry(&head(200))).unwrap();
        writer.write(&b"some words of a page, and some more\n".repeat(len / 36)).unwrap();
        writer.finish(Some(b"X-Sum: 1\r\n")).unwrap();
        let done = spool.compress(&place).unwrap();
        assert!(matches!(done, RewriteOutcome::Done { .. }), "{done:?}");
    }
}

fn write_one_of_each(root: &Path) {
    let spool = open(root, Durability::Batch);
    write_compressed(&spool);
    for (number, len) in [0, 1, 1_000, 127 << 10, 129 << 10, 3 << 20].into_iter().enumerate() {
        let connection = (number % 3 != 1).then(|| support::CONNECTION.to_vec());
        let mut writer = spool.begin(&place(&format!("http://example.org/{number}?a=ä")), {
            NewEntry { connection, ..entry(&head(if number == 0 { 304 } else { 200 })) }
        });
        writer.as_mut().unwrap().write(&support::bytes(len)).unwrap();
        let trailers = (number % 2 == 1).then_some(&b"X-Sum: 1\r\nX-Other: \xc3\xa4\r\n"[..]);
        writer.unwrap().finish(trailers).unwrap();
    }
    write_updates_and_variants(&spool);
    for number in [8, 9] {
        support::store(
            &spool,
            &format!("http://shared.example.org/{number}"),
            &support::bytes(90_000),
        )
        .unwrap();
    }
    spool.flush().unwrap();
    assert_eq!(spool.share(Some(0), &|| true).made.count, 2);
    for (number, len) in [1_000, 2 << 20].into_iter().enumerate() {
        let place = place(&format!("http://example.org/part/{number}"));
        let new = NewSegment {
            entry: NewEntry { connection: Some(support::CONNECTION.to_vec()), ..entry(&head(206)) },
            validator: b"\"\xff %\"".to_vec(),
            complete_length: Some(1 << 30),
            start: 1 << 20,
        };
        let mut segment = spool.begin_segment(&place, new).unwrap();
        segment.write(&support::bytes(len)).unwrap();
        segment.finish().unwrap();
        let mut cut =
            spool.begin_resumable(&place, entry(&head(200)), b"\"\xff %\"", None).unwrap();
        cut.write(&support::bytes(len)).unwrap();
        assert!(cut.finish_short().unwrap());
    }
    for (number, kind) in
        [RequestKind::Page, RequestKind::Part, RequestKind::Refresh, RequestKind::Post]
            .into_iter()
            .enumerate()
    {
        let mut request = outgoing(&format!("http://example.org/{number}"), kind);
        request.secrets = Secrets::Open(b"Cookie: a=b".to_vec());
        request.body = support::bytes(number * 1_000);
        request.summary.fetching.state =
            RequestState::Failed { reason: "ä\nb".to_owned(), status: None };
        request.summary.page = Some("http://example.org/".to_owned());
        spool.queue().add(&request).unwrap();
    }
}

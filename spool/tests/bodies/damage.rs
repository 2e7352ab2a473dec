//! Sharing of equal bodies when files are damaged, missing or misleading.

use std::fs;
use std::path::Path;

use super::support::{self, bytes, place, store};
use super::{ONE, THREE, TWO, has, holders, open, read, share};
use wwwoffle_spool::{Lookup, Reader, Spool};

#[test]
fn bodies_that_only_claim_to_be_equal_are_never_shared() {
    for at_first in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let spool = open(root.path());
        let (body, other) = (bytes(200_000), vec![9; 200_000]);
        store(&spool, ONE, &body).unwrap();
        store(&spool, TWO, &other).unwrap();
        store(&spool, THREE, &body).unwrap();
        spool.flush().unwrap();
        let digest = *read(&spool, &place(ONE)).digest();
        let path = root.path().join(place(TWO).relative_path());
        let bytes = support::with_digest(&fs::read(&path).unwrap(), &digest);
        fs::write(&path, bytes).unwrap();
        if at_first {
            // One file is valid, and another falsely claims to have the same body.
            spool.remove(&place(THREE)).unwrap();
        }
        let sharing = spool.share(Some(0), &|| true);
        assert!(sharing.failure.is_none());
        let entry = read(&spool, &place(TWO));
        assert!(!entry.shares_body() && support::body(&entry).is_none());
        has(&spool, &place(ONE), &body);
        if !at_first {
            has(&spool, &place(THREE), &body);
            assert!(read(&spool, &place(ONE)).shares_body());
        }
    }
}

#[test]
#[ignore = "slow"]
fn a_damaged_shared_body_is_not_served_and_moved_aside_once() {
    for len in [50_000, 400_000] {
        for damage in [
            HolderDamage::Missing,
            HolderDamage::Header,
            HolderDamage::Body,
            HolderDamage::Cut,
            HolderDamage::Other,
        ] {
            let root = tempfile::tempdir().unwrap();
            let spool = open(root.path());
            let body = bytes(len);
            for url in [ONE, TWO] {
                store(&spool, url, &body).unwrap();
            }
            share(&spool);
            let holder = holders(root.path()).remove(0);
            damage.on(&holder, &spool);
            for url in [ONE, TWO] {
                match spool.entry(&place(url)).unwrap() {
                    Lookup::SetAside(damage) => assert!(damage.reason.contains("its shared body")),
                    Lookup::Found(entry) => {
                        assert!(damage == HolderDamage::Body && len > 200_000, "{damage:?} {len}");
                        assert_eq!(support::body(&entry), None);
                        assert!(spool.set_aside(&entry).unwrap().is_some());
                    }
                    Lookup::Missing => panic!("{damage:?}: {url} is missing"),
                }
                assert!(matches!(spool.entry(&place(url)).unwrap(), Lookup::Missing));
            }
            assert!(holders(root.path()).is_empty(), "{damage:?}");
            let aside = support::files(&root.path().join("damaged"));
            let aside = aside.iter().filter(|path| path.extension().is_some_and(|e| e == "warc"));
            assert_eq!(
                aside.count(),
                if damage == HolderDamage::Missing { 2 } else { 3 },
                "{damage:?}"
            );
            // Damage is reported; a missing file is not damage.
            let told = spool.failures();
            assert_eq!(told.len(), usize::from(damage != HolderDamage::Missing), "{told:?}");
            store(&spool, ONE, &body).unwrap();
            store(&spool, TWO, &body).unwrap();
            assert_eq!(share(&spool).made.count, 2);
            has(&spool, &place(ONE), &body);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HolderDamage {
    Missing,
    Header,
    Body,
    Cut,
    /// A valid entry with another body.
    Other,
}

impl HolderDamage {
    fn on(self, holder: &Path, spool: &Spool) {
        let mut bytes = fs::read(holder).unwrap();
        match self {
            HolderDamage::Missing => return fs::remove_file(holder).unwrap(),
            HolderDamage::Header => bytes[20] ^= 1,
            HolderDamage::Body => {
                let middle = bytes.len() / 2;
                bytes[middle] ^= 1;
            }
            HolderDamage::Cut => bytes.truncate(bytes.len() - 1),
            HolderDamage::Other => {
                let url = "http://x.example/other";
                store(spool, url, &vec![3; 50_000]).unwrap();
                spool.flush().unwrap();
                bytes = fs::read(spool.root().join(place(url).relative_path())).unwrap();
            }
        }
        fs::write(holder, bytes).unwrap();
    }
}

#[test]
#[ignore = "slow"]
fn any_changed_byte_of_a_file_that_refers_is_noticed() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let body = bytes(20_000);
    for url in [ONE, TWO] {
        store(&spool, url, &body).unwrap();
    }
    share(&spool);
    let path = root.path().join(place(ONE).relative_path());
    let good = fs::read(&path).unwrap();
    let reader = Reader::open(root.path()).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(&path, &bad).unwrap();
        match reader.entry(&place(ONE)).unwrap() {
            Lookup::SetAside(_) => {}
            other => panic!("byte {at}: {other:?}"),
        }
        fs::write(&path, &good[..at]).unwrap();
        assert!(matches!(reader.entry(&place(ONE)).unwrap(), Lookup::SetAside(_)), "cut at {at}");
    }
    fs::write(&path, &good).unwrap();
    // The same for the file of the holder: another body is never served.
    let holder = holders(root.path()).remove(0);
    let whole = fs::read(&holder).unwrap();
    for at in (0..whole.len()).step_by(97) {
        let mut bad = whole.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(&holder, &bad).unwrap();
        if let Lookup::Found(entry) = reader.entry(&place(ONE)).unwrap() {
            panic!("byte {at}: {entry:?}");
        }
    }
    fs::write(&holder, &whole).unwrap();
    has(&spool, &place(ONE), &body);
}

#[test]
fn an_unreadable_directory_keeps_every_shared_body() {
    let root = tempfile::tempdir().unwrap();
    let spool = open(root.path());
    let body = bytes(100_000);
    for url in [ONE, TWO] {
        store(&spool, url, &body).unwrap();
    }
    share(&spool);
    spool.remove(&place(ONE)).unwrap();
    // The directory of the host is moved, and a link to a missing directory takes its name.
    let host = root.path().join("https/b.example");
    let elsewhere = root.path().join("elsewhere");
    fs::rename(&host, &elsewhere).unwrap();
    std::os::unix::fs::symlink("/nowhere", &host).unwrap();
    assert_eq!(share(&spool).removed.count, 0);
    fs::remove_file(&host).unwrap();
    fs::rename(&elsewhere, &host).unwrap();
    has(&spool, &place(TWO), &body);
    spool.remove(&place(TWO)).unwrap();
    assert_eq!(share(&spool).removed.count, 1);
}

//! Each kind of damage, and its findings.

#![allow(unreachable_pub, reason = "a part of a test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::files::{at, cut, holder, open_to_all, put, queued, segments, spoil, variant, versions};
use super::support::full::{CHANGED, LARGE, ONE, OTHER, SMALL, VARIES, WAITS, WATCHED};
use super::support::place;
use wwwoffle_spool::CheckVerdict::{
    self, BeyondRepair, Foreign, Leftover, Mendable, Removed, Repaired, SetAside,
};

/// A change to a full spool, the findings before and after a repair, and whether everything can
/// still be read.
pub struct Case {
    pub name: &'static str,
    pub damage: fn(&Path),
    pub says: &'static [(CheckVerdict, &'static str)],
    pub repaired: &'static [CheckVerdict],
    pub is_all_there: bool,
}

const OTHER_NAME: (CheckVerdict, &str) = (Mendable, "its name is not that of its URL");

pub const CASES: &[Case] = &[
    Case { name: "no damage", damage: |_| {}, says: &[], repaired: &[], is_all_there: true },
    Case {
        name: "the directories of the user's own files",
        damage: |root| {
            for name in ["html", "local"] {
                fs::create_dir(root.join(name)).unwrap();
                fs::write(root.join(name).join("own.html"), "own").unwrap();
            }
        },
        says: &[],
        repaired: &[],
        is_all_there: true,
    },
    Case {
        name: "a byte of a small body",
        damage: |root| spoil(&at(root, SMALL), 700),
        says: &[(BeyondRepair, "does not match")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a byte of a large body with an update",
        damage: |root| spoil(&at(root, LARGE), 200_000),
        says: &[(BeyondRepair, "its body does not match its digest")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a truncated file",
        damage: |root| cut(&at(root, LARGE), 1),
        says: &[(BeyondRepair, "its length differs from that of the file as stored")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "an empty file",
        damage: |root| fs::write(at(root, SMALL), "").unwrap(),
        says: &[(BeyondRepair, "it does not begin with a WARC record")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a file in the directory of another key",
        damage: |root| {
            let to = at(root, LARGE);
            fs::rename(at(root, SMALL), to.with_file_name(at(root, SMALL).file_name().unwrap()))
                .unwrap();
        },
        says: &[OTHER_NAME],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "a large entry and its update under another name",
        damage: |root| {
            let (from, to) = (at(root, LARGE), root.join("https/v.example/odd.warc"));
            fs::rename(&from, &to).unwrap();
            let [from, to] = [from, to].map(|path| path.with_extension("update.warc"));
            fs::rename(from, to).unwrap();
        },
        says: &[OTHER_NAME],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "two entries that have swapped names",
        damage: |root| {
            let (one, other) = (at(root, SMALL), at(root, CHANGED));
            fs::rename(&one, root.join("between")).unwrap();
            fs::rename(&other, &one).unwrap();
            fs::rename(root.join("between"), &other).unwrap();
        },
        says: &[OTHER_NAME, OTHER_NAME],
        // Both files are repaired with the first finding.
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "the entry under the name of its older version",
        damage: |root| {
            fs::rename(at(root, CHANGED), &versions(root)[1]).unwrap();
        },
        says: &[OTHER_NAME],
        repaired: &[Repaired],
        is_all_there: false,
    },
    Case {
        name: "an older version under the name of the entry, and again beside it",
        damage: |root| {
            let to = at(root, CHANGED).with_file_name("old.warc");
            fs::copy(&versions(root)[0], to).unwrap();
        },
        says: &[(BeyondRepair, "a file that is not older has the right name")],
        repaired: &[SetAside],
        is_all_there: true,
    },
    Case {
        name: "a damaged version",
        damage: |root| spoil(&versions(root)[1], 150_000),
        says: &[(BeyondRepair, "its body does not match its digest")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a directory where an entry should be",
        damage: |root| {
            fs::remove_file(at(root, SMALL)).unwrap();
            fs::create_dir(at(root, SMALL)).unwrap();
            put(&at(root, SMALL), "inside", b"x");
        },
        says: &[(BeyondRepair, "it is not a plain file")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a link where an entry should be",
        damage: |root| {
            fs::rename(at(root, SMALL), root.join("elsewhere")).unwrap();
            symlink(root.join("elsewhere"), at(root, SMALL)).unwrap();
        },
        says: &[
            (BeyondRepair, "it is not a plain file"),
            (Foreign, "it does not belong to the spool"),
        ],
        repaired: &[SetAside, Foreign],
        is_all_there: false,
    },
    Case {
        name: "a host's directory behind a link",
        damage: |root| {
            let host = root.join("https/v.example");
            fs::rename(&host, root.join("elsewhere")).unwrap();
            symlink(root.join("elsewhere"), host).unwrap();
        },
        says: &[(Foreign, "it does not belong to the spool")],
        repaired: &[Foreign],
        is_all_there: true,
    },
    Case {
        name: "a segment where an entry should be",
        damage: |root| fs::rename(&segments(root)[0], at(root, SMALL)).unwrap(),
        says: &[(BeyondRepair, "it is a segment, not a complete response")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "an entry that was not finished",
        damage: |root| fs::write(at(root, SMALL), "unfinished\n\n\n").unwrap(),
        says: &[(BeyondRepair, "it was never finished")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a damaged update",
        damage: |root| spoil(&at(root, LARGE).with_extension("update.warc"), 40),
        says: &[(Mendable, "the update of its entry is damaged")],
        repaired: &[Repaired],
        is_all_there: false,
    },
    Case {
        name: "the update of a missing entry",
        damage: |root| fs::remove_file(at(root, LARGE)).unwrap(),
        says: &[(Leftover, "the update of a missing entry")],
        repaired: &[Removed],
        is_all_there: false,
    },
    Case {
        name: "the update of another entry",
        damage: |root| {
            let learnt = at(root, LARGE).with_extension("update.warc");
            fs::copy(learnt, versions(root)[1].with_extension("update.warc")).unwrap();
        },
        says: &[(Leftover, "the update of an earlier entry")],
        repaired: &[Removed],
        is_all_there: true,
    },
    Case {
        name: "an entry that hides the variants",
        damage: |root| {
            let single = root.join(place(VARIES).relative_path());
            fs::rename(variant(root, 1), single).unwrap();
        },
        says: &[(Mendable, "it hides the variants of its URL")],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "a variant under the name of the single entry",
        damage: |root| {
            let single = root.join(place(VARIES).relative_path());
            fs::rename(variant(root, 0), single).unwrap();
        },
        says: &[OTHER_NAME],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "a segment with another start",
        damage: |root| {
            let segment = &segments(root)[0];
            let to = segment.with_file_name("00000000000000000017.warc");
            fs::rename(segment, to).unwrap();
        },
        says: &[(Mendable, "it belongs to another place")],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "a damaged segment, and a foreign file beside it",
        damage: |root| {
            spoil(&segments(root)[1], 100_000);
            put(segments(root)[1].parent().unwrap(), "what", b"x");
        },
        says: &[
            (BeyondRepair, "its body does not match its digest"),
            (BeyondRepair, "its name is not that of a segment"),
        ],
        repaired: &[SetAside, SetAside],
        is_all_there: false,
    },
    Case {
        name: "checkpoints without a download, and a download without checkpoints",
        damage: |root| {
            let beside = segments(root)[0].parent().unwrap().to_owned();
            put(&beside, "00000000000000000000-01234567.checkpoint", b"x");
            put(&beside, "00000000000000000000-76543210.unfinished", b"x");
        },
        says: &[
            (Leftover, "checkpoints without their download"),
            (Leftover, "an interrupted download without its checkpoints"),
        ],
        repaired: &[Leftover, Leftover],
        is_all_there: true,
    },
    Case {
        name: "an invalid file of checkpoints",
        damage: |root| {
            let beside = segments(root)[0].parent().unwrap().to_owned();
            put(&beside, "00000000000000000000-01234567.checkpoint", b"x");
            put(&beside, "00000000000000000000-01234567.unfinished", b"x");
        },
        says: &[(BeyondRepair, "it is not a file of checkpoints")],
        repaired: &[SetAside],
        is_all_there: true,
    },
    Case {
        name: "a damaged request",
        damage: |root| spoil(&queued(root, WAITS), 60),
        says: &[(BeyondRepair, "")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a request under another name",
        damage: |root| {
            let to = root.join(format!("outgoing/{}.warc", place(SMALL).key()));
            fs::rename(queued(root, WAITS), to).unwrap();
        },
        says: &[OTHER_NAME],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "a request twice",
        damage: |root| {
            let to = root.join(format!("outgoing/{}.warc", place(SMALL).key()));
            fs::copy(queued(root, WAITS), to).unwrap();
        },
        says: &[(BeyondRepair, "its name is not that of its URL")],
        repaired: &[SetAside],
        is_all_there: true,
    },
    Case {
        name: "an invalid schedule",
        damage: |root| fs::copy(queued(root, WAITS), queued(root, WATCHED)).map(drop).unwrap(),
        says: &[(BeyondRepair, "a field is missing in a header")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "an invalid secret: the secrets of the request are lost with it",
        damage: |root| fs::write(root.join("secret"), "x").unwrap(),
        says: &[
            (BeyondRepair, "its secrets were sealed with another key"),
            (BeyondRepair, "it is not a key of 32 bytes"),
        ],
        repaired: &[BeyondRepair, SetAside],
        is_all_there: true,
    },
    Case {
        name: "an invalid state and an invalid run",
        damage: |root| {
            fs::write(root.join("state"), "mode = onl").unwrap();
            put(root, "runs/0000000000000007", b"\xff");
        },
        says: &[(BeyondRepair, "it is not a text of a run"), (BeyondRepair, "")],
        repaired: &[SetAside, SetAside],
        is_all_there: true,
    },
    Case {
        name: "foreign files",
        damage: |root| {
            put(root, "notes.txt", b"x");
            put(root, "http/README", b"x");
            put(root, "http/a.example/00/notes.warc", b"x");
            put(root, "outgoing/x", b"x");
            put(root, "index.sqlite", b"x");
        },
        says: &[(Foreign, ""), (Foreign, ""), (Foreign, ""), (Foreign, ""), (Foreign, "")],
        repaired: &[Foreign, Foreign, Foreign, Foreign, Foreign],
        is_all_there: true,
    },
    Case {
        name: "files that a stop has left in tmp",
        damage: |root| {
            put(root, "tmp/00000001.warc", b"unfinished\n");
            fs::copy(at(root, SMALL), root.join("tmp/00000002.warc")).unwrap();
            fs::create_dir(root.join("tmp/directory")).unwrap();
        },
        says: &[(BeyondRepair, "it is not a plain file")],
        repaired: &[SetAside],
        is_all_there: true,
    },
    Case {
        name: "a shared body is missing",
        damage: |root| fs::remove_file(holder(root)).unwrap(),
        says: &[
            (BeyondRepair, "its shared body is missing"),
            (BeyondRepair, "its shared body is missing"),
        ],
        repaired: &[SetAside, SetAside],
        is_all_there: false,
    },
    Case {
        name: "a byte of the header of a shared body",
        damage: |root| spoil(&holder(root), 40),
        says: &[
            (BeyondRepair, "a header does not match its checksum"),
            (BeyondRepair, "its shared body is damaged"),
            (BeyondRepair, "its shared body is damaged"),
        ],
        repaired: &[SetAside, SetAside, SetAside],
        is_all_there: false,
    },
    Case {
        name: "a byte of a shared body",
        damage: |root| spoil(&holder(root), 100_000),
        says: &[
            (BeyondRepair, "its body does not match its digest"),
            (BeyondRepair, "its body does not match its digest"),
            (BeyondRepair, "its body does not match its digest"),
        ],
        repaired: &[SetAside, SetAside, SetAside],
        is_all_there: false,
    },
    Case {
        name: "a shared body under another name",
        damage: |root| {
            let path = holder(root);
            fs::rename(&path, path.with_file_name(format!("{}.warc", "0".repeat(64)))).unwrap();
        },
        says: &[
            (Mendable, "its name is not that of its body"),
            (BeyondRepair, "its shared body is missing"),
            (BeyondRepair, "its shared body is missing"),
        ],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "another file in place of a shared body",
        damage: |root| {
            fs::copy(at(root, SMALL), holder(root)).unwrap();
        },
        says: &[
            (Mendable, "its name is not that of its body"),
            (BeyondRepair, "its shared body is damaged"),
            (BeyondRepair, "its shared body is damaged"),
        ],
        repaired: &[Repaired, Removed, SetAside, SetAside],
        is_all_there: false,
    },
    Case {
        name: "a file that refers to a body is damaged, and the body stays",
        damage: |root| {
            fs::remove_file(at(root, ONE)).unwrap();
            spoil(&at(root, OTHER), 40);
        },
        says: &[(BeyondRepair, "a header does not match its checksum")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a shared body whose entries are removed",
        damage: |root| {
            fs::remove_file(at(root, ONE)).unwrap();
            fs::remove_file(at(root, OTHER)).unwrap();
            put(root, "bodies/README", b"x");
        },
        says: &[(Leftover, "a shared body that no entry needs"), (Foreign, "")],
        repaired: &[Removed, Foreign],
        is_all_there: false,
    },
    Case {
        name: "the update file of an entry that shares its body",
        damage: |root| {
            let beside = |url| at(root, url).with_extension("update.warc");
            fs::copy(beside(LARGE), beside(ONE)).unwrap();
        },
        says: &[(Leftover, "an update that its entry already contains")],
        repaired: &[Removed],
        is_all_there: true,
    },
    Case {
        name: "permissions above the configured ones",
        damage: |root| {
            open_to_all(&at(root, SMALL));
            open_to_all(&root.join("http"));
            open_to_all(&root.join("secret"));
            open_to_all(&queued(root, WAITS));
            open_to_all(&root.join("partial"));
        },
        says: &[
            (Mendable, "its permissions are 755, but at most 700 is allowed"),
            (Mendable, "its permissions are 644, but at most 600 is allowed"),
            (Mendable, "its permissions are 644, but at most 600 is allowed"),
            (Mendable, "its permissions are 755, but at most 700 is allowed"),
            (Mendable, "its permissions are 644, but at most 600 is allowed"),
        ],
        repaired: &[Repaired, Repaired, Repaired, Repaired, Repaired],
        is_all_there: true,
    },
];

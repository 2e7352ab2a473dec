//! Each kind of damage, and its findings.

#![allow(unreachable_pub, reason = "a part of a test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::files::{at, cut, holder, open_to_all, put, queued, segments, spoil, variant, versions};
use super::support::full::{CHANGED, LARGE, ONE, OTHER, SMALL, VARIES, WAITS, WATCHED};
use super::support::place;
use wwwoffle_spool::Verdict::{
    self, BeyondRepair, Foreign, Leftover, Mendable, Removed, Repaired, SetAside,
};

/// A change to a full spool, the findings before and after a repair, and whether everything can
/// still be read.
pub struct Case {
    pub name: &'static str,
    pub damage: fn(&Path),
    pub says: &'static [(Verdict, &'static str)],
    pub repaired: &'static [Verdict],
    pub is_all_there: bool,
}

const OTHER_NAME: (Verdict, &str) = (Mendable, "it has not the name of its URL");

pub const CASES: &[Case] = &[
    Case { name: "nothing", damage: |_| {}, says: &[], repaired: &[], is_all_there: true },
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
        says: &[(BeyondRepair, "does not agree")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a byte of a large body, with what was learnt of it",
        damage: |root| spoil(&at(root, LARGE), 200_000),
        says: &[(BeyondRepair, "its body does not agree with its digest")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "cut short",
        damage: |root| cut(&at(root, LARGE), 1),
        says: &[(BeyondRepair, "its length is not the one it was stored with")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "empty, and not to be read",
        damage: |root| fs::write(at(root, SMALL), "").unwrap(),
        says: &[(BeyondRepair, "it does not begin as a WARC record")],
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
        name: "a large entry with what was learnt of it, under another name",
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
        name: "two entries that have changed names",
        damage: |root| {
            let (one, other) = (at(root, SMALL), at(root, CHANGED));
            fs::rename(&one, root.join("between")).unwrap();
            fs::rename(&other, &one).unwrap();
            fs::rename(root.join("between"), &other).unwrap();
        },
        says: &[OTHER_NAME, OTHER_NAME],
        // The other file is repaired together with this one.
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
        says: &[(BeyondRepair, "one that is not older has its own")],
        repaired: &[SetAside],
        is_all_there: true,
    },
    Case {
        name: "a damaged version",
        damage: |root| spoil(&versions(root)[1], 150_000),
        says: &[(BeyondRepair, "its body does not agree with its digest")],
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
        says: &[(BeyondRepair, "it is not a plain file"), (Foreign, "it is not of the spool")],
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
        says: &[(Foreign, "it is not of the spool")],
        repaired: &[Foreign],
        is_all_there: true,
    },
    Case {
        name: "a segment where an entry should be",
        damage: |root| fs::rename(&segments(root)[0], at(root, SMALL)).unwrap(),
        says: &[(BeyondRepair, "it is a part of an answer and no whole one")],
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
        name: "what was learnt is damaged",
        damage: |root| spoil(&at(root, LARGE).with_extension("update.warc"), 40),
        says: &[(Mendable, "what was learnt of its entry is damaged")],
        repaired: &[Repaired],
        is_all_there: false,
    },
    Case {
        name: "what was learnt of an entry that is gone",
        damage: |root| fs::remove_file(at(root, LARGE)).unwrap(),
        says: &[(Leftover, "an entry that is not there")],
        repaired: &[Removed],
        is_all_there: false,
    },
    Case {
        name: "what was learnt of another entry",
        damage: |root| {
            let learnt = at(root, LARGE).with_extension("update.warc");
            fs::copy(learnt, versions(root)[1].with_extension("update.warc")).unwrap();
        },
        says: &[(Leftover, "what was learnt of an earlier entry")],
        repaired: &[Removed],
        is_all_there: true,
    },
    Case {
        name: "an entry that hides those that vary",
        damage: |root| {
            let single = root.join(place(VARIES).relative_path());
            fs::rename(variant(root, 1), single).unwrap();
        },
        says: &[(Mendable, "it hides the entries of its URL that vary")],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "one that varies under the name of the single one",
        damage: |root| {
            let single = root.join(place(VARIES).relative_path());
            fs::rename(variant(root, 0), single).unwrap();
        },
        says: &[OTHER_NAME],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "a segment of another beginning",
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
        name: "a damaged segment, and what is none beside it",
        damage: |root| {
            spoil(&segments(root)[1], 100_000);
            put(segments(root)[1].parent().unwrap(), "what", b"x");
        },
        says: &[
            (BeyondRepair, "its body does not agree with its digest"),
            (BeyondRepair, "it has not the name of a segment"),
        ],
        repaired: &[SetAside, SetAside],
        is_all_there: false,
    },
    Case {
        name: "checkpoints without what they are for, and the other way round",
        damage: |root| {
            let beside = segments(root)[0].parent().unwrap().to_owned();
            put(&beside, "00000000000000000000-01234567.checkpoint", b"x");
            put(&beside, "00000000000000000000-76543210.unfinished", b"x");
        },
        says: &[
            (Leftover, "checkpoints of a download that is not here"),
            (Leftover, "whose checkpoints are not here"),
        ],
        repaired: &[Leftover, Leftover],
        is_all_there: true,
    },
    Case {
        name: "checkpoints that tell none",
        damage: |root| {
            let beside = segments(root)[0].parent().unwrap().to_owned();
            put(&beside, "00000000000000000000-01234567.checkpoint", b"x");
            put(&beside, "00000000000000000000-01234567.unfinished", b"x");
        },
        says: &[(BeyondRepair, "it tells no checkpoints")],
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
        says: &[(BeyondRepair, "it has not the name of its URL")],
        repaired: &[SetAside],
        is_all_there: true,
    },
    Case {
        name: "a schedule that is none",
        damage: |root| fs::copy(queued(root, WAITS), queued(root, WATCHED)).map(drop).unwrap(),
        says: &[(BeyondRepair, "a field is missing in a header")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a secret that is none: the secrets of the request go with it",
        damage: |root| fs::write(root.join("secret"), "x").unwrap(),
        says: &[
            (BeyondRepair, "its secrets were sealed with another key"),
            (BeyondRepair, "it is not a key of 32 bytes"),
        ],
        repaired: &[BeyondRepair, SetAside],
        is_all_there: true,
    },
    Case {
        name: "a state that is none, and a run",
        damage: |root| {
            fs::write(root.join("state"), "mode = onl").unwrap();
            put(root, "runs/0000000000000007", b"\xff");
        },
        says: &[(BeyondRepair, "it is no text of a run"), (BeyondRepair, "")],
        repaired: &[SetAside, SetAside],
        is_all_there: true,
    },
    Case {
        name: "files of nobody",
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
        name: "what a stop has left in tmp",
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
        name: "a body that two share is gone",
        damage: |root| fs::remove_file(holder(root)).unwrap(),
        says: &[
            (BeyondRepair, "its body is kept once, and is not there"),
            (BeyondRepair, "its body is kept once, and is not there"),
        ],
        repaired: &[SetAside, SetAside],
        is_all_there: false,
    },
    Case {
        name: "a byte of the header of a body that two share",
        damage: |root| spoil(&holder(root), 40),
        says: &[
            (BeyondRepair, "a header does not agree with its check"),
            (BeyondRepair, "its body is kept once, and is damaged there"),
            (BeyondRepair, "its body is kept once, and is damaged there"),
        ],
        repaired: &[SetAside, SetAside, SetAside],
        is_all_there: false,
    },
    Case {
        name: "a byte of a body that two share",
        damage: |root| spoil(&holder(root), 100_000),
        says: &[
            (BeyondRepair, "its body does not agree with its digest"),
            (BeyondRepair, "its body does not agree with its digest"),
            (BeyondRepair, "its body does not agree with its digest"),
        ],
        repaired: &[SetAside, SetAside, SetAside],
        is_all_there: false,
    },
    Case {
        name: "a body that two share, under another name",
        damage: |root| {
            let path = holder(root);
            fs::rename(&path, path.with_file_name(format!("{}.warc", "0".repeat(64)))).unwrap();
        },
        says: &[
            (Mendable, "it has not the name of its body"),
            (BeyondRepair, "its body is kept once, and is not there"),
            (BeyondRepair, "its body is kept once, and is not there"),
        ],
        repaired: &[Repaired],
        is_all_there: true,
    },
    Case {
        name: "another file where a body should be that two share",
        damage: |root| {
            fs::copy(at(root, SMALL), holder(root)).unwrap();
        },
        says: &[
            (Mendable, "it has not the name of its body"),
            (BeyondRepair, "its body is kept once, and is damaged there"),
            (BeyondRepair, "its body is kept once, and is damaged there"),
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
        says: &[(BeyondRepair, "a header does not agree with its check")],
        repaired: &[SetAside],
        is_all_there: false,
    },
    Case {
        name: "a body that two shared, and both are gone",
        damage: |root| {
            fs::remove_file(at(root, ONE)).unwrap();
            fs::remove_file(at(root, OTHER)).unwrap();
            put(root, "bodies/README", b"x");
        },
        says: &[(Leftover, "no entry needs it"), (Foreign, "")],
        repaired: &[Removed, Foreign],
        is_all_there: false,
    },
    Case {
        name: "what was learnt of an entry that shares its body lies beside it still",
        damage: |root| {
            let beside = |url| at(root, url).with_extension("update.warc");
            fs::copy(beside(LARGE), beside(ONE)).unwrap();
        },
        says: &[(Leftover, "has it in its own file")],
        repaired: &[Removed],
        is_all_there: true,
    },
    Case {
        name: "more may read it than is said",
        damage: |root| {
            open_to_all(&at(root, SMALL));
            open_to_all(&root.join("http"));
            open_to_all(&root.join("secret"));
            open_to_all(&queued(root, WAITS));
            open_to_all(&root.join("partial"));
        },
        says: &[
            (Mendable, "its permissions are 755, and 700 at most is meant"),
            (Mendable, "its permissions are 644, and 600 at most is meant"),
            (Mendable, "its permissions are 644, and 600 at most is meant"),
            (Mendable, "its permissions are 755, and 700 at most is meant"),
            (Mendable, "its permissions are 644, and 600 at most is meant"),
        ],
        repaired: &[Repaired, Repaired, Repaired, Repaired, Repaired],
        is_all_there: true,
    },
];

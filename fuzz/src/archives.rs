//! Any bytes as a third-party archive: WARC, WACZ or HAR, plain or compressed.
//!
//! However the bytes are interpreted, the stored entries are sound, and the report never counts
//! more entries than were read.

use std::path::Path;
use std::sync::Arc;

use super::sim::SimDisk;
use wwwoffle_archive::{
    ImportControl, ImportOptions, PersonalOwner, PlainPlacement, SHOWN, import,
};
use wwwoffle_spool::{Durability, Lookup, Options, Spool, Timestamp};
use wwwoffle_url::LocalHost;

/// The maximum length of a body in bytes, since a small file may expand to a large one.
const MAX_BODY: u64 = 1 << 20;

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let options = Options { durability: Durability::None, ..Options::default() };
    let opened = Spool::open_with(Arc::new(SimDisk::new()), Path::new("/spool"), &options);
    let (spool, _) = opened.expect("nothing fails on this disk");
    let name = format!("wwwoffle-archive-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, data).expect("there is room for it");
    let options = ImportOptions {
        replace: false,
        dry_run: false,
        private: PersonalOwner::Owner("local".to_owned()),
        max_body: MAX_BODY,
        scheme: "https".to_owned(),
        local: LocalHost::default(),
        now: Timestamp::from_second(1_800_000_000).expect("it is a time"),
    };
    let done = import(&spool, &path, &options, &PlainPlacement, &mut |_| ImportControl::Continue);
    std::fs::remove_file(&path).expect("it is there");
    let mut kept = 0;
    for summary in spool.list(None, None).expect("nothing fails on this disk") {
        let place = summary.expect("nothing fails on this disk").place;
        let found = spool.entry(&place).expect("nothing fails on this disk");
        assert!(matches!(found, Lookup::Found(_)), "{place:?}");
        kept += 1;
    }
    if let Ok(report) = done {
        assert!(report.refusals.len() <= SHOWN && report.kept >= kept, "{report:?}");
    }
}

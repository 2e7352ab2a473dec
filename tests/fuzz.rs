//! Runs every file of `fuzz/corpus/` through its target: inputs that once caused a fault, and the
//! seeds of each target.

use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
#[allow(
    clippy::pedantic,
    clippy::as_conversions,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    unexpected_cfgs,
    unreachable_pub,
    reason = "targets are tests: they fail by panicking; they are built by another workspace too"
)]
mod targets;

#[test]
#[ignore = "slow"]
fn fuzz_corpus_passes() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, run) in targets::TARGETS {
        let files = std::fs::read_dir(corpora.join(name)).unwrap_or_else(|_| panic!("{name}"));
        let files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        assert!(!files.is_empty(), "{name} has no seeds");
        for file in files {
            eprintln!("{}", file.display());
            run(&std::fs::read(&file).unwrap());
        }
    }
    let known: Vec<_> = targets::TARGETS.iter().map(|(name, _)| *name).collect();
    for directory in std::fs::read_dir(corpora).unwrap() {
        let name = directory.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name.as_str()), "{name} is not a target");
    }
}

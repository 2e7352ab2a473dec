//! Any text as a configuration of 2.9: the conversion gives a valid configuration of ours, and a
//! message for every line that was left out.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use wwwoffle_config::{Config, ImportedConfig};

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let file = scratch("old.conf");
    std::fs::write(&file, data).expect("it is written");
    let Ok(imported) = ImportedConfig::load(&file) else { return };
    if let Err(faults) = Config::parse(imported.text(), Path::new("/nowhere/at/all/w.conf")) {
        panic!("{faults}\n{}", imported.text());
    }
    for left_out in imported.left_out() {
        assert!(left_out.to_string().contains("old.conf:"));
    }
}

/// A file in a directory of this process, in memory if possible.
pub(crate) fn scratch(name: &str) -> PathBuf {
    static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let own = above.join(format!("wwwoffle-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&own).expect("the directory is made");
        own
    });
    DIRECTORY.join(name)
}

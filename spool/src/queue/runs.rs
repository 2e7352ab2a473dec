//! The texts of runs (recursive fetches): one file each, `runs/<id>`. The caller defines their
//! form.

use crate::durability::RUNS;
use crate::durability::Root;
use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::fs::names::names;
use crate::fs::whole::read_whole;
use crate::queue::membership::RunId;

/// The longest text of a run, in bytes.
pub const MAX_RUN: usize = 64 << 20;

/// Reads the text of a run. `None` if it is missing, or was invalid and set aside.
pub(crate) fn read(root: &Root, id: RunId) -> Result<Option<String>> {
    let path = path(root, id);
    let Some(bytes) = read_whole(&*root.disk, &path, MAX_RUN)? else {
        return Ok(None);
    };
    if let Ok(Ok(text)) = bytes.map(String::from_utf8) {
        return Ok(Some(text));
    }
    root.move_aside(&path, "it is not a text of a run");
    Ok(None)
}

/// Lists the runs that have a text, in no order. Other names are ignored.
pub(crate) fn list(root: &Root) -> Result<Vec<RunId>> {
    let directory = root.join(RUNS);
    let mut ids = Vec::new();
    for name in names(&*root.disk, &directory)? {
        let name = name?;
        ids.extend(name.to_str().and_then(|name| name.parse::<RunId>().ok()));
    }
    Ok(ids)
}

/// Writes the text of a run, durably.
pub(crate) fn write(root: &Root, id: RunId, text: &str) -> Result<()> {
    Error::check_length("the text of the run", text.len(), MAX_RUN)?;
    root.replace_file(&path(root, id), text.as_bytes())
}

/// The path of the text of a run.
pub(crate) fn path(root: &Root, id: RunId) -> PathBuf {
    root.join(RUNS).join(id.to_string())
}

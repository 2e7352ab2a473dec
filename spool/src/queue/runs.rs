//! Runs (recursive fetches): their texts, one file each, `runs/<id>`, and the end of their requests.
//! The caller defines the form of the texts.

use std::path::PathBuf;

use wwwoffle_url::Key;

use crate::durability::{RUNS, Root};
use crate::error::{Error, Result};
use crate::fs::names::names;
use crate::fs::parallel::lock;
use crate::fs::whole::read_whole;
use crate::queue::Queue;
use crate::queue::files::RequestFile;
use crate::queue::membership::RunId;
use crate::queue::outgoing::{OutgoingSummary, RequestKind};

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

impl Queue {
    /// Removes a run from every request. A request that only this run needs is removed. Returns the
    /// number of removed requests.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full; earlier removals stay done.
    pub fn forget_run(&self, run: RunId) -> Result<u64> {
        let is_of = |request: &OutgoingSummary| request.runs.iter().any(|member| member.run == run);
        let mut keys = Vec::new();
        self.visit(|request| keys.extend(is_of(request).then(|| request.place.key())));
        let mut count = 0;
        for key in keys {
            count += u64::from(self.forget_run_of(run, &key)?);
        }
        Ok(count)
    }

    /// Removes a run from the request with this key. Returns whether the request was removed.
    fn forget_run_of(&self, run: RunId, key: &Key) -> Result<bool> {
        let _changing = lock(&self.tree.outbox.changing);
        // The request may have been finished in the meantime, and its file may still exist.
        if self.summary(key).is_none() {
            return Ok(false);
        }
        let RequestFile::Valid(mut request) = self.read(key)? else { return Ok(false) };
        request.summary.runs.retain(|member| member.run != run);
        if request.summary.runs.is_empty() && request.summary.kind == RequestKind::Recursive {
            return self.remove_file(key);
        }
        self.write(&request)?;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    use super::*;
    use crate::durability::outbox::request_path;
    use crate::durability::{Durability, open};
    use crate::entry::place::Place;
    use crate::fs::SYSTEM_DISK;
    use crate::queue::membership::RunMembership;
    use crate::queue::outgoing::Outgoing;
    use crate::tree::Tree;
    use crate::tree::recover::Recovery;
    use crate::tree::versions::Versions;

    #[test]
    fn the_end_of_a_run_does_not_bring_a_finished_request_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let root = Root::new(Arc::new(SYSTEM_DISK), path, Durability::Batch);
        open::prepare(&root).unwrap();
        let tree = Arc::new(Tree::new(root, Versions::default()));
        let queue = Queue::open(Arc::clone(&tree), &mut Recovery::default()).unwrap();
        let url = CanonicalUrl::parse("http://a.example/", &LocalHost::default()).unwrap();
        let head = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec();
        let (place, queued) = (Place::of(&url), Timestamp::UNIX_EPOCH);
        let mut request = Outgoing::new(place, head, RequestKind::Recursive, queued);
        let runs = [7, 8].map(RunId::from_number);
        request.summary.runs = runs.map(|run| RunMembership { run, depth: 1 }).to_vec();
        queue.add(&request).unwrap();
        queue.finish(&request).unwrap();
        // It was in the list of keys that `forget_run` had made.
        let key = request.summary.place.key();
        assert!(!queue.forget_run_of(runs[0], &key).unwrap());
        assert!(queue.is_empty());
        tree.write_batch();
        assert!(!request_path(directory.path(), &key).exists());
    }
}

//! The reference model for the test of downloads.

use std::collections::BTreeMap;

use super::super::LeavingRules;
use super::super::world::ATTEMPTS;

/// The same as `MAX_REPLACED` of the downloads.
const MAX_REPLACED: usize = 3;

/// The behaviour of the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OriginManner {
    Well,
    Down,
    /// It sends ranges that were not requested.
    Odd,
    /// It does not support ranges.
    Plain,
}

/// The length of a version of the page in bytes.
pub(super) fn length(version: u64) -> u64 {
    20_000 + version
}

/// The reference model.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) leaving: LeavingRules,
    pub(super) version: u64,
    pub(super) manner: OriginManner,
    pub(super) is_online: bool,
    pub(super) disk_fails: bool,
    pub(super) run: Option<PredictedRun>,
    pub(super) copy: Option<u64>,
    pub(super) part: Option<(u64, u64)>,
    /// For each client, by number: the version, the number of received bytes, and whether the body
    /// ended complete (`None` before its end).
    pub(super) clients: BTreeMap<usize, (u64, u64, Option<bool>)>,
}

/// The download under way.
#[derive(Clone, Debug)]
pub(super) struct PredictedRun {
    pub(super) version: u64,
    pub(super) here: u64,
    /// The number of bytes that had arrived when the body last broke off. `attempts` counts the
    /// consecutive attempts without progress.
    pub(super) had: u64,
    pub(super) attempts: usize,
    pub(super) is_open: bool,
    pub(super) is_spilled: bool,
    pub(super) readers: Vec<usize>,
    pub(super) replaced: usize,
}

impl PredictedRun {
    pub(super) fn fresh(version: u64, replaced: usize) -> Self {
        Self {
            version,
            here: 0,
            had: 0,
            attempts: 0,
            is_open: true,
            is_spilled: false,
            readers: Vec::new(),
            replaced,
        }
    }
}

impl Model {
    pub(super) fn join(&mut self, number: usize) {
        if self.run.is_none() {
            if self.manner == OriginManner::Down {
                return;
            }
            let mut run = PredictedRun::fresh(self.version, 0);
            if let Some((version, bytes)) = self.part {
                match self.manner {
                    OriginManner::Well if version == self.version => {
                        (run.here, run.had) = (bytes, bytes);
                    }
                    OriginManner::Odd => self.part = None,
                    _ => {}
                }
            }
            self.run = Some(run);
        }
        let run = self.run.as_mut().unwrap();
        run.readers.push(number);
        self.clients.insert(number, (run.version, run.here, None));
    }

    pub(super) fn leave(&mut self, number: usize) {
        self.clients.remove(&number);
        let Some(run) = &mut self.run else { return };
        run.readers.retain(|reader| *reader != number);
        self.look_for_readers();
    }

    /// Ends the download if it has no readers and may not continue without them.
    pub(super) fn look_for_readers(&mut self) {
        let Some(run) = &self.run else { return };
        let percent = run.here * 100 > length(run.version) * u64::from(self.leaving.above_percent);
        let goes_on = self.leaving.finishes || (self.leaving.keeps && percent);
        if run.readers.is_empty() && (run.is_spilled || !goes_on) {
            self.end(false, self.leaving.keeps && !percent);
        } else if run.readers.is_empty() && !self.is_online {
            self.end(false, self.leaving.keeps_broken);
        }
    }

    /// Bytes arrive, up to `here` in total.
    pub(super) fn comes(&mut self, here: u64) {
        let Some(run) = &mut self.run else { return };
        run.is_spilled |= self.disk_fails && here > run.here;
        run.here = here;
        for reader in &run.readers {
            self.clients.get_mut(reader).unwrap().1 = here;
        }
        self.look_for_readers();
    }

    pub(super) fn break_off(&mut self) {
        let Some(run) = self.run.as_mut().filter(|run| run.is_open) else { return };
        if run.here > run.had {
            (run.attempts, run.had) = (0, run.here);
        }
        run.is_open = false;
        if run.attempts == ATTEMPTS || !self.is_online {
            return self.end(false, self.leaving.keeps_broken);
        }
        run.attempts += 1;
    }

    pub(super) fn wait(&mut self) {
        let Some(run) = self.run.as_mut().filter(|run| !run.is_open) else { return };
        let is_same = run.version == self.version;
        match self.manner {
            OriginManner::Down => self.end(false, self.leaving.keeps_broken),
            OriginManner::Well | OriginManner::Plain | OriginManner::Odd
                if run.here == 0 && is_same =>
            {
                run.is_open = true;
            }
            OriginManner::Well if is_same => run.is_open = true,
            manner => {
                let (replaced, was_odd) =
                    (run.replaced, manner == OriginManner::Odd && run.here > 0);
                self.end(false, false);
                if !self.leaving.finishes || replaced == MAX_REPLACED {
                    return;
                }
                // An unusable range causes another request. If a segment is found for that request,
                // its range is unusable too, and the segment is removed.
                if was_odd {
                    self.part = None;
                }
                if !self.disk_fails {
                    self.run = Some(PredictedRun::fresh(self.version, replaced + 1));
                }
            }
        }
    }

    pub(super) fn end(&mut self, is_whole: bool, keeps: bool) {
        let Some(run) = self.run.take() else { return };
        for reader in &run.readers {
            self.clients.get_mut(reader).unwrap().2 = Some(is_whole);
        }
        if is_whole && !run.is_spilled {
            (self.copy, self.part) = (Some(run.version), None);
        } else if keeps && !run.is_spilled && !self.disk_fails && run.here > 0 {
            let had = self.part.filter(|(version, _)| *version == run.version);
            self.part = Some((run.version, had.map_or(0, |(_, bytes)| bytes).max(run.here)));
        }
    }
}

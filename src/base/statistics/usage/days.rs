//! The days on disk: writes the counts of the accounts, and restores those of a day and its month.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use jiff::civil::Date;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use wwwoffle_spool::Statistics as StoredUsage;

use super::super::lock;
use super::{Usage, UsageAccount};

/// Characters that a name in the file must not contain.
const NOT_PLAIN: &AsciiSet = &CONTROLS.add(b' ').add(b'%');

impl Usage {
    /// The day of the counts. `None` before the file of a day has been read.
    #[must_use]
    pub fn day(&self) -> Option<Date> {
        *lock(&self.day)
    }

    /// The counts of today, by owner.
    #[must_use]
    pub fn counts(&self) -> StoredUsage {
        let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
        let mut usage = StoredUsage { rest: self.others.counts(), ..StoredUsage::default() };
        for (name, account) in accounts.iter() {
            let counts = account.counts();
            if !counts.is_empty() {
                usage.hosts.entry(encode(name)).or_default().counts = counts;
            }
        }
        usage
    }

    /// Whether the counts have changed since the last write, or are being written.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        !self.written.try_lock().is_ok_and(|written| *written == self.counts())
    }

    /// Writes the counts of the day with `write`, if they have changed since the last write. Blocks
    /// during another write.
    ///
    /// # Errors
    ///
    /// Those of `write`. The next call then writes the counts.
    pub fn write_changes<E>(
        &self,
        write: impl FnOnce(Date, &StoredUsage) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut written = lock(&self.written);
        let Some(day) = self.day().filter(|_| self.may_write.load(Relaxed)) else { return Ok(()) };
        let counts = self.counts();
        if *written != counts {
            write(day, &counts)?;
            *written = counts;
        }
        Ok(())
    }

    /// Whether the counts of the day were read.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        self.may_write.load(Relaxed)
    }

    /// Begins a day with the stored counts of its month. `None` stands for counts that could not be
    /// read, and are not overwritten. Writes the last counts of the day before with `write`. Blocks
    /// during another write.
    ///
    /// # Errors
    ///
    /// Those of `write`. The day has begun nevertheless.
    pub fn begin_day<E>(
        &self,
        day: Date,
        month: Option<&[(Date, StoredUsage)]>,
        write: impl FnOnce(Date, &StoredUsage) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut written = lock(&self.written);
        // Before the first day, the accounts only have counts that were not restored yet.
        // A day begins again after its file could not be read. Its counts then go on.
        let ended = lock(&self.day).replace(day).filter(|ended| *ended != day).map(|ended| {
            let counts = self.counts();
            let accounts = self.accounts.read().unwrap_or_else(PoisonError::into_inner);
            accounts.values().for_each(|account| account.reset());
            self.others.reset();
            (ended, counts)
        });
        let ended = ended.filter(|_| self.may_write.load(Relaxed));
        self.may_write.store(month.is_some(), Relaxed);
        for (stored, usage) in month.unwrap_or_default() {
            for (name, counts) in &usage.hosts {
                self.account(&decode(name)).restore(&counts.counts, *stored == day);
            }
            self.others.restore(&usage.rest, *stored == day);
        }
        *written = StoredUsage::default();
        // An account in use may count at any time.
        let is_used =
            |account: &Arc<UsageAccount>| Arc::strong_count(account) > 1 || !account.is_unused();
        let mut accounts = self.accounts.write().unwrap_or_else(PoisonError::into_inner);
        accounts.retain(|_, account| is_used(account));
        drop(accounts);
        ended.map_or(Ok(()), |(ended, counts)| write(ended, &counts))
    }
}

/// The name of an owner in a file.
pub(super) fn encode(name: &str) -> String {
    utf8_percent_encode(name, NOT_PLAIN).to_string()
}

/// The owner's name that stands in a file.
#[must_use]
pub fn decode(name: &str) -> String {
    percent_decode_str(name).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::UsageCount;
    use super::super::account::tests::{counts, date};
    use super::*;
    use crate::base::statistics::Outcome;

    type Month<'a> = Option<&'a [(Date, StoredUsage)]>;

    /// Begins a day. Returns the written counts of the day before.
    fn ended(usage: &Usage, day: Date, month: Month<'_>) -> Option<(Date, StoredUsage)> {
        let mut ended = None;
        let begun = usage.begin_day(day, month, |day, counts| -> Result<(), ()> {
            ended = Some((day, counts.clone()));
            Ok(())
        });
        begun.unwrap();
        ended
    }

    /// The counts that a write writes.
    fn written(usage: &Usage) -> Option<(Date, StoredUsage)> {
        let mut written = None;
        let done = usage.write_changes(|day, counts| -> Result<(), ()> {
            written = Some((day, counts.clone()));
            Ok(())
        });
        done.unwrap();
        written
    }

    #[test]
    fn a_slow_write_is_not_overtaken_by_a_later_one() {
        let usage = Usage::default();
        assert_eq!(ended(&usage, date("2026-11-22"), Some(&[])), None);
        let disk = Mutex::new(Vec::new());
        let write = |_: Date, counts: &StoredUsage| -> Result<(), ()> {
            lock(&disk).push(counts.hosts["local"].counts.of("requests"));
            Ok(())
        };
        usage.account("local").count(Outcome::Hit);
        std::thread::scope(|scope| {
            let (snapshot, taken) = std::sync::mpsc::sync_channel(1);
            let (go_on, may_go_on) = std::sync::mpsc::sync_channel(1);
            let usage = &usage;
            scope.spawn(move || {
                usage.write_changes(|day, counts| {
                    snapshot.send(()).unwrap();
                    may_go_on.recv().unwrap();
                    write(day, counts)
                })
            });
            taken.recv().unwrap();
            usage.account("local").count(Outcome::Hit);
            let last = scope.spawn(move || usage.write_changes(write));
            // A last write that did not wait would have ended, or would end soon.
            assert!(usage.has_changed() && !last.is_finished());
            go_on.send(()).unwrap();
        });
        assert_eq!(*lock(&disk), [1, 2]);
    }

    #[test]
    fn days_begin_with_their_stored_counts() {
        let usage = Usage::default();
        let (first, second) = (date("2026-11-22"), date("2026-11-23"));
        let mut stored = StoredUsage::default();
        stored.hosts.entry("user:a%20b".to_owned()).or_default().counts = counts("requests", 5);
        assert_eq!(ended(&usage, first, Some(&[(first, stored.clone())])), None);
        usage.account("user:a b").count(Outcome::Hit);
        assert_eq!(usage.write_changes(|_, _| Err("the disk fails")), Err("the disk fails"));
        assert!(usage.has_changed());
        let (day, counts) = written(&usage).unwrap();
        let requests = |usage: &StoredUsage| usage.hosts["user:a%20b"].counts.of("requests");
        assert_eq!((day, requests(&counts)), (first, 6));
        assert!(!usage.has_changed());
        assert_eq!(written(&usage), None, "nothing has changed");
        // The clock may go back to a day that has counts already.
        for (day, month, want) in [
            (second, vec![(first, counts.clone())], (0, 6)),
            (first, vec![(first, counts.clone())], (6, 0)),
        ] {
            assert_ne!(ended(&usage, day, Some(&month)).unwrap().0, day);
            let account = usage.account("user:a b");
            let requests = (account.counts().of("requests"), account.before(UsageCount::Requests));
            assert_eq!(requests, want, "{day}");
        }
        assert!(ended(&usage, second, None).is_some());
        usage.account("local").count(Outcome::Hit);
        assert_eq!(written(&usage), None, "a file that cannot be read is not overwritten");
        assert!(!usage.is_restored());
        assert_eq!(ended(&usage, second, Some(&[])), None, "the same day goes on");
        let (day, counts) = written(&usage).unwrap();
        assert_eq!((day, counts.hosts["local"].counts.of("requests")), (second, 1));
    }
}

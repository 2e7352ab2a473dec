//! Compressing what is kept, and expanding it again: some URLs, those of a host, or all.

use std::collections::HashSet;

use wwwoffle_spool::{Error, Place, Rewritten, Spool};

use crate::api::CompressedUrls;
use crate::proxy::owner::Places;

/// The file system gives files so many bytes at once, or a multiple of it.
const BLOCK: u64 = 4_096;

/// What is to be rewritten.
#[derive(Clone, Debug)]
pub enum Which {
    /// What is kept of these URLs.
    Urls(Vec<Places>),
    /// What is kept of a host, with its port, under all schemes; of all hosts if none is given.
    Hosts(Option<String>),
}

/// How.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Compressed, where that saves enough.
    Compressed,
    /// As it was before it was compressed.
    Plain,
}

/// Rewrites entries and their older versions, each by itself: whenever it ends, each is there whole. `go_on` is
/// asked before each; `None`: it said no.
///
/// # Errors
///
/// When the disk fails or is full. What was rewritten before stays so.
pub fn carry_out(
    spool: &Spool,
    which: &Which,
    form: Form,
    go_on: impl Fn() -> bool,
) -> Result<Option<CompressedUrls>, Error> {
    let mut done = CompressedUrls::default();
    match which {
        Which::Urls(all) => {
            for places in all {
                let (mut seen, mut is_any) = (HashSet::new(), false);
                for place in [&places.own, &places.public] {
                    if !seen.insert(place.key()) {
                        continue;
                    }
                    if !go_on() {
                        return Ok(None);
                    }
                    for entry in spool.entries(place)?.found {
                        is_any = true;
                        one(spool, entry.place(), form, &mut done)?;
                    }
                }
                if !is_any {
                    done.missing.push(places.public.url().to_owned());
                }
            }
        }
        Which::Hosts(host) => {
            for summary in spool.list(None, host.as_deref())? {
                if !go_on() {
                    return Ok(None);
                }
                one(spool, &summary?.place, form, &mut done)?;
            }
        }
    }
    Ok(Some(done))
}

/// Rewrites an entry and its older versions.
fn one(spool: &Spool, place: &Place, form: Form, done: &mut CompressedUrls) -> Result<(), Error> {
    note(rewrite(spool, place, form)?, done);
    for version in spool.versions(place)? {
        let rewritten = match form {
            Form::Compressed => spool.compress_version(place, version.stored)?,
            Form::Plain => spool.expand_version(place, version.stored)?,
        };
        note(rewritten, done);
    }
    Ok(())
}

fn rewrite(spool: &Spool, place: &Place, form: Form) -> Result<Rewritten, Error> {
    match form {
        Form::Compressed => spool.compress(place),
        Form::Plain => spool.expand(place),
    }
}

fn note(rewritten: Rewritten, done: &mut CompressedUrls) {
    let blocks = |len: u64| len.div_ceil(BLOCK).saturating_mul(BLOCK);
    match rewritten {
        Rewritten::Done { before, after } => {
            done.rewritten += 1;
            done.before = done.before.saturating_add(blocks(before));
            done.after = done.after.saturating_add(blocks(after));
        }
        Rewritten::Already => done.already += 1,
        Rewritten::NotWorth => done.not_worth += 1,
        // What has come instead is new, or nothing.
        Rewritten::Overtaken | Rewritten::Missing => {}
    }
}

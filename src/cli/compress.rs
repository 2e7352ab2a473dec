//! `wwwoffle gzip` and `gunzip`: compress or decompress entries, through the daemon or without one.

use super::args::Compress;
use super::control::Control;
use super::failure::{VerbFailure, VerbResult};
use super::{Terminal, VerbContext, files, offline};
use crate::base::exit::ExitStatus;
use crate::base::owner::Owner;
use crate::base::shown;
use crate::storage::edit::compress::{CompressTarget, StoredForm, rewrite_entries};
use crate::storage::purge::room::min_free_at;
use wwwoffle_api::{CompressEvent, CompressedUrls, EntriesToCompress};

/// Compresses or decompresses the named entries.
pub(super) fn run(typed: Compress, form: StoredForm, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let Compress { all: _, host, owner, urls } = typed;
    let which = if urls.is_empty() {
        CompressTarget::Hosts(host.clone())
    } else {
        let local = settings.local_host()?;
        let places = urls.iter().map(|url| files::places(url, &owner, &local));
        CompressTarget::Urls(places.collect::<VerbResult<_>>()?)
    };
    let is_all = urls.is_empty() && host.is_none();
    let owner = (owner != Owner::Local).then(|| owner.to_string());
    let expand = form == StoredForm::Plain;
    let wanted = EntriesToCompress { urls, host, all: is_all, expand, owner };
    let done = offline::with_or_without_daemon(
        settings,
        || request_compression(&settings.control()?, &wanted),
        |spool| {
            let spare = min_free_at(&settings.config()?, spool.root());
            let done = rewrite_entries(spool, &which, form, (spare, &|| true))
                .map_err(|error| VerbFailure::failed("the spool failed", &error))?;
            Ok(done.unwrap_or_default())
        },
    )?;
    print(&done, form, terminal)
}

fn request_compression(
    control: &Control,
    wanted: &EntriesToCompress,
) -> VerbResult<CompressedUrls> {
    match control.post_for_last("/api/entries/compress", wanted)? {
        Some(CompressEvent::Done(done)) => Ok(done),
        Some(CompressEvent::Failed(why)) => Err(VerbFailure::plain(shown::line(&why))),
        None => Err(VerbFailure::plain("the daemon ended before the work was done")),
    }
}

fn print(done: &CompressedUrls, form: StoredForm, terminal: &mut Terminal<'_>) -> VerbResult {
    let (word, already) = match form {
        StoredForm::Compressed => ("compressed", "compressed already"),
        StoredForm::Plain => ("expanded", "not compressed"),
    };
    let (before, after) = (shown::bytes(done.before), shown::bytes(done.after));
    let out = &mut *terminal.stdout;
    match done.rewritten {
        0 => writeln!(out, "{word} nothing")?,
        1 => writeln!(out, "{word} 1 file, {before} to {after}")?,
        count => writeln!(out, "{word} {count} files, {before} to {after}")?,
    }
    if done.already > 0 {
        writeln!(out, "{already}: {}", done.already)?;
    }
    if done.not_worth > 0 {
        writeln!(out, "would save too little: {}", done.not_worth)?;
    }
    for url in &done.missing {
        writeln!(terminal.stderr, "wwwoffle: not in the spool: {}", shown::line(url))?;
    }
    if let Some(why) = &done.first_failure {
        let why = shown::line(why);
        writeln!(terminal.stderr, "wwwoffle: not {word}: {}, the first: {why}", done.failed)?;
    }
    let is_all = done.missing.is_empty() && done.failed == 0;
    Ok(if is_all { ExitStatus::Done } else { ExitStatus::Failed })
}

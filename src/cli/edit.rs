//! `wwwoffle mv`, `write` and `rm`: edit the spool, through the daemon or without one.

use bytes::Bytes;
use wwwoffle_spool::{Place, Spool, Timestamp};
use wwwoffle_url::{CanonicalUrl, SCHEMES, url_encode_form_args};

use super::args::{Mv, Write};
use super::failure::{VerbFailure, VerbResult};
use super::{Terminal, VerbContext, files, offline};
use crate::base::error_chain::error_chain;
use crate::base::exit::ExitStatus;
use crate::base::owner::{Owner, Places};
use crate::base::{clock, shown};
use crate::storage::edit::rename::Rename;
use crate::storage::edit::write::{Intake, IntakeError, head_of, type_of};
use crate::storage::store::timestamp;
use wwwoffle_api::{DeletedUrls, EntriesToDelete, EntriesToMove, MovedUrls, WrittenUrl};

/// The number of bytes of standard input that are read at once.
const PIECE: usize = 64 * 1024;

/// Returns the owner as an API request names it. `None` for [`Owner::Local`], which the daemon
/// assumes for requests through its socket.
fn named(owner: &Owner) -> Option<String> {
    (*owner != Owner::Local).then(|| owner.to_string())
}

fn spool_failed(error: &wwwoffle_spool::Error) -> VerbFailure {
    VerbFailure::failed("the spool failed", error)
}

/// Removes the entries of `urls`: those of `owner` and those of everyone.
pub(super) fn remove(
    owner: &Owner,
    urls: Vec<String>,
    context: &mut VerbContext<'_>,
) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let local = settings.local_host()?;
    let places = urls.iter().map(|url| files::places(url, owner, &local));
    let places = places.collect::<VerbResult<Vec<_>>>()?;
    let wanted = EntriesToDelete { urls, owner: named(owner) };
    let gone: DeletedUrls = offline::with_or_without_daemon(
        settings,
        || settings.control()?.post("/api/entries/delete", &wanted),
        |spool| forget(spool, &places).map_err(|error| spool_failed(&error)),
    )?;
    for url in &gone.deleted {
        writeln!(terminal.stdout, "removed {}", shown::address(url))?;
    }
    for url in &gone.missing {
        writeln!(terminal.stderr, "wwwoffle: not in the spool: {}", shown::address(url))?;
    }
    Ok(if gone.missing.is_empty() { ExitStatus::Done } else { ExitStatus::Failed })
}

fn forget(spool: &Spool, all: &[Places]) -> Result<DeletedUrls, wwwoffle_spool::Error> {
    let mut gone = DeletedUrls::default();
    for places in all {
        let mut removed = false;
        for place in places.to_delete(spool)? {
            removed |= spool.remove(&place)?;
        }
        let list = if removed { &mut gone.deleted } else { &mut gone.missing };
        list.push(places.address());
    }
    Ok(gone)
}

/// Stores entries under other URLs.
pub(super) fn rename(typed: Mv, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let Mv { mut below, force, owner, mut from, mut to } = typed;
    if let (Some(old), Some(new)) = (former_host(&from), former_host(&to)) {
        (below, from, to) = (true, old, new);
    }
    let local = settings.local_host()?;
    let wanted = EntriesToMove { from, to, below, force, owner: named(&owner) };
    let rename = Rename::read(&wanted, &owner, &local)
        .map_err(|error| VerbFailure::plain(error_chain(&error)))?;
    let (mut is_all, mut count) = (true, 0_usize);
    loop {
        let moved: MovedUrls = offline::with_or_without_daemon(
            settings,
            || settings.control()?.post("/api/entries/move", &wanted),
            |spool| rename.move_urls(spool, &local).map_err(|error| spool_failed(&error)),
        )?;
        count += moved.moved.len();
        is_all &= print(&moved, terminal)?;
        if !moved.more {
            break;
        }
    }
    if count == 0 && is_all {
        return Err(VerbFailure::plain(format_args!(
            "not in the spool: {}",
            shown::line(&wanted.from)
        )));
    }
    Ok(if is_all { ExitStatus::Done } else { ExitStatus::Failed })
}

/// Returns the URL of a host that is written as in WWWOFFLE 2.9 and in `ls`: `http/www.example.org`.
fn former_host(text: &str) -> Option<String> {
    let (scheme, host) = text.trim_end_matches('/').split_once('/')?;
    let is_host = SCHEMES.contains(&scheme) && !host.is_empty() && !host.contains('/');
    is_host.then(|| format!("{scheme}://{host}/"))
}

/// Prints the moved URLs, and returns whether all were moved.
fn print(moved: &MovedUrls, terminal: &mut Terminal<'_>) -> VerbResult<bool> {
    for one in &moved.moved {
        let (from, to) = (shown::line(&one.from), shown::line(&one.to));
        writeln!(terminal.stdout, "moved {from} to {to}")?;
    }
    for url in &moved.taken {
        let url = shown::line(url);
        writeln!(terminal.stderr, "wwwoffle: already stored: {url}: --force replaces it")?;
    }
    for one in &moved.failed {
        let (url, error) = (shown::line(&one.url), shown::line(&one.error));
        writeln!(terminal.stderr, "wwwoffle: not moved: {url}: {error}")?;
    }
    Ok(moved.taken.is_empty() && moved.failed.is_empty())
}

/// Stores standard input as a response.
pub(super) fn write(typed: &Write, context: &mut VerbContext<'_>) -> VerbResult {
    let VerbContext { settings, terminal } = context;
    let local = settings.local_host()?;
    let owner = typed.owner.clone().unwrap_or(Owner::Local);
    let url = CanonicalUrl::parse(&typed.url, &local)
        .map_err(|error| files::invalid_url(&typed.url, &error))?;
    let mut input = ResponseInput::new(typed, &url);
    let stdin = &mut *terminal.stdin;
    let mut next = || input.next(stdin);
    let control = settings.control()?;
    let written: WrittenUrl = if control.is_there() {
        let mut path =
            format!("/api/entries/write?url={}", url_encode_form_args(typed.url.as_bytes()));
        if let Some(owner) = &typed.owner {
            let owner = owner.to_string();
            path = format!("{path}&owner={}", url_encode_form_args(owner.as_bytes()));
        }
        control.upload(&path, &mut next)?
    } else {
        let places = Places::of_url(&url, &owner);
        let is_own = typed.owner.is_some() || places.credentials;
        let place = if is_own { places.own } else { places.public };
        store_response(&offline::spool(settings)?, &place, timestamp(clock::now()), &mut next)?
    };
    let (url, bytes) = (shown::line(&written.url), shown::bytes(written.bytes));
    writeln!(terminal.stdout, "wrote {bytes} {url}")?;
    Ok(ExitStatus::Done)
}

fn store_response(
    spool: &Spool,
    place: &Place,
    now: Timestamp,
    next: &mut dyn FnMut() -> VerbResult<Option<Bytes>>,
) -> VerbResult<WrittenUrl> {
    let refused = |refused: &IntakeError| VerbFailure::plain(error_chain(refused));
    let mut intake = Intake::new(place.clone(), now);
    while let Some(bytes) = next()? {
        intake.push(spool, &bytes).map_err(|error| refused(&error))?;
    }
    let stored = intake.finish().map_err(|error| refused(&error))?;
    spool.flush().map_err(|error| spool_failed(&error))?;
    Ok(WrittenUrl { url: place.url().to_owned(), bytes: stored.body_len })
}

/// The response to store, in pieces: standard input, preceded by a generated head unless the input
/// begins with one (`--headers`).
struct ResponseInput {
    head: Option<String>,
}

impl ResponseInput {
    fn new(typed: &Write, url: &CanonicalUrl) -> Self {
        let guessed = || type_of(url.path()).to_owned();
        let content_type = || typed.content_type.clone().unwrap_or_else(guessed);
        Self { head: (!typed.headers).then(|| head_of(&content_type())) }
    }

    fn next(&mut self, stdin: &mut dyn std::io::BufRead) -> VerbResult<Option<Bytes>> {
        if let Some(head) = self.head.take() {
            return Ok(Some(head.into()));
        }
        let mut piece = vec![0; PIECE];
        loop {
            match stdin.read(&mut piece) {
                Ok(0) => return Ok(None),
                Ok(read) => {
                    piece.truncate(read);
                    return Ok(Some(piece.into()));
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let what = "standard input cannot be read";
                    return Err(VerbFailure::failed(what, &error));
                }
            }
        }
    }
}

//! Import and export of archives, for the command line and the daemon: connects the crate `archive`
//! with owners and variants.

use hyper::header::CONTENT_TYPE;
use jiff::Timestamp;
use wwwoffle_archive::{ImportOptions, MAX_BODY, PersonalOwner};
use wwwoffle_spool::Entry;
use wwwoffle_url::LocalHost;

use crate::base::owner::{BadOwner, Owner};
use crate::storage::versions::text::extract;
use wwwoffle_api::ImportRequest;
use wwwoffle_http::caching::coding::{CodingTerms, Delivery};
use wwwoffle_http::decoding::{Decoder, Output};
use wwwoffle_http::head::capture_in;
use wwwoffle_http::head::read_response;

/// Number of bytes of a page, as stored and as decoded, that are searched for its title.
const TITLE_WITHIN: usize = 64 << 10;

/// Returns the title of a stored page for an export, if there is one near its beginning. That of a
/// capture says so.
#[must_use]
pub fn title(entry: &Entry) -> Option<String> {
    let title = own_title(entry);
    let Some(archive) = capture_in(entry.request()) else { return title };
    Some(format!("{} [copy from the web archive {archive}]", title.unwrap_or_default()))
}

fn own_title(entry: &Entry) -> Option<String> {
    let (status, fields) = read_response(entry.head()).ok()?;
    let codings = match CodingTerms::of_a_reader().deliver(status, &fields) {
        Delivery::Decoded { undone, .. } => undone,
        _ => Vec::new(),
    };
    let (mut piece, mut body) = (vec![0; TITLE_WITHIN], vec![0; TITLE_WITHIN]);
    let read = entry.verified().read_at(0, &mut piece).ok()?;
    let (mut decoder, mut input, mut filled) = (Decoder::new(&codings), piece.get(..read)?, 0);
    while let Some(rest) = body.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match decoder.decode(&mut input, false, rest) {
            Ok(Output::Bytes(length)) => filled += length,
            Ok(Output::Busy) => {}
            // The title is searched in the bytes decoded so far, even if the body is faulty.
            Ok(Output::Hungry | Output::End) | Err(_) => break,
        }
    }
    let kind = fields.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    extract(kind, entry.url(), body.get(..filled)?)?.title
}

/// Converts a request for an import to the options of the crate `archive`.
///
/// # Errors
///
/// [`BadOwner`] if the owner is invalid.
pub fn options(
    wanted: &ImportRequest,
    local: LocalHost,
    now: Timestamp,
) -> Result<ImportOptions, BadOwner> {
    let owner = match &wanted.owner {
        Some(owner) => owner.parse()?,
        None => Owner::Local,
    };
    let private = if wanted.everyone {
        PersonalOwner::Everyone
    } else {
        PersonalOwner::Owner(owner.to_string())
    };
    Ok(ImportOptions {
        replace: wanted.replace,
        dry_run: wanted.dry_run,
        private,
        max_body: wanted.max_body.unwrap_or(MAX_BODY),
        scheme: wanted.scheme.clone().unwrap_or_else(|| "https".to_owned()),
        local,
        now,
    })
}

//! Import and export of archives, for the command line and the daemon: connects the crate `archive`
//! with owners and variants.

use std::sync::{Mutex, PoisonError};

use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use hyper::http::uri::PathAndQuery;
use jiff::Timestamp;
use wwwoffle_archive::{ImportOptions, MAX_BODY, PersonalOwner, Placement, Reason};
use wwwoffle_spool::{Entry, Place};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::base::basic::Login;
use crate::base::owner::{BadOwner, Owner};
use crate::base::site_login::SiteLogin;
use crate::base::spelling::Spelling;
use crate::proxy::freshen;
use crate::storage::versions::text::extract;
use wwwoffle_api::ImportRequest;
use wwwoffle_api::fetch_spec::RecursiveRequest;
use wwwoffle_http::caching::coding::{CodingTerms, Delivery};
use wwwoffle_http::decoding::{Decoder, Output};
use wwwoffle_http::head::{LOGIN, read_request, read_response, with_field};

/// Number of bytes of a page, as stored and as decoded, that are searched for its title.
const TITLE_WITHIN: usize = 64 << 10;

/// Places imported responses where the proxy would have stored them.
#[derive(Debug, Default)]
pub struct Placer {
    /// The last login and its record. All pages of a login have one record.
    last_login: Mutex<Option<([u8; 32], String)>>,
}

impl Placement for Placer {
    fn place(
        &self,
        url: &CanonicalUrl,
        owner: Option<&str>,
        request: &[u8],
        answer: &[u8],
    ) -> Place {
        let place = Place::of(&url.without_credentials()).owned_by(owner.unwrap_or_default());
        let login = url.user().filter(|_| owner.is_some()).map(|user| Place::login_name(&user));
        let with_login = |variant: String| match &login {
            Some(name) => Place::for_login(name, &variant),
            None => variant,
        };
        let fields = read_response(answer).map(|(_, fields)| fields).unwrap_or_default();
        let Ok(asked) = read_request(request, b"") else {
            let variant = freshen::variant(&fields, &HeaderMap::new());
            return place.with_variant(&with_login(variant));
        };
        let target = asked.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let varies = freshen::variant(&fields, &asked.headers);
        // The URL of a response to a form is not the target of any request, so it has no other
        // spelling.
        let spelling =
            if url.is_form_answer() { Spelling::default() } else { Spelling::of(target, url) };
        place.with_variant(&with_login(spelling.variant(&varies)))
    }

    fn add_login(&self, url: &CanonicalUrl, request: Vec<u8>) -> Vec<u8> {
        let Some(user) = url.user() else { return request };
        let password = url.password().unwrap_or_default().into_owned();
        let login = SiteLogin::Basic(Login { user: user.into_owned(), password });
        let session = login.session(url.host_port());
        let mut last = self.last_login.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(known, _)| *known != session) {
            *last = login.record(url.host_port(), None).map(|record| (session, record));
        }
        match &*last {
            Some((_, record)) => with_field(&request, &LOGIN, record),
            None => request,
        }
    }

    fn recursion(&self, arguments: &[(String, String)]) -> Result<String, Reason> {
        let pairs = arguments.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let asked = RecursiveRequest::read(pairs).map_err(|error| error.to_string())?;
        serde_json::to_string(&asked.spec).map_err(|error| error.to_string().into())
    }
}

/// Returns the title of a stored page, if there is one near its beginning.
#[must_use]
pub fn title(entry: &Entry) -> Option<String> {
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

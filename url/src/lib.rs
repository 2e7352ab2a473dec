//! URLs: canonical form, references, URIs.
//!
//! [`CanonicalUrl`] is the canonical spelling of the URL of a resource, and [`Key`] the key of its
//! entry. The coders are those of WWWOFFLE's README.URL. [`OldName`] and [`OldRecord`] are for
//! reading the spool of WWWOFFLE 2.9.
//!
//! This crate does no I/O, does not panic for any text, and takes linear time.

mod abarth;
mod browser;
mod canonical;
mod coders;
mod encode;
mod error;
mod extract;
mod host;
mod key;
mod link;
mod localhost;
mod named;
mod old_name;
mod path;
mod pdf;
mod plain;
mod reference;
mod repair;
mod resolve;
mod split;
mod uri;
mod wildcard;

pub use abarth::AbarthUrl;
pub use browser::{BrowserError, BrowserUrl, HostError, ParsedHost, parse_host};
pub use canonical::CanonicalUrl;
pub use coders::{
    split_form_args, trim_args, url_decode_form_args, url_decode_generic, url_encode_form_args,
    url_encode_password, url_encode_path, url_recode_form_args,
};
pub use error::ParseError;
pub use extract::{ExtractedUrl, Extraction, MAX_ENCLOSED, OPAQUE_SCHEMES, extract};
pub use host::registrable_domain;
pub use host::{canonicalise_host, is_this_machine};
pub use key::Key;
pub use link::link_url;
pub use localhost::LocalHost;
pub use old_name::{LocalNet, LocalScope, OldName, OldParts, OldRecord, OldWritten, make_hash};
pub use path::canonicalise_name;
pub use pdf::{PdfError, pdf_canonical, pdf_identifier};
pub use reference::{MAX_REFERENCE, Reference};
pub use repair::fix_html_link_url;
pub use resolve::{Resolution, ResolutionRules, ResolveError, resolve};
pub use uri::{
    AuthorityFields, FragmentFields, Grammar, HostField, HostKind, Pair, PathFields, Uri, UriError,
    UriFields, UriPart,
};
pub use wildcard::matches_wildcard;

/// The schemes whose URLs are fetched and stored.
pub const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// The maximum length of a URL in bytes, both as written and in its canonical form.
pub const MAX_LEN: usize = 1 << 20;

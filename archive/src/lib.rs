//! Imports archives of other programs into the spool, and exports the spool to such archives.
//!
//! [`import`] reads WARC, WACZ and HAR files, a spool of WWWOFFLE 2.9, and mirrors of HTTrack and
//! wget. [`to_warc`], [`to_wacz`] and [`to_folder`] write the entries at given places, and
//! [`to_single_page`] one page with its sub-resources.
//!
//! # Invariants
//!
//! 1. Archives are hostile input. An item that cannot be imported is refused with a reason and
//!    counted. It does not affect other items. No size, nesting or number in an archive decides how
//!    much memory is used.
//! 2. A body is stored only when it is complete and matches all digests in the archive whose
//!    algorithm is supported.
//! 3. Unless replacing is requested, an error never replaces a page, and an older response never
//!    replaces a newer one, except that an older page replaces an error.
//! 4. A personal response is stored for one owner only, unless the caller chooses to share it
//!    ([`PersonalOwner::Everyone`]).
//! 5. An interrupted import leaves the spool intact, and resumes where it stopped.
//!
//! All functions block. Sizes are in bytes.

mod bundle;
mod chunked;
mod classic;
mod detect;
mod digest;
mod error;
mod expand;
mod export;
mod files;
mod fixture;
mod har;
mod head;
mod httrack;
mod import;
mod item;
mod merge;
mod mirror;
mod pending;
mod refusal;
mod report;
mod salvage;
mod types;
mod wacz;
mod warc;
mod zip;

pub use bundle::{Bundle, BundleScope};
pub use detect::ArchiveKind;
pub use error::{Error, Result};
pub use export::{
    DecodeBody, ExportOptions, ExportReport, FolderForm, FolderOptions, Places, SinglePage,
    SinglePageReport, Titles, to_folder, to_single_page, to_wacz, to_warc, to_warc_file,
    to_warc_one,
};
pub use fixture::{
    Fixture, FixtureSettings, MAX_EXCHANGES, MAX_FIXTURE, MatchRules, RecordedExchange,
    RecordedMessage, SocketMessage,
};
pub use import::{
    ImportControl, ImportOptions, MAX_BODY, PersonalOwner, Placement, PlainPlacement, import,
};
pub use refusal::Reason;
pub use report::{
    FormerRequest, ImportEvent, ImportReport, MAX_FORMER, RefusedItem, RequestReport, SHOWN,
};
pub use wacz::collection_in;

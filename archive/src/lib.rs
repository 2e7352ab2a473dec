//! Exchange: archives of others into the spool, and the spool into archives of others.
//!
//! [`import`] takes WARC, WACZ and HAR files, a spool of WWWOFFLE 2.9, and mirrors of HTTrack and wget.
//! [`to_warc`], [`to_wacz`] and [`to_folder`] write what is kept at places that a list, an index or a
//! search gives.
//!
//! # What always holds
//!
//! 1. An archive is hostile input. What cannot be taken is refused with a reason, counted, and does no
//!    harm to the rest; no size, nesting or number in it decides how much memory is used.
//! 2. A body is kept after its last byte has come and all digests that the archive tells agree.
//! 3. Nothing newer gives way to anything older unless that is asked for, and no page to an error.
//! 4. What may be meant for one person is kept for one person.
//! 5. An import that is interrupted has harmed nothing, and goes on where it was.
//!
//! Every call blocks. Sizes are in bytes.

mod aside;
mod bundle;
mod chunked;
mod classic;
mod detect;
mod digest;
mod error;
mod expand;
mod export;
mod files;
mod har;
mod head;
mod httrack;
mod import;
mod item;
mod merge;
mod mirror;
mod refusal;
mod report;
mod types;
mod wacz;
mod warc;
mod zip;

pub use bundle::{Bundle, Of};
pub use detect::Kind;
pub use error::{Error, Result};
pub use export::{
    Decoded, ExportOptions, Exported, Places, Titles, to_folder, to_wacz, to_warc, to_warc_file,
    to_warc_one,
};
pub use import::{Go, ImportOptions, MAX_BODY, Placing, Plainly, Private, import};
pub use refusal::Reason;
pub use report::{Refused, Report, SHOWN};

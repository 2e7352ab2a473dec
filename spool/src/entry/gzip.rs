//! Compressed entries: the same file under the same name, as gzip members, one for each record.
//!
//! WARC 1.1 annex D defines this form, so every WARC reader can read it, and `zcat -f` of any set
//! of files is a WARC. The first gzip header holds a table of offsets ([`table`]). Modules above
//! [`open`] are not aware of the compression: they read offsets and bytes of the uncompressed file
//! ([`expanded`]). Checksums cover the uncompressed bytes, so errors in the compressed form are
//! detected.

mod bounds;
mod expanded;
mod inflate;
mod open;
mod pack;
mod table;

pub use bounds::{RewriteBounds, RewriteOutcome};
pub(crate) use inflate::{BROKEN, reason_of};
pub(crate) use open::{OpenEntry, OpenLookup, bad, fault, open, read_back};
pub(crate) use pack::{DISK_BLOCK, RewriteStop, may_shrink, pack};

//! Entries kept compressed: the same file under the same name, as gzip members, one for each record.
//!
//! WARC 1.1 annex D has it so, and whoever reads WARC reads it; `zcat -f` of any set of files is a WARC again.
//! What tells where things are stands in the first header ([`table`]). Above [`open`] nobody can tell: what
//! is read there has the offsets and the bytes of the file as it was ([`expanded`]). All that is verified of a file
//! is verified of what it stands for; compressing adds no bytes that anybody has to believe.

mod bounds;
mod expanded;
mod inflate;
mod open;
mod pack;
mod table;

pub use bounds::{Bounds, Rewritten};
pub(crate) use inflate::{BROKEN, reason_of};
pub(crate) use open::{OpenEntry, OpenLookup, bad, fault, open, read_back};
pub(crate) use pack::{DISK_BLOCK, PackOutcome, may_shrink, pack};

//! The spool: stored pages on disk, and the requests that wait for a connection.
//!
//! This crate handles files, not HTTP. It stores, finds and removes entries by their [`Place`]. The
//! caller decides whether an entry is fresh.
//!
//! # On disk
//!
//! ```text
//! <root>/http/www.example.org/9f/9f86d081….warc  a response record and its request record
//!                   …/9f86d081….update.warc      its later head and state, if it is large
//!                   …/9f86d081….2026….warc       an older version of it
//!                   …/9f86d081….variants/…       the entries of one key, if some of them vary
//! <root>/bodies/6a/6ae8a755….warc                a body that several entries share
//! <root>/partial/9f/9f86d081…/000….warc          a segment of an incomplete body
//! <root>/imports/9f86d081…                       the progress of an import
//! <root>/collections/everyone                    the collections of one owner, or of everyone
//! <root>/outgoing/9f86d081….warc                 a request recorded while offline
//! <root>/monitor/9f86d081….warc                  a monitored page: a request and its schedule
//! <root>/reserve/                                room for small files on a full disk
//! <root>/tmp/                                    entries being written; emptied on opening
//! <root>/damaged/                                damaged files, each with a note beside it
//! <root>/version lock state secret               format; process that has it open; mode; key of stored secrets
//! <root>/recent                                  the entries stored last; missing while the spool is closed
//! <root>/statistics                              the counts of the last days
//! <root>/usage/2026-11-22                        the counts of a day by user and client
//! ```
//!
//! A file name is the SHA-256 of the canonical URL in hex ([`Place`]). The WARC record also
//! contains the URL, so the spool can be indexed from its files alone. `docs/spool-format.md`
//! describes every field.
//!
//! # Invariants
//!
//! 1. A file is never changed in place. It is written under `tmp/`, or on a full disk in
//!    `reserve/`, synced, then renamed.
//! 2. So a reader sees a complete entry, old or new. A crash leaves partial files only in `tmp/`.
//! 3. A missing entry is a result, [`Lookup::Missing`], not an error.
//! 4. A truncated, damaged or foreign file is a result too, [`Lookup::SetAside`]. It is never
//!    served.
//!
//! # Modules
//!
//! A module may import only modules below it in this table; `tests/layers.rs` checks it.
//!
//! | module | content |
//! |---|---|
//! | `spool` | the public calls: an open spool, and one opened for reading only |
//! | `fsck` | checking a spool, and repairing it |
//! | `purge` | removing and compressing old entries: a plan, then its steps |
//! | `queue` | outgoing requests, monitored pages, schedules, runs |
//! | `tree` | the entries on disk: look up, write, replace, remove, list, share |
//! | `notes` | small files beside the entries: state, statistics, pins |
//! | `durability` | how a file gets its name so that no crash damages it |
//! | `entry` | the bytes of an entry, and reading them |
//! | `fs` | the disk, behind one small trait |
//! | `error` | what can fail |
//!
//! Sizes are in bytes. All functions block.

mod durability;
mod entry;
mod error;
pub mod fs;
mod fsck;
mod notes;
pub mod purge;
mod queue;
mod spool;
mod tree;

pub use jiff::Timestamp;
pub use wwwoffle_url::Key;

pub use durability::Durability;
pub use entry::gzip::{RewriteBounds, RewriteOutcome};
pub use entry::holder::SharedBody;
pub use entry::layout::{MAX_CONNECTION, MAX_HEAD, MAX_KEPT_REQUEST, MAX_TRAILERS, MAX_URL};
pub use entry::part::MAX_VALIDATOR;
pub use entry::place::{MAX_LOGIN, MAX_OWNER, MAX_VARIANT, Place, share_name};
pub use entry::summary::Summary;
pub use entry::verified::VerifiedReader;
pub use entry::{Body, BodyBytes, BodyFile, Entries, Entry, Lookup, Verifier};
pub use error::{Damage, Error, Result};
pub use fsck::{CheckOptions, CheckTotals, CheckVerdict, Finding};
pub use notes::collections::{
    MAX_CLIENT_TEXT, MAX_COLLECTION_OWNERS, MAX_COLLECTIONS_TEXT, MAX_OF_NETWORK,
};
pub use notes::imports::MAX_IMPORT;
pub use notes::own_pages::{UnreadPage, UserPages};
pub use notes::shared::{RemovalRule, SharedRemoval};
pub use notes::state::{MAX_STATE, ProgramState};
pub use notes::statistics::{
    Counts, HostCounts, MAX_DAYS, MAX_HOST, MAX_HOSTS, MAX_STATISTICS, Statistics, is_host,
};
pub use notes::used::{MAX_USED, Uses};
pub use purge::trim::{
    MAX_DAMAGED_AGE, MAX_DAMAGED_BYTES, MAX_PARTIAL_AGE, MAX_PARTIAL_BYTES, MIN_DAMAGED_AGE,
    TrimReport,
};
pub use queue::membership::{MAX_CLASS, MAX_MEMBERSHIPS, ParseRunIdError, RunId, RunMembership};
pub use queue::monitor::{MAX_MONITORS, MAX_REPORT, Monitor, MonitorSummary, Monitors, SetOutcome};
pub use queue::outgoing::{
    AttemptState, MAX_OPTIONS, MAX_REASON, MAX_REQUEST_BODY, MAX_REQUEST_HEAD, MAX_SECRETS,
    Outgoing, OutgoingSummary, RequestKind, RequestLine, RequestState, RequesterLocation,
    SealedSecrets, Secrets,
};
pub use queue::runs::MAX_RUN;
pub use queue::schedule::{MAX_SCHEDULE, ParseScheduleError, Schedule};
pub use queue::{
    AddOutcome, FinishOutcome, MAX_QUEUE, ParsePriorityError, Priority, Queue, QueueChange,
    QueueMeter, QueueObserver, QueuePosition, RESERVED,
};
pub use spool::{Options, Reader, Spool};
pub use tree::check_recent::RecentCheck;
pub use tree::list::{EntryList, SpoolHost};
pub use tree::pending::BATCH_INTERVAL;
pub use tree::recover::Recovery;
pub use tree::rekey::MoveOutcome;
pub use tree::removed::{
    BringBackReport, MAX_REMOVED_BYTES, ParseRemovalError, REMOVED_FOR, Removal, RemovalSummary,
};
pub use tree::restore::RestoreOutcome;
pub use tree::seen::{ChangeListener, LookupTrace};
pub use tree::segments::{
    MAX_SEGMENTS, NewSegment, Partial, PartialList, PartialSummary, SegmentWriter,
};
pub use tree::sharing::{MIN_SHARED, SharedBodies, SharingReport};
pub use tree::update::Update;
pub use tree::variants::MAX_VARIANTS;
pub use tree::versions::{MAX_VERSIONS, VersionLimit, Versions};
pub use tree::walk::{HostDirectory, KeyDirectory, LastListing, SpoolWalk, WalkedEntry};
pub use tree::writer::{NewEntry, ReplaceOutcome, StoredEntry, Tail, Writer};

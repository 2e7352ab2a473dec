//! The spool: crashes, full disks, checks, compression, history and purges.

mod compression;
mod crash;
mod disk;
mod fsck;
pub(crate) mod history;
mod purge;
mod purge_dependencies;
mod shared_bodies;
mod undo;

//! The archive tier: several nodes, PostgreSQL and an S3 server.

mod alone;
mod bounded;
mod clock;
mod complete;
mod compose;
mod faulty;
mod figures;
mod online;
mod private;
mod queue;
mod removed;
mod search;
mod shared;
mod streamed;
mod upkeep;

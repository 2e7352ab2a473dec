//! The archive tier: several nodes, PostgreSQL and an S3 server.

mod alone;
mod faulty;
mod shared;

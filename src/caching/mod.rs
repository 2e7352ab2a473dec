//! What the standards say of caches, as pure functions: no socket, no disk, no clock.

pub mod invalidate;
pub mod language;
pub mod validate;
pub mod vary;

//! Nothing: the measurements are in `canonical.rs`.

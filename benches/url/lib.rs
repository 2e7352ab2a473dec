//! Empty: the benchmarks are in `canonical.rs`.

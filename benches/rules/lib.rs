//! Nothing here: the benchmark is in `lists.rs`.

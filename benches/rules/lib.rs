//! Nothing here: the benchmarks are in `lists.rs` and `easylist.rs`.

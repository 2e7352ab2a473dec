//! Empty: the benchmarks are in `lists.rs` and `easylist.rs`.

//! Creates a spool with any number of entries, quickly.
//!
//! ```text
//! cargo run --release --manifest-path benches/serving/Cargo.toml --bin generate -- \
//!     --spool DIR --entries 1000000 --size 2000-2000 --hosts 100
//! ```

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use wwwoffle_bench_serving::{Shape, fill};

/// Fills a spool with pages.
#[derive(Parser)]
struct Arguments {
    /// The spool, which no daemon may have open; created if missing.
    #[arg(long)]
    spool: PathBuf,
    /// Number of pages.
    #[arg(long, default_value_t = 1000)]
    entries: u64,
    /// Size of a body in bytes, from the smallest to the largest.
    #[arg(long, default_value = "2000-20000", value_parser = range)]
    size: (usize, usize),
    /// Number of hosts of the pages.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    hosts: u64,
    /// Number of days before November 2026 over which the dates are spread.
    #[arg(long, default_value_t = 365)]
    days: u64,
}

fn main() -> ExitCode {
    let Arguments { spool, entries, size: (smallest, largest), hosts, days } = Arguments::parse();
    match fill(&spool, entries, &Shape { smallest, largest, hosts, days }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the spool cannot be filled: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Parses `FROM-TO`, or one number for both.
fn range(text: &str) -> Result<(usize, usize), String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse().map_err(|_| format!("no number of bytes: {text:?}"));
    let (from, to) = (number(from)?, number(to)?);
    // A page cannot be smaller than its frame.
    if (1000..=to).contains(&from) {
        Ok((from, to))
    } else {
        Err("wants 1000 ≤ FROM ≤ TO".into())
    }
}

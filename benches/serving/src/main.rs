//! Makes a spool with as many entries as one likes, fast.
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
    /// The spool, which no daemon may have open; made if it is missing.
    #[arg(long)]
    spool: PathBuf,
    /// How many pages.
    #[arg(long, default_value_t = 1000)]
    entries: u64,
    /// The size of a body in bytes, from the least to the most.
    #[arg(long, default_value = "2000-20000", value_parser = range)]
    size: (usize, usize),
    /// On how many hosts the pages are.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    hosts: u64,
    /// Over how many days before November 2026 their dates are spread.
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

/// Reads `FROM-TO`, or one number that is both.
fn range(text: &str) -> Result<(usize, usize), String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse().map_err(|_| format!("no number of bytes: {text:?}"));
    let (from, to) = (number(from)?, number(to)?);
    // Less than its frame a page cannot have.
    if (1000..=to).contains(&from) {
        Ok((from, to))
    } else {
        Err("wants 1000 ≤ FROM ≤ TO".into())
    }
}

//! The program: from arguments to exit status.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use wwwoffle::base::exit::ExitStatus;
use wwwoffle::cli::{self, Terminal, environment};
use wwwoffle::daemon::run::{self, Start};

/// Gives free memory back while the daemon runs: see "Allocator" in `docs/decisions.md`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let (mut stdin, mut stdout, mut stderr) =
        (io::stdin().lock(), io::stdout().lock(), io::stderr());
    let (live, typed) = (stdout.is_terminal(), stdin.is_terminal());
    let terminal =
        Terminal { stdin: &mut stdin, stdout: &mut stdout, stderr: &mut stderr, live, typed };
    ExitCode::from(cli::run(std::env::args_os(), &environment::read(), terminal, serve))
}

fn serve(start: Start, terminal: &mut Terminal<'_>) -> ExitStatus {
    let ready = |line: &str| {
        // The reader of the output may have gone.
        let _nobody_reads = writeln!(terminal.stdout, "{line}");
        let _nobody_reads = terminal.stdout.flush();
    };
    match run::run(start, ready) {
        Ok(()) => ExitStatus::Done,
        Err(refusal) => {
            // If standard error is closed too, the error cannot be reported.
            let _nobody_reads = writeln!(terminal.stderr, "wwwoffle: {}", refusal.message);
            refusal.status
        }
    }
}

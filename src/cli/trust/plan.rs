//! The steps in one store, as a value: they are carried out, or printed as commands.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::cli::programs::quoted;

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TrustStep {
    /// Make a directory and its parents, accessible to this user only.
    Directory(PathBuf),
    /// Write the certificate to a file that everyone may read.
    Write(PathBuf),
    /// Remove a file.
    Remove(PathBuf),
    /// Run a program.
    Run(ProgramCall),
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramCall {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// Whether the program reads the certificate from its standard input.
    pub(super) reads_certificate: bool,
}

/// The steps for one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TrustPlan {
    /// The store is already in the desired state.
    Nothing,
    /// These steps, in this order.
    Do(Vec<TrustStep>),
    /// We cannot change the store: the reason, and the commands for an administrator, if any.
    Tell { why: String, commands: Vec<String> },
}

impl TrustStep {
    /// Formats the step as a shell command. `export` is the command that prints the certificate;
    /// `sudo` precedes commands that only the administrator may run.
    pub(super) fn command(&self, export: &str, sudo: &str) -> String {
        match self {
            Self::Directory(path) => format!("mkdir -p {}", quoted_path(path)),
            Self::Write(path) => format!("{export} | {sudo}tee {} >/dev/null", quoted_path(path)),
            Self::Remove(path) => format!("{sudo}rm {}", quoted_path(path)),
            Self::Run(call) => {
                let program = quoted_path(&call.program);
                let words = call.arguments.iter().map(|word| quoted(&word.to_string_lossy()));
                let line = words.fold(program, |line, word| format!("{line} {word}"));
                let from =
                    if call.reads_certificate { format!("{export} | ") } else { String::new() };
                format!("{from}{sudo}{line}")
            }
        }
    }
}

fn quoted_path(path: &std::path::Path) -> String {
    quoted(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_can_be_typed() {
        let call = |reads_certificate| {
            let arguments = ["-n", "a b"].map(OsString::from).to_vec();
            TrustStep::Run(ProgramCall { program: "/bin/x".into(), arguments, reads_certificate })
        };
        for (step, want) in [
            (TrustStep::Directory("/h/a b".into()), "mkdir -p '/h/a b'"),
            (TrustStep::Write("/s/x.crt".into()), "export | sudo tee /s/x.crt >/dev/null"),
            (TrustStep::Remove("/s/x.crt".into()), "sudo rm /s/x.crt"),
            (call(false), "sudo /bin/x -n 'a b'"),
            (call(true), "export | sudo /bin/x -n 'a b'"),
        ] {
            assert_eq!(step.command("export", "sudo "), want);
        }
    }
}

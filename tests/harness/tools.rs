//! Third-party programs: TLS clients and certificate linters. `.ci/run` installs them.

use std::path::PathBuf;
use std::process::Command;

use super::cannot_run;
use super::daemon::{Ran, run};

/// The first of these programs that is installed. Fails if none is.
pub(crate) fn program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|program| program.is_file());
    if found.is_none() {
        cannot_run(&format!("none of these is installed: {names:?}"));
    }
    found
}

/// Python with a third-party module. Fails if the module is missing.
pub(crate) fn python_with(module: &str) -> Option<Command> {
    let mut look = Command::new("python3");
    look.args(["-c", &format!("import {module}")]);
    if look.output().is_ok_and(|output| output.status.success()) {
        return Some(plain(Command::new("python3")));
    }
    cannot_run(&format!("no python3 with the module {module} is installed"));
    None
}

/// Removes the proxy variables from the environment.
pub(crate) fn plain(mut command: Command) -> Command {
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        command.env_remove(name).env_remove(name.to_ascii_uppercase());
    }
    command
}

/// Runs a program with these arguments and this input.
#[track_caller]
pub(crate) fn tool(program: &str, arguments: &[&str], input: &str) -> Ran {
    let mut command = plain(Command::new(program));
    command.args(arguments);
    run(command, Some(input.as_bytes()))
}

/// The first PEM certificate in a text.
#[track_caller]
pub(crate) fn certificate(text: &str) -> &str {
    const END: &str = "-----END CERTIFICATE-----\n";
    let begin = text.find("-----BEGIN CERTIFICATE-----");
    let begin = begin.unwrap_or_else(|| panic!("no certificate in:\n{text}"));
    let end = begin + text[begin..].find(END).expect("it has an end") + END.len();
    &text[begin..end]
}

//! Third-party programs: TLS clients and certificate linters. `.ci/run` installs them.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;

use super::cannot_run;
use super::daemon::{Ran, run};

/// Returns the first of these programs that is installed; fails if all are missing.
#[track_caller]
pub(crate) fn program(names: &[&str]) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|program| program.is_file())
        .unwrap_or_else(|| cannot_run(&format!("not installed: {}", names.join(" or "))))
}

/// Returns Python with a module that is not in its standard library. Fails if the module is
/// missing.
#[track_caller]
pub(crate) fn python_with(module: &str) -> Command {
    let mut look = Command::new("python3");
    look.args(["-c", &format!("import {module}")]);
    if !look.output().is_ok_and(|output| output.status.success()) {
        cannot_run(&format!("python3 with the module {module} is not installed"));
    }
    plain(Command::new("python3"))
}

/// Fails unless the tests run as root.
#[track_caller]
pub(crate) fn need_root() {
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        cannot_run("only root can become another user");
    }
}

/// Removes the proxy variables from the environment of `command`.
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

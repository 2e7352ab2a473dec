//! The program of a browser, opened so that no shell can run it instead of the system.
//!
//! A program that is started with descriptors is started by `execvp`. If the system cannot run the
//! file, for example a program for another processor, `execvp` passes its path to `/bin/sh`. The
//! path given here names a descriptor that closes when the shell starts, so the shell finds no
//! file.
//!
//! An interpreter would not find a script under such a path either. So the first line of a script
//! is read here, and the interpreter is the program.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use tokio::process::Command;

use crate::base::small_file::{is_program, read_at_most};

/// The longest first line of a script that Linux reads, in bytes.
const MAX_LINE: u64 = 255;

/// The longest chain of scripts in which each script is the interpreter of the one before, as in
/// Linux.
const MAX_SCRIPTS: usize = 5;

/// The smallest number of the descriptor through which a program is open. Smaller numbers are left
/// to the descriptors that the program gets.
const LEAST_DESCRIPTOR: i32 = 10;

/// The reason why a program that may need a shell is not run.
const NEEDS_SHELL: &str = "it is neither an ELF file nor a script that begins with `#!`";

/// An open program.
#[derive(Debug)]
pub(super) struct BrowserProgram {
    file: OwnedFd,
    path: PathBuf,
    /// If the program is an interpreter: the argument in the first line of the script, and the
    /// script. They precede the arguments of the caller.
    arguments: Vec<OsString>,
}

impl BrowserProgram {
    /// Opens a program, or the interpreter of a script.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or the system would not execute the program or its interpreter.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (mut path, mut arguments) = (path.to_owned(), Vec::new());
        for _ in 0..=MAX_SCRIPTS {
            let refuse = |why: &str| io::Error::other(format!("{} {why}", path.display()));
            if !is_program(&path) {
                return Err(refuse("is not an executable file"));
            }
            let begin = path.canonicalize().and_then(|path| read_at_most(&path, MAX_LINE));
            let begin = begin.ok().flatten().unwrap_or_default();
            if begin.starts_with(b"\x7fELF") {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let opened = rustix::fs::open(&path, flags, Mode::empty())?;
                let file = rustix::io::fcntl_dupfd_cloexec(opened, LEAST_DESCRIPTOR)?;
                return Ok(Self { file, path, arguments });
            }
            // Some ways to start a program would pass it to `/bin/sh`.
            let Some(line) = begin.strip_prefix(b"#!") else {
                return Err(refuse(&format!("is not run: {NEEDS_SHELL}")));
            };
            let (interpreter, argument) =
                interpreter(line).ok_or_else(|| refuse("names no interpreter"))?;
            let before = argument.into_iter().chain([path.into_os_string()]);
            arguments.splice(0..0, before);
            path = interpreter;
        }
        Err(io::Error::other(format!("{} is a script of scripts", path.display())))
    }

    /// The command that starts the program. `self` must not be dropped before the command is
    /// started.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        command.arg0(&self.path).args(&self.arguments);
        command
    }
}

/// Returns the interpreter in the first line of a script after `#!`, and its argument, as Linux
/// reads them. `None` if the line names no absolute path.
fn interpreter(begin: &[u8]) -> Option<(PathBuf, Option<OsString>)> {
    let line = begin.split(|&byte| byte == b'\n').next()?.trim_ascii();
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    let (path, argument) = line.split_at_checked(end)?;
    let path = Path::new(OsStr::from_bytes(path));
    let argument = OsStr::from_bytes(argument.trim_ascii_start());
    let argument = Some(argument.to_owned()).filter(|argument| !argument.is_empty());
    path.is_absolute().then(|| (path.to_owned(), argument))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Output;

    use command_fds::CommandFdExt;

    use super::*;
    use crate::base::small_file::{Readers, write};

    /// Runs the program as a browser is run: with a hook before the start.
    async fn run(path: &Path) -> io::Result<Output> {
        let program = BrowserProgram::open(path)?;
        let mut command = program.command();
        command.args(["a b", "c"]).fd_mappings(Vec::new()).map_err(io::Error::other)?;
        command.output().await
    }

    fn executable(path: &Path, bytes: &[u8]) -> PathBuf {
        write(path, bytes, Readers::Owner).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_owned()
    }

    #[test]
    fn a_program_without_its_interpreter_would_need_a_shell() {
        let root = tempfile::tempdir().unwrap();
        for (name, bytes, want) in [
            ("elf", &b"\x7fELF\x02rest"[..], true),
            ("script", b"#!/bin/sh\nid\n", true),
            ("lines", b"id > file\n", false),
            ("short", b"#", false),
            ("empty", b"", false),
        ] {
            let path = executable(&root.path().join(name), bytes);
            let link = root.path().join(format!("{name}-link"));
            symlink(&path, &link).unwrap();
            for path in [path, link] {
                let opened = BrowserProgram::open(&path).map_err(|error| error.to_string());
                let refused = opened.as_ref().is_err_and(|error| error.ends_with(NEEDS_SHELL));
                assert_eq!((opened.is_ok(), refused), (want, !want), "{name}");
            }
        }
        assert!(BrowserProgram::open(&root.path().join("none")).is_err());
    }

    #[tokio::test]
    async fn scripts_get_the_arguments_of_the_system() {
        let root = tempfile::tempdir().unwrap();
        let show = "printf '<%s>' \"$0\" \"$@\"";
        for (first, flags) in
            [("#!/bin/sh", ""), ("#! /bin/sh  -e ", "e"), ("#!\t/bin/sh\t-u x", "")]
        {
            let text = format!("{first}\n{show} \"$-\"\n");
            let script = executable(&root.path().join("script"), text.as_bytes());
            let got = run(&script).await.unwrap();
            let want = tokio::process::Command::new(&script).args(["a b", "c"]).output().await;
            let want = want.unwrap();
            assert_eq!((&got.stdout, got.status), (&want.stdout, want.status), "{first}");
            assert!(String::from_utf8_lossy(&got.stdout).contains(flags), "{got:?}");
        }
        let inner = root.path().join("script");
        executable(&inner, format!("#!/bin/sh\n{show}\n").as_bytes());
        let line = format!("#!{}\n", inner.display());
        let outer = executable(&root.path().join("outer"), line.as_bytes());
        let got = run(&outer).await.unwrap();
        let want = format!("<{}><{}><a b><c>", inner.display(), outer.display());
        assert_eq!(String::from_utf8_lossy(&got.stdout), want);
    }

    #[tokio::test]
    async fn a_file_that_the_system_cannot_run_is_not_run_by_a_shell() {
        let root = tempfile::tempdir().unwrap();
        let written = root.path().join("written");
        let lines = format!("\nid >{}\n", written.display());
        let own = read_at_most(&std::env::current_exe().unwrap(), 64).unwrap().unwrap();
        let other_machine = [&own[..18], &[0xff, 0xfe], &own[20..64]].concat();
        for (name, begin) in [
            ("other machine", other_machine),
            ("other class", b"\x7fELF\x01\x01\x01".to_vec()),
            ("cut", own[..20].to_vec()),
            ("no ELF", Vec::new()),
            ("no interpreter", b"#!".to_vec()),
            ("relative interpreter", b"#!sh".to_vec()),
        ] {
            let program = executable(&root.path().join(name), &[&begin, lines.as_bytes()].concat());
            let ran = run(&program).await;
            assert!(!ran.is_ok_and(|ran| ran.status.success()), "{name}");
            assert!(!written.exists(), "{name}: a shell ran its lines");
        }
        let text = format!("#!{}{lines}", root.path().join("cut").display());
        let script = executable(&root.path().join("script"), text.as_bytes());
        assert!(!run(&script).await.is_ok_and(|ran| ran.status.success()) && !written.exists());
        // Linux executes the interpreter of a script only if it has execute permission.
        let plain = root.path().join("plain");
        write(&plain, format!("#!/bin/sh{lines}").as_bytes(), Readers::Owner).unwrap();
        let no_script = executable(&root.path().join("lines"), lines.as_bytes());
        for (interpreter, want) in [
            (plain, "is not an executable file"),
            (root.path().to_owned(), "is not an executable file"),
            (no_script, NEEDS_SHELL),
        ] {
            executable(&script, format!("#!{}\n", interpreter.display()).as_bytes());
            let refused = run(&script).await.unwrap_err().to_string();
            assert!(refused.starts_with(&*interpreter.to_string_lossy()), "{refused}");
            assert!(refused.ends_with(want) && !written.exists(), "{refused}");
        }
        let own = root.path().join("loop");
        executable(&own, format!("#!{}\n", own.display()).as_bytes());
        assert!(run(&own).await.is_err());
    }
}

//! Finds other programs and runs them.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) use crate::base::small_file::is_program;

/// Time limit for a program. A program that changes a certificate store may ask for a password, so
/// this includes the time to type one.
const LIMIT: Duration = Duration::from_secs(120);

/// Interval between checks whether the program has ended.
const POLL: Duration = Duration::from_millis(10);

/// The largest part of a program's output that is read, in bytes.
const MAX_OUTPUT: u64 = 1024 * 1024;

/// The result of a finished program.
#[derive(Debug)]
pub(crate) struct ProgramOutcome {
    /// Whether the program reported success.
    pub(crate) success: bool,
    /// Standard output of the program.
    pub(crate) out: String,
    /// The last line of the program's standard error that is not blank, or else its exit status.
    pub(crate) why: String,
}

/// Returns the path of the first program called `name` in `directories`.
pub(crate) fn find<'a>(
    name: &str,
    directories: impl IntoIterator<Item = &'a Path>,
) -> Option<PathBuf> {
    directories
        .into_iter()
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|path| is_program(path))
}

/// Runs a program to its end with `input` on its standard input.
///
/// # Errors
///
/// If the program cannot be started or waited for, or if it runs longer than [`LIMIT`]. In that
/// last case the program is killed.
pub(crate) fn run<S: AsRef<OsStr>>(
    program: &Path,
    arguments: &[S],
    input: &str,
) -> io::Result<ProgramOutcome> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (out, err) = (thread::spawn(|| read(stdout)), thread::spawn(|| read(stderr)));
    if let Some(mut stdin) = child.stdin.take() {
        // The input fits into the buffer of a pipe, so this does not block. It fails if the program
        // ends without reading its input. That is not an error.
        let _unread = stdin.write_all(input.as_bytes());
    }
    let status = wait(&mut child)?;
    let err = err.join().unwrap_or_default();
    let said = err.lines().rev().find(|line| !line.trim().is_empty());
    Ok(ProgramOutcome {
        success: status.success(),
        out: out.join().unwrap_or_default(),
        why: said.map_or_else(|| status.to_string(), |line| line.trim().to_owned()),
    })
}

fn wait(child: &mut Child) -> io::Result<std::process::ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it timed out"));
        }
        thread::sleep(POLL);
    }
}

fn read(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        // A read error truncates the output. Output beyond the maximum is read and discarded,
        // because the program cannot end while the pipe is full.
        let _broken = from.by_ref().take(MAX_OUTPUT).read_to_end(&mut bytes);
        let _broken = io::copy(&mut from, &mut io::sink());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Quotes `text` as one word for a shell.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,=+@%".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_run_and_reported() {
        let shell = find("sh", ["relative", "/nowhere", "/bin"].map(Path::new)).unwrap();
        assert_eq!(shell, Path::new("/bin/sh"));
        assert_eq!(find("sh", ["/nowhere"].map(Path::new)), None);
        assert!(!is_program(Path::new("/etc/passwd")) && !is_program(Path::new("/bin")));
        let ran = run(&shell, &["-c", "cat; echo one >&2; echo two >&2; exit 3"], "in").unwrap();
        assert_eq!((ran.success, ran.out.as_str(), ran.why.as_str()), (false, "in", "two"));
        let ran = run(&shell, &["-c", "exit 4"], "nobody reads it").unwrap();
        assert_eq!(ran.why, "exit status: 4");
        assert!(run(Path::new("/nowhere/x"), &[""], "").is_err());
    }

    #[test]
    fn a_word_is_one_word_to_a_shell() {
        for word in ["", "a b", "$HOME", "it's", "plain/x.crt", "a\nb", ";x", "~"] {
            let script = format!("printf %s {}", quoted(word));
            assert_eq!(run(Path::new("/bin/sh"), &["-c", &script], "").unwrap().out, word);
        }
        assert_eq!(quoted("/a/b-c.crt"), "/a/b-c.crt");
    }
}

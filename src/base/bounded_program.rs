//! Runs a program that converts a document, with bounds on its time, memory and output.
//!
//! The document comes from outside, so the program may hang, crash or write without end. It runs in
//! a process group of its own, which is killed at the end. It starts to read only after its limits
//! are set, because its input is a pipe that is still empty. It cannot open a socket. Blocks.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, kill_process_group, prlimit,
    waitid,
};

/// The search path of the program.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The largest file that the program may write, in bytes. Some programs copy their input to a
/// temporary file.
const MAX_FILE: u64 = 64 << 20;

/// The largest number of open files of the program.
const MAX_FILES: u64 = 64;

/// How long the program may take to exit after it has closed its output, and to disappear after it
/// was killed.
const GRACE: Duration = Duration::from_secs(2);

/// Interval between checks whether the program has exited.
const LOOK: Duration = Duration::from_millis(2);

/// The number of bytes that are moved at once.
const PIECE: usize = 64 << 10;

/// The bounds of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramBounds {
    /// The longest run, and the most processor time.
    pub(crate) time: Duration,
    /// The largest address space, in bytes.
    pub(crate) memory: u64,
    /// The most output, in bytes.
    pub(crate) output: usize,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// The program exited with success.
    Done,
    /// The program failed, or a signal ended it.
    Failed,
    /// The program was killed because it took too long.
    OutOfTime,
    /// The program was killed because its output reached the bound.
    OutputFull,
}

/// Runs a program on `input`. Returns its output, at most `bounds.output` bytes.
///
/// # Errors
///
/// The program cannot be started, or its limits cannot be set.
pub(crate) fn convert(
    program: &Path,
    arguments: &[String],
    input: &[u8],
    bounds: ProgramBounds,
) -> io::Result<(Vec<u8>, RunEnd)> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH).env("LC_ALL", "C.UTF-8");
    // Its temporary files are removed with the directory.
    let room = tempfile::TempDir::with_prefix("wwwoffle-program-")?;
    command.current_dir(room.path()).env("TMPDIR", room.path()).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = RunningProgram::start(&mut command)?;
    running.limit(bounds)?;
    let until = Instant::now() + bounds.time;
    let (output, end) = running.exchange(input, until, bounds.output)?;
    let is_ended = end.is_none() && running.has_exited_before(until.min(Instant::now() + GRACE));
    let is_success = running.finish();
    let end = match end {
        Some(end) => end,
        None if is_ended && is_success => RunEnd::Done,
        None => RunEnd::Failed,
    };
    Ok((output, end))
}

/// Starts a program that cannot open sockets, nor take those of other processes. Where the system lets
/// a process write to the memory of others of its user (`ptrace_scope` 0), it still could.
///
/// The filter applies to a thread and to what it starts, so the program is started from a thread of
/// its own.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
fn spawn_without_network(command: &mut Command) -> io::Result<Child> {
    let filter = network_filter().map_err(io::Error::other)?;
    std::thread::scope(|scope| {
        let start = || {
            seccompiler::apply_filter(&filter).map_err(io::Error::other)?;
            command.spawn()
        };
        let thread = std::thread::Builder::new().name("program".to_owned());
        let started = thread.spawn_scoped(scope, start)?.join();
        started.unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
    })
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
fn network_filter() -> Result<seccompiler::BpfProgram, seccompiler::BackendError> {
    use nix::libc::{
        SYS_io_uring_setup, SYS_pidfd_getfd, SYS_process_vm_writev, SYS_ptrace, SYS_socket,
    };
    use seccompiler::{SeccompAction, SeccompFilter};
    /// The bit of calls with 32-bit pointers on x86-64.
    const X32: i64 = 0x4000_0000;
    /// There, `ptrace` and `process_vm_writev` have other numbers.
    const OF_X32: [i64; 2] = [X32 + 521, X32 + 540];
    let refused =
        [SYS_socket, SYS_io_uring_setup, SYS_ptrace, SYS_process_vm_writev, SYS_pidfd_getfd];
    let calls = refused.into_iter().flat_map(|call| [call, call | X32]).chain(OF_X32);
    let rules = calls.map(|call| (call, vec![]));
    let refusal = SeccompAction::Errno(rustix::io::Errno::ACCESS.raw_os_error().unsigned_abs());
    let target = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules.collect(), SeccompAction::Allow, refusal, target)?.try_into()
}

/// The library for the filter knows no other processors.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
fn spawn_without_network(command: &mut Command) -> io::Result<Child> {
    command.spawn()
}

/// A running program. Dropping it kills the program with all its children.
struct RunningProgram {
    child: Child,
    leader: Option<Pid>,
}

impl RunningProgram {
    fn start(command: &mut Command) -> io::Result<Self> {
        let child = spawn_without_network(command)?;
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        Ok(Self { child, leader })
    }

    fn limit(&self, bounds: ProgramBounds) -> io::Result<()> {
        // Without a pid, `prlimit` would limit this process.
        let Some(leader) = self.leader else { return Err(io::ErrorKind::NotFound.into()) };
        for (resource, most) in [
            (Resource::As, bounds.memory),
            (Resource::Cpu, bounds.time.as_secs().max(1)),
            (Resource::Fsize, MAX_FILE),
            (Resource::Nofile, MAX_FILES),
            (Resource::Core, 0),
        ] {
            // A limit of this process may be lower, and cannot be raised.
            let most = getrlimit(resource).maximum.map_or(most, |maximum| most.min(maximum));
            let limit = Rlimit { current: Some(most), maximum: Some(most) };
            prlimit(Some(leader), resource, limit)?;
        }
        Ok(())
    }

    /// Writes the input and reads the output until the program closes its output. The end is `None`
    /// in that case.
    fn exchange(
        &mut self,
        input: &[u8],
        until: Instant,
        most: usize,
    ) -> io::Result<(Vec<u8>, Option<RunEnd>)> {
        let (mut to, from) = (self.child.stdin.take(), self.child.stdout.take());
        let Some(mut from) = from else { return Ok((Vec::new(), None)) };
        let (mut unsent, mut output, mut piece) = (input, Vec::new(), vec![0; PIECE]);
        set_nonblocking(from.as_fd())?;
        if let Some(to) = &to {
            set_nonblocking(to.as_fd())?;
        }
        loop {
            if unsent.is_empty() {
                // Closing the pipe tells the program that the input is complete.
                to = None;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok((output, Some(RunEnd::OutOfTime)));
            }
            wait_for_either(to.as_ref(), from.as_fd(), left)?;
            if let Some(pipe) = &mut to {
                match pipe.write(unsent) {
                    Ok(sent) => unsent = unsent.get(sent..).unwrap_or_default(),
                    Err(error) if is_transient(&error) => {}
                    // The program does not read the rest.
                    Err(_) => unsent = &[],
                }
            }
            match from.read(&mut piece) {
                Ok(0) => return Ok((output, None)),
                Ok(read) => {
                    let room = most.saturating_sub(output.len());
                    output.extend_from_slice(piece.get(..read.min(room)).unwrap_or_default());
                    if read > room {
                        return Ok((output, Some(RunEnd::OutputFull)));
                    }
                }
                Err(error) if is_transient(&error) => {}
                Err(_) => return Ok((output, None)),
            }
        }
    }

    /// Waits until the program has exited, without reaping it.
    fn has_exited_before(&self, until: Instant) -> bool {
        let Some(leader) = self.leader else { return false };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::Pid(leader), options) {
                Ok(Some(_)) => return true,
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(None) | Err(_) => return false,
            }
        }
    }

    /// Kills what is left of the group, and reaps the program. Returns whether the program exited
    /// with success.
    fn finish(&mut self) -> bool {
        // The ID of the group is not used again until the program is reaped.
        if let Some(leader) = self.leader {
            // The group may be empty.
            let _killed = kill_process_group(leader, Signal::KILL);
        }
        if self.has_exited_before(Instant::now() + GRACE) {
            self.leader = None;
            return self.child.wait().is_ok_and(|status| status.success());
        }
        false
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if self.leader.is_some() {
            self.finish();
        }
    }
}

fn set_nonblocking(pipe: BorrowedFd<'_>) -> io::Result<()> {
    let flags = fcntl_getfl(pipe)?;
    Ok(fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?)
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Waits until the program takes input or gives output, at most `left`.
fn wait_for_either(
    to: Option<&ChildStdin>,
    from: BorrowedFd<'_>,
    left: Duration,
) -> io::Result<()> {
    let mut pipes = vec![PollFd::from_borrowed_fd(from, PollFlags::IN)];
    pipes.extend(to.map(|to| PollFd::from_borrowed_fd(to.as_fd(), PollFlags::OUT)));
    let left = Timespec::try_from(left).map_err(|_| io::ErrorKind::InvalidInput)?;
    match poll(&mut pipes, Some(&left)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str, input: &[u8], time: Duration) -> (Vec<u8>, RunEnd) {
        let bounds = ProgramBounds { time, memory: 256 << 20, output: 100_000 };
        convert(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()], input, bounds).unwrap()
    }

    const AMPLE: Duration = Duration::from_secs(60);

    #[test]
    fn a_program_converts_its_input() {
        let input = b"some text ".repeat(9_000);
        assert_eq!(run("cat", &input, AMPLE), (input.clone(), RunEnd::Done));
        // A program need not read its input.
        assert_eq!(run("echo words", &input, AMPLE), (b"words\n".to_vec(), RunEnd::Done));
        assert_eq!(run("cat >/dev/null; echo a; exit 3", &input, AMPLE).1, RunEnd::Failed);
        assert_eq!(run("kill -SEGV $$", b"", AMPLE).1, RunEnd::Failed);
        let none = ProgramBounds { time: AMPLE, memory: 1 << 30, output: 1 };
        assert!(convert(Path::new("/no/program"), &[], b"", none).is_err());
    }

    #[test]
    fn temporary_files_are_removed() {
        let (output, end) = run("echo x >here; pwd; echo \"$TMPDIR\"; cat here", b"", AMPLE);
        let lines = String::from_utf8(output).unwrap();
        let [place, room, "x"] = lines.lines().collect::<Vec<_>>()[..] else { panic!("{lines}") };
        assert_eq!((place, end), (room, RunEnd::Done));
        assert!(!Path::new(place).exists());
    }

    #[test]
    fn a_program_has_no_network() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>&1 && echo connected");
        let arguments = ["-c".to_owned(), script];
        let bash = Path::new("/bin/bash");
        // Outside, the same program connects.
        let outside = Command::new(bash).args(&arguments).output().unwrap();
        assert_eq!(outside.stdout, b"connected\n");
        assert!(listener.accept().is_ok());
        let bounds = ProgramBounds { time: AMPLE, memory: 256 << 20, output: 100_000 };
        let (output, end) = convert(bash, &arguments, b"", bounds).unwrap();
        let output = String::from_utf8_lossy(&output).into_owned();
        assert!(output.contains("Permission denied") && end == RunEnd::Failed, "{output}");
        assert!(listener.accept().is_err());
    }

    #[test]
    fn a_hostile_program_is_bounded() {
        let (output, end) = run("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyy; done", b"", AMPLE);
        assert_eq!((output.len(), end), (100_000, RunEnd::OutputFull));
        let soon = Duration::from_millis(100);
        assert_eq!(run("echo a; sleep 1000", b"", soon).1, RunEnd::OutOfTime);
        // A child that keeps the output open.
        assert_eq!(run("sleep 1000 & exit 0", b"", soon).1, RunEnd::OutOfTime);
        // A child that has closed the output is killed with its parent.
        let (output, end) = run("sleep 1000 >/dev/null 2>&1 </dev/null & echo $!", b"", AMPLE);
        assert_eq!(end, RunEnd::Done);
        let pid: i32 = String::from_utf8(output).unwrap().trim().parse().unwrap();
        let is_gone = || {
            let stat = std::path::PathBuf::from(format!("/proc/{pid}/stat"));
            let stat = crate::base::small_file::read(&stat).ok().flatten().unwrap_or_default();
            stat.is_empty() || String::from_utf8_lossy(&stat).contains(") Z ")
        };
        let until = Instant::now() + AMPLE;
        while !is_gone() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        assert!(is_gone(), "process {pid} remains");
        // More memory than allowed.
        let script = "x=$(head -c 600000000 /dev/zero | tr '\\0' a); echo ${#x}";
        assert_ne!(run(script, b"", AMPLE), (b"600000000\n".to_vec(), RunEnd::Done));
    }
}

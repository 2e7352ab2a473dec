//! `wwwoffle passwd` on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::harness::Daemon;

/// A pseudo-terminal on which a command runs, and the output so far.
struct Terminal {
    ours: File,
    shown: String,
}

impl Terminal {
    fn run(mut command: Command) -> (Self, std::process::Child) {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let ours = openpt(flags).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let path = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = File::options().read(true).write(true).open(path).unwrap();
        command.stdin(theirs.try_clone().unwrap()).stderr(theirs).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        (Self { ours: ours.into(), shown: String::new() }, child)
    }

    /// Waits for a prompt and types a line.
    fn answer(&mut self, prompt: &str, line: &str) {
        let mut buffer = [0; 256];
        while !self.shown.ends_with(prompt) {
            let got = self.ours.read(&mut buffer).unwrap();
            self.shown += &String::from_utf8_lossy(&buffer[..got]);
        }
        self.ours.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// All output up to the end.
    fn rest(mut self) -> String {
        let mut buffer = [0; 256];
        // Reading fails once the command has closed the terminal.
        while let Ok(got @ 1..) = self.ours.read(&mut buffer) {
            self.shown += &String::from_utf8_lossy(&buffer[..got]);
        }
        self.shown
    }
}

#[test]
fn a_password_is_typed_twice_and_not_shown() {
    let place = Daemon::prepare(None);
    for (again, status) in [("hunter2", 0), ("hunter3", 1)] {
        let mut command = place.bare_command();
        command.args(["passwd", "ada"]);
        let (mut terminal, child) = Terminal::run(command);
        terminal.answer("new password of \"ada\": ", "hunter2");
        terminal.answer("repeat it: ", again);
        let ended = child.wait_with_output().unwrap();
        let shown = terminal.rest();
        assert_eq!(ended.status.code(), Some(status), "{shown}");
        assert!(!shown.contains("hunter"), "{shown}");
        let line = String::from_utf8(ended.stdout).unwrap();
        assert_eq!(line.starts_with("users = [\"ada:$argon2id$"), status == 0, "{line} {shown}");
    }
}

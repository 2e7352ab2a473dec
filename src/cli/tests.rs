//! Whole command lines, with the daemon and the terminal replaced.

use std::path::{Path, PathBuf};

use super::{Environment, ExitStatus, Start, Terminal, run};

/// The output and exit status of a command line.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) status: ExitStatus,
    pub(super) out: String,
    pub(super) err: String,
    served: Option<Start>,
}

pub(super) fn wwwoffle(line: &[&str], stdin: &str, home: &Path) -> Ran {
    let environment = Environment { home: Some(home.to_owned()), ..Environment::default() };
    let (mut out, mut err, mut served) = (Vec::new(), Vec::new(), None);
    let terminal = Terminal {
        stdin: &mut stdin.as_bytes(),
        stdout: &mut out,
        stderr: &mut err,
        live: false,
        typed: false,
    };
    let args = ["wwwoffle"].iter().chain(line).map(Into::into);
    let status = run(args, &environment, terminal, |options, _| {
        served = Some(options);
        ExitStatus::Done
    });
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let status = ExitStatus::ALL.into_iter().find(|one| one.code() == status).unwrap();
    Ran { status, out: text(out), err: text(err), served }
}

fn at_nowhere(line: &[&str]) -> Ran {
    wwwoffle(line, "", Path::new("/nowhere"))
}

#[test]
fn serve_combines_arguments_and_defaults() {
    let plain = at_nowhere(&["serve"]).served.unwrap();
    assert_eq!(plain.spool, PathBuf::from("/nowhere/.local/share/wwwoffle"));
    assert_eq!(plain.listen, ["127.0.0.1:8080".parse().unwrap()]);

    let line = ["--spool", "/a", "serve", "--listen", "127.0.0.1:0", "--listen", "[::1]:1"];
    let typed = at_nowhere(&line).served.unwrap();
    assert_eq!(typed.spool, PathBuf::from("/a"));
    assert_eq!(typed.listen, ["127.0.0.1:0".parse().unwrap(), "[::1]:1".parse().unwrap()]);

    let last = at_nowhere(&["--spool", "/a", "serve", "--spool", "/b"]).served.unwrap();
    assert_eq!(last.spool, PathBuf::from("/b"));
}

#[test]
fn help_and_version_succeed_and_mistakes_are_usage_errors() {
    let help = at_nowhere(&["--help"]);
    assert_eq!((help.status, help.err.as_str()), (ExitStatus::Done, ""));
    assert!(help.out.contains("75  in use"), "{}", help.out);
    assert_eq!(at_nowhere(&["--version"]).status, ExitStatus::Done);
    for line in [&[][..], &["sreve"], &["get"]] {
        let ran = at_nowhere(line);
        assert_eq!((ran.status, ran.out.as_str()), (ExitStatus::Usage, ""));
        assert!(ran.err.contains("Usage:"), "{}", ran.err);
    }
}

#[test]
fn a_misplaced_option_is_reported_with_its_place() {
    for line in [&["status", "--spool", "/s"][..], &["ls", "--config=/c"]] {
        let ran = at_nowhere(line);
        assert_eq!(ran.status, ExitStatus::Usage);
        assert!(ran.err.ends_with("and --ca go before the verb.\n"), "{}", ran.err);
    }
    assert!(!at_nowhere(&["ls", "--spol", "/s"]).err.contains("before the verb"));
}

#[test]
fn a_bad_configuration_exits_with_64_and_a_missing_daemon_with_69() {
    let ran = at_nowhere(&["--config", "/nowhere/x.conf", "serve"]);
    assert_eq!(ran.status, ExitStatus::BadConfig);
    assert!(ran.err.starts_with("wwwoffle: /nowhere/x.conf"), "{}", ran.err);
    assert!(ran.served.is_none());
    for verb in [&["show"][..], &["get"], &["set", "options.log-level", "debug"], &["undo"]] {
        let line = [&["--config", "/nowhere/x.conf", "config"], verb].concat();
        let ran = at_nowhere(&line);
        assert_eq!(ran.status, ExitStatus::BadConfig, "{verb:?}");
        assert_eq!(ran.err, "wwwoffle: /nowhere/x.conf: there is no such file\n", "{verb:?}");
    }
    for verb in ["online", "offline", "autodial", "fetch", "status", "queue", "stop"] {
        let ran = at_nowhere(&[verb]);
        assert_eq!(ran.status, ExitStatus::NoDaemon, "{verb}");
        assert!(ran.err.contains("start one with `wwwoffle serve`"), "{}", ran.err);
    }
}

#[test]
fn file_commands_without_a_spool_say_how_to_create_it() {
    for line in [&["ls"][..], &["cat", "http://a/"], &["info", "http://a/"]] {
        let ran = at_nowhere(line);
        assert_eq!(ran.status, ExitStatus::BadSpool, "{line:?}");
        let want =
            "there is no spool /nowhere/.local/share/wwwoffle yet: the first `wwwoffle serve`";
        assert!(ran.err.contains(want), "{}", ran.err);
    }
}

#[test]
fn an_address_without_a_port_is_explained() {
    let ran = at_nowhere(&["serve", "--listen", "127.0.0.1"]);
    assert_eq!(ran.status, ExitStatus::Usage);
    assert!(ran.err.contains("an address and a port, as 127.0.0.1:8080"), "{}", ran.err);
}

#[test]
fn without_a_home_directory_the_message_names_the_option() {
    let environment = Environment::default();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let terminal = Terminal {
        stdin: &mut &b""[..],
        stdout: &mut out,
        stderr: &mut err,
        live: false,
        typed: false,
    };
    let args = ["wwwoffle", "serve"].map(Into::into);
    let status = run(args, &environment, terminal, |_, _| ExitStatus::Done);
    assert_eq!(status, ExitStatus::BadSpool.code());
    assert!(String::from_utf8(err).unwrap().contains("--spool DIR"));
}

/// Output that is closed, as by `head` when it has enough.
struct Gone;

impl std::io::Write for Gone {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Err(std::io::ErrorKind::BrokenPipe.into())
    }
}

#[test]
fn a_broken_pipe_is_quiet() {
    let mut err = Vec::new();
    for line in [["wwwoffle", "--help"], ["wwwoffle", "serve"]] {
        let environment = Environment { home: Some("/h".into()), ..Environment::default() };
        let terminal = Terminal {
            stdin: &mut &b""[..],
            stdout: &mut Gone,
            stderr: &mut err,
            live: false,
            typed: false,
        };
        let status = run(line.map(Into::into), &environment, terminal, |_, _| ExitStatus::Done);
        assert_eq!(status, ExitStatus::Done.code());
    }
    assert!(err.is_empty());
}

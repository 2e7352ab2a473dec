//! `wwwoffle passwd`: turns a password into a line for the configuration.

use std::io::{self, BufRead as _, Read as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use wwwoffle_config::{PasswordHash, User};

use super::Terminal;
use super::failure::{VerbFailure, VerbResult};
use crate::base::exit::ExitStatus;

/// Maximum length of a line read as a password, in bytes.
const MAX_LINE: u64 = 4096;

/// Reads a password and prints a configuration line with the hash of the password. In a terminal,
/// the password must be typed twice and is not echoed.
pub(crate) fn passwd(user: Option<&str>, terminal: &mut Terminal<'_>) -> VerbResult {
    let password = prompt_password(user, terminal)?;
    let bad = |error| VerbFailure::usage(format_args!("the password cannot be hashed: {error}"));
    let (line, place) = if let Some(name) = user {
        let user = User::make(name, &password).map_err(bad)?;
        (format!("users = [\"{}\"]", escaped(&user.to_string())), "[allowed-connect-users]")
    } else {
        let hash = PasswordHash::make(&password).map_err(bad)?;
        (format!("password = \"{}\"", hash.as_str()), "[startup]")
    };
    writeln!(terminal.stdout, "{line}")?;
    terminal.stdout.flush()?;
    let more = if user.is_some() { "; add further users to the array" } else { "" };
    writeln!(terminal.stderr, "wwwoffle: this line goes under {place} in the configuration{more}")?;
    Ok(ExitStatus::Done)
}

/// Escapes a text for a quoted TOML string; names contain no control characters.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Asks for a new password twice, or reads it from standard input if that is not a terminal.
pub(super) fn prompt_password(
    user: Option<&str>,
    terminal: &mut Terminal<'_>,
) -> VerbResult<String> {
    if !terminal.typed {
        return line(terminal);
    }
    let whose = user.map_or("control password".to_owned(), |user| format!("password of {user:?}"));
    let _silence = Silence::begin()?;
    let password = prompt(&format!("new {whose}: "), terminal)?;
    if prompt("repeat it: ", terminal)? == password {
        Ok(password)
    } else {
        Err(VerbFailure::plain("the two passwords differ: try again"))
    }
}

/// Asks for a password in the terminal, without echo.
pub(super) fn ask(question: &str, terminal: &mut Terminal<'_>) -> VerbResult<String> {
    let _silence = Silence::begin()?;
    prompt(question, terminal)
}

fn prompt(prompt: &str, terminal: &mut Terminal<'_>) -> VerbResult<String> {
    write!(terminal.stderr, "{prompt}")?;
    terminal.stderr.flush()?;
    let line = line(terminal)?;
    // The terminal has not echoed the line break either, so it is written here.
    writeln!(terminal.stderr)?;
    Ok(line)
}

fn line(terminal: &mut Terminal<'_>) -> VerbResult<String> {
    let mut bytes = Vec::new();
    (&mut *terminal.stdin)
        .take(MAX_LINE)
        .read_until(b'\n', &mut bytes)
        .map_err(|error| VerbFailure::failed("the password cannot be read", &error))?;
    let mut text =
        String::from_utf8(bytes).map_err(|_| VerbFailure::usage("the password is not UTF-8"))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

/// A guard that turns off the echo of the terminal until it is dropped.
struct Silence(Termios);

impl Silence {
    fn begin() -> VerbResult<Self> {
        let cannot = |error: rustix::io::Errno| {
            VerbFailure::failed("the echo of the terminal cannot be turned off", &error)
        };
        let before = tcgetattr(io::stdin()).map_err(cannot)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        // Input typed before the prompt is discarded.
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent).map_err(cannot)?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // If the terminal is gone, there is no echo to restore.
        let _restored = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wwwoffle_config::Config;

    use super::super::tests::wwwoffle;
    use crate::base::exit::ExitStatus;

    #[test]
    fn a_line_becomes_a_line_of_the_configuration() {
        for (arguments, stdin, section) in [
            (&["passwd"][..], "sésame\n", "[startup]"),
            (&["passwd"], "sésame", "[startup]"),
            (&["passwd", "ada"], "sésame\r\nmore\n", "[allowed-connect-users]"),
            (&["passwd", "a\"b\\c"], "sésame\n", "[allowed-connect-users]"),
        ] {
            let ran = wwwoffle(arguments, stdin, Path::new("/nowhere"));
            assert_eq!(ran.status, ExitStatus::Done, "{ran:?}");
            assert!(ran.err.contains(section), "{ran:?}");
            assert_eq!(ran.out.lines().count(), 1, "{ran:?}");
            let text = format!("{section}\n{}", ran.out);
            let config = Config::parse(&text, Path::new("w.conf")).unwrap();
            let hash = match arguments.get(1) {
                None => config.startup.password.hash().unwrap(),
                Some(name) => &config.allowed_users.users.named(name.as_bytes()).unwrap().hash,
            };
            assert!(hash.verify("sésame".as_bytes()), "{ran:?}");
        }
    }

    #[test]
    fn an_invalid_password_is_refused() {
        for (arguments, stdin) in [
            (&["passwd"][..], ""),
            (&["passwd"], "\n"),
            (&["passwd"], "a\tb\n"),
            (&["passwd", "a:b"], "x\n"),
            (&["passwd", ""], "x\n"),
        ] {
            let ran = wwwoffle(arguments, stdin, Path::new("/nowhere"));
            assert_eq!((ran.status, ran.out.as_str()), (ExitStatus::Usage, ""), "{ran:?}");
        }
        let long = "x".repeat(5000);
        let ran = wwwoffle(&["passwd"], &long, Path::new("/nowhere"));
        assert!(ran.err.contains("longer than 1024 bytes"), "{ran:?}");
    }
}

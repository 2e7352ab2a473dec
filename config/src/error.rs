//! The faults of a configuration, with their locations.

use crate::{
    disk::FileError,
    pattern::{host::ParseHostSpecError, spec::ParseSpecError},
};
use std::{error, fmt, net::SocketAddr, path::Path, sync::Arc};

/// The largest number of reported faults. With more, the first ones would scroll out of view.
const MAX_FAULTS: usize = 100;

/// All faults of a configuration, at least one. The previous configuration stays in force.
///
/// Displayed with one fault on each line, in the order of the file.
#[derive(Debug)]
pub struct Faults {
    faults: Vec<Fault>,
    /// The number of faults beyond [`MAX_FAULTS`].
    left_out: usize,
}

/// One fault with its location.
///
/// Displayed as `wwwoffle.conf:12: "connect-timeout" takes a time, such as "30s" or "2m", not
/// "80a"`.
#[derive(Debug)]
pub struct Fault {
    file: Arc<Path>,
    /// The line, counted from 1; `None` if the fault is not in a line of a text.
    line: Option<usize>,
    kind: FaultKind,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FaultKind {
    #[error("{0}")]
    File(FileError),
    #[error("{found:?} is not TOML: {message}")]
    NotToml { message: String, found: String },
    /// A configuration of 2.9 instead of the present format.
    #[error(
        "this is a configuration of WWWOFFLE 2.9: `wwwoffle config import {} --output NEW.conf` converts it",
        .file.display()
    )]
    Former { file: Arc<Path> },
    #[error("there is no section [{}]{}", .found.escape_debug(), section_suggestion(*.nearest))]
    UnknownSection { found: String, nearest: Option<&'static str> },
    #[error("[{section}] has no option {found:?}{}", suggestion(*.nearest))]
    UnknownOption { section: &'static str, found: String, nearest: Option<&'static str> },
    #[error("{found:?} is outside every section and is not an option{}", suggestion(*.nearest))]
    NoSection { found: String, nearest: Option<&'static str> },
    #[error("{option:?} belongs in [{belongs}]")]
    Misplaced { option: String, belongs: &'static str },
    #[error("{found:?} is a section: write [{found}] once, on its own line")]
    NotASection { found: &'static str },
    #[error("{option:?} takes a value ({kind}), not a section")]
    NotAValue { option: &'static str, kind: &'static str },
    #[error("{option:?} takes {expected}, not {found}{}", after_colon(.because))]
    BadValue { option: &'static str, expected: &'static str, found: String, because: String },
    #[error("expected one URL-SPECIFICATION on each line, not {found:?}: {because}")]
    BadLine { found: String, because: ParseSpecError },
    #[error("expected an address and names on each line, not {found:?}")]
    BadHostsLine { found: String },
    #[cfg_attr(not(feature = "easylist"), expect(dead_code, reason = "only that can find it"))]
    #[error(
        "this is not a list in the format of EasyList: {unread} of {all} lines are not rules, the first is {found:?}; for a list in the format of /etc/hosts write {{ hosts = \"…\" }}"
    )]
    NotEasyList { unread: usize, all: usize, found: String },
    #[cfg_attr(not(feature = "easylist"), expect(dead_code, reason = "only that can find it"))]
    #[error("this list in the format of EasyList cannot be parsed")]
    BadEasyList,
    #[error("expected one host on each line, not {found:?}: {because}")]
    BadHost { found: String, because: ParseHostSpecError },
    #[error("{found:?} cannot be included: {because}")]
    BadInclude { found: String, because: String },
    #[error("\"for\" is a list of rules: write [[{section}.for]] before each rule")]
    NotRules { section: &'static str },
    #[error("{option:?} cannot depend on the URL: set it in [{section}], outside of rules")]
    NotInRule { section: &'static str, option: &'static str },
    #[error("the rule sets no option: add an option of [{section}] to it")]
    EmptyRule { section: &'static str },
    #[error("the rule has no URLs: add a line such as url = \"*://*.example.org/*\"")]
    RuleWithoutUrl,
    #[error(
        "the rule has only patterns with \"!\", so it applies to no URL: add a pattern without \"!\" after them"
    )]
    RuleForNothing,
    #[error("{0}")]
    Open(OpenListener),
}

/// The end of a message that names the nearest known option or section.
pub(crate) fn suggestion(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; the nearest is {name:?}"))
}

fn section_suggestion(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; the nearest is [{name}]"))
}

/// The end of a message that gives a reason, which may be empty.
fn after_colon(because: &str) -> String {
    if because.is_empty() { String::new() } else { format!(": {because}") }
}

/// A listener that other machines can reach although a required setting is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenListener {
    /// The configuration names neither clients nor users.
    #[error(
        "other machines can reach {0}, but no setting says which of them may use the proxy: name \
         them in \"hosts\" of [allowed-connect-hosts], or users in \"users\" of \
         [allowed-connect-users] (`wwwoffle passwd USER` makes an entry); or listen on 127.0.0.1"
    )]
    NoClients(SocketAddr),
    /// There is no control password, and no setting allows that.
    #[error(
        "other machines can reach {0}, but there is no control password: make one with `wwwoffle \
         passwd` and put its line under [startup]; or set \"share-without-password\" there to do without one; or listen on 127.0.0.1"
    )]
    NoPassword(SocketAddr),
}

impl Faults {
    /// The faults, at most a hundred, in the order of their lines. Faults of the configuration file
    /// precede those of other files.
    #[must_use]
    pub fn as_slice(&self) -> &[Fault] {
        &self.faults
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self { faults: vec![fault], left_out: 0 }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            write!(f, "{end}{fault}")?;
        }
        if self.left_out > 0 {
            write!(f, "\n{} more faults are not shown", self.left_out)?;
        }
        Ok(())
    }
}

// Without a source: the faults have no common cause, and each displays its own cause.
impl error::Error for Faults {}

impl Fault {
    pub(crate) fn new(file: &Arc<Path>, line: Option<usize>, kind: FaultKind) -> Self {
        Self { file: Arc::clone(file), line, kind }
    }

    /// A file that could not be read or written.
    pub(crate) fn of_file(file: &Path, error: FileError) -> Self {
        Self::new(&file.into(), None, FaultKind::File(error))
    }

    /// The file of the fault: the configuration, or another file that it names.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The line, counted from 1. `None` if the fault is not in a single line, for example because
    /// the file could not be read.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Whether the fault is a file that could not be read, rather than an error in its text.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        matches!(self.kind, FaultKind::File(_))
    }

    /// The message without the location.
    pub(crate) fn message(&self) -> String {
        self.kind.to_string()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.kind)
    }
}

impl error::Error for Fault {}

/// The faults found so far while a configuration is read.
#[derive(Debug, Default)]
pub(crate) struct FaultCollector {
    faults: Vec<Fault>,
    left_out: usize,
}

impl FaultCollector {
    pub(crate) fn add(&mut self, fault: Fault) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(fault);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns `value` if there was no fault. Otherwise returns the faults of the file `main` in
    /// the order of their lines, then those of other files.
    pub(crate) fn or<T>(mut self, main: &Path, value: T) -> Result<T, Faults> {
        if self.faults.is_empty() {
            return Ok(value);
        }
        self.faults.sort_by_key(|fault| {
            let of_main = &*fault.file == main;
            (!of_main, (!of_main).then(|| Arc::clone(&fault.file)), fault.line)
        });
        Err(Faults { faults: self.faults, left_out: self.left_out })
    }
}

//! Lists of rules in the format of EasyList, which blockers in browsers read.
//!
//! The crate `adblock` matches the rules. It was written for lists that a browser vendor controls,
//! so its input is limited here. [`rule`] checks each line first and leaves out lines that the
//! crate would misread. A panic in the crate disables these lists, not the proxy.
//!
//! The engine has an internal lock, for regular expressions that are compiled on first use. The
//! lock is held while a request is compared, for a few microseconds; `docs/performance.md` gives
//! the cost for many simultaneous requests.

mod rule;

use crate::{
    blocklist::{ListNote, ListRule, request::BlockQuery},
    disk::location::Location,
    error::FaultKind,
    pattern::parts::UrlParts,
    source::shortened,
};
use adblock::{Engine, FilterSet, request::Request, sourcemap::FilterRuleDebugInfo};
use rule::LineClass;
use sha2::{Digest, Sha256};
use std::{
    fmt::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// The largest number of rules in consecutive lists together. Ten times EasyList.
const MAX_RULES: usize = 700_000;

/// The largest size of the rules in consecutive lists together, in bytes. The crate stores each
/// line and addresses it by 32 bits.
const MAX_TEXT: usize = 64 << 20;

/// The largest number of rules of one list that apply to all hosts, and so may be compared with
/// each URL. EasyList has about ten thousand.
const MAX_GENERAL: usize = 50_000;

/// The largest number of rules of one list that are regular expressions. Each is compiled when it
/// is first compared.
const MAX_EXPRESSIONS: usize = 5_000;

/// A list as read from its file.
pub(crate) struct EasyList {
    file: Arc<Path>,
    /// The lines with rules. All other lines are empty, so that line numbers stay correct.
    text: String,
    rules: usize,
    note: Option<ListNote>,
}

/// The usable rules of a list, and the number of its lines in each class.
#[derive(Default)]
struct CheckedRules<'a> {
    text: String,
    rules: usize,
    general: usize,
    expressions: usize,
    passed: usize,
    unread: usize,
    /// The first line counted in `unread`, with its number. `None` if no line was unreadable.
    first: Option<(usize, &'a str)>,
}

impl<'a> CheckedRules<'a> {
    fn of(text: &'a str) -> Self {
        let mut counted = Self::default();
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (number, line) in (1..).zip(text.lines()) {
            counted.add(number, line.trim());
            counted.text.push('\n');
        }
        counted
    }

    fn add(&mut self, number: usize, line: &'a str) {
        match rule::read(line) {
            LineClass::Nothing => {}
            LineClass::Passed => self.passed += 1,
            LineClass::Expression if self.expressions < MAX_EXPRESSIONS => {
                self.expressions += 1;
                self.add_rule(line);
            }
            LineClass::General if self.general < MAX_GENERAL => {
                self.general += 1;
                self.add_rule(line);
            }
            LineClass::Rule => self.add_rule(line),
            LineClass::Unread | LineClass::General | LineClass::Expression => {
                self.unread += 1;
                self.first.get_or_insert((number, line));
            }
        }
    }

    fn add_rule(&mut self, line: &str) {
        self.rules += 1;
        self.text.push_str(line);
    }
}

impl EasyList {
    /// Parses a list. If more than half of its rules are unreadable, the error contains the line of
    /// the first unreadable one. If the crate panics, the error contains line 1.
    pub(crate) fn read(text: &str, file: &Arc<Path>) -> Result<Self, (usize, FaultKind)> {
        let Ok(counted) = catch_unwind(|| CheckedRules::of(text)) else {
            return Err((1, FaultKind::BadEasyList));
        };
        let CheckedRules { text, rules, passed, unread, first, .. } = counted;
        let all = rules + passed + unread;
        let note = first.map(|(line, found)| {
            let found = shortened(found);
            if unread > rules + passed {
                return Err((
                    line,
                    FaultKind::NotEasyList { unread, all, found: found.into_owned() },
                ));
            }
            let mut message = format!("{unread} of {all} rules cannot be parsed and are ignored");
            // Writing to a `String` cannot fail.
            let _ = write!(message, "; the first is {found:?}");
            Ok(ListNote { location: Location { file: Arc::clone(file), line }, message })
        });
        Ok(Self { file: Arc::clone(file), text, rules, note: note.transpose()? })
    }
}

/// Consecutive lists of rules, compiled into one engine.
#[derive(Clone)]
pub(crate) struct EasyLists(Arc<RuleEngine>);

struct RuleEngine {
    engine: Engine,
    /// The file of each list, at the index by which the engine refers to the list.
    files: Vec<Arc<Path>>,
    rules: usize,
    notes: Vec<ListNote>,
    /// The digest of all rules. Equal digests mean equal lists.
    digest: [u8; 32],
    /// Whether the engine has panicked. Its lock is then poisoned, so every later call would fail.
    broken: AtomicBool,
}

impl EasyLists {
    /// Compiles consecutive lists, or returns the reason for the failure.
    pub(crate) fn of(lists: Vec<EasyList>) -> Result<Self, String> {
        let rules = lists.iter().map(|list| list.rules).sum();
        let bytes: usize = lists.iter().map(|list| list.text.len()).sum();
        if rules > MAX_RULES || bytes > MAX_TEXT {
            return Err(format!(
                "consecutive rule lists may have {MAX_RULES} rules and {MAX_TEXT} bytes together, but these have {rules} rules and {bytes} bytes"
            ));
        }
        let (mut digest, mut files, mut notes) = (Sha256::new(), Vec::new(), Vec::new());
        // With debug information, which later identifies the rule and its line.
        let mut set = FilterSet::new(true);
        for EasyList { file, text, note, .. } in lists {
            digest.update(&text);
            files.push(file);
            notes.extend(note);
            set.add_filter_list(text, rule::options());
        }
        // Without joining rules, because the line of a joined rule would be unknown.
        let make = || Engine::new_with_filter_set_no_optimize(set);
        let Ok(engine) = catch_unwind(AssertUnwindSafe(make)) else {
            return Err("its rules cannot be compiled".to_owned());
        };
        let (digest, broken) = (digest.finalize().into(), AtomicBool::new(false));
        Ok(Self(Arc::new(RuleEngine { engine, files, rules, notes, digest, broken })))
    }

    /// Returns the rule that decides about a request. `None` if no rule applies, or after a panic
    /// in the engine.
    pub(crate) fn decide(&self, asked: &BlockQuery<'_>) -> Option<ListRule> {
        let inner = &*self.0;
        if inner.broken.load(Ordering::Relaxed) {
            return None;
        }
        let url = rule_url(asked.url);
        let check = || {
            let request = Request::preparsed(
                &url,
                asked.url.host,
                asked.page_host().unwrap_or_default(),
                asked.purpose.as_str(),
                asked.is_third_party(),
                "",
            );
            inner.engine.check_network_request(&request)
        };
        let Ok(result) = catch_unwind(AssertUnwindSafe(check)) else {
            inner.broken.store(true, Ordering::Relaxed);
            return None;
        };
        let blocks = result.should_block();
        let decided = if blocks { result.filter } else { result.exception };
        inner.rule(decided?, blocks)
    }

    pub(crate) fn notes(&self) -> &[ListNote] {
        &self.0.notes
    }
}

impl RuleEngine {
    fn rule(&self, found: FilterRuleDebugInfo, blocks: bool) -> Option<ListRule> {
        let at = found.source_location?;
        let file = self.files.get(usize::try_from(at.source_index).ok()?)?;
        let line = usize::try_from(at.line_number).ok()? + 1;
        let location = Location { file: Arc::clone(file), line };
        Some(ListRule { location, text: found.raw_line?, blocks })
    }
}

impl PartialEq for EasyLists {
    fn eq(&self, other: &Self) -> bool {
        (self.0.digest, &self.0.files) == (other.0.digest, &other.0.files)
    }
}

impl Eq for EasyLists {}

/// Shows the files and the number of their rules.
impl fmt::Debug for EasyLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleEngine { files, rules, .. } = &*self.0;
        f.debug_struct("EasyLists").field("files", files).field("rules", rules).finish()
    }
}

/// The URL as rules expect it, without user and password.
fn rule_url(url: &UrlParts<'_>) -> String {
    let mut text = format!("{}://{}", url.protocol, url.host);
    let port = url.explicit_port.map(|port| format!(":{port}"));
    text.extend(port);
    text.push_str(url.path);
    if let Some(arguments) = url.arguments {
        text.push('?');
        text.push_str(arguments);
    }
    text
}

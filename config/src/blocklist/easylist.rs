//! Lists of rules of the form of EasyList, which blockers in browsers read.
//!
//! The rules are matched by the crate `adblock`. It was made for lists that the vendor of a browser hands
//! out, so what reaches it is bounded here: [`rule`] looks at each line first and leaves out what the crate
//! would misread, and a panic in it ends its part in deciding, never ours.
//!
//! The engine has a lock inside, for expressions that are made when first used. It is held while a
//! request is compared, a few microseconds; `docs/performance.md` has what that costs many at once.

mod rule;

use crate::{
    blocklist::{
        ListNote, ListRule,
        request::{BlockQuery, Purpose},
    },
    disk::location::Location,
    error::Kind,
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

/// Rules in lists that follow one another, all told. Ten times EasyList.
const MAX_RULES: usize = 700_000;

/// Bytes of rules in them, all told. The crate keeps each line, and addresses what it keeps by 32 bits.
const MAX_TEXT: usize = 64 << 20;

/// Rules of one list that may have to be tried on each URL: those for all hosts. EasyList has some ten
/// thousand.
const MAX_GENERAL: usize = 50_000;

/// The same that are compared as regular expressions; each is made when it is first tried.
const MAX_EXPRESSIONS: usize = 5_000;

/// A list as its file has it.
pub(crate) struct EasyList {
    file: Arc<Path>,
    /// The lines that have rules, and empty ones in place of the others, so that numbers stay.
    text: String,
    rules: usize,
    note: Option<ListNote>,
}

/// The lines of a list, by what they are.
#[derive(Default)]
struct CheckedRules<'a> {
    text: String,
    rules: usize,
    general: usize,
    expressions: usize,
    passed: usize,
    unread: usize,
    /// The first that could not be read, with its number.
    first: Option<(usize, &'a str)>,
}

impl<'a> CheckedRules<'a> {
    fn of(text: &'a str) -> Self {
        let mut counted = Self::default();
        // Editors of some systems begin a file with a mark that is no text.
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
                self.take(line);
            }
            LineClass::General if self.general < MAX_GENERAL => {
                self.general += 1;
                self.take(line);
            }
            LineClass::Rule => self.take(line),
            LineClass::Unread | LineClass::General | LineClass::Expression => {
                self.unread += 1;
                self.first.get_or_insert((number, line));
            }
        }
    }

    fn take(&mut self, line: &str) {
        self.rules += 1;
        self.text.push_str(line);
    }
}

impl EasyList {
    /// Reads a list, or says in which line it is none.
    pub(crate) fn read(text: &str, file: &Arc<Path>) -> Result<Self, (usize, Kind)> {
        let Ok(counted) = catch_unwind(|| CheckedRules::of(text)) else {
            return Err((1, Kind::BadEasyList));
        };
        let CheckedRules { text, rules, passed, unread, first, .. } = counted;
        let all = rules + passed + unread;
        let note = first.map(|(line, found)| {
            let found = shortened(found);
            if unread > rules + passed {
                return Err((line, Kind::NotEasyList { unread, all, found: found.into_owned() }));
            }
            let mut message = format!("{unread} of {all} rules cannot be read and are passed over");
            // Writing to text cannot fail.
            let _ = write!(message, "; the first is {found:?}");
            Ok(ListNote { location: Location { file: Arc::clone(file), line }, message })
        });
        Ok(Self { file: Arc::clone(file), text, rules, note: note.transpose()? })
    }
}

/// Lists of rules that follow one another, read as one.
#[derive(Clone)]
pub(crate) struct EasyLists(Arc<RuleEngine>);

struct RuleEngine {
    engine: Engine,
    /// By the numbers that the engine gives them.
    files: Vec<Arc<Path>>,
    rules: usize,
    notes: Vec<ListNote>,
    /// Of all rules: two of the same are the same lists.
    digest: [u8; 32],
    /// Set by a panic in the engine, whose lock would refuse everyone from then on.
    broken: AtomicBool,
}

impl EasyLists {
    /// Makes one of lists in a row, or says why not.
    pub(crate) fn of(lists: Vec<EasyList>) -> Result<Self, String> {
        let rules = lists.iter().map(|list| list.rules).sum();
        let bytes: usize = lists.iter().map(|list| list.text.len()).sum();
        if rules > MAX_RULES || bytes > MAX_TEXT {
            return Err(format!(
                "lists of rules that follow one another have at most {MAX_RULES} rules in \
                 {MAX_TEXT} bytes, and these have {rules} in {bytes}"
            ));
        }
        let (mut digest, mut files, mut notes) = (Sha256::new(), Vec::new(), Vec::new());
        // With what tells rule and line later.
        let mut set = FilterSet::new(true);
        for EasyList { file, text, note, .. } in lists {
            digest.update(&text);
            files.push(file);
            notes.extend(note);
            set.add_filter_list(text, rule::options());
        }
        // Without joining rules to one: of such it could not be told which decided.
        let make = || Engine::new_with_filter_set_no_optimize(set);
        let Ok(engine) = catch_unwind(AssertUnwindSafe(make)) else {
            return Err("its rules cannot be taken together".to_owned());
        };
        let (digest, broken) = (digest.finalize().into(), AtomicBool::new(false));
        Ok(Self(Arc::new(RuleEngine { engine, files, rules, notes, digest, broken })))
    }

    /// The rule that decides about a request.
    pub(crate) fn decide(&self, asked: &BlockQuery<'_>) -> Option<ListRule> {
        let inner = &*self.0;
        if inner.broken.load(Ordering::Relaxed) {
            return None;
        }
        let url = written(asked.url);
        let check = || {
            let request = Request::preparsed(
                &url,
                asked.url.host,
                asked.page_host().unwrap_or_default(),
                name_of(asked.purpose),
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

    /// What there is to say of the lists.
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

/// The files, and how much is in them.
impl fmt::Debug for EasyLists {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RuleEngine { files, rules, .. } = &*self.0;
        f.debug_struct("EasyLists").field("files", files).field("rules", rules).finish()
    }
}

/// The URL as rules know it, without user and password.
fn written(url: &UrlParts<'_>) -> String {
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

/// What the crate calls it.
fn name_of(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Page => "document",
        Purpose::Frame => "subdocument",
        Purpose::Style => "stylesheet",
        Purpose::Script => "script",
        Purpose::Image => "image",
        Purpose::Font => "font",
        Purpose::Media => "media",
        Purpose::Object => "object",
        Purpose::Data => "xmlhttprequest",
        Purpose::WebSocket => "websocket",
        Purpose::Other => "other",
    }
}

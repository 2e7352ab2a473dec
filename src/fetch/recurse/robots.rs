//! The rules of a site for programs: `robots.txt` (RFC 9309).
//!
//! Pure: the caller fetches the file, passes its text, and asks for one URL after the other.
//! `Crawl-delay` is read too. It is not in the RFC, but common.

use std::time::Duration;

use wwwoffle_config::{Config, UrlParts};
use wwwoffle_url::CanonicalUrl;

use wwwoffle_api::fetch_spec::FetchSpec;

/// The largest part of a `robots.txt` that is read, in bytes. RFC 9309 §2.5 requires at least 500
/// KiB.
pub const MAX_ROBOTS: usize = 512 * 1024;

/// The largest number of rules. Further rules are ignored.
const MAX_RULES: usize = 10_000;

/// The number of bytes at the beginning of a path that are compared.
const MAX_COMPARED: usize = 16 * 1024;

/// The longest pause between two requests that a site can ask for.
pub const MAX_CRAWL_DELAY: Duration = Duration::from_secs(60);

/// The access that a site grants to programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Robots {
    /// The access that these rules grant.
    Rules(Rules),
    /// Every path is allowed: the file is missing, or counts as missing (RFC 9309 §2.3.1.2,
    /// §2.3.1.3).
    Everything,
    /// No path is allowed: the file exists or may exist, and cannot be fetched (§2.3.1.4).
    Nothing,
}

/// The rules of a `robots.txt` that apply to one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    list: Vec<PathRule>,
    crawl_delay: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PathRule {
    allows: bool,
    /// The pattern in normal form: `*` matches any text, and `$` at the end matches the end of the
    /// path.
    pattern: Vec<u8>,
}

/// The programs to which the current group applies.
#[derive(Clone, Copy, Debug, Default)]
struct AgentGroup {
    /// Our program by its name, and any program.
    applies_to: [bool; 2],
    /// Whether a rule was read since the last `User-agent` line.
    has_rules: bool,
}

impl Robots {
    /// The access for the program `product`, from the response to a request for `/robots.txt` after
    /// redirects. `status` is `None` if there was no response.
    #[must_use]
    pub fn of_answer(status: Option<u16>, body: &[u8], product: &str) -> Self {
        match status {
            Some(200..300) => Self::Rules(Rules::parse(body, product)),
            // A redirect status means that there were too many redirects, which count as no file
            // (§2.3.1.2).
            Some(300..500) => Self::Everything,
            Some(_) | None => Self::Nothing,
        }
    }

    /// Whether `path`, which begins with `/` and includes its arguments, may be requested.
    #[must_use]
    pub fn allows(&self, path: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Nothing => path == "/robots.txt",
            Self::Rules(rules) => rules.allows(path),
        }
    }

    /// The delay between two requests that the site asks for, if any, at most [`MAX_CRAWL_DELAY`].
    #[must_use]
    pub fn crawl_delay(&self) -> Option<Duration> {
        match self {
            Self::Rules(rules) => rules.crawl_delay,
            Self::Everything | Self::Nothing => None,
        }
    }
}

impl Rules {
    /// Parses a `robots.txt` for the program called `product`. Invalid lines are skipped; parsing
    /// never fails.
    #[must_use]
    pub fn parse(text: &[u8], product: &str) -> Self {
        let text = text.get(..MAX_ROBOTS).unwrap_or(text);
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        // The rules for our program, and those for any program.
        let mut rules = [Self::default(), Self::default()];
        let (mut group, mut is_named) = (AgentGroup::default(), false);
        for line in text.split(|&byte| byte == b'\n' || byte == b'\r') {
            let Some((key, value)) = key_and_value(line) else { continue };
            match key.to_ascii_lowercase().as_slice() {
                b"user-agent" => is_named |= group.add(value, product),
                b"allow" => group.rule(true, value, &mut rules),
                b"disallow" => group.rule(false, value, &mut rules),
                b"crawl-delay" => group.delay(value, &mut rules),
                _ => {}
            }
        }
        let [ours, anyones] = rules;
        if is_named { ours } else { anyones }
    }

    /// Whether `path` may be requested. The longest matching rule decides; between two rules of the
    /// same length, the one that allows it (§2.2.2).
    #[must_use]
    pub fn allows(&self, path: &str) -> bool {
        let path = path.split('#').next().unwrap_or_default();
        if path == "/robots.txt" {
            return true;
        }
        let path = path.as_bytes();
        let path = normal(path.get(..MAX_COMPARED).unwrap_or(path), true);
        let longest = self
            .list
            .iter()
            .filter(|rule| matches(&rule.pattern, &path))
            .max_by_key(|rule| (rule.pattern.len(), rule.allows));
        longest.is_none_or(|rule| rule.allows)
    }
}

impl AgentGroup {
    /// Adds a program to the group. Returns whether it is ours.
    fn add(&mut self, value: &[u8], product: &str) -> bool {
        if self.has_rules {
            *self = Self::default();
        }
        let is_star = value == b"*" || value.starts_with(b"* ") || value.starts_with(b"*\t");
        // A version or a comment may follow the token.
        let is_token = |byte: &&u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-');
        let token: Vec<u8> = value.iter().take_while(is_token).copied().collect();
        let is_ours = token.eq_ignore_ascii_case(product.as_bytes());
        let [ours, anyones] = &mut self.applies_to;
        *ours |= is_ours;
        *anyones |= is_star;
        is_ours
    }

    fn rule(&mut self, allows: bool, value: &[u8], rules: &mut [Rules; 2]) {
        self.has_rules = true;
        // An empty rule matches nothing (§5.1, `Disallow:`).
        if value.is_empty() {
            return;
        }
        let rule = PathRule { allows, pattern: normal(value, false) };
        // A rule before the first group applies to no program, so it is ignored.
        for (chosen, _) in rules.iter_mut().zip(self.applies_to).filter(|(_, applies)| *applies) {
            if chosen.list.len() < MAX_RULES {
                chosen.list.push(rule.clone());
            }
        }
    }

    fn delay(self, value: &[u8], rules: &mut [Rules; 2]) {
        let seconds = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
        let delay = seconds.and_then(|seconds| {
            let most = MAX_CRAWL_DELAY.as_secs_f64();
            (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds.min(most)).ok())?
        });
        for (chosen, _) in rules.iter_mut().zip(self.applies_to).filter(|(_, applies)| *applies) {
            chosen.crawl_delay = chosen.crawl_delay.max(delay);
        }
    }
}

/// Whether a run respects the `robots.txt` of `url`'s site. The fetch specification of the run
/// decides. If it does not say, the configuration decides, but only for runs that follow links.
#[must_use]
pub fn obeys_robots(config: &Config, url: &CanonicalUrl, spec: &FetchSpec) -> bool {
    spec.robots
        .unwrap_or_else(|| spec.depth > 0 && *config.fetch_options.robots.of(&UrlParts::of(url)))
}

/// The texts before and after the colon of a line, without a comment. `None` without a colon.
fn key_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.split(|&byte| byte == b'#').next()?;
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (key, value) = line.split_at(colon);
    Some((key.trim_ascii(), value.get(1..)?.trim_ascii()))
}

/// The normal form in which paths are compared (§2.2.2): percent-encoding for non-ASCII bytes, and
/// for encoded bytes that are not unreserved (RFC 3986 §2.3). In a path (`is_path`), `*` and `$`
/// are literal and therefore encoded; in a pattern they are not.
fn normal(text: &[u8], is_path: bool) -> Vec<u8> {
    let mut normal = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let escaped = (byte == b'%').then(|| after.get(..2)).flatten();
        let decoded = escaped.and_then(|digits| {
            let mut one = [0];
            hex::decode_to_slice(digits, &mut one).ok().map(|()| u8::from_be_bytes(one))
        });
        match decoded {
            Some(byte) => {
                rest = after.get(2..).unwrap_or_default();
                if is_unreserved(byte) {
                    normal.push(byte);
                } else {
                    escape(byte, &mut normal);
                }
            }
            None if !byte.is_ascii() || (is_path && matches!(byte, b'*' | b'$')) => {
                escape(byte, &mut normal);
            }
            None => normal.push(byte),
        }
    }
    normal
}

fn escape(byte: u8, to: &mut Vec<u8>) {
    to.extend_from_slice(format!("%{byte:02X}").as_bytes());
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Whether a pattern matches the beginning of a path, or the whole path if the pattern ends in `$`.
///
/// It is enough to match each piece between two stars at its first occurrence, because this leaves
/// the most text for the following pieces. So the time is at most one scan of the path for each
/// piece.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, is_whole) =
        pattern.strip_suffix(b"$").map_or((pattern, false), |pattern| (pattern, true));
    let mut pieces = pattern.split(|&byte| byte == b'*').peekable();
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    if pieces.peek().is_none() {
        return !is_whole || rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if is_whole && pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match memchr::memmem::find(rest, piece) {
            Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The cases of the table beside this file: a `robots.txt`, then products and URLs.
    #[test]
    fn rules_are_those_of_the_table() {
        let (mut file, mut wrong, mut rows) = (String::new(), Vec::new(), 0);
        let mut in_file = false;
        for (number, line) in (1..).zip(include_str!("robots.txt").lines()) {
            if let Some(rule) = line.strip_prefix("| ") {
                if !in_file {
                    file.clear();
                }
                in_file = true;
                file.push_str(rule);
                file.push('\n');
            }
            let Some((asked, want)) = line.split_once(" -> ").filter(|_| !line.starts_with('|'))
            else {
                continue;
            };
            in_file = false;
            rows += 1;
            let (product, path) = asked.split_once(' ').unwrap();
            let got =
                if Rules::parse(file.as_bytes(), product).allows(path) { "yes" } else { "no" };
            if got != want.trim() {
                wrong.push(format!("robots.txt:{number}: {product} {path} got {got}"));
            }
        }
        assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
        assert!(rows > 60, "only {rows} rows were read");
    }

    #[test]
    fn the_status_decides_whether_robots_rules_exist() {
        let body = b"User-agent: *\nDisallow: /x\n";
        for (status, page, want) in [
            (Some(200), "/x", false),
            (Some(200), "/y", true),
            (Some(304), "/x", true),
            (Some(404), "/x", true),
            (Some(401), "/x", true),
            (Some(500), "/y", false),
            (Some(503), "/robots.txt", true),
            (None, "/y", false),
        ] {
            let robots = Robots::of_answer(status, body, "wwwoffle");
            assert_eq!(robots.allows(page), want, "{status:?} {page}");
        }
    }

    #[test]
    fn crawl_delays_are_read() {
        let text = "Sitemap: http://h.example/a.xml\nUser-agent: *\nCrawl-delay: 2.5\nDisallow: /x\n\
                    User-agent: wwwoffle\nCrawl-delay: 1e9\n";
        let theirs = Robots::Rules(Rules::parse(text.as_bytes(), "other"));
        assert_eq!(theirs.crawl_delay(), Some(Duration::from_millis(2500)));
        let ours = Robots::Rules(Rules::parse(text.as_bytes(), "wwwoffle"));
        assert_eq!(ours.crawl_delay(), Some(MAX_CRAWL_DELAY));
        assert!(ours.allows("/x"), "the group that names us is instead of that for anyone");
        for bad in ["-1", "NaN", "inf", "soon", ""] {
            let text = format!("User-agent: *\nCrawl-delay: {bad}\n");
            let delay = Robots::Rules(Rules::parse(text.as_bytes(), "w")).crawl_delay();
            assert!(delay.is_none_or(|delay| delay == MAX_CRAWL_DELAY), "{bad}: {delay:?}");
        }
    }

    #[test]
    fn rules_beyond_the_size_limit_are_ignored() {
        let mut text = b"User-agent: *\n".to_vec();
        text.resize(MAX_ROBOTS, b'\n');
        text.extend_from_slice(b"Disallow: /\n");
        assert!(Rules::parse(&text, "w").allows("/x"));
    }

    /// Matches by trying every position for every star.
    fn slow(pattern: &[u8], path: &[u8]) -> bool {
        match pattern.split_first() {
            None => true,
            Some((b'$', [])) => path.is_empty(),
            Some((b'*', rest)) => (0..=path.len()).any(|at| slow(rest, &path[at..])),
            Some((byte, rest)) => path.first() == Some(byte) && slow(rest, &path[1..]),
        }
    }

    proptest! {
        #[test]
        fn matching_agrees_with_trying_everything(
            pattern in "/[ab*]{0,6}\\$?",
            path in "/[ab]{0,8}",
        ) {
            let fast = matches(pattern.as_bytes(), path.as_bytes());
            prop_assert_eq!(fast, slow(pattern.as_bytes(), path.as_bytes()));
        }

        #[test]
        fn any_bytes_are_a_file(text in proptest::collection::vec(any::<u8>(), 0..400), path in ".*") {
            let _allowed = Rules::parse(&text, "wwwoffle").allows(&path);
        }
    }
}

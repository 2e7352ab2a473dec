//! Classifies one line of a list, and checks that the crate `adblock` reads this line as browsers
//! do.

use adblock::{
    filters::network::{FilterPart, NetworkFilter, NetworkFilterFeaturesMask, NetworkFilterMask},
    lists::{FilterParseError, ParseOptions, ParsedLine, RuleTypes, parse_filter},
};
use regex::bytes::RegexBuilder;

/// The longest line, in bytes. The longest rules of real lists name a few hundred sites.
const MAX_LINE: usize = 32 << 10;

/// The longest pattern that a rule compares with a URL, in bytes.
const MAX_PATTERN: usize = 512;

/// The largest number of `*` and `^` in a pattern. The crate turns a pattern with wildcards into a
/// regular expression.
const MAX_WILDCARDS: usize = 32;

/// The largest compiled regular expression, in bytes, and the largest cache for matching it, in
/// bytes. Matching time is linear in the length of the URL, and this limit bounds the time per
/// byte.
const MAX_EXPRESSION: usize = 256 << 10;

/// The class of a line of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineClass {
    /// An empty line, a comment, or the header of the list.
    Nothing,
    /// A rule that changes pages, requests or responses, and blocks nothing.
    Passed,
    /// A rule that blocks or excepts requests, either to one host or from the pages of certain
    /// sites.
    Rule,
    /// A rule for all hosts that is compared as plain text.
    General,
    /// A rule that is written as a regular expression, or a rule for all hosts with wildcards in
    /// its pattern. Both are compared as regular expressions.
    Expression,
    /// An unreadable line.
    Unread,
}

/// The options under which the crate parses lists.
pub(super) fn options() -> ParseOptions {
    ParseOptions { rule_types: RuleTypes::NetworkOnly, ..ParseOptions::default() }
}

/// Classifies a line.
pub(super) fn read(line: &str) -> LineClass {
    let line = line.trim();
    let is_head = line.starts_with('[') && line.ends_with(']');
    if line.is_empty() || line.starts_with('!') || is_head {
        return LineClass::Nothing;
    }
    if line.len() > MAX_LINE || line.contains(char::is_control) {
        return LineClass::Unread;
    }
    match parse_filter(line, false, options()) {
        Ok(ParsedLine::Network(filter)) => of_filter(line, &filter),
        Ok(ParsedLine::Cosmetic(_)) => LineClass::Passed,
        Err(FilterParseError::Unsupported) if hides(line) => LineClass::Passed,
        Err(FilterParseError::Unsupported) if line.starts_with('#') => LineClass::Nothing,
        Err(_) => LineClass::Unread,
    }
}

/// Whether a line changes pages: `example.org##.ad`, `#@#`, `#?#`, `#$#`, `#%#`, `$$`.
fn hides(line: &str) -> bool {
    ["##", "#@", "#?", "#$", "#%", "$$"].iter().any(|mark| line.contains(mark))
}

fn of_filter(line: &str, filter: &NetworkFilter<'_>) -> LineClass {
    let changes = NetworkFilterFeaturesMask::IS_CSP
        | NetworkFilterFeaturesMask::IS_REMOVEPARAM
        | NetworkFilterFeaturesMask::GENERIC_HIDE;
    if filter.features_mask.intersects(changes) {
        return LineClass::Passed;
    }
    // The crate parses `to=` and then ignores it.
    if filter.opt_to_domains.is_some() || filter.opt_not_to_domains.is_some() {
        return LineClass::Unread;
    }
    let host = filter.hostname.as_deref().unwrap_or_default();
    let pattern = match &filter.filter {
        FilterPart::Empty => "",
        FilterPart::Simple(pattern) => pattern,
        FilterPart::AnyOf(_) => return LineClass::Unread,
    };
    let wildcards = pattern.matches(['*', '^']).count();
    if pattern.len() > MAX_PATTERN || host.len() > MAX_PATTERN || wildcards > MAX_WILDCARDS {
        return LineClass::Unread;
    }
    if filter.mask.contains(NetworkFilterMask::IS_COMPLETE_REGEX) {
        let keeps_case = filter.mask.contains(NetworkFilterMask::MATCH_CASE);
        return if is_expression(line, pattern, keeps_case) {
            LineClass::Expression
        } else {
            LineClass::Unread
        };
    }
    // URLs do not contain these characters, so the file may be something other than a list of
    // rules.
    if [host, pattern].iter().any(|part| part.contains([' ', '\t', '<', '>', '"', '`'])) {
        return LineClass::Unread;
    }
    // A rule that was truncated to one of these patterns would block every request.
    if host.is_empty() && matches!(pattern, "" | "^" | "/") && !line.contains('$') {
        return LineClass::Unread;
    }
    // A rule such as `||com/` matches most of the web, so it counts as a rule for all hosts.
    let is_general = !host.contains('.') && filter.opt_domains.is_none();
    match (is_general, filter.mask.contains(NetworkFilterMask::IS_REGEX)) {
        (false, _) => LineClass::Rule,
        (true, false) => LineClass::General,
        (true, true) => LineClass::Expression,
    }
}

/// Whether the crate compiles `/pattern/` to the regular expression that the author meant.
fn is_expression(line: &str, pattern: &str, keeps_case: bool) -> bool {
    let Some(inner) = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) else {
        return false;
    };
    // The crate converts the pattern to lower case, which turns `\D` into its opposite.
    if !keeps_case && turns_in_lower_case(line) {
        return false;
    }
    let made = RegexBuilder::new(&inner.replace("\\/", "/").replace("\\:", ":"))
        .unicode(false)
        .size_limit(MAX_EXPRESSION)
        .dfa_size_limit(MAX_EXPRESSION)
        .build();
    // An expression that matches the empty text matches every URL.
    made.is_ok_and(|made| !made.is_match(b""))
}

/// Whether a line has an escape that has another meaning in lower case.
fn turns_in_lower_case(line: &str) -> bool {
    let mut after_escape = false;
    line.bytes().any(|byte| {
        let turns = after_escape && byte.is_ascii_uppercase();
        after_escape = byte == b'\\' && !after_escape;
        turns
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn easylist_lines_are_classified() {
        let long = "a".repeat(MAX_LINE + 1);
        let wide = "/a".repeat(MAX_PATTERN);
        let starred = "a*".repeat(MAX_WILDCARDS + 2);
        for (line, want) in [
            ("", LineClass::Nothing),
            ("[Adblock Plus 2.0]", LineClass::Nothing),
            ("! Title: EasyList", LineClass::Nothing),
            ("# a comment", LineClass::Nothing),
            ("||ads.test^", LineClass::Rule),
            ("  ||ads.test^$third-party  ", LineClass::Rule),
            ("@@||ads.test^$script,domain=a.test|~b.test", LineClass::Rule),
            ("/ads/*", LineClass::General),
            ("-banner-", LineClass::General),
            ("||com/ads-", LineClass::General),
            ("/ads/*/x^", LineClass::Expression),
            ("/ads/*/x^$domain=a.test", LineClass::Rule),
            ("||ads.test/*/x^", LineClass::Rule),
            ("||ads.test/x$redirect=noop.js", LineClass::Rule),
            ("*$script,domain=a.test", LineClass::Rule),
            ("/banner[0-9]+/", LineClass::Expression),
            ("@@/banner[0-9]+\\.gif/$image", LineClass::Expression),
            ("/\\D/$match-case", LineClass::Expression),
            ("##.ad", LineClass::Passed),
            ("a.test#@#.ad", LineClass::Passed),
            ("a.test#?#div:has(.ad)", LineClass::Passed),
            ("a.test$$script[ad]", LineClass::Passed),
            ("||a.test^$csp=script-src 'none'", LineClass::Passed),
            ("||a.test^$removeparam=utm", LineClass::Passed),
            ("@@||a.test^$generichide", LineClass::Passed),
            ("||a.test^$no-such-option", LineClass::Unread),
            ("||a.test^$to=b.test", LineClass::Unread),
            ("/\\D/", LineClass::Unread),
            ("/(/", LineClass::Unread),
            ("/a*/", LineClass::Unread),
            ("//", LineClass::Unread),
            ("/(?!a)b/", LineClass::Unread),
            ("/((a{100}){100}){100}/", LineClass::Unread),
            ("||", LineClass::Unread),
            ("*", LineClass::Unread),
            ("@@", LineClass::Unread),
            ("<html>", LineClass::Unread),
            ("0.0.0.0 ads.test", LineClass::Unread),
            ("a\u{0}b", LineClass::Unread),
            (&long, LineClass::Unread),
            (&wide, LineClass::Unread),
            (&starred, LineClass::Unread),
        ] {
            assert_eq!(read(line), want, "{:?}", line.get(..40).unwrap_or(line));
        }
    }
}

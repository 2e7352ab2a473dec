//! One line of a list: what it is, and whether the crate that matches it reads it as browsers do.

use adblock::{
    filters::network::{FilterPart, NetworkFilter, NetworkFilterFeaturesMask, NetworkFilterMask},
    lists::{FilterParseError, ParseOptions, ParsedLine, RuleTypes, parse_filter},
};
use regex::bytes::RegexBuilder;

/// Bytes of a line. The longest rules name some hundred sites.
const MAX_LINE: usize = 32 << 10;

/// Bytes of what a rule compares with a URL.
const MAX_PATTERN: usize = 512;

/// `*` and `^` in it. The crate makes an expression of a pattern that has one.
const MAX_WILDCARDS: usize = 32;

/// Bytes that a regular expression may take when it is made, for the automaton and again for what it
/// remembers. Matching is linear in the URL, and this bounds the factor.
const MAX_EXPRESSION: usize = 256 << 10;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Empty, a comment, or the head of the list.
    Nothing,
    /// A rule that changes pages, or requests and answers, and blocks none.
    Passed,
    /// A rule that blocks or excepts, for a host or for pages of some sites.
    Rule,
    /// One for all of them.
    General,
    /// One that is compared as a regular expression, for all of them or written as one.
    Expression,
    /// Nothing that can be read.
    Unread,
}

/// How the crate is to read lists.
pub(super) fn options() -> ParseOptions {
    ParseOptions { rule_types: RuleTypes::NetworkOnly, ..ParseOptions::default() }
}

/// Finds out what a line is.
pub(super) fn read(line: &str) -> Line {
    let line = line.trim();
    let is_head = line.starts_with('[') && line.ends_with(']');
    if line.is_empty() || line.starts_with('!') || is_head {
        return Line::Nothing;
    }
    if line.len() > MAX_LINE || line.contains(char::is_control) {
        return Line::Unread;
    }
    match parse_filter(line, false, options()) {
        Ok(ParsedLine::Network(filter)) => of_filter(line, &filter),
        Ok(ParsedLine::Cosmetic(_)) => Line::Passed,
        Err(FilterParseError::Unsupported) if hides(line) => Line::Passed,
        Err(FilterParseError::Unsupported) if line.starts_with('#') => Line::Nothing,
        Err(_) => Line::Unread,
    }
}

/// Whether a line changes pages: `example.org##.ad`, `#@#`, `#?#`, `#$#`, `#%#`, `$$`.
fn hides(line: &str) -> bool {
    ["##", "#@", "#?", "#$", "#%", "$$"].iter().any(|mark| line.contains(mark))
}

fn of_filter(line: &str, filter: &NetworkFilter<'_>) -> Line {
    let changes = NetworkFilterFeaturesMask::IS_CSP
        | NetworkFilterFeaturesMask::IS_REMOVEPARAM
        | NetworkFilterFeaturesMask::GENERIC_HIDE;
    if filter.features_mask.intersects(changes) {
        return Line::Passed;
    }
    // The crate reads these and then leaves them out.
    if filter.opt_to_domains.is_some() || filter.opt_not_to_domains.is_some() {
        return Line::Unread;
    }
    let host = filter.hostname.as_deref().unwrap_or_default();
    let pattern = match &filter.filter {
        FilterPart::Empty => "",
        FilterPart::Simple(pattern) => pattern,
        FilterPart::AnyOf(_) => return Line::Unread,
    };
    let wildcards = pattern.matches(['*', '^']).count();
    if pattern.len() > MAX_PATTERN || host.len() > MAX_PATTERN || wildcards > MAX_WILDCARDS {
        return Line::Unread;
    }
    if filter.mask.contains(NetworkFilterMask::IS_COMPLETE_REGEX) {
        let keeps_case = filter.mask.contains(NetworkFilterMask::MATCH_CASE);
        return if is_expression(line, pattern, keeps_case) {
            Line::Expression
        } else {
            Line::Unread
        };
    }
    // No URL has any of these, but text that is no list has.
    if [host, pattern].iter().any(|part| part.contains([' ', '\t', '<', '>', '"', '`'])) {
        return Line::Unread;
    }
    // A rule cut off in the middle would stop every request.
    if host.is_empty() && matches!(pattern, "" | "^" | "/") && !line.contains('$') {
        return Line::Unread;
    }
    // `||com/` is about most of the web too.
    let is_general = !host.contains('.') && filter.opt_domains.is_none();
    match (is_general, filter.mask.contains(NetworkFilterMask::IS_REGEX)) {
        (false, _) => Line::Rule,
        (true, false) => Line::General,
        (true, true) => Line::Expression,
    }
}

/// Whether `/pattern/` is an expression that the crate makes of it as it is meant.
fn is_expression(line: &str, pattern: &str, keeps_case: bool) -> bool {
    let Some(inner) = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) else {
        return false;
    };
    // The crate puts it in lower case, which turns `\D` into its opposite.
    if !keeps_case && turns_in_lower_case(line) {
        return false;
    }
    let made = RegexBuilder::new(&inner.replace("\\/", "/").replace("\\:", ":"))
        .unicode(false)
        .size_limit(MAX_EXPRESSION)
        .dfa_size_limit(MAX_EXPRESSION)
        .build();
    // One that is found in nothing is found in every URL.
    made.is_ok_and(|made| !made.is_match(b""))
}

/// Whether a line has an escape that means something else in lower case.
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
    fn a_line_is_what_it_is() {
        let long = "a".repeat(MAX_LINE + 1);
        let wide = "/a".repeat(MAX_PATTERN);
        let starred = "a*".repeat(MAX_WILDCARDS + 2);
        for (line, want) in [
            ("", Line::Nothing),
            ("[Adblock Plus 2.0]", Line::Nothing),
            ("! Title: EasyList", Line::Nothing),
            ("# a comment", Line::Nothing),
            ("||ads.test^", Line::Rule),
            ("  ||ads.test^$third-party  ", Line::Rule),
            ("@@||ads.test^$script,domain=a.test|~b.test", Line::Rule),
            ("/ads/*", Line::General),
            ("-banner-", Line::General),
            ("||com/ads-", Line::General),
            ("/ads/*/x^", Line::Expression),
            ("/ads/*/x^$domain=a.test", Line::Rule),
            ("||ads.test/*/x^", Line::Rule),
            ("||ads.test/x$redirect=noop.js", Line::Rule),
            ("*$script,domain=a.test", Line::Rule),
            ("/banner[0-9]+/", Line::Expression),
            ("@@/banner[0-9]+\\.gif/$image", Line::Expression),
            ("/\\D/$match-case", Line::Expression),
            ("##.ad", Line::Passed),
            ("a.test#@#.ad", Line::Passed),
            ("a.test#?#div:has(.ad)", Line::Passed),
            ("a.test$$script[ad]", Line::Passed),
            ("||a.test^$csp=script-src 'none'", Line::Passed),
            ("||a.test^$removeparam=utm", Line::Passed),
            ("@@||a.test^$generichide", Line::Passed),
            ("||a.test^$no-such-option", Line::Unread),
            ("||a.test^$to=b.test", Line::Unread),
            ("/\\D/", Line::Unread),
            ("/(/", Line::Unread),
            ("/a*/", Line::Unread),
            ("//", Line::Unread),
            ("/(?!a)b/", Line::Unread),
            ("/((a{100}){100}){100}/", Line::Unread),
            ("||", Line::Unread),
            ("*", Line::Unread),
            ("@@", Line::Unread),
            ("<html>", Line::Unread),
            ("0.0.0.0 ads.test", Line::Unread),
            ("a\u{0}b", Line::Unread),
            (&long, Line::Unread),
            (&wide, Line::Unread),
            (&starred, Line::Unread),
        ] {
            assert_eq!(read(line), want, "{:?}", line.get(..40).unwrap_or(line));
        }
    }
}

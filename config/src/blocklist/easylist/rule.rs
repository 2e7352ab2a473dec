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
pub(super) enum LineClass {
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
    // The crate reads these and then leaves them out.
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
    // No URL has any of these, but text that is no list has.
    if [host, pattern].iter().any(|part| part.contains([' ', '\t', '<', '>', '"', '`'])) {
        return LineClass::Unread;
    }
    // A rule cut off in the middle would stop every request.
    if host.is_empty() && matches!(pattern, "" | "^" | "/") && !line.contains('$') {
        return LineClass::Unread;
    }
    // `||com/` is about most of the web too.
    let is_general = !host.contains('.') && filter.opt_domains.is_none();
    match (is_general, filter.mask.contains(NetworkFilterMask::IS_REGEX)) {
        (false, _) => LineClass::Rule,
        (true, false) => LineClass::General,
        (true, true) => LineClass::Expression,
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

//! `Content-Security-Policy`: allowing our own style in a page's policy, and our own policies (CSP
//! Level 3).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

/// The policy of a page whose scripts are removed: it also blocks scripts that are added later.
pub const NO_SCRIPTS: &str = "script-src 'none'";

/// The source expression for the text of a `style` element (§2.3.1, *hash-source*).
///
/// ```
/// # use wwwoffle_html::rewrite::csp::style_source;
/// assert!(style_source("a{}").starts_with("'sha256-"));
/// ```
#[must_use]
pub fn style_source(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// The value of a `Content-Security-Policy`, extended to allow one more style. `None` if the value
/// already allows the style. The value may contain several policies separated by commas, and all of
/// them must allow the style.
///
/// ```
/// # use wwwoffle_html::rewrite::csp::allow_style;
/// let policy = "default-src 'self'; img-src *";
/// let allowed = "default-src 'self'; img-src *; style-src-elem 'self' 'sha256-x'";
/// assert_eq!(allow_style(policy, "'sha256-x'").as_deref(), Some(allowed));
/// assert_eq!(allow_style("img-src *", "'sha256-x'"), None);
/// ```
#[must_use]
pub fn allow_style(value: &str, source: &str) -> Option<String> {
    let policies: Vec<_> = value.split(',').map(|policy| allow(policy, source)).collect();
    if policies.iter().all(Option::is_none) {
        return None;
    }
    let pairs = policies.into_iter().zip(value.split(','));
    let policies: Vec<_> = pairs.map(|(new, old)| new.unwrap_or_else(|| old.to_owned())).collect();
    Some(policies.join(","))
}

/// Extends one policy by `source`. `None` if the policy already allows the style. If a directive
/// occurs more than once, the first counts (§2.2.1). A style element is checked against the first
/// existing one of three directives (§6.8.3).
fn allow(policy: &str, source: &str) -> Option<String> {
    let directives: Vec<&str> = policy.split(';').collect();
    let (at, name, sources) =
        ["style-src-elem", "style-src", "default-src"].iter().find_map(|name| {
            let found = directives.iter().enumerate().find_map(|(at, directive)| {
                let mut words = directive.split_ascii_whitespace();
                let is_it = words.next().is_some_and(|word| word.eq_ignore_ascii_case(name));
                is_it.then(|| (at, words.collect::<Vec<_>>()))
            });
            found.map(|(at, sources)| (at, *name, sources))
        })?;
    let sources: Vec<_> =
        sources.into_iter().filter(|known| !known.eq_ignore_ascii_case("'none'")).collect();
    // `'unsafe-inline'` allows all styles, but a hash or a nonce in the same directive disables it.
    // So no hash is added while `'unsafe-inline'` is in effect: it would forbid the page's styles.
    let is_named = |known: &&str| {
        let known = known.to_ascii_lowercase();
        known.starts_with("'sha") || known.starts_with("'nonce-")
    };
    let allows_all = sources.iter().any(|known| known.eq_ignore_ascii_case("'unsafe-inline'"))
        && !sources.iter().any(is_named);
    if allows_all || sources.contains(&source) {
        return None;
    }
    let sources = [&sources[..], &[source]].concat().join(" ");
    let mut directives: Vec<String> = directives.into_iter().map(str::to_owned).collect();
    if name == "default-src" {
        // `default-src` continues to govern all other resources.
        directives.push(format!(" style-src-elem {sources}"));
    } else if let Some(directive) = directives.get_mut(at) {
        let blank = if at == 0 { "" } else { " " };
        *directive = format!("{blank}{name} {sources}");
    }
    Some(directives.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_allows_one_more_style_and_nothing_else() {
        for (value, want) in [
            ("", None),
            ("script-src 'self'", None),
            ("default-src 'none'", Some("default-src 'none'; style-src-elem H")),
            ("default-src *; STYLE-SRC 'self'", Some("default-src *; style-src 'self' H")),
            ("style-src 'none';img-src *", Some("style-src H;img-src *")),
            ("style-src 'unsafe-inline'", None),
            ("style-src 'unsafe-inline' 'nonce-a'", Some("style-src 'unsafe-inline' 'nonce-a' H")),
            (
                "style-src-elem a:; style-src 'unsafe-inline'",
                Some("style-src-elem a: H; style-src 'unsafe-inline'"),
            ),
            ("style-src a:; style-src b:", Some("style-src a: H; style-src b:")),
            ("style-src H", None),
            (
                "default-src 'self', style-src b:, img-src c:",
                Some("default-src 'self'; style-src-elem 'self' H,style-src b: H, img-src c:"),
            ),
        ] {
            assert_eq!(allow_style(value, "H").as_deref(), want, "{value}");
        }
    }
}

//! URLs that probably name the same page as another URL. The user chooses among them.
//!
//! Unlike those of [`super::noise`], these URLs never answer a request automatically. So more
//! differences are allowed: a final slash or `index.html`, letter case, the order of arguments,
//! `www.`.

use wwwoffle_config::ArgumentNames;
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::noise::without_noise;

/// The maximum number of guesses for one URL.
pub const MAX_GUESSES: usize = 8;

/// The difference between the URL of a stored page and the requested URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// The scheme is `http` instead of `https`, or the reverse.
    Scheme,
    /// One host begins with `www.`.
    Www,
    /// Arguments that do not select content.
    Arguments,
    /// The order of the arguments.
    Order,
    /// A slash or `index.html` at the end of the path.
    Slash,
    /// Letter case.
    Case,
    /// More than one of these differences.
    Several,
}

/// The parts of a canonical URL.
struct PageUrlParts<'a> {
    scheme: &'a str,
    host: &'a str,
    path: &'a str,
    arguments: Vec<&'a str>,
}

impl<'a> PageUrlParts<'a> {
    /// Splits a canonical URL. `None` if it does not name a page: a form submission, a URL with a
    /// user, or another protocol.
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let (rest, arguments) = rest.split_once('?').unwrap_or((rest, ""));
        let (host, path) = rest.split_at(rest.find('/')?);
        let is_form = arguments.starts_with('!') || arguments.contains("&!POST:");
        let is_page = matches!(scheme, "http" | "https") && !is_form && !host.contains('@');
        let arguments =
            if arguments.is_empty() { Vec::new() } else { arguments.split('&').collect() };
        is_page.then_some(Self { scheme, host, path, arguments })
    }

    fn to_url(&self) -> String {
        let Self { scheme, host, path, arguments } = self;
        let mark = if arguments.is_empty() { "" } else { "?" };
        format!("{scheme}://{host}{path}{mark}{}", arguments.join("&"))
    }

    /// The other scheme. `None` if the URL has an explicit port, which belongs to one server only.
    fn other_scheme(&self) -> Option<&'static str> {
        let has_port = self.host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        (!has_port).then_some(if self.scheme == "http" { "https" } else { "http" })
    }
}

fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").unwrap_or(host)
}

/// The path without a final slash or `index.html`.
fn trimmed(path: &str) -> &str {
    let path = path
        .strip_suffix("/index.html")
        .or_else(|| path.strip_suffix("/index.htm"))
        .unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path)
}

fn sorted(arguments: &[&str]) -> Vec<String> {
    let mut arguments: Vec<_> = arguments.iter().map(|one| one.to_lowercase()).collect();
    arguments.sort_unstable();
    arguments
}

/// The difference between `asked` and `kept`, if both URLs probably name one page. `None` if they
/// are equal or name different pages. `added` has further arguments that do not select content.
#[must_use]
pub fn likeness(asked: &str, kept: &str, added: &ArgumentNames) -> Option<Likeness> {
    if asked == kept {
        return None;
    }
    let quiet = |url: &str| without_noise(url, added).unwrap_or_else(|| url.to_owned());
    let (quiet_asked, quiet_kept) = (quiet(asked), quiet(kept));
    let (one, other) = (PageUrlParts::of(&quiet_asked)?, PageUrlParts::of(&quiet_kept)?);
    let is_like = without_www(one.host) == without_www(other.host)
        && trimmed(one.path).to_lowercase() == trimmed(other.path).to_lowercase()
        && sorted(&one.arguments) == sorted(&other.arguments)
        && (one.scheme == other.scheme || one.other_scheme() == Some(other.scheme));
    if !is_like {
        return None;
    }
    let lower = |arguments: &[&str]| -> Vec<String> {
        arguments.iter().map(|one| one.to_lowercase()).collect()
    };
    let differs_in_case = trimmed(one.path) != trimmed(other.path) || {
        let (mut one, mut other) = (one.arguments.clone(), other.arguments.clone());
        one.sort_unstable();
        other.sort_unstable();
        one != other
    };
    let differences = [
        (Likeness::Scheme, one.scheme != other.scheme),
        (Likeness::Www, one.host != other.host),
        (Likeness::Slash, one.path.len() != other.path.len()),
        (Likeness::Case, differs_in_case),
        (Likeness::Order, lower(&one.arguments) != lower(&other.arguments)),
    ];
    let mut found = differences.into_iter().filter(|(_, differs)| *differs);
    match (found.next(), found.next()) {
        // Only arguments that were removed above differ.
        (None, _) => Some(Likeness::Arguments),
        (Some((likeness, _)), None) => Some(likeness),
        (Some(_), Some(_)) => Some(Likeness::Several),
    }
}

/// Other URLs that probably name the page of `url`, without duplicates, at most [`MAX_GUESSES`].
#[must_use]
pub fn guess_urls(
    url: &CanonicalUrl,
    local: &LocalHost,
    added: &ArgumentNames,
) -> Vec<CanonicalUrl> {
    let mut all: Vec<CanonicalUrl> = Vec::with_capacity(MAX_GUESSES);
    for text in spellings(url.as_str(), added) {
        let guess = CanonicalUrl::parse(&text, local).ok();
        let guess = guess.filter(|guess| guess != url && !all.contains(guess) && !guess.is_local());
        all.extend(guess);
    }
    all.truncate(MAX_GUESSES);
    all
}

fn spellings(url: &str, added: &ArgumentNames) -> Vec<String> {
    let Some(parts) = PageUrlParts::of(url) else { return Vec::new() };
    let mut all = Vec::new();
    if let Some(scheme) = parts.other_scheme() {
        all.push(PageUrlParts { scheme, arguments: parts.arguments.clone(), ..parts }.to_url());
    }
    all.extend(without_noise(url, added));
    let with_path =
        |path: &str| PageUrlParts { path, arguments: parts.arguments.clone(), ..parts }.to_url();
    let (trimmed, lower) = (trimmed(parts.path), parts.path.to_lowercase());
    let index = format!("{trimmed}/index.html");
    all.extend(
        [format!("{trimmed}/"), index, trimmed.to_owned(), lower]
            .iter()
            .map(|path| with_path(path)),
    );
    let mut arguments = parts.arguments.clone();
    arguments.sort_unstable();
    all.push(PageUrlParts { arguments, ..parts }.to_url());
    let other = match parts.host.strip_prefix("www.") {
        Some(bare) => bare.to_owned(),
        None => format!("www.{}", parts.host),
    };
    all.push(PageUrlParts { host: &other, arguments: parts.arguments.clone(), ..parts }.to_url());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_of_urls_is_classified() {
        use Likeness::{Arguments, Case, Order, Scheme, Several, Slash, Www};
        for (asked, kept, want) in [
            ("http://a.test/p", "https://a.test/p", Some(Scheme)),
            ("http://a.test:81/p", "https://a.test:81/p", None),
            ("http://a.test/p", "http://www.a.test/p", Some(Www)),
            ("http://www.a.test/p", "http://a.test/p", Some(Www)),
            ("http://a.test/p", "http://a.test/p/", Some(Slash)),
            ("http://a.test/p/", "http://a.test/p/index.html", Some(Slash)),
            ("http://a.test/Tea", "http://a.test/tea", Some(Case)),
            ("http://a.test/p?a=1&b=2", "http://a.test/p?b=2&a=1", Some(Order)),
            ("http://a.test/p?a=A", "http://a.test/p?a=a", Some(Case)),
            ("http://a.test/p", "http://a.test/p?utm_source=x", Some(Arguments)),
            ("http://a.test/p?utm_source=y&a=1", "http://a.test/p?a=1", Some(Arguments)),
            ("http://a.test/p", "https://www.a.test/P/", Some(Several)),
            ("http://a.test/p?a=1&b=2", "http://a.test/p?b=2&A=1", Some(Several)),
            ("http://a.test/p", "http://a.test/p", None),
            ("http://a.test/p?a=1", "http://a.test/p?a=2", None),
            ("http://a.test/p", "http://a.test/p?a=1", None),
            ("http://a.test/p", "http://b.test/p", None),
            ("http://a.test/p", "http://a.test/q", None),
            ("http://a.test/p", "http://a.test/p?!POST:ab", None),
            ("http://a.test/p", "ftp://a.test/p", None),
        ] {
            let got = likeness(asked, kept, &ArgumentNames::default());
            assert_eq!(got, want, "{asked} {kept}");
        }
    }

    #[test]
    fn each_guess_is_similar_to_the_requested_url() {
        let (local, added) = (LocalHost::default(), ArgumentNames::default());
        for text in [
            "http://a.test/",
            "https://www.a.test/A/B/?z=1&a=2&utm_source=x",
            "http://a.test:8080/p/index.html",
            "http://[::1]/p",
            "http://192.0.2.1/P?B&a",
            "http://a.test/p?!POST:ab",
            "ftp://a.test/p",
        ] {
            let url = CanonicalUrl::parse(text, &local).unwrap();
            let found = guess_urls(&url, &local, &added);
            assert!(found.len() <= MAX_GUESSES, "{text}: {found:?}");
            for guess in &found {
                let like = likeness(url.as_str(), guess.as_str(), &added);
                assert!(like.is_some(), "{text}: {}", guess.as_str());
            }
            let is_page = text.starts_with("http") && !text.contains('!');
            assert_eq!(found.is_empty(), !is_page, "{text}: {found:?}");
        }
    }
}

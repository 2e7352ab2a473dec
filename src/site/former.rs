//! Redirects from addresses of WWWOFFLE 2.9 whose target depends on their path or their arguments.

use hyper::Response;
use wwwoffle_config::{FormerOption, schema::SECTIONS};
use wwwoffle_url::{split_form_args, url_decode_form_args, url_encode_form_args};

use super::caller::Caller;
use super::route::PageRequest;
use crate::page::links::{self, CONFIGURATION, SEARCH};
use crate::proxy::body::Body;
use crate::site::certificates;
use crate::site::lists::page::ROOT;

/// The search engines of WWWOFFLE 2.9, below `/search/`.
const ENGINES: [&str; 5] = ["htdig", "mnogosearch", "udmsearch", "namazu", "hyperestraier"];

/// The form fields that contained the search words.
const WORDS: [&str; 4] = ["q", "words", "query", "phrase"];

/// Path of the page about our certificate authority.
const AUTHORITY: &str = "/ca";

/// The name that WWWOFFLE 2.9 uses for the entries of a section that is a list.
const NO_NAME: &str = "no-name";

/// Returns the new address of an option's page or a search engine of WWWOFFLE 2.9. `None` if
/// WWWOFFLE 2.9 had neither at `path`.
fn new_address(path: &str, arguments: Option<&str>) -> Option<String> {
    if path.starts_with(CONFIGURATION) {
        option(path, arguments)
    } else {
        searched(path.strip_prefix(SEARCH)?, arguments)
    }
}

/// Whether WWWOFFLE 2.9 had the page of an option or a search engine at `path`.
pub(super) fn has_moved(path: &str) -> bool {
    new_address(path, None).is_some()
}

/// Redirects to the new address of an option's page or a search engine of WWWOFFLE 2.9.
pub(super) fn show(caller: &Caller, at: PageRequest<'_>) -> Response<Body> {
    caller.see_other(new_address(at.path, at.arguments).as_deref().unwrap_or("/"))
}

/// Returns the address of the page about the certificate of a host. The arguments consist of the
/// host. If they are invalid, returns the address of the page about our certificate authority.
pub(super) fn site(arguments: Option<&str>) -> String {
    let site = url_decode_form_args(arguments.unwrap_or_default().as_bytes());
    let origin = certificates::origin(&String::from_utf8_lossy(&site));
    origin.map_or_else(|| AUTHORITY.to_owned(), |at| links::certificate(&at.to_string(), ""))
}

/// Returns the address of the page for the successor of a former section or option, with the former
/// `arguments`. `None` if WWWOFFLE 2.9 had no such section or option.
fn option(path: &str, arguments: Option<&str>) -> Option<String> {
    let rest = path.strip_prefix(CONFIGURATION)?.trim_end_matches('/');
    let (section, key) = rest.split_once('/').unwrap_or((rest, ""));
    if !FormerOption::all().any(|former| former.section.eq_ignore_ascii_case(section)) {
        return None;
    }
    let place = if rest == section {
        section_of(section).map(|section| (section, ""))
    } else {
        let former = FormerOption::find(section, if key == NO_NAME { "" } else { key })?;
        former.replacement().or_else(|| section_of(section).map(|section| (section, "")))
    };
    let mut to = match place {
        Some((section, "")) => format!("{CONFIGURATION}{section}"),
        Some((section, key)) => format!("{CONFIGURATION}{section}/{key}"),
        None => CONFIGURATION.to_owned(),
    };
    if let Some(arguments) = arguments.filter(|arguments| !arguments.is_empty()) {
        to.push('?');
        to.push_str(arguments);
    }
    Some(to)
}

/// Returns the section of the same name. If there is none, returns the section of the first
/// successor of an option, because most options of a former section moved to the same new section.
fn section_of(former: &str) -> Option<&'static str> {
    let same = SECTIONS.iter().map(|section| section.name);
    let same = same.into_iter().find(|name| name.replace('-', "").eq_ignore_ascii_case(former));
    let mut options = FormerOption::all().filter(|one| one.section.eq_ignore_ascii_case(former));
    same.or_else(|| options.find_map(FormerOption::replacement).map(|(section, _)| section))
}

/// Returns the new address of a path below `/search/`: our search for the words in the arguments,
/// or our search form. A list that WWWOFFLE 2.9 generated for the engines is replaced by our list.
/// `None` if WWWOFFLE 2.9 had no such path.
fn searched(rest: &str, arguments: Option<&str>) -> Option<String> {
    let (engine, file) = rest.split_once('/').unwrap_or((rest, ""));
    let is_engine = engine == "index" || ENGINES.contains(&engine);
    match field(arguments, &WORDS).filter(|_| is_engine) {
        Some(words) => Some(format!("{SEARCH}?q={}", url_encode_form_args(words.as_bytes()))),
        None if engine == "index" => Some(format!("{ROOT}{file}")),
        // The forms of the single engines, and the page with all these forms.
        None if is_engine || rest == "search.html" => Some(SEARCH.to_owned()),
        None => None,
    }
}

/// Returns the first non-empty value of an argument with one of these names.
fn field(arguments: Option<&str>, names: &[&str]) -> Option<String> {
    split_form_args(arguments?.as_bytes()).find_map(|argument| {
        let argument = std::str::from_utf8(argument).ok()?;
        let (_, value) = argument.split_once('=').filter(|(name, _)| names.contains(name))?;
        let value = url_decode_form_args(value.as_bytes());
        let value = String::from_utf8_lossy(&value).trim().to_owned();
        (!value.is_empty()).then_some(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_former_option_leads_to_an_existing_one() {
        for former in FormerOption::all() {
            let key = if former.key.is_empty() { NO_NAME } else { former.key };
            for path in [former.section.to_owned(), format!("{}/{key}", former.section)] {
                let to = option(&format!("{CONFIGURATION}{path}"), None).expect(&path);
                let rest = to.strip_prefix(CONFIGURATION).expect(&to);
                let (section, key) = rest.split_once('/').unwrap_or((rest, ""));
                let found = SECTIONS.iter().find(|one| one.name == section);
                let is_there = found.is_some_and(|section| {
                    key.is_empty() || section.options.iter().any(|option| option.key == key)
                });
                assert!(is_there || rest.is_empty(), "{path} leads to {to}");
            }
        }
    }

    #[test]
    fn current_and_unknown_addresses_are_not_redirected() {
        for path in [
            "/",
            "/ca.pem",
            "/search/",
            "/search/opensearch.xml",
            "/search/other",
            "/configuration/",
            "/configuration/Nothing",
            "/configuration/Options/nothing",
            "/configuration/options/nothing",
            "/certificates/other",
            "/control/delete/req-all",
            "/faq.html",
        ] {
            assert_eq!(new_address(path, Some("url=http://a/")), None, "{path}");
        }
    }

    #[test]
    fn an_address_has_only_one_redirect() {
        for (arguments, want) in [
            ("//evil.example/", "/ca"),
            ("a.example:8443", "/certificate?site=a.example:8443&url="),
        ] {
            assert_eq!(site(Some(arguments)), want);
        }
        for (path, arguments, want) in [
            ("/search/index//evil.example/", "", "/index//evil.example/"),
            ("/search/htdig/htsearch", "words=a%0D%0Ab", "/search/?q=a%0D%0Ab"),
            ("/search/htdig/htsearch", "q=;words=tea", "/search/?q=tea"),
        ] {
            assert_eq!(
                new_address(path, Some(arguments)).as_deref(),
                Some(want),
                "{path} {arguments}"
            );
        }
    }
}

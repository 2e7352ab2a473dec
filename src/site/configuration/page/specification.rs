//! `/configuration/editurl`: a form that builds a URL-SPECIFICATION from its components.

use serde::Serialize;
use wwwoffle_url::CanonicalUrl;

use super::control::LONGEST_VALUE;
use crate::base::shown;
use crate::base::text::{Text, tr};
use crate::page::{RenderedPage, Shell, view};

/// Maximum number of choices for one component.
const MOST_CHOICES: usize = 12;

/// Maximum length of a choice, in bytes.
const LONGEST_CHOICE: usize = 400;

/// Value of the choice for typed text.
pub const OTHER: &str = "other";

/// The components of a URL-SPECIFICATION, as chosen or typed in the form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpecificationParts<'a> {
    /// `*` or a protocol.
    pub protocol: &'a str,
    /// `*`, or a host, which may contain stars.
    pub host: &'a str,
    /// Empty for any port, `:` for the default port of the protocol, or `:` and a port.
    pub port: &'a str,
    /// A path, which may contain stars; `/*` matches any path.
    pub path: &'a str,
    /// Empty for any arguments, `?` for none, or `?` and arguments.
    pub arguments: &'a str,
}

impl SpecificationParts<'_> {
    /// Returns the URL-SPECIFICATION, not yet validated.
    #[must_use]
    pub fn specification(&self) -> String {
        let or = |text: &str, otherwise: &str| {
            if text.trim().is_empty() { otherwise.to_owned() } else { text.trim().to_owned() }
        };
        let lead = |text: &str, mark: char| match text.trim() {
            "" => String::new(),
            text if text.starts_with(mark) => text.to_owned(),
            text => format!("{mark}{text}"),
        };
        let path = or(&lead(self.path, '/'), "/*");
        let (port, arguments) = (lead(self.port, ':'), lead(self.arguments, '?'));
        format!("{}://{}{port}{path}{arguments}", or(self.protocol, "*"), or(self.host, "*"))
    }
}

/// The content of the page.
#[derive(Clone, Copy, Debug)]
pub struct SpecificationForm<'a> {
    /// The URL from which the choices are derived.
    pub url: Option<&'a CanonicalUrl>,
    /// The rejected URL-SPECIFICATION and the error message.
    pub refused: Option<(&'a str, &'a str)>,
}

#[derive(Serialize)]
struct ComponentView {
    name: &'static str,
    title: Text,
    hint: &'static str,
    choices: Vec<ComponentChoice>,
}

#[derive(Serialize)]
struct ComponentChoice {
    value: String,
    text: String,
    words: Option<Text>,
    chosen: bool,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, builder: &SpecificationForm<'_>) -> RenderedPage {
    let refused = builder.refused.filter(|(spec, _)| spec.len() <= LONGEST_VALUE);
    let view = view! {
        parts: parts(builder.url),
        url: builder.url.map(|url| shown::text(url.as_str())).unwrap_or_default(),
        refused: refused.map(|(spec, _)| shown::text(spec)),
        fault: builder.refused.map(|(_, fault)| shown::text(fault)),
    };
    let status = if builder.refused.is_some() { 422 } else { 200 };
    shell.page("configuration-editurl.html", status, &view)
}

fn parts(url: Option<&CanonicalUrl>) -> Vec<ComponentView> {
    let protocols = url.map(|url| vec![url.protocol().to_owned()]);
    let protocols = protocols.unwrap_or_else(|| vec!["http".to_owned(), "https".to_owned()]);
    let part = |name, title, hint, any: &'static str, words, mut values: Vec<String>| {
        values.retain(|value| value.len() <= LONGEST_CHOICE && value != any);
        values.truncate(MOST_CHOICES);
        let mut choices = vec![(any.to_owned(), Some(words))];
        choices.extend(values.into_iter().map(|value| {
            let words = match value.as_str() {
                ":" => Some(tr("the default port of the protocol")),
                "?" => Some(tr("no arguments")),
                _ => None,
            };
            (value, words)
        }));
        let choices = choices.into_iter().enumerate().map(|(number, (value, words))| {
            ComponentChoice { text: shown::text(&value), value, words, chosen: number == 0 }
        });
        ComponentView { name, title, hint, choices: choices.collect() }
    };
    let mut all = vec![
        part("proto", tr("Protocol"), "ftp", "*", tr("any protocol"), protocols),
        part("host", tr("Host"), "*.example.org", "*", tr("any host"), hosts(url)),
        part("port", tr("Port"), "8080", "", tr("any port"), ports(url)),
        part("path", tr("Path"), "/dir/*.gif", "/*", tr("any path"), paths(url)),
        part("args", tr("Arguments"), "id=*", "", tr("with or without arguments"), arguments(url)),
    ];
    // The host is preselected: it is the most common choice.
    if let Some(host) = all.get_mut(1).filter(|host| host.choices.len() > 1) {
        for (number, choice) in host.choices.iter_mut().enumerate() {
            choice.chosen = number == 1;
        }
    }
    all
}

/// Returns the host, and a pattern for each of its parent domains of at least two labels.
fn hosts(url: Option<&CanonicalUrl>) -> Vec<String> {
    let Some(url) = url else { return Vec::new() };
    let host = url.host();
    let mut hosts = vec![host.to_owned()];
    let is_name =
        !host.starts_with('[') && !host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let mut rest = host;
    while let Some((_, domain)) = rest.split_once('.').filter(|_| is_name) {
        if domain.contains('.') {
            hosts.push(format!("*.{domain}"));
        }
        rest = domain;
    }
    hosts
}

fn ports(url: Option<&CanonicalUrl>) -> Vec<String> {
    let own = url.map(|url| url.port().map_or_else(|| ":".to_owned(), |port| format!(":{port}")));
    own.into_iter().collect()
}

/// Returns the path, a pattern for each of its parent directories, and a pattern for all paths with
/// the same file name extension.
fn paths(url: Option<&CanonicalUrl>) -> Vec<String> {
    let Some(url) = url else { return Vec::new() };
    let path = url.path();
    let mut paths = vec![path.to_owned()];
    let mut rest = path;
    while let Some((directory, _)) = rest.rsplit_once('/') {
        paths.push(format!("{directory}/*"));
        rest = directory;
    }
    if let Some((_, ending)) = path.rsplit_once('.').filter(|(_, ending)| !ending.contains('/')) {
        paths.push(format!("/*.{ending}"));
    }
    paths
}

fn arguments(url: Option<&CanonicalUrl>) -> Vec<String> {
    let own = url.and_then(|url| url.arguments()).map(|arguments| format!("?{arguments}"));
    ["?".to_owned()].into_iter().chain(own).collect()
}

#[cfg(test)]
mod tests {
    use wwwoffle_url::{CanonicalUrl, LocalHost};

    use super::{SpecificationParts, parts};

    #[test]
    fn a_specification_is_built_from_its_fields() {
        for (protocol, host, port, path, arguments, want) in [
            ("", "", "", "", "", "*://*/*"),
            ("http", "a.test", ":", "/x/*", "?", "http://a.test:/x/*?"),
            ("*", "*.test", "8080", "x.gif", "a=*", "*://*.test:8080/x.gif?a=*"),
        ] {
            let parts = SpecificationParts { protocol, host, port, path, arguments };
            assert_eq!(parts.specification(), want);
        }
    }

    #[test]
    fn a_url_offers_the_matching_specifications() {
        let url = "https://www.news.example.org:8443/a/b/page.html?x=1";
        let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
        let got: Vec<_> = parts(Some(&url))
            .iter()
            .map(|part| {
                part.choices.iter().map(|choice| choice.value.clone()).collect::<Vec<_>>().join(" ")
            })
            .collect();
        assert_eq!(
            got,
            [
                "* https",
                "* www.news.example.org *.news.example.org *.example.org",
                " :8443",
                "/* /a/b/page.html /a/b/* /a/* /*.html",
                " ? ?x=1",
            ]
        );
    }
}

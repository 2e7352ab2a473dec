//! The local page `/info/`: what is known of one URL.

use serde::Serialize;
use wwwoffle_url::url_encode_form_args;

use super::{
    Page, Shell, Templates,
    certificates::ChainView,
    shown::{self, ShownTime, ShownUrl},
};
use crate::api::{Connection, Field, Info, KeptInfo};

/// Fields of a head that are listed; the others are counted.
const SHOWN_FIELDS: usize = 60;

/// The address of the page about `url`, without our origin.
#[must_use]
pub fn path_of(url: &str) -> String {
    let url = ShownUrl::new(url).href.unwrap_or_default();
    format!("/info/?{}", url_encode_form_args(url.as_bytes()))
}

#[derive(Serialize)]
struct View {
    url: ShownUrl,
    key: String,
    is_secure: bool,
    kept: Option<KeptView>,
}

#[derive(Serialize)]
struct KeptView {
    /// `None`: for everyone.
    owner: Option<String>,
    status: u16,
    received: ShownTime,
    stored: ShownTime,
    size: String,
    bytes: u64,
    sha256: String,
    content_type: Option<String>,
    method: String,
    response: Fields,
    request: Fields,
    connection: Option<ConnectionView>,
}

#[derive(Serialize)]
struct Fields {
    fields: Vec<FieldView>,
    more: usize,
}

#[derive(Serialize)]
struct FieldView {
    name: String,
    value: Option<String>,
}

#[derive(Serialize)]
struct ConnectionView {
    version: String,
    suite: String,
    by_fingerprint: bool,
    chain: ChainView,
}

/// Makes the page.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, info: &Info) -> Page {
    let view = View {
        url: ShownUrl::new(&info.url),
        key: shown::text(&info.key),
        is_secure: info.url.starts_with("https:"),
        kept: info.kept.as_ref().map(|kept| KeptView::new(kept, shell)),
    };
    templates.page("info.html", 200, shell, &view)
}

impl KeptView {
    fn new(kept: &KeptInfo, shell: &Shell) -> Self {
        let connection = |connection: &Connection| ConnectionView {
            version: shown::text(&connection.version),
            suite: shown::text(&connection.suite),
            by_fingerprint: connection.by_fingerprint,
            chain: ChainView::new(&connection.chain, &shell.zone),
        };
        Self {
            owner: kept.owner.as_deref().map(shown::text),
            status: kept.status,
            received: ShownTime::new(kept.received, &shell.zone),
            stored: ShownTime::new(kept.stored, &shell.zone),
            size: shown::bytes(kept.bytes),
            bytes: kept.bytes,
            sha256: shown::text(&kept.sha256),
            content_type: kept.content_type.as_deref().map(shown::text),
            method: shown::text(&kept.method),
            response: Fields::new(&kept.response),
            request: Fields::new(&kept.request),
            connection: kept.connection.as_ref().map(connection),
        }
    }
}

impl Fields {
    fn new(fields: &[Field]) -> Self {
        let view = |field: &Field| FieldView {
            name: shown::text(&field.name),
            value: field.value.as_deref().map(shown::text),
        };
        Self {
            fields: fields.iter().take(SHOWN_FIELDS).map(view).collect(),
            more: fields.len().saturating_sub(SHOWN_FIELDS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{
        certificates::tests::chain,
        testing::{assert_harmless, hostile, shell, templates, time},
    };

    fn info(text: &str, connection: bool) -> Info {
        let fields = |count| {
            let value = Some(text.to_owned());
            let mut fields = vec![Field { name: "x".to_owned(), value }; count];
            fields.push(Field { name: "set-cookie".to_owned(), value: None });
            fields
        };
        let connection = connection.then(|| Connection {
            version: text.to_owned(),
            suite: text.to_owned(),
            by_fingerprint: true,
            chain: chain(text),
        });
        let kept = KeptInfo {
            owner: Some(text.to_owned()),
            status: 200,
            received: time(),
            stored: time(),
            bytes: 1_234,
            sha256: text.to_owned(),
            content_type: Some(text.to_owned()),
            response: fields(2),
            method: "GET".to_owned(),
            request: fields(SHOWN_FIELDS + 4),
            connection,
        };
        Info { url: text.to_owned(), key: text.to_owned(), kept: Some(kept) }
    }

    fn body(info: &Info) -> String {
        let page = page(&templates(), &shell(), info);
        assert_harmless(&page);
        page.body.replace("&#x2f;", "/")
    }

    #[test]
    fn it_tells_what_is_kept_and_how_it_came() {
        let text = body(&info("https://a.example/p", true));
        for want in [
            "<dt>Status</dt><dd>200</dd>",
            "1.2 kB (1234 bytes)",
            "2026-11-20 12:00",
            "<dt>set-cookie</dt><dd class=\"soft\">not shown</dd>",
            "allowed by its fingerprint",
            "AB:AB:AB",
            "and 5 more",
        ] {
            assert!(text.contains(want), "{want} in {text}");
        }
        assert!(body(&info("http://a.example/", false)).contains("Plain HTTP"));
        assert!(body(&info("https://a.example/", false)).contains("is not known"));
        let nothing = Info { kept: None, ..info("https://a.example/p", false) };
        assert!(body(&nothing).contains("Nothing of it is kept"));
    }

    #[test]
    fn hostile_values_are_text() {
        for text in hostile() {
            body(&info(&text, true));
        }
    }

    #[test]
    fn its_address_holds_any_url_and_no_password() {
        assert_eq!(
            path_of("https://me:pw@a.example/p?x=1&y=%20#"),
            "/info/?https://a.example/p%3Fx%3D1%26y%3D%2520%23"
        );
    }
}

//! The local page `/info/`: what is known of one URL.

use serde::Serialize;
use wwwoffle_url::url_encode_form_args;

use super::{
    Page, Shell, Templates,
    certificates::ChainView,
    history,
    shown::{self, ShownTime, ShownUrl},
};
use crate::api::{Connection, Field, Info, KeptInfo, PartItem, PartState, Parts};
use crate::fetch::recurse::aim::AS_CONFIGURED;

/// Parts of one state that are listed; the others are counted.
const SHOWN_PARTS: usize = 15;

/// Fields of a head that are listed; the others are counted.
const SHOWN_FIELDS: usize = 60;

/// The address of the page about `url`, without our origin.
#[must_use]
pub fn path_of(url: &str) -> String {
    let url = ShownUrl::new(url).href.unwrap_or_default();
    format!("/info/?{}", url_encode_form_args(url.as_bytes()))
}

#[derive(Serialize)]
struct View<'a> {
    url: ShownUrl,
    token: &'a str,
    as_configured: &'static str,
    key: String,
    is_secure: bool,
    kept: Option<KeptView>,
    parts: Option<PartsView>,
    /// Where its versions are listed, without our origin.
    history: String,
    pinned: bool,
}

#[derive(Serialize)]
struct PartsView {
    complete: bool,
    kept: u64,
    missing: u64,
    /// Whether some of those could be asked for now.
    can_be_had: bool,
    cut: Option<String>,
    groups: Vec<GroupView>,
}

/// The parts of one state.
#[derive(Serialize)]
struct GroupView {
    title: &'static str,
    count: u64,
    parts: Vec<PartView>,
    more: u64,
}

#[derive(Serialize)]
struct PartView {
    url: ShownUrl,
    class: String,
    from: Option<ShownUrl>,
    reason: Option<String>,
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
    /// What its file takes, and would take, if it is compressed.
    compressed: Option<(String, String)>,
    shared: bool,
    sharing: Option<u64>,
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

/// Makes the page; `token` is the general token.
#[must_use]
pub fn page(templates: &Templates, shell: &Shell, info: &Info, token: &str) -> Page {
    let view = View {
        url: ShownUrl::new(&info.url),
        token,
        as_configured: AS_CONFIGURED,
        key: shown::text(&info.key),
        is_secure: info.url.starts_with("https:"),
        kept: info.kept.as_ref().map(|kept| KeptView::new(kept, shell)),
        parts: info.parts.as_ref().map(PartsView::new),
        history: history::path_of(&info.url),
        pinned: info.pinned,
    };
    templates.page("info.html", 200, shell, &view)
}

impl PartsView {
    fn new(parts: &Parts) -> Self {
        let counts = parts.counts;
        let groups = [
            (PartState::Absent, "Not kept", counts.absent),
            (PartState::Failed, "Failed", counts.failed),
            (PartState::Queued, "On the queue", counts.queued),
            (PartState::LeftOut, "Left out", counts.left_out),
            (PartState::Kept, "Kept", counts.kept),
        ];
        let groups = groups.into_iter().filter(|(.., count)| *count > 0);
        let group = |(state, title, count): (PartState, &'static str, u64)| {
            let of_state = parts.list.iter().filter(|part| part.state == state);
            let shown: Vec<_> = of_state.take(SHOWN_PARTS).map(PartView::new).collect();
            let told = u64::try_from(shown.len()).unwrap_or(u64::MAX);
            GroupView { title, count, more: count.saturating_sub(told), parts: shown }
        };
        Self {
            complete: parts.complete,
            kept: counts.kept,
            missing: counts.missing(),
            can_be_had: counts.absent.saturating_add(counts.failed) > 0,
            cut: parts.cut.as_deref().map(shown::text),
            groups: groups.map(group).collect(),
        }
    }
}

impl PartView {
    fn new(part: &PartItem) -> Self {
        Self {
            url: ShownUrl::new(&part.url),
            class: shown::text(&part.class),
            from: part.from.as_deref().map(ShownUrl::new),
            reason: part.reason.as_deref().map(shown::text),
        }
    }
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
            compressed: kept
                .compressed
                .map(|file| (shown::bytes(file.bytes), shown::bytes(file.plain))),
            shared: kept.shared,
            sharing: kept.sharing,
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
    use crate::api::CompressedFile;
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
            compressed: Some(CompressedFile { bytes: 7_000, plain: 21_000 }),
            shared: true,
            sharing: Some(3),
            sha256: text.to_owned(),
            content_type: Some(text.to_owned()),
            response: fields(2),
            method: "GET".to_owned(),
            request: fields(SHOWN_FIELDS + 4),
            connection,
        };
        let parts = parts([1, SHOWN_PARTS + 3, 2, 1, 4], text);
        let (url, key) = (text.to_owned(), text.to_owned());
        Info { url, key, kept: Some(kept), pinned: true, parts: Some(parts) }
    }

    /// So many parts of each state, in the order of the states.
    fn parts(many: [usize; 5], text: &str) -> Parts {
        let mut parts = Parts { cut: Some(text.to_owned()), ..Parts::default() };
        let states = [
            PartState::Absent,
            PartState::Failed,
            PartState::Queued,
            PartState::LeftOut,
            PartState::Kept,
        ];
        for (state, count) in states.into_iter().zip(many) {
            for _ in 0..count {
                parts.counts.add(state);
                parts.list.push(PartItem {
                    url: text.to_owned(),
                    class: "image".to_owned(),
                    from: Some(text.to_owned()),
                    state,
                    reason: Some(text.to_owned()),
                });
            }
        }
        parts.complete = parts.counts.missing() == 0;
        parts
    }

    #[test]
    fn what_is_missing_comes_first_with_a_way_to_have_it() {
        let url = "https://a.example/p";
        let told = body(&info(url, true));
        let places: Vec<_> =
            ["Not kept (1)", "Failed (18)", "On the queue (2)", "Left out (1)", "Kept (4)"]
                .iter()
                .map(|title| told.find(title).unwrap_or_else(|| panic!("{title} in {told}")))
                .collect();
        assert!(places.is_sorted(), "{places:?}");
        for want in [
            "21 parts are missing",
            "and 3 more; <code>wwwoffle info</code>",
            "name=\"parts\" value=\"configured\"",
            "action=\"http://localhost:8080/refresh-request/\"",
            "name=\"token\" value=\"f00\"",
        ] {
            assert!(told.contains(want), "{want} in {told}");
        }
        for (many, is_button, want) in [
            ([0, 0, 2, 0, 1], false, "2 parts are missing"),
            ([0, 0, 0, 1, 1], false, "The page is complete"),
            ([0, 1, 0, 0, 0], true, "1 part is missing"),
        ] {
            let parts = Some(Parts { cut: None, ..parts(many, url) });
            let told = body(&Info { parts, ..info(url, true) });
            assert!(told.contains(want), "{want} in {told}");
            assert_eq!(told.contains("Fetch what is missing"), is_button, "{many:?}");
        }
        assert!(!body(&Info { parts: None, ..info(url, true) }).contains("<h2>Parts"));
    }

    fn body(info: &Info) -> String {
        let page = page(&templates(), &shell(), info, "f00");
        assert_harmless(&page);
        page.body.replace("&#x2f;", "/")
    }

    #[test]
    fn it_tells_what_is_kept_and_how_it_came() {
        let text = body(&info("https://a.example/p", true));
        for want in [
            "<dt>Status</dt><dd>200</dd>",
            "1.2 kB (1234 bytes), compressed: its file has 7.0 kB in place of 21 kB, kept once for 3 entries",
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

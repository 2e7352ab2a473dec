//! Responses that are stored while an import stores a response at the same place.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{self, Read};

use wwwoffle_spool::{
    Entry, NewEntry, Options, Outgoing, Place, RequestKind, Spool, VersionLimit, Versions,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::elsewhere::CopyBudget;
use super::{Import, ImportOptions, MAX_BODY, PersonalOwner, PlainPlacement};
use crate::detect::ArchiveKind;
use crate::head::ResponseHead;
use crate::item::{ArchivedBody, ArchivedExchange, ItemContent};
use crate::report::ImportReport;

const URL: &str = "http://a.example/";
const BODY: &[u8] = b"archived";

/// A body that runs an action when its first byte is read.
struct ActionDuringRead<F: FnOnce()>(Option<F>, &'static [u8]);

impl<F: FnOnce()> Read for ActionDuringRead<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(happens) = self.0.take() {
            happens();
        }
        self.1.read(buffer)
    }
}

fn url() -> CanonicalUrl {
    CanonicalUrl::parse(URL, &LocalHost::default()).unwrap()
}

fn own() -> Place {
    Place::of(&url()).owned_by("local")
}

fn options(replace: bool) -> ImportOptions {
    ImportOptions {
        replace,
        dry_run: false,
        private: PersonalOwner::Owner("local".to_owned()),
        max_body: MAX_BODY,
        scheme: "https".to_owned(),
        local: LocalHost::default(),
        now: "2026-11-20T00:00:00Z".parse().unwrap(),
    }
}

/// Stores a response from the network with a status and a time in seconds.
fn live(spool: &Spool, place: &Place, status: u16, second: i64, body: &[u8]) {
    let when = jiff::Timestamp::from_second(second).unwrap();
    let (head, request) =
        (ResponseHead::synthetic(status, "OK").bytes(), b"GET / HTTP/1.1\r\n\r\n".to_vec());
    let new = NewEntry { asked: when, when, head, request, connection: None };
    let mut writer = spool.begin(place, new).unwrap();
    writer.write(body).unwrap();
    writer.finish(None).unwrap();
}

/// Imports a response of second 50 and calls `happens` during the import.
fn import(spool: &Spool, is_private: bool, replace: bool, happens: impl FnOnce()) -> ImportReport {
    import_during(spool, is_private, &options(replace), happens)
}

fn import_with(spool: &Spool, options: &ImportOptions) -> ImportReport {
    import_during(spool, false, options, || {})
}

fn import_during(
    spool: &Spool,
    is_private: bool,
    options: &ImportOptions,
    happens: impl FnOnce(),
) -> ImportReport {
    let (kind, budget, report) = (ArchiveKind::Warc, CopyBudget::of(0), ImportReport::default());
    let mut import = Import { spool, placing: &PlainPlacement, options, kind, report, budget };
    let body = ArchivedBody::Here(Box::new(ActionDuringRead(Some(happens), BODY)));
    let when = jiff::Timestamp::from_second(50).unwrap();
    let head = ResponseHead::synthetic(200, "OK");
    let exchange = ArchivedExchange { url: url(), when, head, request: None, is_private, body };
    import.import_item(URL, ItemContent::Exchange(Box::new(exchange))).unwrap();
    import.report
}

fn text(entry: Option<Entry>) -> String {
    let Some(entry) = entry else { return "nothing".to_owned() };
    let (mut text, mut body) = (String::new(), super::EntryBody::of(&entry));
    body.read_to_string(&mut text).unwrap();
    text
}

fn spool(versions: usize) -> (tempfile::TempDir, Spool) {
    let folder = tempfile::tempdir().unwrap();
    let versions = Versions::from_rule(move |_| versions);
    let options = Options { versions, ..Options::default() };
    let (spool, _) = Spool::open(folder.path(), &options).unwrap();
    (folder, spool)
}

fn entry_at(spool: &Spool, place: &Place) -> String {
    let found = spool.entries(place).unwrap().found;
    text(found.into_iter().find(|entry| entry.place() == place))
}

#[test]
fn response_stored_during_an_import_is_merged_like_an_older_one() {
    let place = Place::of(&url());
    // Columns: the stored response, the response that arrives during the import, and whether to
    // replace. Then the expected result and the counts: kept, older, same, outdated, worse.
    for (before, meanwhile, replace, want, counts) in [
        (None, None, false, "archived", [1, 0, 0, 0, 0]),
        (None, Some((200, 60)), false, "live", [0, 1, 0, 0, 0]),
        (Some((200, 40)), Some((200, 60)), false, "live", [0, 1, 0, 0, 0]),
        (None, Some((200, 45)), false, "archived", [1, 0, 0, 0, 0]),
        // A page takes precedence over a later error.
        (None, Some((404, 60)), false, "archived", [1, 0, 0, 0, 0]),
        (Some((404, 40)), Some((200, 60)), false, "live", [0, 1, 0, 0, 0]),
        (Some((200, 40)), Some((200, 60)), true, "archived", [1, 0, 0, 0, 0]),
    ] {
        let (_folder, spool) = spool(3);
        let put = |answer: Option<(u16, i64)>, body: &[u8]| {
            if let Some((status, second)) = answer {
                live(&spool, &place, status, second, body);
            }
        };
        put(before, b"before");
        let report = import(&spool, false, replace, || put(meanwhile, b"live"));
        let counted = [report.kept, report.older, report.same, report.outdated, report.worse];
        let what = format!("{before:?}, {meanwhile:?}, {replace}");
        assert_eq!((entry_at(&spool, &place).as_str(), counted), (want, counts), "{what}");
        spool.flush().unwrap();
        let versions = spool.versions(&place).unwrap();
        let texts: Vec<_> = versions
            .iter()
            .map(|one| text(spool.version(&place, one.stored).unwrap().found()))
            .collect();
        for (came, body) in [(before.is_some(), "before"), (meanwhile.is_some(), "live")] {
            let is_there = want == body || texts.iter().any(|text| text == body);
            assert_eq!(is_there, came, "{what}: {body} among {texts:?}");
        }
    }
}

#[test]
fn a_page_does_not_answer_a_queued_request_with_options() {
    for (options, answered) in [(None, 1), (Some("capture"), 0)] {
        let (_folder, spool) = spool(0);
        let head = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec();
        let queued = jiff::Timestamp::from_second(1).unwrap();
        let mut request = Outgoing::new(Place::of(&url()), head, RequestKind::Page, queued);
        request.options = options.map(str::to_owned);
        spool.queue().add(&request).unwrap();
        let report = import(&spool, false, false, || {});
        let (is_left, is_answered) = (spool.queue().len(), report.requests.answered);
        assert_eq!((is_left, is_answered), (usize::from(answered == 0), answered), "{options:?}");
    }
}

#[test]
fn an_equal_response_stored_during_the_import_is_kept_once() {
    let place = Place::of(&url());
    let (_folder, spool) = spool(3);
    let report = import(&spool, false, false, || live(&spool, &place, 200, 45, BODY));
    assert_eq!((report.kept, report.same), (0, 1), "{report:?}");
    assert!(spool.versions(&place).unwrap().is_empty());
}

#[test]
fn without_versions_a_newer_live_response_is_not_replaced() {
    let place = Place::of(&url());
    let (_folder, spool) = spool(0);
    let report = import(&spool, false, false, || live(&spool, &place, 200, 60, b"live"));
    assert_eq!((entry_at(&spool, &place).as_str(), report.outdated), ("live", 1), "{report:?}");
}

#[test]
fn imported_personal_response_does_not_hide_a_newer_shared_one() {
    let everyones = Place::of(&url());
    let (_folder, spool) = spool(3);
    let report = import(&spool, true, false, || live(&spool, &everyones, 200, 60, b"live"));
    assert_eq!((report.kept, report.outdated), (0, 1), "{report:?}");
    assert_eq!(entry_at(&spool, &own()), "nothing");
    // A newer personal response stays when an older shared response is imported, even if replacing
    // was requested.
    let report = import(&spool, false, true, || live(&spool, &own(), 200, 70, b"own"));
    assert_eq!((report.kept, entry_at(&spool, &own()).as_str()), (1, "own"), "{report:?}");
}

#[test]
fn a_dry_run_leaves_out_older_bodies_that_are_too_long() {
    let place = Place::of(&url());
    for (max_body, older, outdated) in [(4, 0, 1), (1_000, 1, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let limit = VersionLimit { number: 3, max_body: Some(max_body) };
        let versions = Versions::from_limits(move |_| limit);
        let options = Options { versions, ..Options::default() };
        let (spool, _) = Spool::open(folder.path(), &options).unwrap();
        live(&spool, &place, 200, 60, b"live");
        for dry_run in [true, false] {
            let report = import_with(&spool, &ImportOptions { dry_run, ..self::options(false) });
            let counted = (report.kept, report.older, report.outdated);
            assert_eq!(counted, (0, older, outdated), "{max_body} {dry_run}");
        }
    }
}

use std::collections::BTreeMap;

use wwwoffle_spool::Priority;

use super::super::permission::tests::rows;
use super::{ACTS, Act, Button, Choice, Chosen, Format, Undone, lists, queue};

#[test]
fn each_form_has_one_address() {
    let table = [
        ("/control/online", Some(Act::Mode(Choice::Online))),
        ("/control/offline", Some(Act::Mode(Choice::Offline))),
        ("/control/autodial", Some(Act::Mode(Choice::Autodial))),
        ("/control/auto", Some(Act::Mode(Choice::Auto))),
        ("/control/fetch", Some(Act::Fetch)),
        ("/control/hold", Some(Act::Hold)),
        ("/control/reload", Some(Act::Reload)),
        ("/control/config", Some(Act::Reload)),
        ("/control/retry", Some(Act::Retry)),
        ("/control/delete/req", Some(Act::Delete)),
        ("/control/delete/req-all", Some(Act::DeleteAll)),
        ("/control/queue/edit", Some(Act::Edit)),
        ("/control/delete-multiple/req", Some(Act::OfQueue(queue::Chosen::Delete))),
        ("/control/retry-multiple", Some(Act::OfQueue(queue::Chosen::Retry))),
        ("/control/queue/last", Some(Act::OfQueue(queue::Chosen::Prioritize(Priority::Last)))),
        ("/control/queue/never", None),
        ("/refresh-request/", Some(Act::Confirm)),
        ("/refresh-plan/", Some(Act::Plan)),
        ("/monitor-request/", Some(Act::Monitor)),
        ("/control/delete/mon", Some(Act::DeleteMonitor)),
        ("/control/delete/mon-all", Some(Act::DeleteMonitors)),
        ("/control/certificate/allow", Some(Act::AllowCertificate)),
        ("/control/purge", Some(Act::Purge)),
        ("/control/pin", Some(Act::Pin(true))),
        ("/control/unpin", Some(Act::Pin(false))),
        ("/control/delete/url", Some(Act::Chosen(Chosen::Delete))),
        ("/control/delete-multiple/url", Some(Act::Chosen(Chosen::Delete))),
        ("/control/refresh-multiple", Some(Act::Chosen(Chosen::Refresh))),
        ("/control/pin-multiple", Some(Act::Chosen(Chosen::Pin))),
        ("/control/monitor-multiple", Some(Act::Chosen(Chosen::Monitor))),
        ("/control/export-multiple/warc", Some(Act::Chosen(Chosen::Export(Format::Warc)))),
        ("/control/export-multiple/wacz", Some(Act::Chosen(Chosen::Export(Format::Wacz)))),
        ("/control/export-list/warc", Some(Act::ExportList(Format::Warc))),
        ("/control/export-list/wacz", Some(Act::ExportList(Format::Wacz))),
        ("/control/delete/url-all", Some(Act::DeleteList)),
        ("/control/undo", Some(Act::Undo)),
        ("/control/history/restore", Some(Act::Version(Button::Restore))),
        ("/control/history/delete", Some(Act::Version(Button::Remove))),
        ("/control/", None),
        ("/control/delete/", None),
        ("/control/Online", None),
        ("/queue/", None),
    ];
    for (path, want) in table {
        assert_eq!(Act::at(path), want, "{path}");
    }
}

#[test]
fn each_form_needs_what_the_table_says() {
    let of_priority = "/control/queue/last";
    let paths = ACTS.iter().map(|(path, _)| *path).chain([of_priority]);
    let needs: BTreeMap<_, _> =
        paths.map(|path| (path.to_owned(), Act::at(path).unwrap().needs())).collect();
    assert_eq!(
        needs,
        rows(|path| !path.starts_with("/api/") && !path.starts_with("/configuration/"))
    );
}

#[test]
fn what_is_wrong_with_the_machine_is_not_the_forms_fault() {
    use lists::NotDone::{Busy, Deleting, Export, NoRoom, Nothing};
    assert!(matches!(Undone::from(Busy), Undone::Busy(_)));
    assert!(matches!(Undone::from(Deleting), Undone::Busy(_)));
    assert!(matches!(Undone::from(NoRoom), Undone::NoRoom(_)));
    assert!(matches!(Undone::from(Nothing), Undone::Nothing));
    assert!(matches!(Undone::from(Export(String::new())), Undone::Bad(_)));
}

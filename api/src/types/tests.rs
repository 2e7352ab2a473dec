//! The JSON types are a promise to scripts. Each is compared with its expected JSON text, and
//! parsed back.

use std::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};

use super::*;
use crate::{Event, TotalProgress};

fn shape<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, text: &str) {
    assert_eq!(serde_json::to_string(value).unwrap(), text);
    assert_eq!(&serde_json::from_str::<T>(text).unwrap(), value);
}

fn time() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

#[test]
fn status() {
    shape(
        &Status {
            version: "0.1.0".into(),
            mode: Mode::Online,
            chosen: ModeSetting::Auto,
            link: Some(LinkStatus {
                reason: "h.example answers".into(),
                since: time(),
                portal: None,
                probed: Some(time()),
                probes: 9,
            }),
            metered: true,
            activity: DaemonActivity {
                last_online: Some(time()),
                last_offline: None,
                runs: 2,
                purge: Some(9),
                tier: None,
            },
            process: DaemonProcess {
                pid: 7,
                spool: "/s".into(),
                read_only: true,
                listen: vec!["127.0.0.1:8080".into()],
                since: time(),
                missing_programs: Vec::new(),
            },
            queue: QueueCounts { waiting: 1, failed: 2, active: 3, asking: 0 },
            downloads: vec![DownloadItem {
                id: 8,
                url: "http://a/".into(),
                bytes: 1,
                total: None,
                rate: None,
                seconds_left: None,
                resumed: 0,
                waiting: None,
            }],
            connections: 4,
            outgoing: OutgoingTrouble {
                outward_refused: 5,
                failing_parents: vec![FailingParentItem {
                    parent: "p.example:3128".into(),
                    reason: "it is down".into(),
                    since: time(),
                    until: time(),
                }],
            },
            rejections: vec![RejectionItem {
                host: "h.example".into(),
                client: "10.0.0.1".into(),
                until: time(),
            }],
        },
        concat!(
            r#"{"version":"0.1.0","mode":"online","chosen":"auto","#,
            r#""link":{"reason":"h.example answers","since":"2026-11-20T12:00:00Z","#,
            r#""probed":"2026-11-20T12:00:00Z","probes":9},"metered":true,"#,
            r#""last_online":"2026-11-20T12:00:00Z","runs":2,"purge":9,"pid":7,"spool":"/s","read_only":true,"#,
            r#""listen":["127.0.0.1:8080"],"since":"2026-11-20T12:00:00Z","#,
            r#""queue":{"waiting":1,"failed":2,"active":3,"asking":0},"#,
            r#""downloads":[{"id":8,"url":"http://a/","bytes":1,"total":null,"resumed":0}],"#,
            r#""connections":4,"outward_refused":5,"#,
            r#""failing_parents":[{"parent":"p.example:3128","reason":"it is down","#,
            r#""since":"2026-11-20T12:00:00Z","until":"2026-11-20T12:00:00Z"}],"#,
            r#""rejections":[{"host":"h.example","client":"10.0.0.1","until":"2026-11-20T12:00:00Z"}]}"#
        ),
    );
}

#[test]
fn mode() {
    shape(&ModeRequest { mode: ModeSetting::Online }, r#"{"mode":"online"}"#);
    shape(
        &ModeChange { mode: ModeSetting::Offline, was: ModeSetting::Auto },
        r#"{"mode":"offline","was":"auto"}"#,
    );
    assert_eq!("offline".parse(), Ok(ModeSetting::Offline));
}

#[test]
fn queue() {
    let item = QueueItem {
        key: "ab".into(),
        url: "http://a/".into(),
        method: "GET".into(),
        kind: RequestKind::Part,
        page: Some("http://a/p".into()),
        queued: time(),
        state: ItemState::Failed,
        attempts: FetchAttempts {
            count: 5,
            error: Some("connection refused".into()),
            ..FetchAttempts::default()
        },
        priority: Priority::Last,
        turn: Some(3),
        owner: None,
    };
    shape(
        &Queue { queue: vec![item] },
        concat!(
            r#"{"queue":[{"key":"ab","url":"http://a/","method":"GET","kind":"part","#,
            r#""page":"http://a/p","queued":"2026-11-20T12:00:00Z","state":"failed","#,
            r#""attempts":5,"not_before":null,"error":"connection refused","priority":"last","turn":3}]}"#
        ),
    );
    shape(&QueueTarget::Key("ab".into()), r#"{"key":"ab"}"#);
    shape(&QueueTarget::All, r#"{"all":true}"#);
    shape(&RetryResponse { retried: 1 }, r#"{"retried":1}"#);
    shape(&DeleteResponse { deleted: 1 }, r#"{"deleted":1}"#);
}

#[test]
fn a_queue_target_is_never_all_by_accident() {
    for text in ["{}", r#"{"all":false}"#, r#"{"key":"a","all":true}"#, r#"{"keys":["a"]}"#] {
        assert!(serde_json::from_str::<QueueTarget>(text).is_err(), "{text}");
    }
}

#[test]
fn events() {
    let url = || "http://a/".to_owned();
    let table = [
        (Event::Start { url: url() }, r#"{"event":"start","url":"http://a/"}"#),
        (
            Event::Progress {
                url: url(),
                bytes: 1,
                total: Some(2),
                rate: None,
                seconds_left: None,
            },
            r#"{"event":"progress","url":"http://a/","bytes":1,"total":2}"#,
        ),
        (
            Event::Progress {
                url: url(),
                bytes: 1,
                total: Some(9),
                rate: Some(4),
                seconds_left: Some(2),
            },
            r#"{"event":"progress","url":"http://a/","bytes":1,"total":9,"rate":4,"seconds_left":2}"#,
        ),
        (
            Event::Whole(TotalProgress {
                done: 1,
                failed: 2,
                left: 3,
                bytes: 4,
                rate: Some(5),
                seconds_left: Some(6),
            }),
            concat!(
                r#"{"event":"whole","done":1,"failed":2,"left":3,"bytes":4,"rate":5,"#,
                r#""seconds_left":6}"#
            ),
        ),
        (
            Event::Whole(TotalProgress::default()),
            r#"{"event":"whole","done":0,"failed":0,"left":0,"bytes":0}"#,
        ),
        (
            Event::Held { held: Hold::Mode, count: 2 },
            r#"{"event":"held","held":{"reason":"mode"},"count":2}"#,
        ),
        (
            Event::Done { url: url(), status: 200, bytes: 2 },
            r#"{"event":"done","url":"http://a/","status":200,"bytes":2}"#,
        ),
        (
            Event::Failed { url: url(), status: None, error: "refused".into() },
            r#"{"event":"failed","url":"http://a/","error":"refused"}"#,
        ),
        (
            Event::Browser { url: url(), error: "none".into() },
            r#"{"event":"browser","url":"http://a/","error":"none"}"#,
        ),
        (
            Event::Retry { url: url(), error: "timeout".into(), next: time() },
            r#"{"event":"retry","url":"http://a/","error":"timeout","next":"2026-11-20T12:00:00Z"}"#,
        ),
        (Event::Queued { url: url() }, r#"{"event":"queued","url":"http://a/"}"#),
        (
            Event::Redirect { url: url(), status: 301, location: Some("http://b/".into()) },
            r#"{"event":"redirect","url":"http://a/","status":301,"location":"http://b/"}"#,
        ),
        (
            Event::End { fetched: 1, failed: 2, dead: 4, waiting: 3 },
            r#"{"event":"end","fetched":1,"failed":2,"dead":4,"waiting":3}"#,
        ),
    ];
    for (event, text) in table {
        shape(&event, text);
    }
    let newer = serde_json::from_str::<Event>(r#"{"event":"parked","url":"http://a/"}"#).unwrap();
    assert_eq!(newer, Event::Unknown);
}

#[test]
fn get_fetch_and_entries() {
    shape(
        &GetRequest { urls: vec!["http://a/".into()], refresh: true, form: None },
        r#"{"urls":["http://a/"],"refresh":true}"#,
    );
    let (content_type, body) = ("text/plain".into(), "YQ==".into());
    shape(
        &FormToSend { method: FormMethod::Put, content_type, body },
        r#"{"method":"PUT","type":"text/plain","body":"YQ=="}"#,
    );
    shape(&FetchRequest { wait: true, budget: None }, r#"{"wait":true}"#);
    shape(&FetchRequest { wait: false, budget: Some(9) }, r#"{"wait":false,"budget":9}"#);
    shape(&FetchResponse { started: 3 }, r#"{"started":3}"#);
    shape(
        &EntryItem {
            url: "http://a/".into(),
            key: "ab".into(),
            status: Some(200),
            content_type: Some("text/html".into()),
            bytes: 9,
            stored: time(),
            whose: EntryOwner::default(),
            held: None,
        },
        concat!(
            r#"{"url":"http://a/","key":"ab","status":200,"type":"text/html","#,
            r#""bytes":9,"stored":"2026-11-20T12:00:00Z"}"#
        ),
    );
    shape(
        &EntriesToDelete { urls: vec!["http://a/".into()], owner: None },
        r#"{"urls":["http://a/"]}"#,
    );
    shape(
        &DeletedUrls { deleted: vec!["http://a/".into()], missing: vec![] },
        r#"{"deleted":["http://a/"],"missing":[]}"#,
    );
    shape(&StopResponse { stopping: true }, r#"{"stopping":true}"#);
    shape(&ApiError { error: "no such key".into() }, r#"{"error":"no such key"}"#);
}

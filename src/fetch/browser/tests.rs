use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::*;

fn methods(next: &VisitActions) -> Vec<&str> {
    next.send.iter().filter_map(|message| message["method"].as_str()).collect()
}

/// The number of the last sent command with this `method`.
fn number(next: &VisitActions, method: &str) -> Value {
    let sent = next.send.iter().rfind(|message| message["method"] == method);
    sent.unwrap_or_else(|| panic!("{method} in {next:?}"))["id"].clone()
}

/// A visit whose page was opened.
fn opened(now: Instant) -> (Visit, VisitActions) {
    let (mut visit, mut next) = prepared(Vec::new(), now);
    for message in std::mem::take(&mut next.send) {
        next.and(visit.handle_message(&json!({"id": message["id"], "result": {}}), now));
    }
    (visit, next)
}

/// A visit with an empty page.
fn prepared(cookies: Vec<Cookie>, now: Instant) -> (Visit, VisitActions) {
    let (mut visit, next) = Visit::begin("https://a.example/x".into(), cookies, now);
    let id = number(&next, "Target.createTarget");
    let next = visit.handle_message(&json!({"id": id, "result": {"targetId": "T"}}), now);
    let id = number(&next, "Target.attachToTarget");
    let next = visit.handle_message(&json!({"id": id, "result": {"sessionId": "S"}}), now);
    (visit, next)
}

fn event(method: &str, session: &str, params: &Value) -> Value {
    json!({"method": method, "sessionId": session, "params": params})
}

#[test]
fn a_page_is_opened_after_its_cookies_are_set_and_events_enabled() {
    let now = Instant::now();
    let listen = ["Network.enable", "Page.enable", "Target.setAutoAttach"];
    let done = |message: &Value| json!({"id": message["id"], "result": {}});
    for count in [0, 2] {
        let cookie = |name: &str| Cookie { name: name.into(), value: "b=c".into() };
        let cookies = ["a", "d"].into_iter().take(count).map(cookie).collect();
        let (mut visit, next) = prepared(cookies, now);
        assert_eq!(methods(&next), [&listen[..], &vec!["Network.setCookie"; count]].concat());
        assert!(next.send.iter().all(|message| message["sessionId"] == "S"));
        if count > 0 {
            let cookie = json!({"name": "a", "value": "b=c", "url": "https://a.example/x", "path": "/",
                "secure": true});
            assert_eq!(next.send[3]["params"], cookie);
        }
        // Loading the empty page does not count.
        visit.handle_message(&event("Page.loadEventFired", "S", &json!({})), now);
        let (last, others) = next.send.split_first().unwrap();
        for message in others {
            assert_eq!(
                visit.handle_message(&done(message), now),
                VisitActions::default(),
                "{message}"
            );
        }
        let next = visit.handle_message(&done(last), now);
        assert_eq!(methods(&next), ["Page.navigate"]);
        assert_eq!((&next.send[0]["sessionId"], visit.quiet_at()), (&json!("S"), None));
    }
    // A refused subscription or cookie ends the visit.
    for refused in 0..4 {
        let cookie = Cookie { name: "a".into(), value: "b".into() };
        let (mut visit, next) = prepared(vec![cookie], now);
        let no = json!({"id": next.send[refused]["id"], "error": {"message": "bad"}});
        assert_eq!(
            visit.handle_message(&no, now).over,
            Some(Err("the browser refused: bad".into()))
        );
    }
}

#[test]
fn a_page_is_idle_when_no_request_is_active() {
    let mut now = Instant::now();
    let (mut visit, _) = opened(now);
    let request = json!({"requestId": "1", "type": "Document"});
    visit.handle_message(&event("Network.requestWillBeSent", "S", &request), now);
    visit.handle_message(&event("Page.loadEventFired", "S", &json!({})), now);
    assert_eq!(visit.quiet_at(), None, "a request is under way");
    let frame = json!({"sessionId": "F", "waitingForDebugger": true});
    let next = visit.handle_message(&event("Target.attachedToTarget", "S", &frame), now);
    assert_eq!(methods(&next).last(), Some(&"Runtime.runIfWaitingForDebugger"));
    visit.handle_message(&event("Network.requestWillBeSent", "F", &request), now);
    visit.handle_message(&event("Network.loadingFinished", "S", &request), now);
    assert_eq!(visit.quiet_at(), None, "one of its frames is at work");
    visit.handle_message(&event("Target.detachedFromTarget", "S", &json!({"sessionId": "F"})), now);
    for kind in ["EventSource", "WebSocket"] {
        let endless = json!({"requestId": kind, "type": kind});
        visit.handle_message(&event("Network.requestWillBeSent", "S", &endless), now);
    }
    let quiet = visit.quiet_at().unwrap();
    assert!(quiet > now && visit.check_state(now).send.is_empty(), "not yet");
    now = quiet;
    let ping = number(&visit.check_state(now), "Runtime.evaluate");
    // Activity before the scripts answer starts the wait again.
    visit.handle_message(&event("Network.requestWillBeSent", "S", &request), now);
    assert_eq!(visit.handle_message(&json!({"id": ping, "result": {}}), now).over, None);
    visit.handle_message(&event("Network.loadingFailed", "S", &request), now);
    now = visit.quiet_at().unwrap();
    let ping = number(&visit.check_state(now), "Runtime.evaluate");
    assert_eq!(visit.handle_message(&json!({"id": ping}), now).over, Some(Ok(VisitEnd::Quiet)));
}

#[test]
fn a_worker_script_request_ends_with_its_worker() {
    let now = Instant::now();
    let script = json!({"requestId": "W", "type": "Script"});
    let worker = json!({
        "sessionId": "F", "waitingForDebugger": true, "targetInfo": {"targetId": "W", "type": "worker"}
    });
    let gone = json!({"sessionId": "F"});
    for (method, session, params) in [
        ("Network.loadingFinished", "F", &script),
        ("Network.loadingFailed", "F", &script),
        ("Network.loadingFinished", "S", &script),
        ("Target.detachedFromTarget", "S", &gone),
    ] {
        let (mut visit, _) = opened(now);
        visit.handle_message(&event("Page.loadEventFired", "S", &json!({})), now);
        visit.handle_message(&event("Network.requestWillBeSent", "S", &script), now);
        visit.handle_message(&event("Target.attachedToTarget", "S", &worker), now);
        let other = json!({"requestId": "1"});
        visit.handle_message(&event("Network.requestWillBeSent", "S", &other), now);
        visit.handle_message(&event(method, session, params), now);
        assert_eq!(visit.quiet_at(), None, "another is under way: {method} {session}");
        visit.handle_message(&event("Network.loadingFinished", "S", &other), now);
        let asked = visit.check_state(visit.quiet_at().unwrap());
        // Each session is asked whether it is busy, except a closed one.
        let count = if method.starts_with("Target") { 1 } else { 2 };
        assert_eq!(methods(&asked), vec!["Runtime.evaluate"; count], "{method} {session}");
        let answers = asked.send.iter().map(|ping| json!({"id": ping["id"]}));
        let over: Vec<_> = answers.map(|answer| visit.handle_message(&answer, now).over).collect();
        let want: Vec<_> =
            (1..=count).map(|at| (at == count).then_some(Ok(VisitEnd::Quiet))).collect();
        assert_eq!(over, want, "{method} {session}");
    }
}

#[test]
fn a_never_idle_or_unopenable_page_ends() {
    let now = Instant::now();
    let (mut visit, _) = opened(now);
    let over = (0..10_000).find_map(|number| {
        let request = json!({"requestId": number.to_string()});
        visit.handle_message(&event("Network.requestWillBeSent", "S", &request), now).over
    });
    assert_eq!(over, Some(Ok(VisitEnd::Restless)));
    let (mut visit, next) = opened(now);
    let id = number(&next, "Page.navigate");
    let error = json!({"id": id, "result": {"errorText": "net::ERR_\u{7}X"}});
    let over = visit.handle_message(&error, now).over;
    assert_eq!(over, Some(Err("the browser cannot open it: net::ERR_X".into())));
    let (mut visit, _) = opened(now);
    let dialog = visit.handle_message(&event("Page.javascriptDialogOpening", "S", &json!({})), now);
    assert_eq!(methods(&dialog), ["Page.handleJavaScriptDialog"]);
    let crash = visit.handle_message(&event("Inspector.targetCrashed", "S", &json!({})), now);
    assert!(matches!(crash.over, Some(Err(_))));
}

#[test]
fn invalid_browser_messages_change_nothing() {
    let now = Instant::now();
    let (mut visit, _) = opened(now);
    for bad in [
        json!(null),
        json!([]),
        json!("Page.loadEventFired"),
        json!({"id": -1}),
        json!({"id": u64::MAX, "result": {"errorText": "x"}}),
        json!({"method": "Page.loadEventFired", "sessionId": 5}),
        json!({"method": "Page.loadEventFired", "sessionId": "other"}),
        json!({"method": "Network.loadingFinished", "params": 7}),
        json!({"method": "Network.dataReceived", "params": {"encodedDataLength": -1}}),
        json!({"method": "Target.attachedToTarget", "params": {"waitingForDebugger": true}}),
    ] {
        assert_eq!(visit.handle_message(&bad, now), VisitActions::default(), "{bad}");
    }
    assert_eq!(visit.quiet_at(), None);
    let bytes = json!({"encodedDataLength": 5});
    assert_eq!(visit.handle_message(&event("Network.dataReceived", "S", &bytes), now).bytes, 5);
    // The number of sessions is bounded.
    for number in 0..1_000 {
        let frame = json!({"sessionId": number.to_string(), "waitingForDebugger": true});
        let next = visit.handle_message(&event("Target.attachedToTarget", "S", &frame), now);
        assert_eq!(next.send.is_empty(), number >= 256, "{number}");
    }
}

#[test]
fn the_browser_gets_the_fields_of_the_request() {
    let rows = [
        ("cookie", "a=b; c=d=e; none;"),
        ("cookie", "f="),
        ("accept-language", "de-CH, de;q=0.9 ,*;q=0.1, x y"),
        ("user-agent", "Some/1.0"),
    ];
    let fields: HeaderMap = rows
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
    let cookies = cookies(&fields);
    let pairs: Vec<_> = cookies.iter().map(|one| (&*one.name, &*one.value)).collect();
    assert_eq!(pairs, [("a", "b"), ("c", "d=e"), ("f", "")]);
    let (mut request, ()) = hyper::Request::new(()).into_parts();
    request.headers = fields;
    let proxy = "127.0.0.1:8080".parse().unwrap();
    let arguments = |request: &Parts| {
        let program = Path::new("/b");
        BrowserParameters { program, request, proxy, key: "KEY", width: 800, meter: Arc::default() }
            .arguments(Path::new("/p"))
    };
    let line = arguments(&request);
    for want in [
        "--user-data-dir=/p",
        "--proxy-server=http://127.0.0.1:8080",
        "--ignore-certificate-errors-spki-list=KEY",
        "--window-size=800,4096",
        "--user-agent=Some/1.0",
        "--accept-lang=de-CH,de",
    ] {
        assert!(line.contains(&want.into()), "{want} in {line:?}");
    }
    let own = HeaderValue::from_static(OUR_USER_AGENT);
    request.headers.insert(USER_AGENT, own);
    let line = arguments(&request);
    assert!(!line.iter().any(|word| word.to_string_lossy().starts_with("--user-agent")));
}

#[test]
fn the_own_address_is_a_listening_address() {
    for (listening, want) in [
        (&["127.0.0.1:1"][..], Some("127.0.0.1:1")),
        (&["10.0.0.1:1", "[::1]:2"], Some("[::1]:2")),
        (&["0.0.0.0:3"], Some("127.0.0.1:3")),
        (&["[::]:4"], Some("[::1]:4")),
        // At this address the browser would be an ordinary client, not the person at this machine.
        (&["10.0.0.1:1"], None),
        (&[], None),
    ] {
        let listening: Vec<SocketAddr> =
            listening.iter().map(|address| address.parse().unwrap()).collect();
        assert_eq!(own_address(&listening).map(|one| one.to_string()).as_deref(), want);
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test looks at what a program does to files")]
#[ignore = "slow"]
async fn a_silent_browser_is_killed_with_its_children() {
    let profile = Profile::make().unwrap();
    let directory = profile.path().to_owned();
    let program = directory.join("browser");
    std::fs::write(&program, "#!/bin/sh\nsleep 1000 & echo $! >\"$HOME/pid\"; exec sleep 1000\n")
        .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&program, mode).unwrap();
    let process = Process::start(&program, profile, &[]).unwrap();
    let pid = loop {
        match std::fs::read_to_string(directory.join("pid")) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    };
    let child = Path::new("/proc").join(pid);
    assert!(child.exists());
    process.end().await;
    assert!(!directory.exists());
    let is_gone =
        std::fs::read_to_string(child.join("stat")).map_or(true, |stat| stat.contains(") Z "));
    assert!(is_gone);
}

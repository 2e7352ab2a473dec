//! The gateway: pages at addresses of the proxy, for devices that cannot set a proxy.

use crate::harness::daemon::AS_PERSON;
use crate::harness::form::form;
use crate::harness::{After, Answer, Daemon, Origin, Response};
use crate::security::logins::{CONTROL, PASSWORD, control, login, users};

/// The fields with which a gateway page sends a form. The origin of the page is opaque.
const FROM_A_PAGE: &str = "Origin: null\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\
                           Sec-Fetch-Dest: document\r\nAccept: text/html\r\n";

/// The gateway address of a path of an origin.
pub(crate) fn at(origin: &Origin, path: &str) -> String {
    format!("/http/{}{path}", origin.addr)
}

#[track_caller]
fn get(daemon: &Daemon, path: &str, fields: &str) -> Response {
    daemon.client().get_path(&daemon.addr().to_string(), path, fields).whole()
}

#[track_caller]
fn read(daemon: &Daemon, path: &str) -> Response {
    get(daemon, path, AS_PERSON)
}

#[test]
fn a_gateway_page_is_stored_as_through_the_proxy() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let page = "<base href=/b/><a href=x>x</a><img src=/i.png><script>a()</script>";
    origin.say(
        "/a/p?q=%2f~",
        Answer::html(page).field("ETag", "\"1\"").field("Cache-Control", "max-age=600"),
    );
    let address = at(&origin, "/a/p?q=%2f~");
    let want = format!("<base><a href=\"{0}/b/x\">x</a><img src=\"{0}/i.png\">", at(&origin, ""));
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let seen = read(&daemon, &address);
        assert_eq!((seen.status, seen.text()), (200, want.clone()), "{mode}");
        assert_eq!(seen.field("Content-Type"), "text/html; charset=utf-8");
        assert_eq!(seen.fields.get("ETag"), None, "it belongs to another body");
        // The page is the same entry as through the proxy, stored as received.
        assert_eq!(daemon.get(&origin.url("/a/p?q=%2f~")).text(), page, "{mode}");
    }
    // The origin got one request, for the original URL.
    assert_eq!(origin.count("/a/p?q=%2f~"), 1);
    assert!(daemon.ok(&["cat", &origin.url("/a/p?q=%2f~")]).ends_with(page));
    // A missing page is queued as usual. The message page leads back to the gateway address.
    let told = read(&daemon, &at(&origin, "/later?a"));
    assert_eq!(told.status, 504);
    assert_eq!(daemon.queued(), [origin.url("/later?a")]);
    assert_eq!(told.field("X-Frame-Options"), "DENY");
    let undo = form(&told.text(), "/control/delete/req");
    assert!(undo.action.starts_with('/'), "{undo:?}");
    assert!(daemon.submit(&undo).status < 400);
    assert!(daemon.queued().is_empty());
}

#[test]
fn gateway_pages_are_isolated_from_our_own_origin() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let hostile = Answer::html("x")
        .field("Set-Cookie", "a=b; Path=/")
        .field("Clear-Site-Data", "\"*\"")
        .field("Service-Worker-Allowed", "/")
        .field("Strict-Transport-Security", "max-age=9")
        .field("Refresh", "0; url=/control/online")
        .field("Link", "</control/>; rel=preload; as=style")
        .field("Access-Control-Allow-Origin", "*")
        .field("Content-Security-Policy", "default-src *")
        .field("Alt-Svc", "h3=\":443\"")
        .field("WWW-Authenticate", "Basic realm=control");
    origin.say("/", hostile.clone());
    let mut refused = hostile;
    refused.status = 401;
    origin.say("/401", refused);
    for path in ["/", "/401"] {
        let mine = format!(
            "{AS_PERSON}Cookie: ours=1\r\nAuthorization: Basic YTpi\r\nReferer: http://{}/control/\r\n\
             Origin: null\r\nX-Own: 1\r\nConnection: X-Own\r\n",
            daemon.addr()
        );
        let seen = get(&daemon, &at(&origin, path), &mine);
        let policy = seen.fields.all("Content-Security-Policy");
        assert_eq!(policy.len(), 1, "{policy:?}");
        assert!(policy[0].starts_with("sandbox allow-forms"), "{policy:?}");
        assert!(!policy[0].contains("allow-scripts") && !policy[0].contains("same-origin"));
        for name in [
            "Set-Cookie",
            "Clear-Site-Data",
            "Service-Worker-Allowed",
            "Strict-Transport-Security",
            "Refresh",
            "Link",
            "Access-Control-Allow-Origin",
            "Alt-Svc",
            "WWW-Authenticate",
        ] {
            assert_eq!(seen.fields.get(name), None, "{path} {name}");
        }
        assert_eq!(seen.field("X-Content-Type-Options"), "nosniff");
        let asked = &origin.asked(path)[0];
        for name in ["Cookie", "Authorization", "Referer", "Origin", "X-Own"] {
            assert_eq!(asked.fields.get(name), None, "{path} {name}");
        }
    }
}

#[test]
fn each_media_type_is_rewritten_or_made_harmless() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let rows = [
        ("/s.css", "text/css", "a{b:url(i)}", "text/css; charset=utf-8", "a{b:url(\"{}/i\")}"),
        (
            "/i.svg",
            "image/svg+xml",
            "<svg><a href='x'/></svg>",
            "image/svg+xml",
            "<svg><a href=\"{}/x\" /></svg>",
        ),
        (
            "/x",
            "application/xhtml+xml",
            "<p><a href='x'/></p>",
            "text/html",
            // Such a page is sent as HTML, in which this element would not end.
            "<p><a href=\"{}/x\"></a></p>",
        ),
        ("/s.js", "text/javascript", "a()", "text/plain", "a()"),
        (
            "/f.xml",
            "application/rss+xml",
            "<?xml-stylesheet href='x'?>",
            "text/plain",
            "<?xml-stylesheet href='x'?>",
        ),
        ("/i.png", "image/png", "png", "image/png", "png"),
        ("/d.pdf", "application/pdf", "pdf", "application/pdf", "pdf"),
        ("/none", "", "<script>a()</script>", "application/octet-stream", "<script>a()</script>"),
    ];
    for (path, kind, body, told, want) in rows {
        origin.say(path, Answer::new(200, kind, body).field("Cache-Control", "max-age=600"));
        let seen = get(&daemon, &at(&origin, path), "");
        let want = want.replace("{}", &at(&origin, ""));
        assert_eq!((seen.text(), seen.field("Content-Type")), (want, told), "{path}");
        assert!(seen.field("Content-Security-Policy").starts_with("sandbox "), "{path}");
        let is_saved = seen.field("Content-Disposition") == "attachment";
        assert_eq!(is_saved, ["/d.pdf", "/none"].contains(&path), "{path}");
    }
    // A partial image is sent as a partial response. A partial style sheet cannot be rewritten.
    let part = |path: &str| get(&daemon, &at(&origin, path), "Range: bytes=1-\r\nAccept: */*\r\n");
    daemon.settle();
    assert_eq!((part("/i.png").status, part("/i.png").text()), (206, "ng".to_owned()));
    assert_eq!(part("/s.css").status, 502);
    // Scripts, and requests that only a script can send, are refused, since gateway pages run
    // without scripts.
    for dest in ["script", "empty", "serviceworker", "worker"] {
        let asked = get(&daemon, &at(&origin, "/s.js"), &format!("Sec-Fetch-Dest: {dest}\r\n"));
        assert_eq!(asked.status, 403, "{dest}");
    }
}

#[test]
fn a_304_of_the_gateway_has_no_content_fields() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for (path, kind) in [("/i.png", "image/png"), ("/f.json", "application/json")] {
        let answer = Answer::new(200, kind, "x").field("ETag", "\"1\"");
        origin.say(path, answer.field("Cache-Control", "max-age=600"));
        let first = get(&daemon, &at(&origin, path), "");
        assert_eq!((first.status, first.field("ETag")), (200, "\"1\""), "{path}");
        daemon.settle();
        let again = get(&daemon, &at(&origin, path), "If-None-Match: \"1\"\r\n");
        assert_eq!((again.status, again.field("ETag")), (304, "\"1\""), "{path}");
        for name in ["Content-Type", "Content-Disposition"] {
            assert_eq!(again.fields.get(name), None, "{path} {name}");
        }
        assert!(again.field("Content-Security-Policy").starts_with("sandbox "), "{path}");
    }
}

#[test]
fn a_form_to_a_local_host_needs_confirmation_offline() {
    let (daemon, origin) =
        (Daemon::configured("[local-net]\nhosts = [\"127.0.0.1\"]\n"), Origin::start());
    origin.on("/apply", |exchange| {
        let body = String::from_utf8_lossy(exchange.body()?).into_owned();
        exchange.answer(&Answer::html(body))
    });
    daemon.ok(&["offline"]);
    let question = daemon.post(&at(&origin, "/apply"), FROM_A_PAGE, "a=1");
    assert_eq!((question.status, origin.count("/apply")), (200, 0), "{}", question.text());
    let answer = daemon.submit(&form(&question.text(), "/gateway/send"));
    assert_eq!((answer.status, answer.text()), (200, "a=1".to_owned()));
    assert_eq!(origin.count("/apply"), 1);
}

#[test]
fn redirects_stay_inside_the_gateway() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let own = daemon.own("/control/");
    for (path, to, want) in [
        ("/1", "../x?y#z", Some(at(&origin, "/x?y#z"))),
        ("/2", "https://b.test/", Some("/https/b.test/".to_owned())),
        ("/3", "//c.test:81", Some("/http/c.test:81/".to_owned())),
        ("/4", own.as_str(), None),
        ("/5", "javascript:a()", None),
        ("/6", "http://u:p@h.test/", None),
    ] {
        origin.say(path, Answer::redirect(302, to));
        let seen = read(&daemon, &at(&origin, path));
        match want {
            Some(want) => assert_eq!((seen.status, seen.field("Location")), (302, want.as_str())),
            None => assert_eq!((seen.status, seen.fields.get("Location")), (502, None), "{path}"),
        }
    }
    // An address without the slash after the host is redirected, so that relative links resolve.
    let bare = read(&daemon, &at(&origin, ""));
    assert_eq!((bare.status, bare.field("Location")), (302, at(&origin, "/").as_str()));
    // A client of the proxy is redirected to the original URL of the page.
    let proxied = daemon.browse(&daemon.own(&at(&origin, "/x?y")));
    assert_eq!((proxied.status, proxied.field("Location")), (302, origin.url("/x?y").as_str()));
}

#[test]
fn an_invalid_gateway_address_is_refused() {
    let daemon = Daemon::start();
    let own = daemon.addr();
    for (path, want) in [
        ("/http/../control/online".to_owned(), 400),
        ("/http/%2e%2e/control/online".to_owned(), 400),
        ("/http//control/online".to_owned(), 400),
        ("/http/u:p@h.test/".to_owned(), 400),
        ("/http/a%2fb/".to_owned(), 400),
        ("/http/a\\b/".to_owned(), 400),
        ("/http/[x/".to_owned(), 400),
        ("/ftp//control/".to_owned(), 400),
        ("/finger/u@h.test/".to_owned(), 400),
        (format!("/http/{own}/control/online"), 508),
        (format!("/http/{own}/http/{own}/"), 508),
        ("/http".to_owned(), 303),
    ] {
        let seen = read(&daemon, &path);
        assert_eq!(seen.status, want, "{path}: {}", seen.text());
        let status = format!("Status {want}");
        assert!(want == 303 || seen.text().contains(&status), "{path}: {}", seen.text());
    }
    let deleted = {
        let mut client = daemon.client();
        client.send(format!("DELETE /http/h.test/ HTTP/1.1\r\nHost: {own}\r\n\r\n"));
        client.receive("DELETE").whole()
    };
    assert_eq!((deleted.status, deleted.field("Allow")), (405, "GET, HEAD, POST"));
    // Under a foreign name that resolves to this address there is no gateway. Its pages would
    // belong to the origin of that name.
    let rebound = daemon.client().get_path("evil.test", "/http/h.test/", AS_PERSON).whole();
    assert!(!rebound.text().contains("sandbox") && rebound.field("Location").is_empty());
    let off = Daemon::configured("[pages]\ngateway = false\n");
    for path in ["/http/h.test/", "/gateway/", "/https/h.test/"] {
        assert_eq!(read(&off, path).status, 404, "{path}");
    }
}

#[test]
fn a_gateway_form_is_sent_after_confirmation() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.on("/order", |exchange| {
        let body = String::from_utf8_lossy(exchange.body()?).into_owned();
        exchange.answer(&Answer::html(format!("<form method=post>{body}</form>")))
    });
    let question = daemon.post(&at(&origin, "/order"), FROM_A_PAGE, "a=1&b=%C3%A9");
    assert_eq!((question.status, origin.count("/order")), (200, 0), "{}", question.text());
    assert_eq!(question.field("X-Frame-Options"), "DENY");
    assert!(question.field("Content-Security-Policy").contains("form-action http://"));
    let send = form(&question.text(), "/gateway/send");
    // A gateway page cannot confirm the form. A form of another site, or without the token, cannot
    // confirm it either.
    for (fields, form) in [
        (FROM_A_PAGE, send.clone()),
        ("Origin: http://evil.test\r\n", send.clone()),
        ("Sec-Fetch-Site: cross-site\r\n", send.clone()),
        ("", send.clone().without("token")),
    ] {
        assert_eq!(daemon.submit_as(&form, fields).status, 403, "{fields}");
    }
    assert_eq!(origin.count("/order"), 0);
    let answer = daemon.submit(&send);
    let want =
        format!("<form method=post action=\"{}\">a=1&b=%C3%A9</form>", at(&origin, "/order"));
    assert_eq!((answer.status, answer.text()), (200, want));
    assert!(answer.field("Content-Security-Policy").starts_with("sandbox "));
    assert_eq!(daemon.submit(&send).status, 410, "it is sent once");
    assert_eq!(origin.count("/order"), 1);
    // If a form is redirected, its fields are sent to the new address, which needs another
    // confirmation.
    origin.on("/moved", |exchange| {
        exchange.body()?;
        exchange.answer(&Answer::redirect(307, "/order"))
    });
    let question = daemon.post(&at(&origin, "/moved"), FROM_A_PAGE, "c=3");
    let again = daemon.submit(&form(&question.text(), "/gateway/send"));
    assert!(again.shown().contains(&origin.url("/order")), "{}", again.text());
    let answer = daemon.submit(&form(&again.text(), "/gateway/send"));
    assert!(answer.text().contains(">c=3</form>"), "{}", answer.text());
    // Offline, the page asks whether to send the form later.
    daemon.ok(&["offline"]);
    let question = daemon.post(&at(&origin, "/order"), FROM_A_PAGE, "a=2");
    assert_eq!(question.status, 504);
    assert!(daemon.queue().is_empty());
    let later = form(&question.text(), "/refresh-request/");
    assert_eq!(daemon.submit(&later).status, 303);
    assert_eq!(daemon.queue().len(), 1);
}

#[test]
fn a_hostile_page_presses_no_button_of_ours() {
    let daemon = Daemon::start();
    let token =
        form(&daemon.page("/").text(), "/control/offline").value("token").unwrap().to_owned();
    // Even with the token, a request from an opaque origin does not count as ours.
    for body in ["", &format!("token={token}")] {
        for fields in [FROM_A_PAGE, "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
            let answer = daemon.post("/control/offline", fields, body);
            assert_eq!(answer.status, 403, "{fields} {body}");
        }
    }
    assert_eq!(daemon.status()["mode"], "online");
    // No page of ours can be shown in a frame or read by another site.
    for path in ["/", "/queue/", "/gateway/", "/control/", "/http/../"] {
        let page = read(&daemon, path);
        assert_eq!(page.field("X-Frame-Options"), "DENY", "{path}");
        assert_eq!(page.fields.get("Access-Control-Allow-Origin"), None, "{path}");
    }
}

#[test]
fn an_address_is_typed_into_a_form() {
    let daemon = Daemon::start();
    let page = daemon.page("/gateway/");
    assert_eq!(form(&page.text(), "/gateway/").method, "GET");
    for (typed, want) in [
        ("www.example.org", "/http/www.example.org/"),
        ("https%3A%2F%2Fwww.example.org%2Fa%3Fb", "/https/www.example.org/a?b"),
    ] {
        let led = daemon.page(&format!("/gateway/?url={typed}"));
        assert_eq!((led.status, led.field("Location")), (303, want));
    }
    let refused = daemon.page("/gateway/?url=javascript%3A%3Cb%3E");
    assert_eq!(refused.status, 400);
    assert!(!refused.text().contains("<b>"));
}

#[test]
fn the_gateway_asks_users_for_their_password() {
    let (daemon, origin) = (Daemon::configured(&users()), Origin::start());
    origin.say("/", Answer::html("<a href=x>x</a>"));
    let address = at(&origin, "/");
    for fields in [String::new(), login("Authorization", "ada", "wrong")] {
        let asked = get(&daemon, &address, &format!("{AS_PERSON}{fields}"));
        assert_eq!(asked.status, 401, "{}", asked.text());
        assert!(asked.field("WWW-Authenticate").starts_with("Basic "));
    }
    assert_eq!(origin.connections(), 0);
    let fields = format!("{AS_PERSON}{}", login("Authorization", "ada", PASSWORD));
    let seen = get(&daemon, &address, &fields);
    assert_eq!((seen.status, seen.fields.get("WWW-Authenticate")), (200, None));
    assert_eq!(origin.asked("/")[0].fields.get("Authorization"), None);
}

#[test]
fn the_control_password_that_a_browser_sends_unasked_is_no_guess() {
    let (daemon, origin) =
        (Daemon::configured(&format!("{}{}", control(), users())), Origin::start());
    origin.say("/", Answer::html("x"));
    // Each login has another name, since a login that was checked before is not counted again.
    for n in 0..12 {
        let fields = format!("{AS_PERSON}{}", login("Authorization", &format!("n{n}"), CONTROL));
        let asked = get(&daemon, &at(&origin, "/"), &fields);
        assert_eq!(asked.status, 401, "{n} {}", asked.text());
        assert!(asked.field("WWW-Authenticate").contains("wwwoffle"));
    }
    let fields = format!("{AS_PERSON}{}", login("Authorization", "ada", PASSWORD));
    assert_eq!(get(&daemon, &at(&origin, "/"), &fields).status, 200);
}

#[test]
fn a_loop_through_another_name_is_detected() {
    let daemon = Daemon::start();
    // A request with our own name in `Via` has passed through this proxy before, whatever host it
    // names now.
    let seen = daemon.page("/api/status");
    assert_eq!(seen.status, 200);
    let mut client = daemon.client();
    let via = {
        let origin = Origin::start();
        origin.say("/", Answer::html("x"));
        read(&daemon, &at(&origin, "/"));
        origin.asked("/")[0].fields.get("Via").unwrap().to_owned()
    };
    let fields = format!("{AS_PERSON}Via: {via}\r\n");
    let seen = client.get_path(&daemon.addr().to_string(), "/http/h.test/", &fields).whole();
    assert_eq!(seen.status, 508, "{}", seen.text());
}

#[test]
#[ignore = "slow"]
fn a_page_of_any_length_is_rewritten_in_bounded_memory() {
    // Nothing is stored, so the page is rewritten as it arrives from the origin.
    let (daemon, origin) =
        (Daemon::configured("[dont-cache]\nurls = [\"*://*/*\"]\n"), Origin::start());
    origin.on("/long", |exchange| {
        exchange.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n")?;
        for _ in 0..2_000 {
            exchange.send(format!("{}{}", "<p><a href=x>".repeat(20), "text ".repeat(8_000)))?;
        }
        exchange.send("<a href=last>")?;
        Ok(After::Close)
    });
    let before = daemon.peak_kib();
    let mut client = daemon.client();
    let (mut length, mut last) = (0, Vec::new());
    client.send(format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n",
        at(&origin, "/long"),
        daemon.addr()
    ));
    let streamed = client.try_stream("GET", |piece| {
        length += piece.len();
        last = piece.to_vec();
    });
    assert!(streamed.is_ok() && length > 60_000_000, "{length}");
    let end = format!("<a href=\"{}\">", at(&origin, "/last"));
    assert!(String::from_utf8_lossy(&last).ends_with(&end), "{}", String::from_utf8_lossy(&last));
    let grown = daemon.peak_kib() - before;
    assert!(grown < 48 * 1024, "{grown} KiB");
}

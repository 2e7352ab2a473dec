//! Rules for URLs: blocked, redirected, never stored, local.

use crate::harness::client::authority;
use crate::harness::{Answer, Daemon, Origin, daemon::AS_PERSON, eventually, form};

const AS_IMAGE: &str = "Accept: image/*\r\nSec-Fetch-Dest: image\r\n";

#[test]
#[ignore = "slow"]
fn blocked_urls_are_not_fetched_and_not_served() {
    let origin = Origin::start();
    origin.on("/ads/page", |request| request.answer(&Answer::html("an advertisement")));
    let mut daemon = Daemon::configured("");
    let url = origin.url("/ads/page");
    assert_eq!(daemon.browse(&url).status, 200);
    daemon.settle();
    daemon.down();
    let text = format!("[dont-get]\nurls = [\n  \"*://{}/ads/*\",\n]\n", origin.addr);
    std::fs::write(daemon.config_file(), text).unwrap();
    daemon.up();
    let before = origin.seen().len();
    for mode in ["online", "offline", "autodial"] {
        daemon.ok(&[mode]);
        let page = daemon.browse(&url);
        assert_eq!((page.status, page.field("Cache-Status")), (403, "wwwoffle; detail=dont-get"));
        assert!(page.shown().contains("wwwoffle.conf:3"), "{}", page.shown());
        assert!(!page.text().contains("advertisement"));
        let image = daemon.client().get_with(&url, AS_IMAGE).whole();
        assert_eq!((image.status, image.field("Content-Type")), (200, "image/gif"), "{mode}");
        assert_eq!(daemon.get(&url).text(), "Blocked\n");
        let other = daemon.run(&["get", &url]);
        assert_ne!(other.status, 0, "{other:?}");
    }
    assert_eq!(origin.seen().len(), before, "the origin was asked");
}

#[test]
fn a_replacement_is_served_and_a_redirect_to_a_blocked_url_is_not() {
    let origin = Origin::start();
    origin.on("/go", |request| request.answer(&Answer::redirect(302, "/ads/page")));
    let text = format!(
        "[dont-get]\nurls = [\"*://{0}/ads/*\"]\nlocation-error = true\n\
         [[dont-get.for]]\nurl = \"*://{0}/ads/pics/*\"\nreplacement = \"http://{0}/blank\"\n",
        origin.addr
    );
    let daemon = Daemon::configured(&text);
    let picture = daemon.browse(&origin.url("/ads/pics/1"));
    assert_eq!((picture.status, picture.field("Location")), (302, origin.url("/blank").as_str()));
    for _ in 0..2 {
        let page = daemon.browse(&origin.url("/go"));
        assert_eq!(page.status, 404, "{}", page.shown());
        assert_eq!(page.field("Cache-Status"), "wwwoffle; detail=location-error");
        daemon.settle();
        daemon.ok(&["offline"]);
    }
}

#[cfg(feature = "easylist")]
#[test]
fn rules_match_the_page_and_the_type_of_a_request() {
    let (from, to) = (Origin::start_at("127.0.0.2"), Origin::start_at("127.0.0.3"));
    let mut daemon = Daemon::prepare(Some(
        "[dont-get]\nurls = [{ easylist = \"ads.txt\" }]\n[https]\nintercept = false",
    ));
    let list = "||ads.test^$script\n||track.test^$third-party\n||127.0.0.3^$third-party\n";
    std::fs::write(daemon.config_file().with_file_name("ads.txt"), list).unwrap();
    daemon.up();
    daemon.ok(&["offline"]);
    let shop = "Referer: http://shop.test/\r\n";
    for (url, fields, blocks) in [
        ("http://ads.test/a.js", "Sec-Fetch-Dest: script\r\n", true),
        ("http://ads.test/a.js", "Sec-Fetch-Dest: image\r\n", false),
        ("http://ads.test/a.js", AS_PERSON, false),
        ("http://ads.test/a.js", shop, false),
        ("http://track.test/t", shop, true),
        ("http://track.test/t", "Referer: http://www.track.test/\r\n", false),
        ("http://track.test/t", "Sec-Fetch-Site: cross-site\r\n", true),
        ("http://track.test/t", "Sec-Fetch-Site: none\r\nSec-Fetch-Dest: document\r\n", false),
        ("http://track.test/t", "", false),
        (
            "http://other.test/a.js",
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: script\r\n",
            false,
        ),
    ] {
        // With this field, no request is queued.
        let fields = format!("{fields}Cache-Control: only-if-cached\r\n");
        let answer = daemon.client().get_with(url, &fields).whole();
        let detail = answer.field("Cache-Status");
        assert_eq!(detail == "wwwoffle; detail=dont-get", blocks, "{url} {fields:?} {detail}");
    }
    // These rules depend on the request, and the requests inside a tunnel are not visible. So the
    // rules do not apply to CONNECT, which fails only because the daemon is offline.
    for host in ["ads.test:443", "track.test:443"] {
        let mut tunnel = daemon.client();
        tunnel.send(format!("CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(tunnel.final_head().unwrap().1.status, 504, "{host}");
    }

    // In the queue, the target of a redirect belongs to the page that requested the redirect.
    from.say("/go", Answer::redirect(302, &to.url("/page/1.html")));
    from.say("/person", Answer::redirect(302, &to.url("/page/2.html")));
    let part = daemon.client().get_with(&from.url("/go"), &format!("{AS_IMAGE}{shop}")).whole();
    assert_eq!(part.status, 504);
    daemon.ok(&["online"]);
    eventually("the redirect is followed", || {
        daemon.queue().iter().any(|request| request["state"] == "failed")
    });
    assert_eq!(to.seen().len(), 0, "a blocked URL was fetched");
    daemon.ok(&["get", &from.url("/person")]);
    assert_eq!(to.count("/page/2.html"), 1, "it was not requested by a page");
}

#[test]
fn an_alias_sends_browsers_on_and_the_queue_follows() {
    let (old, new) = (Origin::start(), Origin::start());
    let text = format!(
        "[alias]\nurls = [{{ from = \"http://{}/docs/\", to = \"http://{}/plain/\" }}]",
        old.addr, new.addr
    );
    let daemon = Daemon::configured(&text);
    new.on("/plain/page", |request| request.answer(&Answer::html("the new place")));
    let (from, to) = (old.url("/docs/page?a=b"), new.url("/plain/page?a=b"));
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        let answer = daemon.browse(&from);
        assert_eq!((answer.status, answer.field("Location")), (302, to.as_str()), "{mode}");
        let mut client = daemon.client();
        client.send(format!("POST {from} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"));
        assert_eq!(client.receive("POST").whole().status, 307, "{mode}");
    }
    daemon.ok(&["online"]);
    daemon.ok(&["get", &old.url("/docs/page")]);
    daemon.ok(&["offline"]);
    assert_eq!(daemon.browse(&new.url("/plain/page")).text(), "the new place");
    assert_eq!(old.seen().len(), 0);
}

#[test]
fn unstored_urls_are_forwarded_and_not_queued() {
    let origin = Origin::start();
    origin.on("/news", |request| request.answer(&Answer::html("news")));
    let daemon = Daemon::configured(&format!("[dont-cache]\nurls = [\"*://{}/*\"]", origin.addr));
    let url = origin.url("/news");
    let page = daemon.browse(&url);
    assert_eq!(page.text(), "news");
    assert!(page.field("Cache-Status").ends_with("detail=dont-cache"));
    daemon.settle();
    daemon.ok(&["offline"]);
    let page = daemon.browse(&url);
    assert_eq!((page.status, page.field("Cache-Status")), (504, "wwwoffle; detail=dont-cache"));
    assert_eq!(daemon.queued().len(), 0);
    assert_ne!(daemon.run(&["get", &url]).status, 0);
}

#[test]
fn local_hosts_are_reached_offline_and_no_others() {
    let (near, far) = (Origin::start_at("127.0.0.2"), Origin::start_at("127.0.0.3"));
    near.on("/status", |request| request.answer(&Answer::html("ready")));
    let daemon =
        Daemon::configured("[local-net]\nhosts = [\"127.0.0.2\"]\n[https]\nintercept = false");
    daemon.ok(&["offline"]);
    for _ in 0..2 {
        let page = daemon.browse(&near.url("/status"));
        assert_eq!((page.status, page.text().as_str()), (200, "ready"));
        assert!(page.field("Cache-Status").ends_with("detail=local-net"));
    }
    let mut tunnel = daemon.client();
    tunnel.send(format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", near.addr));
    assert_eq!(tunnel.final_head().unwrap().1.status, 200);
    tunnel.send(format!("GET /status HTTP/1.1\r\nHost: {}\r\n\r\n", near.addr));
    assert_eq!(tunnel.receive("GET").whole().text(), "ready");

    let refused = daemon.status()["outward_refused"].clone();
    assert_eq!(daemon.browse(&far.url("/")).status, 504);
    let mut tunnel = daemon.client();
    tunnel.send(format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n\r\n", far.addr));
    assert_eq!(tunnel.final_head().unwrap().1.status, 504);
    assert_eq!(far.seen().len(), 0);
    let after = &daemon.status()["outward_refused"];
    assert_eq!(after.as_u64().unwrap(), refused.as_u64().unwrap() + 1);
}

#[test]
fn a_page_is_queued_after_confirmation() {
    let origin = Origin::start();
    origin.on("/page", |request| request.answer(&Answer::html("at last")));
    let daemon = Daemon::configured(&format!(
        "[[offline-options.for]]\nurl = \"*://{0}/never/*\"\ndont-request = true\n\
         [[offline-options.for]]\nurl = \"*://{0}/*\"\nconfirm-requests = true",
        origin.addr
    ));
    daemon.ok(&["offline"]);
    let url = origin.url("/page");
    let page = daemon.browse(&url);
    assert_eq!((page.status, page.field("Cache-Status")), (504, "wwwoffle; detail=confirm"));
    assert!(page.shown().contains("Fetch this later?"), "{}", page.shown());
    assert_eq!(daemon.queued().len(), 0);
    let image = daemon.client().get_with(&url, AS_IMAGE).whole();
    assert_eq!((image.status, image.body.len()), (504, 0));
    let never = daemon.client().get_with(&origin.url("/never/x"), AS_PERSON).whole();
    assert_eq!(never.field("Cache-Status"), "wwwoffle; detail=dont-request");
    assert_eq!(daemon.queued().len(), 0);
    let forms = form::forms(&page.text());
    assert_eq!(daemon.submit(&forms[0]).status, 303);
    assert_eq!(daemon.queued().len(), 1);
    daemon.ok(&["online"]);
    eventually("it is fetched", || daemon.queued().is_empty());
    daemon.ok(&["offline"]);
    assert_eq!(daemon.browse(&url).text(), "at last");
}

#[test]
fn fields_are_removed_both_ways_and_the_stored_copy_is_unchanged() {
    let origin = Origin::start();
    origin.on("/page", |request| {
        request.answer(&Answer::html("fine").field("Set-Cookie", "a=b").field("X-Made-By", "me"))
    });
    let mut daemon = Daemon::configured(
        "[online-options]\nrequest-compressed-data = false\n[censor-header]\nforce-user-agent = true\n\
         headers = { Cookie = true, Set-Cookie = true, X-Made-By = \"nobody\", Content-Security-Policy = true }",
    );
    let url = origin.url("/page");
    let fields = "Cookie: c=d\r\nAccept-Encoding: br\r\n";
    let check = |daemon: &Daemon| {
        let page = daemon.client().get_with(&url, fields).whole();
        assert_eq!((page.status, page.field("X-Made-By")), (200, "nobody"));
        assert!(!page.fields.has("Set-Cookie"));
    };
    check(&daemon);
    daemon.settle();
    let seen = &origin.seen()[0].fields;
    assert!(!seen.has("Cookie"));
    assert!(seen.get("User-Agent").unwrap().starts_with("wwwoffle/"));
    assert_eq!(seen.get("Accept-Encoding"), Some("identity"));
    assert_eq!(seen.get("Host"), Some(origin.addr.to_string().as_str()));
    daemon.ok(&["offline"]);
    check(&daemon);
    // Our own pages keep their protective fields.
    assert!(daemon.browse(&origin.url("/other")).fields.has("Content-Security-Policy"));
    daemon.ok(&["online"]);
    eventually("the queue is fetched", || daemon.queued().is_empty());
    let queued = &origin.asked("/other")[0].fields;
    assert_eq!(queued.get("Accept-Encoding"), Some("identity"));
    daemon.down();
    std::fs::write(daemon.config_file(), "").unwrap();
    daemon.up();
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url).field("X-Made-By"), "me");
    assert!(daemon.ok(&["cat", "--headers", &url]).contains("Set-Cookie: a=b"));
}

#[test]
fn excluded_sub_resources_are_fetched_for_no_page_or_redirect() {
    let origin = Origin::start();
    origin.say("/go", Answer::redirect(302, "/left/page"));
    origin.say("/left/page", Answer::html("for browsers"));
    let daemon = Daemon::configured(&format!(
        "[[dont-get.for]]\nurl = \"*://{}/left/*\"\nget-recursive = false",
        origin.addr
    ));
    daemon.ok(&["offline"]);
    let part = format!("{AS_IMAGE}Referer: {}\r\n", origin.url("/page/1.html"));
    let image = daemon.client().get_with(&origin.url("/left/1"), &part).whole();
    let told = (image.status, image.field("Cache-Status"));
    assert_eq!(told, (504, "wwwoffle; detail=get-recursive"));
    assert_eq!(daemon.queued().len(), 0);
    assert_eq!(daemon.client().get_with(&origin.url("/page/2.html"), &part).whole().status, 504);
    assert_eq!(daemon.queued(), [origin.url("/page/2.html")], "other requests are");

    daemon.browse(&origin.url("/go"));
    daemon.ok(&["online"]);
    eventually("the queue is finished", || {
        daemon.queue().iter().all(|request| request["state"] == "failed")
    });
    assert_eq!(daemon.queued(), [origin.url("/left/page")]);
    assert_eq!((origin.count("/go"), origin.count("/left/page")), (1, 0));
    assert_eq!(daemon.browse(&origin.url("/left/page")).text(), "for browsers");
}

#[test]
fn a_cookie_revalidates_a_stored_page_as_configured() {
    for (option, again) in [("", 0), ("[online-options]\ncookies-force-refresh = true", 1)] {
        let (daemon, origin) = (Daemon::configured(option), Origin::start());
        let url = origin.url("/page/1.html");
        daemon.get(&url);
        daemon.settle();
        for (mode, asked) in [("autodial", again), ("offline", 0)] {
            daemon.ok(&[mode]);
            let before = origin.count("/page/1.html");
            assert_eq!(daemon.get(&url).status, 200);
            assert_eq!(origin.count("/page/1.html"), before, "{option} {mode} without a cookie");
            let page = daemon.client().get_with(&url, "Cookie: a=b\r\n").whole();
            assert_eq!(page.status, 200);
            assert_eq!(origin.count("/page/1.html"), before + asked, "{option} {mode}");
            daemon.settle();
        }
        assert_eq!(daemon.queued().len(), 0);
    }
}

#[test]
#[ignore = "slow"]
fn each_spelling_of_a_reload_is_heeded_unless_it_is_switched_off() {
    const SPELLINGS: [(&str, &str); 3] = [
        ("pragma-no-cache", "Pragma: no-cache\r\n"),
        ("cache-control-no-cache", "Cache-Control: no-cache\r\n"),
        ("cache-control-max-age-0", "Cache-Control: max-age=0\r\n"),
    ];
    for (off, _) in SPELLINGS {
        let daemon = Daemon::configured(&format!(
            "[online-options]\n{off} = false\n[offline-options]\n{off} = false"
        ));
        let origin = Origin::start();
        for (option, fields) in SPELLINGS {
            let (path, heeded) = (format!("/page/{}.html", option.len()), option != off);
            let url = origin.url(&path);
            daemon.ok(&["autodial"]);
            daemon.get(&url);
            daemon.settle();
            assert_eq!(daemon.client().get_with(&url, fields).whole().status, 200);
            daemon.settle();
            assert_eq!(origin.count(&path), 1 + usize::from(heeded), "{off} off, {fields}");
            daemon.ok(&["offline"]);
            let page = daemon.client().get_with(&url, &format!("{AS_PERSON}{fields}")).whole();
            let detail = if heeded { "offline-refresh-queued" } else { "offline" };
            let told = format!("wwwoffle; hit; detail={detail}");
            assert_eq!((page.status, page.field("Cache-Status")), (200, told.as_str()), "{off}");
            assert_eq!(daemon.queued().contains(&url), heeded, "{off} off, {fields}");
        }
    }
}

#[test]
fn ports_of_other_protocols_and_unknown_methods_are_refused() {
    // No server listens there, so the error shows whether the proxy tried to connect.
    let (mail, allowed) = ("http://127.1.2.3:10080/", "http://127.1.2.4:10080/");
    let origin = Origin::start();
    origin.say("/purged", Answer::new(200, "text/plain", "purged"));
    let daemon = Daemon::configured(&format!(
        "[[dont-get.for]]\nurl = [\"*://127.1.2.4/*\", \"*://{}/purged\"]\n\
         allowed-ports = [10080]\nallowed-methods = [\"PURGE\"]\n",
        origin.addr
    ));
    let ask = |method: &str, url: &str| {
        let mut client = daemon.client();
        let host = authority(url);
        client.send(format!("{method} {url} HTTP/1.1\r\nHost: {host}\r\n{AS_PERSON}\r\n"));
        let answer = client.receive(method);
        (answer.status, answer.field("Cache-Status").to_owned(), answer.shown())
    };
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        for (method, url, status, way) in [
            ("GET", mail, 403, "/configuration/dont-get/allowed-ports"),
            ("HELO", mail, 403, "/configuration/dont-get/allowed-ports"),
            ("HELO", &origin.url("/helo"), 501, "/configuration/dont-get/allowed-methods"),
        ] {
            let (got, cache, page) = ask(method, url);
            assert_eq!(
                (got, &*cache),
                (status, "wwwoffle; detail=dont-get"),
                "{mode} {method} {url}"
            );
            assert!(page.contains(way), "{page}");
        }
        assert!(daemon.queue().is_empty(), "{mode}");
        let refused = daemon.run(&["get", mail]);
        assert!(refused.status != 0 && refused.out.contains("allowed-ports"), "{refused:?}");
    }
    daemon.ok(&["online"]);
    assert_eq!(origin.count("/helo"), 0, "the origin is not asked");
    assert_eq!(ask("GET", allowed).0, 502);
    assert_eq!(ask("PURGE", &origin.url("/purged")).0, 200);
    // The port is also refused through the gateway.
    assert_eq!(daemon.page("/http/127.1.2.3:10080/").status, 403);
}

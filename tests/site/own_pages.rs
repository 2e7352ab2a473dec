//! The daemon's own pages: escaped, usable without scripts, and not accessible to other sites.

use crate::harness::form::{Form, form, unescape};
use crate::harness::{Daemon, Origin, Response};

/// URLs that would do harm on a page that does not escape them. A site can make a browser request
/// each of them.
const HOSTILE: [&str; 5] = [
    "/<script>alert(1)</script>",
    "/\"onmouseover=\"alert(1)",
    "/'><img src=x onerror=alert(1)>",
    "/?q=</title><script>alert(1)</script>",
    "/%3Cscript%3Ealert(1)%3C/script%3E{{7*7}}",
];

#[track_caller]
fn assert_harmless(page: &Response, what: &str) {
    let text = without_our_script(&page.text()).to_ascii_lowercase();
    for bad in ["<script", "<img src=x", "\"onmouseover", ">49<"] {
        assert!(!text.contains(bad), "{what}: {bad} in\n{text}");
    }
    let kind = page.field("Content-Type").to_ascii_lowercase();
    assert!(kind.starts_with("text/html") && kind.contains("charset=utf-8"), "{what}: {kind}");
}

#[test]
fn hostile_urls_are_escaped_on_every_page() {
    let (daemon, mut origin) = (Daemon::start(), Origin::start());
    origin.stop();
    for mode in ["online", "offline"] {
        daemon.ok(&[mode]);
        for path in HOSTILE {
            let mut client = daemon.client();
            client.ask(&origin.url(path), "Accept: text/html\r\nReferer: http://x/\"><script>\r\n");
            let page = client.receive("GET").whole();
            // An invalid request target gets a response without a page.
            if page.status != 400 || !page.body.is_empty() {
                assert_harmless(&page, &format!("{mode} {path}: {}", page.status));
            }
        }
    }
    assert_harmless(&daemon.page("/queue/"), "the queue");
    assert_harmless(&daemon.page("/"), "the welcome page");
    for path in ["/no/<script>alert(1)</script>", "/queue/?\"><script>", "/control/<script>"] {
        let page = daemon.page(&path.replace(' ', "+"));
        assert!(page.status >= 400 || path.starts_with("/queue"), "{path}: {}", page.status);
        if !page.body.is_empty() {
            assert_harmless(&page, path);
        }
    }
}

#[test]
fn hosts_are_escaped() {
    let daemon = Daemon::start();
    daemon.ok(&["offline"]);
    for url in ["http://a\"><script>alert(1)</script>/", "http://x<script>.example/"] {
        let mut client = daemon.client();
        client.send(format!("GET {url} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n"));
        let page = client.receive("GET").whole();
        assert!(page.status >= 400, "{url}");
        assert!(!page.text().to_ascii_lowercase().contains("<script"), "{url}: {}", page.text());
    }
}

#[test]
fn the_welcome_page_shows_the_mode_and_switches_it() {
    let daemon = Daemon::start();
    for (mode, next) in [("online", "offline"), ("offline", "autodial"), ("autodial", "online")] {
        let page = daemon.page("/");
        assert_eq!(page.status, 200);
        assert_harmless(&page, "the welcome page");
        let text = page.text();
        let pressed = format!("/control/{mode}\" aria-pressed=\"true\"");
        assert!(page.shown().contains(&pressed), "{mode}:\n{text}");
        assert!(text.contains("viewport"), "it fits a phone");
        let switch = form(&text, &format!("/control/{next}"));
        assert_eq!(switch.method, "POST");
        let done = daemon.submit(&switch);
        assert_eq!(done.status, 303, "{}", done.text());
        assert_eq!(daemon.status()["mode"], next);
    }
}

#[test]
fn the_home_page_is_served_through_the_proxy() {
    let daemon = Daemon::start();
    let page = daemon.get(&daemon.own("/"));
    assert_eq!(page.status, 200);
    form(&page.text(), "/control/offline");
    let named = format!("http://localhost:{}/", daemon.addr().port());
    assert_eq!(daemon.get(&named).status, 200);
}

#[test]
fn a_get_changes_nothing() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/page/1.html"));
    let token = form(&daemon.page("/").text(), "/control/").value("token").unwrap().to_owned();
    let paths = [
        "/control/online",
        "/control/autodial",
        "/control/fetch",
        "/control/retry",
        "/control/delete/req-all",
        "/control/delete/req",
        "/api/stop",
        "/api/mode",
        "/api/fetch",
    ];
    for path in paths {
        let answer = daemon.page(&format!("{path}?token={token}&mode=online&all=true"));
        // A confirmation page shows the button of the address as a form.
        let asks = answer.status == 200 && form(&answer.text(), path).method == "POST";
        assert!(answer.status >= 300 || asks, "{path}: {}", answer.status);
        assert_eq!(daemon.status()["mode"], "offline", "{path}");
        assert_eq!(daemon.queue().len(), 1, "{path}");
    }
}

/// Sends the form that switches to offline with `fields`, as another site could do. Returns the
/// status.
fn pressed(daemon: &Daemon, switch: &Form, fields: &str) -> u16 {
    daemon.submit_as(switch, fields).status
}

#[test]
fn other_sites_cannot_press_our_buttons() {
    let daemon = Daemon::start();
    let switch = form(&daemon.page("/").text(), "/control/offline");
    let own = format!("Origin: http://{}\r\n", daemon.addr());
    assert_eq!(pressed(&daemon, &switch.clone().without("token"), &own), 403);
    assert_eq!(pressed(&daemon, &switch.clone().with("token", ""), &own), 403);
    assert_eq!(pressed(&daemon, &switch.clone().with("token", "0000"), &own), 403);
    for fields in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
        "Origin: http://127.0.0.1:1\r\n",
    ] {
        assert_eq!(pressed(&daemon, &switch, fields), 403, "{fields}");
        assert_eq!(daemon.status()["mode"], "online", "{fields}");
    }
    assert_eq!(pressed(&daemon, &switch, &own), 303);
    assert_eq!(daemon.status()["mode"], "offline");
}

#[test]
fn own_pages_are_not_served_under_foreign_names() {
    let daemon = Daemon::start();
    let port = daemon.addr().port();
    // DNS rebinding: the name of a site that resolves to our address.
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil:{port}"),
    ] {
        for path in ["/", "/api/status", "/queue/", "/control/offline"] {
            let mut client = daemon.client();
            client.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            let answer = client.receive("GET");
            assert_ne!(answer.status, 200, "{host}{path}");
            assert!(!answer.text().contains("name=\"token\""), "{host}{path}");
        }
    }
}

#[test]
fn the_api_over_the_port_needs_the_token() {
    let daemon = Daemon::start();
    let token = form(&daemon.page("/").text(), "/control/").value("token").unwrap().to_owned();
    let own = format!("Origin: http://{}\r\n", daemon.addr());
    let post = |fields: &str| {
        let mut client = daemon.client();
        let body = "{\"mode\":\"offline\"}";
        client.send(format!(
            "POST /api/mode HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{fields}\
             Content-Length: {}\r\n\r\n{body}",
            daemon.addr(),
            body.len()
        ));
        client.receive("POST").whole()
    };
    for fields in [
        own.clone(),
        format!("{own}X-Wwwoffle-Token: guess\r\n"),
        format!("Origin: http://evil.example\r\nX-Wwwoffle-Token: {token}\r\n"),
        format!("Sec-Fetch-Site: cross-site\r\nX-Wwwoffle-Token: {token}\r\n"),
    ] {
        let answer = post(&fields);
        assert_eq!(answer.status, 403, "{fields}");
        let value: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(value["error"].is_string(), "{value}");
        assert_eq!(daemon.status()["mode"], "online", "{fields}");
    }
    let answer = post(&format!("{own}X-Wwwoffle-Token: {token}\r\n"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let value: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(value, serde_json::json!({"mode": "offline", "was": "online"}));
    let status = daemon.page("/api/status");
    assert_eq!((status.status, status.field("Content-Type")), (200, "application/json"));
    let schema = daemon.page("/api/config/schema");
    assert_eq!((schema.status, schema.field("Content-Type")), (200, "application/json"));
    let schema: serde_json::Value = serde_json::from_slice(&schema.body).unwrap();
    assert!(schema["properties"]["dont-get"]["properties"]["urls"].is_object());
}

#[test]
fn the_api_refuses_unknown_calls() {
    let daemon = Daemon::start();
    let rows = [
        ("POST", "/api/mode", "{\"mode\":\"sideways\"}", 400),
        ("POST", "/api/mode", "not json", 400),
        ("POST", "/api/queue/delete", "{}", 400),
        ("GET", "/api/nothing", "", 404),
        ("GET", "/api/mode", "", 405),
        ("POST", "/api/get", "{\"urls\":[\"http://[\"]}", 400),
    ];
    for (method, path, body, status) in rows {
        let answer = daemon.api(method, path, body);
        assert_eq!(answer.status, status, "{method} {path} {body}: {}", answer.text());
        let value: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(value["error"].is_string(), "{value}");
    }
    assert_eq!(daemon.status()["mode"], "online");
}

#[test]
fn proxy_settings_for_browsers_name_this_port() {
    let daemon = Daemon::start();
    for path in ["/proxy.pac", "/wpad.dat"] {
        let page = daemon.page(path);
        assert_eq!(page.status, 200, "{path}");
        assert!(
            page.field("Content-Type").starts_with("application/x-ns-proxy-autoconfig"),
            "{path}"
        );
        let text = page.text();
        assert!(text.contains("function FindProxyForURL(url, host)"), "{text}");
        let port = daemon.addr().port();
        assert!(text.contains("PROXY ") && text.contains(&format!(":{port}")), "{text}");
        assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
    }
}

/// A page without the element that loads our own script.
#[track_caller]
pub(crate) fn without_our_script(text: &str) -> String {
    let Some((before, rest)) = text.split_once("<script src=\"") else { return text.to_owned() };
    let (address, rest) = rest.split_once("\" defer=\"defer\"></script>").expect("our script");
    let address = unescape(address);
    let (_, path) = address.split_once("://").and_then(|(_, rest)| rest.split_once('/')).unwrap();
    let hash = path.strip_prefix("live-").and_then(|rest| rest.strip_suffix(".js"));
    assert_eq!(hash.map(str::len), Some(16), "{address}");
    format!("{before}{rest}")
}

#[test]
fn pages_load_only_the_style_sheet_and_the_script() {
    let daemon = Daemon::start();
    let style = daemon.page("/style.css");
    assert_eq!(style.status, 200);
    assert!(style.field("Content-Type").starts_with("text/css"));
    for path in ["/", "/queue/"] {
        let text = without_our_script(&daemon.page(path).text());
        assert!(!text.contains("<script"), "{path}:\n{text}");
        // The home page tests whether the browser trusts our authority.
        let secure = unescape(&text).replace(&format!("https://{}/ca/", daemon.addr()), "");
        assert!(!secure.contains("https://"), "{path}:\n{text}");
    }
    assert_eq!(daemon.page("/no-such-page").status, 404);
}

#[test]
fn the_pages_may_not_be_framed_or_guessed_at() {
    let daemon = Daemon::start();
    let page = daemon.page("/");
    assert_eq!(page.field("X-Content-Type-Options"), "nosniff");
    let policy = page.field("Content-Security-Policy");
    assert!(policy.contains("frame-ancestors") && policy.contains("default-src"), "{policy:?}");
    assert!(page.field("Cache-Control").contains("no-store"), "{:?}", page.fields);
}

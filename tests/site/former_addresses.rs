//! The addresses of WWWOFFLE 2.9: old bookmarks and configured browsers keep working.

use crate::harness::form::{form, unescape};
use crate::harness::{Daemon, Origin, eventually};

/// The address, the status, and the target of the redirect.
const ADDRESSES: &[(&str, u16, &str)] = &[
    // Static files.
    ("/index.html", 303, "/"),
    ("/Welcome.html", 303, "/"),
    ("/FAQ.html", 303, "/?help=1"),
    ("/README.CONF.html", 303, "/configuration/"),
    // The browsers of that time do not follow a redirect for these files.
    ("/wwwoffle.pac", 200, ""),
    ("/certificates/root-cert.pem", 200, ""),
    // Certificates.
    ("/certificates", 303, "/ca"),
    ("/certificates/", 303, "/ca"),
    ("/certificates/root", 303, "/ca"),
    ("/certificates/trusted?CN=Somebody", 303, "/ca"),
    ("/certificates/server?a.example", 303, "/certificate?site=a.example:443&url="),
    ("/certificates/real?a.example:8443", 303, "/certificate?site=a.example:8443&url="),
    ("/certificates/fake?", 303, "/ca"),
    // Sections and options by their former names.
    ("/configuration/StartUp", 303, "/configuration/startup"),
    ("/configuration/OnlineOptions", 303, "/configuration/online-options"),
    ("/configuration/SSLOptions/", 303, "/configuration/https"),
    ("/configuration/Options/log-level", 303, "/configuration/options/log-level"),
    ("/configuration/Options/dir-perm", 303, "/configuration/startup/dir-perm"),
    ("/configuration/StartUp/http-port", 303, "/configuration/startup/listen"),
    ("/configuration/Options/lock-files", 303, "/configuration/options"),
    (
        "/configuration/DontGet/no-name?http://a.example/",
        303,
        "/configuration/dont-get/urls?http://a.example/",
    ),
    ("/configuration/FTPOptions/anon-username", 303, "/configuration/ftp-options/anon-username"),
    ("/configuration/Nothing", 404, ""),
    // The search engines.
    ("/search/htdig/htsearch?words=green+tea;method=and", 303, "/search/?q=green+tea"),
    ("/search/mnogosearch/mnogosearch?q=tea", 303, "/search/?q=tea"),
    ("/search/namazu/namazu?query=tea", 303, "/search/?q=tea"),
    ("/search/hyperestraier/estseek?phrase=tea", 303, "/search/?q=tea"),
    ("/search/htdig/search.html", 303, "/search/"),
    ("/search/search.html", 303, "/search/"),
    ("/search/index/?words=tea", 303, "/search/?q=tea"),
    ("/search/index/", 303, "/index/"),
    ("/search/index/http/a.example/", 303, "/index/http/a.example/"),
    ("/search/index/lasttime", 303, "/index/lasttime"),
    ("/search/nothing", 404, ""),
    // Lists.
    ("/index/http/a.example?sort=bogus;delete;bogus=1", 200, ""),
    ("/index/prevtime1?sort=bogus", 200, ""),
    ("/index/url?http://a.example/x", 303, "/index/http/a.example"),
    ("/index/outgoing?sort=alpha", 303, "/queue/"),
    ("/index/monitor?sort=mtime;delete", 303, "/monitor/"),
    // An address that deletes an entry leads to a confirmation page, or to a list if there is
    // nothing to delete.
    ("/control/delete/url", 303, "/index/"),
    ("/control/delete/url?url=http://a.example/x", 200, ""),
    ("/control/delete/url-all?url=http://a.example/", 303, "/index/http/a.example"),
    ("/control/delete/req?url=http://a.example/", 303, "/queue/"),
    ("/control/delete/req-all", 303, "/queue/"),
    ("/control/delete/mon?url=http://a.example/", 303, "/monitor/"),
    ("/control/delete/mon-all", 303, "/monitor/"),
    // Addresses that have the fields of a form of 2.9 as arguments.
    ("/refresh-request/?url=http://a.example/;depth=2", 200, ""),
    ("/monitor-request/?url=http://a.example/&hofd=6", 200, ""),
];

#[test]
fn addresses_of_2_9_redirect_to_their_replacements() {
    let daemon = Daemon::start();
    eventually("the index is open", || daemon.page("/index/all").status == 200);
    let mut wrong = Vec::new();
    for (address, status, to) in ADDRESSES {
        let answer = daemon.page(address).whole();
        let told = (answer.status, answer.field("Location"));
        if told != (*status, *to) {
            wrong.push(format!("{address}: {told:?}, not {status} {to:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (address, own) in
        [("/wwwoffle.pac", "/proxy.pac"), ("/certificates/root-cert.pem", "/ca.pem")]
    {
        assert_eq!(daemon.page(address).text(), daemon.page(own).text(), "{address}");
    }
    assert_eq!(daemon.post("/certificates/root", "", "").status, 405);
}

#[test]
fn a_deletion_link_of_2_9_asks_for_confirmation() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (kept, queued) = (origin.url("/page/1.html"), origin.url("/page/2.html"));
    daemon.get(&kept);
    daemon.ok(&["monitor", "add", "--hourly", &kept]);
    daemon.ok(&["offline"]);
    daemon.browse(&queued);
    let is_kept = || daemon.browse(&kept).status == 200;
    for (address, url, is_there) in [
        ("/control/delete/url", &kept, &is_kept as &dyn Fn() -> bool),
        ("/control/delete/req", &queued, &|| daemon.queued().contains(&queued)),
        ("/control/delete/mon", &kept, &|| daemon.page("/monitor/").shown().contains(&*kept)),
    ] {
        let asks = daemon.page(&format!("{address}?url={url}")).whole();
        assert_eq!(asks.status, 200, "{address}");
        assert!(unescape(&asks.text()).contains(&**url), "{address}");
        assert!(is_there(), "a link deletes nothing: {address}");
        let button = form(&asks.text(), address);
        assert_eq!(daemon.submit(&button.clone().without("token")).status, 403, "{address}");
        assert!(is_there(), "{address}");
        assert_eq!(daemon.submit(&button).status, 303, "{address}");
        assert!(!is_there(), "{address}");
    }
}

#[test]
fn a_form_link_of_2_9_fills_in_the_form_and_starts_nothing() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let url = origin.url("/page/1.html");
    for (address, wants) in [
        (
            format!("/refresh-request/?url={url};depth=3;method=host;images=Y"),
            &["name=\"depth\" value=\"3\"", "value=\"host\" selected", "id=\"images\" checked"][..],
        ),
        (format!("/refresh-request/?url={url}&colour=red"), &[]),
        (format!("/monitor-request/?url={url}"), &[]),
    ] {
        let shown = daemon.page(&address).whole();
        let text = unescape(&shown.text());
        assert_eq!(shown.status, 200, "{address}");
        for want in wants.iter().chain(&[&*url]) {
            assert!(text.contains(want), "{want} in {text}");
        }
        assert_eq!(daemon.queue().len(), 0, "{address}");
    }
    assert_eq!(daemon.page("/monitor/").shown().matches("page/1.html").count(), 0);
}

#[test]
fn a_client_without_a_host_field_gets_our_own_pages() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let ask = |request: &str| {
        let mut client = daemon.client();
        client.send(request);
        client.receive("GET").whole()
    };
    let page = ask("GET /index/ HTTP/1.0\r\n\r\n");
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.shown().contains("http"), "{}", page.shown());
    assert_eq!(ask("GET /nothing HTTP/1.0\r\n\r\n").status, 404);
    assert_eq!(ask("GET //127.0.0.1/ HTTP/1.0\r\n\r\n").status, 404, "no other host");
    assert_eq!(ask("GET /index/ HTTP/1.1\r\n\r\n").status, 400, "HTTP/1.1 requires the field");
    assert_eq!(ask(&format!("GET {} HTTP/1.0\r\n\r\n", origin.url("/page/1.html"))).status, 200);
}

#[test]
fn semicolons_separate_the_fields_of_forms() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    daemon.ok(&["offline"]);
    let url = origin.url("/page/1.html");
    let form = form(&daemon.page(&format!("/refresh-options/?{url}")).text(), "/refresh-request/");
    let body = form.body();
    assert!(body.contains('&'), "{body}");
    let same = format!("Origin: http://{}\r\nSec-Fetch-Site: same-origin\r\n", daemon.addr());
    let sent = daemon.post("/refresh-request/", &same, &body.replace('&', ";"));
    assert_eq!(sent.status, 303, "{}", sent.text());
    assert_eq!(daemon.queued(), [url]);
    let found = daemon.page("/search/?q=zebra;type=image").text();
    assert!(found.contains("value=\"zebra\""), "{found}");
}

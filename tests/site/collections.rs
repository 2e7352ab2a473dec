//! Collections: named sets of pages, sites and searches.

use serde_json::{Value, json};

use crate::harness::form::{Form, encode, form, unescape};
use crate::harness::{Answer, Daemon, Origin, eventually};
use crate::index::index_pages::list;
use crate::security::owners;

/// A daemon with stored pages about teas, and their origin.
fn teas() -> (Daemon, Origin) {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for (path, title, words) in [
        ("/green", "Green tea", "leaves <img src=/leaf.png>"),
        ("/black", "Black tea", "leaves"),
        ("/oolong", "Oolong", "half fermented"),
    ] {
        origin.say(path, Answer::html(format!("<title>{title}</title><p>{words}")));
    }
    origin.say("/leaf.png", Answer::new(200, "image/png", "leaf"));
    for path in ["/green", "/black", "/oolong"] {
        assert_eq!(daemon.get(&origin.url(path)).status, 200);
    }
    list(&daemon, "/index/all", "Oolong");
    (daemon, origin)
}

/// Makes a collection through the API. Returns its id.
#[track_caller]
fn made(daemon: &Daemon, name: &str) -> String {
    let made = daemon.api("POST", "/api/collections", &json!({ "name": name }).to_string());
    assert_eq!(made.status, 200, "{made:?}");
    id_in(&made.text())
}

/// The id of a collection in a response of the API.
fn id_in(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    value["id"].as_str().unwrap().to_owned()
}

/// The collection with this id or name.
#[track_caller]
fn collection(daemon: &Daemon, name: &str) -> Value {
    daemon.run(&["collection", "show", "--json", name]).json()
}

/// The address of a collection.
fn address(id: &str) -> String {
    format!("/collections/show?id={id}")
}

/// The id in the address of a collection.
fn id_of(address: &str) -> String {
    let (_, rest) = address.split_once("?id=").unwrap();
    rest.split('&').next().unwrap().to_owned()
}

/// The page at `path`, which must have this status.
#[track_caller]
fn shown(daemon: &Daemon, path: &str, status: u16) -> String {
    let page = daemon.page(path).whole();
    assert_eq!(page.status, status, "{page:?}");
    assert!(page.body.len() < 100_000, "{path}: {} bytes", page.body.len());
    unescape(&page.text())
}

#[track_caller]
fn led(daemon: &Daemon, sent: &Form) -> String {
    let done = daemon.submit(sent);
    assert_eq!(done.status, 303, "{done:?}");
    done.field("Location").to_owned()
}

#[test]
fn pages_of_a_list_are_put_into_a_new_collection() {
    let (daemon, origin) = teas();
    assert!(shown(&daemon, "/collections/", 200).contains("No collection yet."));
    let all = daemon.page("/index/all?chosen=1").text();
    let sent = form(&all, "/control/collections/choose");
    assert_eq!(daemon.submit(&sent).status, 422, "nothing is selected");
    let urls = ["/green", "/black", "/oolong"].map(|path| origin.url(path));
    let sent = urls.iter().fold(sent, |sent, url| sent.and("url", url));
    let asked = daemon.submit(&sent);
    assert_eq!(asked.status, 200);
    let named = form(&asked.text(), "/control/collections/add").with("name", "My teas");
    // A name is needed, and the pages stay selected.
    let refused = daemon.submit(&named.clone().with("name", " ").with("collection", "new"));
    assert_eq!(refused.status, 422);
    assert!(unescape(&refused.text()).contains("Enter a name of at most 80 characters."));
    let again = form(&refused.text(), "/control/collections/add");
    assert_eq!(again.fields.iter().filter(|(name, _)| name == "url").count(), 3);
    // A form that is sent twice makes one collection.
    let at = led(&daemon, &named);
    assert_eq!(led(&daemon, &named).split('&').next(), at.split('&').next());
    let page = shown(&daemon, &at, 200);
    assert!(page.contains("3 members were added.") && page.contains("Green tea"), "{page}");
    assert!(page.contains("3 of 3 pages saved") && page.contains("1 file missing"), "{page}");
    assert_eq!(
        daemon.run(&["collection", "list", "--json"]).json()["collections"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert!(shown(&daemon, "/index/", 200).contains("My teas"));
    // A typed name counts, although an existing collection is selected.
    let asked = daemon.submit(&sent).text();
    let other = form(&asked, "/control/collections/add").with("name", "Other");
    let at = led(&daemon, &other.with("collection", &id_of(&at)));
    assert!(shown(&daemon, &at, 200).contains("<bdi>Other</bdi>"));
    // It survives a crash.
    let mut daemon = daemon;
    daemon.kill9();
    daemon.up();
    let members = collection(&daemon, "My teas")["members"].clone();
    assert_eq!(members.as_array().unwrap().len(), 3);
    assert!(members.to_string().contains(&origin.url("/oolong")), "{members}");
    assert_eq!(daemon.run(&["fsck"]).status, 0);
}

#[test]
fn a_site_and_a_search_are_members_too() {
    let (daemon, origin) = teas();
    let id = made(&daemon, "Teas");
    let search = list(&daemon, "/search/?q=leaves", "2 pages");
    let link = |html: &str| {
        let html = unescape(html);
        let (_, rest) = html.split_once("/collections/add?").unwrap();
        format!("/collections/add?{}", rest.split_once('"').unwrap().0)
    };
    let site = daemon.page("/index/site/127.0.0.1").text();
    let info = daemon.page(&format!("/info/?{}", origin.url("/oolong"))).text();
    for html in [search, site, info] {
        let asked = shown(&daemon, &link(&html), 200);
        let sent = form(&asked, "/control/collections/add").with("collection", &id);
        assert!(led(&daemon, &sent).ends_with("&added=1"));
        assert!(led(&daemon, &sent).ends_with("&added=0"));
    }
    let kinds: Vec<_> = collection(&daemon, &id)["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| member["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["search", "site", "page"]);
    let page = shown(&daemon, &address(&id), 200);
    assert!(page.contains("2 pages,") && page.contains("/index/site/127.0.0.1"), "{page}");
}

#[test]
fn members_and_collections_are_removed_and_restored() {
    let (daemon, origin) = teas();
    let id = made(&daemon, "Teas");
    daemon.ok(&["collection", "add", "Teas", &origin.url("/green"), &origin.url("/black")]);
    let page = daemon.page(&address(&id)).text();
    let mut sent = form(&page, "/control/collections/remove");
    assert_eq!(daemon.submit(&sent.clone().without("member")).status, 422);
    sent.fields.truncate(3);
    let at = led(&daemon, &sent);
    assert_eq!(led(&daemon, &sent), at, "a form that is sent twice");
    let page = daemon.page(&at).text();
    assert!(
        page.contains("Removed from the collection.") && !page.contains(">Green tea<"),
        "{page}"
    );
    assert_eq!(daemon.get(&origin.url("/green")).status, 200, "the saved page stays");
    led(&daemon, &form(&page, "/control/collections/restore"));
    assert_eq!(collection(&daemon, &id)["members"].as_array().unwrap().len(), 2);
    // The collection itself, after a confirmation.
    let asked = shown(&daemon, &format!("/control/delete/collection?id={id}"), 200);
    assert!(asked.contains("Delete the collection Teas?"), "{asked}");
    let sent = form(&asked, "/control/delete/collection");
    assert_eq!(daemon.submit(&sent.clone().without("token")).status, 403);
    let gone = shown(&daemon, &led(&daemon, &sent), 200);
    assert!(gone.contains("The collection was deleted.") && !gone.contains(">Teas<"), "{gone}");
    // A form that is sent twice leads to the same deletion, which can be undone.
    let again = shown(&daemon, &led(&daemon, &sent), 200);
    assert!(again.contains("The collection was deleted."), "{again}");
    assert_eq!(daemon.page(&address(&id)).status, 303);
    led(&daemon, &form(&gone, "/control/collections/restore"));
    assert_eq!(collection(&daemon, "teas")["id"], id.as_str());
}

#[test]
fn a_search_and_a_list_are_limited_to_a_collection_and_to_days() {
    let (daemon, origin) = teas();
    let id = made(&daemon, "Teas");
    daemon.ok(&["collection", "add", "Teas", &origin.url("/green")]);
    let found = list(&daemon, &format!("/search/?q=leaves&collection={id}"), "1 page");
    assert!(found.contains(&origin.url("/green")) && !found.contains(&origin.url("/black")));
    let listed = list(&daemon, &format!("/index/all?collection={id}&sort=size"), "Green tea");
    assert!(!listed.contains("Black tea"), "{listed}");
    let said = daemon.ok(&["ls", "--collection", "teas", "--sort", "name"]);
    assert!(said.contains("/green") && !said.contains("/black"), "{said}");
    let said = daemon.ok(&["search", "--collection", &id, "leaves"]);
    assert!(said.contains("/green") && !said.contains("/black"), "{said}");
    let unknown = daemon.run(&["ls", "--collection", "coffee", "--sort", "name"]);
    assert!(unknown.status != 0 && unknown.err.contains("no such collection"), "{unknown:?}");
    // A page that names an unknown collection has no results, and no other person's either.
    let none = shown(&daemon, "/search/?q=leaves&collection=0000000000000000", 200);
    assert!(none.contains("No saved page matches these words."), "{none}");
    for (day, is_found) in [("since=2020-01-01", true), ("until=2020-01-01", false)] {
        let page = shown(&daemon, &format!("/search/?q=oolong&{day}"), 200);
        assert_eq!(page.contains(&origin.url("/oolong")), is_found, "{day}");
        assert!(page.contains("value=\"2020-01-01\""), "{day}");
    }
    assert!(shown(&daemon, "/search/?q=tea&since=x", 200).contains("2026-11-20"));
}

#[test]
fn a_collection_is_fetched_and_kept_up_to_date() {
    let (daemon, origin) = teas();
    let id = made(&daemon, "Teas");
    daemon.ok(&["monitor", "add", "--weekly", &origin.url("/black")]);
    daemon.ok(&["collection", "add", "Teas", &origin.url("/green"), &origin.url("/black")]);
    let page = daemon.page(&address(&id)).text();
    let fetched = led(&daemon, &form(&page, "/control/collections/fetch"));
    assert!(fetched.ends_with("&queued=2&refused=0"), "{fetched}");
    daemon.settle();
    assert_eq!(origin.count("/green"), 2);
    let sent = form(&page, "/control/collections/schedule").and("every", "day");
    let page = shown(&daemon, &led(&daemon, &sent), 200);
    assert!(page.contains("1 page is fetched on this schedule: daily at 0:00."), "{page}");
    let monitored = || {
        let list = daemon.run(&["monitor", "list", "--json"]).json();
        let items = list["monitor"].as_array().unwrap().iter();
        let mut rows: Vec<_> = items
            .map(|it| {
                let url = it["url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
                (url, it["schedule"].as_str().unwrap().to_owned())
            })
            .collect();
        rows.sort();
        rows
    };
    let row = |path: &str, schedule: &str| (path.to_owned(), schedule.to_owned());
    // The page with a schedule of its own keeps it.
    let both = [row("black", "0 0 * * 0"), row("green", "0 0 * * *")];
    assert_eq!(monitored(), both);
    daemon.ok(&["collection", "add", "Teas", &origin.url("/oolong")]);
    assert_eq!(monitored().len(), 3, "a new member is kept up to date too");
    daemon.ok(&["collection", "rm", "Teas", &origin.url("/oolong")]);
    assert_eq!(monitored(), both);
    daemon.ok(&["collection", "schedule", "--hourly", "Teas"]);
    assert_eq!(monitored()[1], row("green", "0 * * * *"));
    daemon.ok(&["collection", "schedule", "--never", "Teas"]);
    assert_eq!(monitored(), [row("black", "0 0 * * 0")]);
    daemon.ok(&["collection", "schedule", "--daily", "Teas"]);
    daemon.ok(&["collection", "delete", "Teas"]);
    assert_eq!(monitored(), [row("black", "0 0 * * 0")]);
}

#[test]
fn a_collection_is_shared_with_another_wwwoffle() {
    let (daemon, origin) = teas();
    let id = made(&daemon, "Teas & <more>");
    daemon.ok(&["collection", "add", &id, &origin.url("/green"), "--search", "black tea"]);
    let file = daemon.page(&format!("/collections/definition?id={id}")).whole();
    assert_eq!(file.status, 200);
    assert_eq!(
        file.field("Content-Disposition"),
        "attachment; filename=\"collection-teas----more.json\""
    );
    // Imported through the page, with a file, as a browser sends it.
    let other = Daemon::start();
    let page = other.page("/collections/").text();
    let token = form(&page, "/control/collections/import").value("token").unwrap().to_owned();
    let part = |name: &str, text: &str| {
        format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    };
    let send = |text: &str| {
        let body = format!("{}{}--x--\r\n", part("token", &token), part("file", text));
        let host = other.addr();
        let mut client = other.client();
        client.send(format!(
            "POST /control/collections/import HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\
             Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        client.receive("POST").whole()
    };
    let done = send(&file.text());
    assert_eq!(done.status, 303, "{done:?}");
    assert_eq!(send(&file.text()).field("Location"), done.field("Location"), "sent twice");
    let copy = collection(&other, "Teas & <more>");
    assert_eq!(copy["members"].as_array().unwrap().len(), 2);
    assert!(shown(&other, done.field("Location"), 200).contains("not saved"));
    for bad in ["", "{", "{\"format\":\"x\",\"name\":\"y\"}"] {
        assert_eq!(send(bad).status, 400, "{bad}");
    }
    // With its pages.
    let folder = tempfile::tempdir().unwrap();
    let wacz = folder.path().join("teas.wacz");
    let wacz = wacz.to_str().unwrap();
    let said = daemon.ok(&["export", "--collection", &id, wacz]);
    assert!(said.contains("2 responses"), "{said}");
    let third = Daemon::start();
    let said = third.ok(&["collection", "import", wacz]);
    assert!(said.contains("Teas & <more>"), "{said}");
    third.ok(&["offline"]);
    assert_eq!(third.get(&origin.url("/green")).status, 200);
    assert_ne!(third.get(&origin.url("/oolong")).status, 200);
    let plain = folder.path().join("plain.wacz");
    daemon.ok(&["export", plain.to_str().unwrap()]);
    let refused = third.run(&["collection", "import", plain.to_str().unwrap()]);
    assert!(refused.err.contains("the WACZ has no collection"), "{refused:?}");
    let stick = folder.path().join("stick/");
    daemon.ok(&["export", "--collection", &id, &format!("{}/", stick.display())]);
    assert!(stick.join("index.html").exists());
}

#[test]
fn the_export_of_a_collection_contains_its_definition() {
    let (daemon, origin) = teas();
    let id = made(&daemon, "Teas");
    daemon.ok(&["collection", "add", "Teas", &origin.url("/green"), &origin.url("/black")]);
    let page = daemon.page(&address(&id)).text();
    let wacz = daemon.submit(&form(&page, "/control/collections/export/wacz")).whole();
    assert_eq!((wacz.status, wacz.field("Content-Type")), (200, "application/wacz"));
    let has = |text: &str| wacz.body.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("wwwoffle/collection.json"));
    let warc = daemon.submit(&form(&page, "/control/collections/export/warc")).whole();
    assert_eq!((warc.status, warc.field("Content-Type")), (200, "application/gzip"));
    let empty = made(&daemon, "Empty");
    let sent = form(&page, "/control/collections/export/wacz").with("id", &empty);
    assert_eq!(daemon.submit(&sent).status, 422);
}

#[test]
fn the_collections_of_others_are_private() {
    let daemon = owners::daemon();
    let page = owners::page(&daemon, "ada", "/collections/edit").text();
    let sent = form(&page, "/control/collections/save").with("name", "Secret plans");
    let sent = sent.without("for-everyone");
    let made = owners::submit(&daemon, "ada", &sent);
    assert_eq!(made.status, 303, "{made:?}");
    let at = made.field("Location").to_owned();
    assert!(owners::page(&daemon, "ada", &at).text().contains("Secret plans"));
    for path in ["/collections/", "/index/", "/search/"] {
        assert!(owners::page(&daemon, "ada", path).text().contains("Secret plans"), "{path}");
        assert!(!owners::page(&daemon, "bob", path).text().contains("Secret plans"), "{path}");
    }
    assert_eq!(owners::page(&daemon, "bob", &at).status, 303);
    let id = &id_of(&at);
    let own = owners::page(&daemon, "bob", "/collections/edit").text();
    let token = form(&own, "/control/collections/save").value("token").unwrap().to_owned();
    for (action, field) in [
        ("/control/collections/add", "url"),
        ("/control/collections/remove", "member"),
        ("/control/collections/fetch", "x"),
        ("/control/collections/export/wacz", "x"),
    ] {
        let fields = [
            ("token", token.as_str()),
            ("id", id),
            ("collection", id),
            (field, "http://a.example/"),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let sent = Form { method: "POST".into(), action: action.into(), fields };
        let done = owners::submit(&daemon, "bob", &sent);
        assert_eq!(done.status, 400, "{action}: {done:?}");
        assert!(!done.text().contains("Secret plans"));
    }
    // The same id makes a collection of his own, which is not hers.
    let his = form(&own, "/control/collections/save").without("for-everyone");
    let his = his.with("name", "Plans").with("id", id);
    assert_eq!(owners::submit(&daemon, "bob", &his).status, 303);
    assert!(owners::page(&daemon, "ada", &at).text().contains("Secret plans"));
    // Unless she shares it.
    let page = owners::page(&daemon, "ada", &format!("/collections/edit?id={id}")).text();
    let shared = form(&page, "/control/collections/save");
    assert_eq!(shared.value("for-everyone"), Some("Y"));
    assert_eq!(owners::submit(&daemon, "ada", &shared).status, 303);
    assert!(owners::page(&daemon, "eve", "/collections/").status == 407);
    let plans = |user: &str| owners::page(&daemon, user, "/collections/").text();
    assert_eq!(plans("ada").matches("Secret plans").count(), 1, "it is in one place only");
    // He has a collection with the same id, which hides hers from him, and from no other person.
    assert!(plans("bob").contains("<bdi>Plans</bdi>"));
}

#[test]
fn hostile_names_and_addresses_do_not_spoil_the_pages() {
    let daemon = Daemon::start();
    let name = format!("\u{202e}</a><script>{}", "x".repeat(60));
    let id = made(&daemon, &name);
    let note = "\u{202e}<b>".repeat(150);
    let call = json!({ "id": id, "note": note }).to_string();
    assert_eq!(daemon.api("POST", "/api/collections", &call).status, 200);
    let urls: Vec<_> = (0..18).map(|n| {
        json!({ "kind": "page", "url": format!("http://a.example/{n}{}", "%22".repeat(2_600)) })
    }).collect();
    let call = json!({ "id": id, "add": urls }).to_string();
    let done = daemon.api("POST", "/api/collections/members", &call);
    assert_eq!(done.status, 200, "{done:?}");
    for path in ["/collections/", "/index/", &address(&id), &format!("/collections/edit?id={id}")] {
        let page = shown(&daemon, path, 200);
        assert!(!page.contains('\u{202e}'), "{path}");
        let raw = daemon.page(path).text();
        assert!(!raw.contains("</a><script>"), "{path}");
    }
    let long = format!("{id}{}", "x".repeat(8_000));
    assert_eq!(daemon.page(&address(&long)).status, 303);
    let bad =
        json!({ "id": id, "add": [{ "kind": "page", "url": "javascript:alert(1)" }] }).to_string();
    assert_eq!(daemon.api("POST", "/api/collections/members", &bad).status, 400);
}

#[test]
fn a_collection_is_complete_if_all_its_pages_are() {
    const COMPLETE: &str = "<span class=\"badge good\">complete</span>";
    let (daemon, origin) = teas();
    let id = made(&daemon, "Teas");
    let add = |path: &str| {
        let page = json!([{ "kind": "page", "url": origin.url(path) }]);
        let call = json!({ "id": id, "add": page }).to_string();
        assert_eq!(daemon.api("POST", "/api/collections/members", &call).status, 200);
        shown(&daemon, &address(&id), 200)
    };
    let black = add("/black");
    assert!(black.contains(COMPLETE), "{black}");
    let green = add("/green");
    assert!(green.contains("<span class=\"badge wait\">1 file missing</span>"), "{green}");
    assert_eq!(daemon.get(&origin.url("/leaf.png")).status, 200);
    eventually("it is complete", || shown(&daemon, &address(&id), 200).contains(COMPLETE));
    let missing = add("/never");
    assert!(!missing.contains(COMPLETE), "{missing}");
}

#[test]
fn collections_with_many_members_have_small_pages() {
    const SAVED: usize = 60;
    const MEMBERS: usize = 200;
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let mut icon = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0".to_vec();
    icon.resize(2_000, 0);
    origin.say("/favicon.ico", Answer::new(200, "image/png", icon));
    daemon.get(&origin.url("/favicon.ico"));
    let url = |n: usize| origin.url(&format!("/{n}/{}", "%22".repeat(n % 300)));
    for n in 0..SAVED {
        let path = url(n);
        let path = path.strip_prefix(&origin.url("")).unwrap();
        origin.say(path, Answer::html(format!("<title>{n} {}</title>", "&amp;".repeat(400))));
        assert_eq!(daemon.get(&url(n)).status, 200);
    }
    list(&daemon, "/index/all?text=/59/", "name=\"url\"");
    let id = made(&daemon, "Many");
    let pages: Vec<_> = (0..MEMBERS).map(|n| json!({ "kind": "page", "url": url(n) })).collect();
    let call = json!({ "id": id, "add": pages }).to_string();
    assert_eq!(daemon.api("POST", "/api/collections/members", &call).status, 200);
    let (mut seen, mut path) = (0, address(&id));
    loop {
        // The function checks the size.
        let page = shown(&daemon, &path, 200);
        seen += page.matches("class=\"row entry\"").count();
        let Some((before, _)) = page.split_once("\" rel=\"next\"") else { break };
        let (_, next) = before.rsplit_once("href=\"").unwrap();
        next[next.find("/collections/").unwrap()..].clone_into(&mut path);
    }
    assert_eq!(seen, MEMBERS);
}

#[test]
fn a_damaged_file_of_collections_is_reported_and_kept() {
    let (mut daemon, _origin) = teas();
    made(&daemon, "Teas");
    daemon.down();
    let file = daemon.spool().join("collections/local");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "{").unwrap();
    daemon.up();
    let call = daemon.api("POST", "/api/collections", "{\"name\":\"Coffee\"}");
    assert_eq!(call.status, 500);
    assert!(call.text().contains("the collections in the spool cannot be read"), "{call:?}");
    assert_eq!(daemon.page("/collections/").status, 500);
    assert_eq!(daemon.page("/index/").status, 200, "the library works without them");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{");
    std::fs::write(&file, text).unwrap();
    eventually("it is there again", || daemon.page("/collections/").text().contains("Teas"));
}

#[test]
fn a_whole_list_is_pinned() {
    let (daemon, origin) = teas();
    let whole = "/control/delete/url-all?list=/index/all?text%3Dgreen";
    let sent = form(&shown(&daemon, whole, 200), "/control/pin-list");
    let page = shown(&daemon, &led(&daemon, &sent), 200);
    assert!(page.contains("1 entry is pinned"), "{page}");
    let pins = daemon.run(&["pin"]).out;
    assert!(pins.contains(&origin.url("/green")) && !pins.contains("/black"), "{pins}");
    let none = sent.with("list", "/index/all?text=coffee");
    assert_eq!(daemon.submit(&none).status, 422);
}

#[test]
fn the_pages_of_a_site_are_a_tree() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    for (path, title) in [
        ("/", "Start"),
        ("/tea/green/sencha", "Sencha"),
        ("/tea/black", "Black"),
        ("/tea0", "Not a folder"),
        ("/a?b=/c/d", "Query"),
    ] {
        origin.say(path, Answer::html(format!("<title>{title}</title>")));
        daemon.get(&origin.url(path));
    }
    list(&daemon, "/index/all", "Query");
    let tree = shown(&daemon, "/index/tree/127.0.0.1", 200);
    for text in [
        "<bdi>tea/</bdi>",
        "<bdi>green/</bdi>",
        "Sencha",
        "Black",
        "<bdi>a?b=/c/d</bdi>",
        "Not a folder",
    ] {
        assert!(tree.contains(text), "{text}: {tree}");
    }
    assert!(shown(&daemon, "/index/site/127.0.0.1", 200).contains("/index/tree/127.0.0.1"));
    let host = crate::harness::form::encode(&format!("http://{}", origin.addr));
    let part =
        shown(&daemon, &format!("/index/tree/127.0.0.1?host={host}&folder=/tea/green/"), 200);
    assert!(part.contains("Sencha") && !part.contains("Black"), "{part}");
    for odd in ["?folder=x", "?host=x&folder=//", "?host=http://\u{202e}/&folder=/a/"] {
        let odd = odd.replace('\u{202e}', "%E2%80%AE");
        shown(&daemon, &format!("/index/tree/127.0.0.1{odd}"), 200);
    }
    assert!(shown(&daemon, "/index/tree/none.example", 200).contains("No saved page."));
    // The same pages by day.
    let calendar = shown(&daemon, "/index/calendar/127.0.0.1", 200);
    let (before, _) = calendar.split_once("\" aria-label=\"5 pages of ").unwrap();
    let (_, day) = before.rsplit_once("name=\"on\" value=\"").unwrap();
    let of_day = shown(&daemon, &format!("/index/site/127.0.0.1?pages=1&on={day}"), 200);
    assert_eq!(of_day.matches("name=\"url\"").count(), 5, "{of_day}");
    let other = shown(&daemon, "/index/site/127.0.0.1?pages=1&on=1999-12-31", 200);
    assert!(other.contains("This list is empty."), "{other}");
    let year = shown(&daemon, "/index/calendar/127.0.0.1?on=1999-12-31", 200);
    assert!(!year.contains("name=\"on\" value=\"1999"), "{year}");
    assert!(shown(&daemon, "/index/calendar/none.example", 200).contains("No saved page."));
}

#[test]
fn the_tree_hides_the_pages_of_others() {
    let daemon = owners::daemon();
    let origin = Origin::start();
    origin.say("/mine/", Answer::html("<title>Mine</title>").field("Cache-Control", "private"));
    owners::get(&daemon, "ada", &origin.url("/mine/"), "");
    let tree = |user: &str| owners::page(&daemon, user, "/index/tree/127.0.0.1").text();
    eventually("it is in her tree", || tree("ada").contains("Mine"));
    assert!(!tree("bob").contains("mine"), "{}", tree("bob"));
    let calendar = |user: &str| owners::page(&daemon, user, "/index/calendar/127.0.0.1").text();
    assert!(calendar("ada").contains("1 page of ") && !calendar("bob").contains("1 page of "));
}

#[test]
fn whole_lists_and_requests_are_put_into_a_collection() {
    let (daemon, origin) = teas();
    let id = made(&daemon, "Teas");
    daemon.ok(&["offline"]);
    daemon.browse(&origin.url("/white"));
    let whole = |list: &str| {
        let page = format!("/control/delete/url-all?list={}", encode(list));
        form(&shown(&daemon, &page, 200), "/control/collections/choose")
    };
    let queue = shown(&daemon, "/queue/", 200);
    let key = daemon.queue()[0]["key"].as_str().unwrap().to_owned();
    let request = form(&queue, "/control/collections/choose").without("chosen").and("chosen", &key);
    for (sent, names, kind) in [
        (whole("/index/site/127.0.0.1"), &["127.0.0.1"][..], "site"),
        (whole("/search/?q=leaves"), &["leaves"], "search"),
        (whole("/index/all?text=black"), &["/black"], "page"),
        (request, &["/white"], "page"),
    ] {
        let asked = daemon.submit(&sent).whole();
        assert_eq!(asked.status, 200, "{asked:?}");
        for name in names {
            assert!(asked.text().contains(name), "{name} in {}", asked.text());
        }
        let add = form(&asked.text(), "/control/collections/add").with("collection", &id);
        assert!(led(&daemon, &add).ends_with("&added=1"), "{sent:?}");
        let members = collection(&daemon, "Teas")["members"].clone();
        let last = members.as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["kind"], kind, "{last}");
    }
}

#[test]
fn a_shared_collection_has_nothing_private_and_its_schedule_ends() {
    let (daemon, origin) = (owners::daemon(), Origin::start());
    for (path, title) in [("/inbox", "Inbox of ada"), ("/tea", "Green tea")] {
        origin.say(path, Answer::html(format!("<title>{title}</title>")));
    }
    let (inbox, tea) = (origin.url("/inbox"), origin.url("/tea"));
    assert_eq!(owners::get(&daemon, "ada", &inbox, "Cookie: id=1\r\n").status, 200);
    let filled = |user: &str, path: &str, action: &str, fields: &[(&str, &str)]| {
        let sent = form(&owners::page(&daemon, user, path).text(), action);
        let sent = fields.iter().fold(sent, |sent, (name, value)| sent.with(name, value));
        let done = owners::submit(&daemon, user, &sent);
        assert_eq!(done.status, 303, "{path}: {done:?}");
        done.field("Location").to_owned()
    };
    let save = "/control/collections/save";
    let at = filled("ada", "/collections/edit", save, &[("name", "Ours"), ("for-everyone", "Y")]);
    let id = id_of(&at);
    let add = |user: &str, url: &str| {
        let path = format!("/collections/add?url={}", encode(url));
        filled(user, &path, "/control/collections/add", &[("collection", &id)]);
    };
    let schedule = "/control/collections/schedule";
    eventually("her page is indexed", || {
        owners::page(&daemon, "ada", "/index/all").text().contains("Inbox of ada")
    });
    add("ada", &inbox);
    filled("ada", &at, schedule, &[("every", "week")]);
    assert!(owners::page(&daemon, "ada", &at).text().contains("Inbox of ada"));
    assert!(!owners::page(&daemon, "bob", &at).text().contains("Inbox of ada"));
    let seen = |user: &str, path: &str| owners::page(&daemon, user, path).text();
    for path in ["/api/collections".to_owned(), format!("/api/collections/one?id={id}")] {
        let (hers, his) = (seen("ada", &path), seen("bob", &path));
        assert!(hers.contains("\"scheduled_by\":\"user:ada\""), "{hers}");
        assert!(his.contains("Ours") && !his.contains("user:ada"), "{his}");
        assert!(!his.contains("Inbox of ada"), "{his}");
    }
    // Another person's change leaves her monitors, and another person may end them.
    add("bob", &tea);
    let monitored = |user: &str| seen(user, "/api/monitor").matches("\"url\":").count();
    assert_eq!((monitored("ada"), monitored("bob")), (1, 0));
    filled("bob", &at, schedule, &[("every", "never")]);
    assert_eq!((monitored("ada"), monitored("bob")), (0, 0));
}

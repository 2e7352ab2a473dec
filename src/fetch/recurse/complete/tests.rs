use std::path::Path;

use tempfile::TempDir;
use wwwoffle_spool::{NewEntry, Options, Outgoing, RequestKind, Timestamp};

use super::*;
use wwwoffle_api::PartState::{self, Absent, Failed, Kept, LeftOut, Queued};

/// A spool with pages in it.
struct Site {
    _root: TempDir,
    spool: Spool,
    config: Config,
    owner: Owner,
}

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text, &LocalHost::default()).unwrap()
}

/// `path` on the host of all tests, unless it is a URL.
fn at(path: &str) -> String {
    if path.starts_with('/') { format!("http://h.example{path}") } else { path.to_owned() }
}

impl Site {
    fn new(config: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
        let config = Config::parse(config, Path::new("w.conf")).unwrap();
        Self { _root: root, spool, config, owner: Owner::Local }
    }

    fn keep_at(&self, place: &Place, head: &str, body: &[u8]) {
        let new = NewEntry {
            asked: Timestamp::UNIX_EPOCH,
            when: Timestamp::UNIX_EPOCH,
            head: format!("HTTP/1.1 {head}\r\n\r\n").into_bytes(),
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            connection: None,
        };
        let mut writer = self.spool.begin(place, new).unwrap();
        writer.write(body).unwrap();
        writer.finish(None).unwrap();
    }

    fn answer(&self, path: &str, head: &str, body: &[u8]) {
        self.keep_at(&Place::of(&url(&at(path))), head, body);
    }

    fn keep(&self, path: &str, kind: &str, body: &str) {
        self.answer(path, &format!("200 OK\r\nContent-Type: {kind}"), body.as_bytes());
    }

    fn html(&self, path: &str, body: &str) {
        self.keep(path, "text/html", body);
    }

    fn queue(&self, path: &str, state: RequestState) {
        let head = b"GET / HTTP/1.1\r\nHost: h.example\r\n\r\n".to_vec();
        let place = Place::of(&url(&at(path)));
        let mut waits = Outgoing::new(place, head, RequestKind::Part, Timestamp::UNIX_EPOCH);
        waits.summary.fetching.state = state;
        self.spool.queue().add(&waits).unwrap();
    }

    fn look_within(&self, path: &str, bounds: Bounds) -> Option<PageParts<Text>> {
        let (url, local) = (url(&at(path)), LocalHost::default());
        let places = crate::base::owner::Places::of_url(&url, &self.owner);
        let own = self.spool.newest(&places.own).unwrap();
        let entry = own.or_else(|| self.spool.newest(&places.public).unwrap()).unwrap();
        let (owner, config) = (&self.owner, &self.config);
        let page = StoredPage { url: &url, entry: &entry, owner, config, local: &local };
        look_within(&self.spool, &page, bounds).unwrap()
    }

    fn parts(&self, path: &str) -> PageParts<Text> {
        self.look_within(path, Bounds::from_now()).expect("it has parts")
    }
}

/// The sub-resources as rows: path, class, state.
fn rows(parts: &PageParts<Text>) -> Vec<(&str, &str, PartState)> {
    parts
        .list
        .iter()
        .map(|part| {
            let url = part.url.strip_prefix("http://h.example").unwrap_or(&part.url);
            (url, part.class.as_str(), part.state)
        })
        .collect()
}

fn why(parts: &PageParts<Text>, path: &str) -> String {
    let url = at(path);
    let part = parts.list.iter().find(|part| part.url == url);
    part.unwrap_or_else(|| panic!("{path} in {parts:?}"))
        .reason
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default()
}

#[test]
fn sub_resources_are_listed_by_state_worst_first() {
    let site = Site::new("");
    site.html(
        "/",
        "<link rel=stylesheet href=/a.css><link rel=icon href=/i.png><img src=/a.png><img src=/b.png>\
         <img src=/c.png><img src=/d.png><video src=/f.mp4></video><iframe src=/frame></iframe>\
         <script type=module src=/m.js></script><a href=/next>n</a>",
    );
    site.keep("/a.css", "text/css", "@import 'b.css'; p { background: url(bg.png) }");
    site.keep("/b.css", "text/css", "@font-face { src: url(f.woff2) }");
    site.keep("/m.js", "text/javascript", "import './n.js'");
    site.html("/frame", "<img src=framed.png><a href=/further>x</a>");
    for image in ["/i.png", "/a.png", "/framed.png"] {
        site.keep(image, "image/png", "x");
    }
    site.answer("/b.png", "404 Not Found\r\nContent-Type: text/html", b"<img src=/never.png>");
    site.queue("/c.png", RequestState::Waiting);
    let reason = "its host is not known".to_owned();
    site.queue("/d.png", RequestState::Failed { reason, status: None });
    let parts = site.parts("/");
    let want = [
        ("/n.js", "script", Absent),
        ("/bg.png", "image", Absent),
        ("/f.woff2", "font", Absent),
        ("/b.png", "image", Failed),
        ("/d.png", "image", Failed),
        ("/c.png", "image", Queued),
        ("/f.mp4", "media", LeftOut),
        ("/a.css", "stylesheet", Kept),
        ("/i.png", "icon", Kept),
        ("/a.png", "image", Kept),
        ("/frame", "iframe", Kept),
        ("/m.js", "script", Kept),
        ("/b.css", "stylesheet", Kept),
        ("/framed.png", "image", Kept),
    ];
    let mut got = rows(&parts);
    // The order of the missing and of the stored sub-resources is not checked.
    got[..3].sort_unstable();
    let mut want = want.to_vec();
    want[..3].sort_unstable();
    got[7..].sort_unstable();
    want[7..].sort_unstable();
    assert_eq!(got, want);
    assert!(!parts.complete && parts.cut.is_none(), "{parts:?}");
    assert_eq!(why(&parts, "/b.png"), "the site answered 404 Not Found");
    assert_eq!(why(&parts, "/d.png"), "its host is not known");
    assert_eq!(why(&parts, "/f.mp4"), "audio and video are not fetched ([fetch-options] media)");
    let from = |path: &str| {
        let part = parts.list.iter().find(|part| part.url == at(path));
        part.and_then(|part| part.from.clone())
    };
    assert_eq!(from("/a.css"), None);
    assert_eq!(from("/f.woff2"), Some(at("/b.css")));
    let counts = parts.counts;
    assert_eq!(
        (counts.absent, counts.failed, counts.queued, counts.left_out, counts.kept),
        (3, 2, 1, 1, 7)
    );
}

#[test]
fn a_page_is_complete_when_nothing_is_missing() {
    let site = Site::new("");
    site.html("/", "<link rel=icon href=/i.png><img src=/a.png><video src=/f.mp4></video>");
    site.keep("/i.png", "image/png", "x");
    assert!(!site.parts("/").complete);
    site.keep("/a.png", "image/png", "x");
    assert!(site.parts("/").complete, "what is left out by rule is not missing");
    // A sub-resource that is left out counts as stored if it is stored.
    site.keep("/f.mp4", "video/mp4", "x");
    assert_eq!(site.parts("/").counts.kept, 3);
    assert!(site.look_within("/a.png", Bounds::from_now()).is_none(), "an image has no parts");
    site.answer("/gone", "404 Not Found\r\nContent-Type: text/html", b"<img src=/x.png>");
    assert!(site.look_within("/gone", Bounds::from_now()).is_none());
}

#[test]
fn each_excluding_rule_is_named() {
    let site = Site::new(
        "[fetch-options]\nscripts = false\nonly-same-host-images = true\n\
         [dont-get]\nurls = [\"*://ads.example/*\"]\n\
         [dont-cache]\nurls = [\"*://h.example/live*\"]\n\
         [local-net]\nhosts = [\"near.example\"]\n\
         [[dont-get.for]]\nurl = \"*://h.example/lazy*\"\nget-recursive = false\n",
    );
    site.html(
        "/",
        "<link rel=icon href=/i.png><script src=/s.js></script><img src=http://other.example/a.png>\
         <link rel=stylesheet href=http://ads.example/ad.css><img src=/live.png><img src=/lazy.png>\
         <link rel=stylesheet href=http://near.example/a.css><img src=/1.gif width=1 height=1>\
         <img srcset='/x.png 1x, /y.png 2x'><link rel=preconnect href=http://cdn.example/>",
    );
    let parts = site.parts("/");
    for (path, want) in [
        ("/s.js", "scripts are not fetched ([fetch-options] scripts)"),
        (
            "http://other.example/a.png",
            "it is on another host ([fetch-options] only-same-host-images)",
        ),
        ("http://ads.example/ad.css", "it is blocked ([dont-get])"),
        ("/live.png", "it is never saved ([dont-cache])"),
        ("/lazy.png", "it is fetched only for browsers ([dont-get] get-recursive)"),
        ("http://near.example/a.css", "it is never saved ([local-net])"),
        ("/1.gif", "images of one pixel are not fetched ([fetch-options] webbug-images)"),
        ("/y.png", "browsers use another size of it ([fetch-options] all-candidates)"),
    ] {
        assert_eq!(why(&parts, path), want, "{path}");
    }
    assert_eq!((parts.counts.left_out, parts.counts.absent), (8, 2), "{parts:?}");
}

#[test]
fn redirects_and_aliases_are_followed() {
    let site = Site::new(
        "[alias]\nurls = [{ from = \"http://old.example/\", to = \"http://h.example/\" }]\n",
    );
    site.answer("/start", "302 Found\r\nLocation: /page", b"");
    assert_eq!(rows(&site.parts("/start")), [("/page", "page", Absent)]);
    site.html(
        "/page",
        "<link rel=icon href=/i.png><img src=/moved.png><img src=http://old.example/o.png>",
    );
    site.keep("/i.png", "image/png", "x");
    site.answer("/moved.png", "301 Moved\r\nLocation: /there.png", b"");
    let want = [
        ("/o.png", "image", Absent),
        ("/there.png", "image", Absent),
        ("/page", "page", Kept),
        ("/i.png", "icon", Kept),
        ("/moved.png", "image", Kept),
    ];
    assert_eq!(rows(&site.parts("/start")), want);
    // A loop of redirects must end.
    site.answer("/there.png", "301 Moved\r\nLocation: /moved.png", b"");
    site.keep("/o.png", "image/png", "x");
    assert!(site.parts("/start").complete);
}

#[test]
fn personal_sub_resources_count_for_their_owner_only() {
    let mut site = Site::new("");
    site.html("/", "<link rel=icon href=/i.png>");
    let place = Place::of(&url(&at("/i.png"))).owned_by("user:ada");
    site.keep_at(&place, "200 OK\r\nContent-Type: image/png", b"x");
    assert!(!site.parts("/").complete);
    site.owner = "user:ada".parse().unwrap();
    assert!(site.parts("/").complete);
    // A page with a password in its URL is looked up with the password.
    let with = url("http://me:pw@h.example/p");
    let places = crate::base::owner::Places::of_url(&with, &site.owner);
    site.keep_at(&places.own, "200 OK\r\nContent-Type: text/html", b"<link rel=icon href=/i.png>");
    assert_eq!(rows(&site.parts("http://me:pw@h.example/p")), [("/i.png", "icon", Absent)]);
}

#[test]
fn coded_pages_are_read_and_damage_is_reported() {
    let site = Site::new("");
    let body = zstd::stream::encode_all(&b"<link rel=icon href=/i.png>"[..], 1).unwrap();
    let head = "200 OK\r\nContent-Type: text/html\r\nContent-Encoding: zstd";
    site.answer("/", head, &body);
    assert_eq!(rows(&site.parts("/")), [("/i.png", "icon", Absent)]);
    site.answer("/cut", head, &body[..body.len() - 1]);
    let parts = site.parts("/cut");
    assert!(!parts.complete);
    let cut = "http://h.example/cut was not read completely: its body cannot be decoded";
    assert_eq!(parts.cut.map(|cut| cut.to_string()).as_deref(), Some(cut));
}

#[test]
fn the_sub_resources_of_a_huge_page_are_limited() {
    let site = Site::new("");
    let many: Vec<_> = (0..2_000).map(|n| format!("<img src=/{n}.png>")).collect();
    site.html("/many", &many.concat());
    let listed = site.parts("/many");
    assert_eq!((listed.list.len(), listed.counts.absent), (MAX_TOLD, 2_000));
    let all = Bounds::from_now();
    for (bounds, want) in [
        (Bounds { parts: 10, ..all }, "the page has more than 10 files"),
        (Bounds { bytes: 10, ..all }, "it is too large to read completely"),
        (Bounds { until: Instant::now(), ..all }, "took too long"),
    ] {
        let parts = site.look_within("/many", bounds).unwrap();
        let cut = parts.cut.map(|cut| cut.to_string()).unwrap_or_default();
        assert!(cut.contains(want) && !parts.complete, "{want}: {cut}");
        assert!(parts.list.len() <= 10, "{want}: {}", parts.list.len());
    }
    // Nested frames, each of which contains a further one.
    for number in 0..7 {
        site.html(&format!("/f/{number}"), &format!("<iframe src=/f/{}></iframe>", number + 1));
    }
    let parts = site.parts("/f/0");
    assert_eq!(why(&parts, "/f/7"), "it is nested in more than 5 files");
    let bounds = Bounds { documents: 3, ..all };
    let cut = site.look_within("/f/0", bounds).unwrap().cut.unwrap().to_string();
    assert_eq!(cut, "at most 3 documents are read for one page");
}

//! The estimate of a fetch before it starts. No origin is contacted for it.

use serde_json::{Value, json};

use crate::harness::form::{encode, form};
use crate::harness::maze::Maze;
use crate::harness::{Answer, Daemon, Origin, eventually};

const DAY: &str = "max-age=86400";

fn html(body: &str) -> Answer {
    Answer::html(body).field("Cache-Control", DAY)
}

fn plan(daemon: &Daemon, arguments: &[&str]) -> Value {
    let arguments: Vec<_> = ["get", "--plan", "--json"].iter().chain(arguments).copied().collect();
    let ran = daemon.run(&arguments);
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.json()["plans"][0].clone()
}

fn amount(value: &Value) -> (u64, u64) {
    (value["count"].as_u64().unwrap(), value["bytes"].as_u64().unwrap())
}

#[test]
fn stored_pages_are_measured_and_new_pages_estimated() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let (first, second) = ("<a href=/a>a</a><a href=/b>b</a><img src=/i.png>", "x".repeat(1_000));
    origin.say("/", html(first));
    origin.say("/a", html(&format!("<a href=/c>c</a>{second}")));
    origin.say("/i.png", Answer::new(200, "image/png", "i".repeat(700)));
    let url = origin.url("/");
    daemon.ok(&["get", &url]);
    daemon.ok(&["get", &origin.url("/a")]);
    daemon.settle();
    eventually("its sub-resources are stored", || {
        origin.count("/i.png") == 1 && daemon.queue().is_empty()
    });
    let before = origin.seen().len();

    let told = plan(&daemon, &["-r", "2", &url]);
    let kept = first.len() as u64 + 1_016;
    assert_eq!(told["start_kept"], true, "{told}");
    assert_eq!(amount(&told["pages"]["fresh"]), (2, kept), "{told}");
    // The new pages are assumed to be like the stored pages /b and /c.
    assert_eq!(amount(&told["pages"]["new"]), (2, kept / 2 * 2), "{told}");
    assert_eq!(told["basis"], json!({"host": 2, "class": 0, "default": 0}), "{told}");
    assert_eq!(amount(&told["parts"]["again"]), (1, 700), "no freshness is reported: {told}");
    assert_eq!((&told["unread"], &told["robots_unknown"]), (&json!(2), &json!(1)), "{told}");
    assert_eq!(told["cut"], false, "{told}");

    let forced = plan(&daemon, &["-r", "1", "--refresh", &url]);
    assert_eq!(amount(&forced["pages"]["fresh"]), (0, 0), "{forced}");
    assert_eq!(amount(&forced["pages"]["again"]).0, 2, "{forced}");
    assert_eq!(amount(&forced["parts"]["again"]), (1, 700), "{forced}");
    assert_eq!(forced["left_out"]["depth"]["count"], 1, "{forced}");

    let words = daemon.ok(&["get", "-r", "2", "--plan", &url]);
    let basis = "estimated sizes: 2 from the sizes of similar saved files of the same host";
    for want in ["2 not saved yet", basis, "robots.txt"] {
        assert!(words.contains(want), "{want}: {words}");
    }
    assert_eq!(origin.seen().len(), before, "the origin was asked");
    assert!(daemon.queue().is_empty(), "a request was sent later");
    let runs = daemon.run(&["runs", "--json"]).json();
    assert_eq!(runs["runs"], json!([]), "a fetch was started");
}

#[test]
fn the_links_of_a_missing_start_page_are_unknown() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let told = plan(&daemon, &["-r", "3", &origin.url("/never")]);
    assert_eq!((&told["start_kept"], &told["unread"]), (&json!(false), &json!(1)), "{told}");
    assert_eq!(amount(&told["pages"]["new"]), (1, 30_000), "{told}");
    assert_eq!(told["basis"]["default"], 1, "{told}");
    let words = daemon.ok(&["get", "--plan", &origin.url("/never")]);
    assert!(words.contains("is not stored, so its sub-resources and links are unknown"), "{words}");
    assert!(origin.seen().is_empty());
}

#[test]
#[ignore = "slow"]
fn the_plan_of_a_stored_site_equals_its_fetch() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let elsewhere = Origin::start_at("127.0.0.2");
    Maze::build(&origin, &elsewhere, 15);
    let url = origin.url("/");
    daemon.ok(&["get", "-r", "1000", &url]);
    let before = origin.seen().len();
    let run = daemon.run(&["runs", "--json"]).json()["runs"][0].clone();
    let told = plan(&daemon, &["-r", "1000", "--refresh", &url]);
    assert_eq!(told["cut"], false, "there was enough time: {told}");
    assert_eq!(told["pages"]["again"]["count"], run["report"]["counts"]["pages"], "{told}");
    assert_eq!(amount(&told["pages"]["new"]), (0, 0), "{told}");
    assert_eq!((&told["robots_unknown"], &told["unread"]), (&json!(0), &json!(0)), "{told}");
    for why in ["scope", "endless", "robots", "no-follow"] {
        let counts =
            [&told["left_out"], &run["report"]["left-out"]].map(|left| left[why]["count"].clone());
        assert!(counts[0] == counts[1] && counts[0].is_u64(), "{why}: {counts:?}");
    }
    assert_eq!(origin.seen().len(), before, "the origin was asked");
}

#[test]
fn fetch_limits_also_bound_the_plan() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    let links: String = (0..50).map(|number| format!("<a href=/{number}>x</a>")).collect();
    origin.say("/", html(&links));
    let url = origin.url("/");
    daemon.ok(&["get", &url]);
    let told = plan(&daemon, &["-r", "1", "--pages", "11", &url]);
    assert_eq!(told["pages"]["new"]["count"], 10, "{told}");
    assert_eq!(told["left_out"]["pages"]["count"], 40, "{told}");
}

#[test]
fn the_queue_estimate_lists_hosts_with_sizes_and_times() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let hour = now.as_secs() / 3_600 % 24;
    let (from, until) = ((hour + 12) % 24, (hour + 13) % 24);
    let (day, night) = (Origin::start(), Origin::start_at("127.0.0.2"));
    let config = format!(
        "[fetch-options]\nbudget-day = \"5 MB\"\n[[fetch-options.for]]\nurl = \"{}\"\n\
         windows = \"{from:02}:00-{until:02}:00\"\n",
        night.url("/*")
    );
    let mut daemon = Daemon::prepare(Some(&config)).with_variable("TZ", "UTC");
    daemon.up();
    day.say("/kept", html(&"x".repeat(400)));
    daemon.ok(&["get", &day.url("/kept")]);
    daemon.ok(&["offline"]);
    daemon.run(&["get", "--refresh", &day.url("/kept")]);
    for path in ["/1", "/2"] {
        daemon.browse(&day.url(path));
    }
    daemon.browse(&night.url("/"));
    let told = daemon.run(&["fetch", "--plan", "--json"]).json();
    let hosts = told["hosts"].as_array().unwrap();
    let named = |origin: &Origin| {
        let name = origin.url("").replace("http://", "");
        hosts.iter().find(|host| host["host"] == name.as_str()).unwrap().clone()
    };
    let (by_day, by_night) = (named(&day), named(&night));
    assert_eq!(by_day["kinds"], json!({"page": 2, "refresh": 1}), "{told}");
    assert_eq!(amount(&by_day["expected"]["again"]), (1, 400), "{told}");
    assert_eq!(amount(&by_day["expected"]["new"]), (2, 800), "{told}");
    assert_eq!(by_day["from"], Value::Null, "{told}");
    assert!(by_night["from"].as_str().unwrap().contains(&format!("T{from:02}:00:00")), "{told}");
    assert_eq!(amount(&by_night["expected"]["new"]), (1, 400), "{told}");
    assert_eq!(told["basis"], json!({"host": 2, "class": 1, "default": 0}), "{told}");
    assert_eq!(told["all"]["new"], json!({"count": 3, "bytes": 1200}), "{told}");
    assert_eq!((&told["may_fetch"], &told["cut"]), (&json!(false), &json!(false)), "{told}");
    let left = told["budget"]["day"].as_u64().unwrap();
    assert!((4_000_000..=5_000_000).contains(&left), "{told}");
    let words = daemon.ok(&["fetch", "--plan"]);
    assert!(words.contains("left of the daily budget"), "{words}");
    assert!(words.contains("2 pages, 1 refresh"), "{words}");
    assert_eq!((day.seen().len(), night.seen().len()), (1, 0), "the origin was asked");
    assert_eq!(daemon.queue().len(), 4);
}

#[test]
fn the_form_shows_the_estimate() {
    let (daemon, origin) = (Daemon::start(), Origin::start());
    origin.say("/", html("<a href=/a>a</a>"));
    let url = origin.url("/");
    daemon.ok(&["get", &url]);
    let page = daemon.page(&format!("/refresh-options/?{}", encode(&url))).text();
    let asked = form(&page, "/refresh-plan/").with("depth", "1").without("force");
    let answer = daemon.submit(&asked);
    let shown = answer.shown();
    assert_eq!(answer.status, 200, "{shown}");
    for want in ["Estimate", "1 not saved yet", "1 saved and up to date"] {
        assert!(shown.contains(want), "{want}: {shown}");
    }
    assert_eq!(form(&answer.text(), "/refresh-request/").value("depth"), Some("1"));
    assert_eq!((origin.seen().len(), daemon.queue().len()), (1, 0));
    let refused = daemon.submit(&asked.without("token"));
    assert_eq!(refused.status, 403, "{}", refused.shown());
}

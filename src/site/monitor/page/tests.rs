use super::*;
use crate::page::testing::{as_key, assert_harmless, hostile, shell, time};

fn item(url: &str) -> MonitorItem {
    MonitorItem {
        key: "ab".to_owned(),
        url: url.to_owned(),
        target: None,
        schedule: "0 6 * * 1-5".to_owned(),
        versions: 3,
        last: Some(time()),
        next: Some(time()),
        owner: None,
        report: None,
    }
}

#[test]
fn the_list_shows_times_and_actions() {
    let items = [item("http://a.example/p?x=1&y")];
    let unchanged = page(&shell(), &items, &[false]);
    assert_harmless(&unchanged);
    assert!(!unchanged.body.contains("Changes"), "{}", unchanged.body);
    let page = page(&shell(), &items, &[true]);
    assert_harmless(&page);
    let body = page.body;
    for want in [
        "Mon to Fri at 6:00 (<code>0 6 * * 1-5</code>)",
        ">Changes</a>",
        "last queued <time",
        "next time <time",
        "keeps 3 older versions",
        r#"name="token" value="f00""#,
        r#"name="key" value="ab""#,
        r#"formaction="http://localhost:8080/control/delete/mon""#,
        "http://localhost:8080/monitor-options/?http://a.example/p%3Fx%3D1%26y",
        "http://localhost:8080/configuration/url?http://a.example/p%3Fx%3D1%26y",
    ] {
        assert!(body.contains(want), "{want} in {body}");
    }
    let many = vec![item("http://a.example/"); SHOWN_PAGES + 2];
    let page = super::page(&shell(), &many, &[]);
    assert_harmless(&page);
    assert!(page.body.contains("and 2 more"), "{}", page.body);
    let none = super::page(&shell(), &[], &[]);
    assert_harmless(&none);
    assert!(none.body.contains("No page is monitored"));
}

#[test]
#[ignore = "slow"]
fn the_number_of_listed_pages_depends_on_their_size() {
    let shell = Shell { token: "f".repeat(64), ..shell() };
    for (part, length, at_least) in
        [("a/b", 40, 45), ("a/b=c&", 900, 10), ("&", 8_100, 1), ("=", 8_100, 1), ("%3f", 8_100, 1)]
    {
        let url = format!("http://www.example.org/?{}", part.repeat(length / part.len()));
        let many = vec![MonitorItem { key: "a".repeat(64), ..item(&url) }; SHOWN_PAGES];
        let page = page(&shell, &many, &[true; SHOWN_PAGES]);
        assert_harmless(&page);
        let rows = page.body.matches("<section").count();
        assert!(rows >= at_least, "{rows} rows of {url:.60}");
        let rest = format!("and {} more", SHOWN_PAGES - rows);
        assert_eq!(page.body.contains(&rest), rows < SHOWN_PAGES, "{rows} rows of {url:.60}");
    }
}

#[test]
fn the_form_starts_with_the_current_schedule() {
    let form = |schedule: Option<&str>| {
        let schedule = schedule.map(|text| text.parse().unwrap());
        let given = MonitorForm {
            url: "http://a.example/",
            schedule,
            versions: Some(7),
            max_versions: 100,
            spec: None,
            report: ChangeReport::default(),
        };
        let page = options(&shell(), &given);
        assert_harmless(&page);
        page.body
    };
    let checked = |body: &str| body.matches("checked=\"checked\"").count();
    for (schedule, boxes, cron, days, hours) in [
        (None, 19, "", "*", "0"),
        (Some("0 6,18 1-7 1,2 *"), 9, "", "1-7", "6,18"),
        (Some("0 6 1-7 * 1 and"), 13, "", "1-7", "6"),
        (Some("30 6 * * 1-5"), 19, "30 6 * * 1-5", "*", "0"),
        (Some("0 6 1 * 1"), 19, "0 6 1 * 1", "*", "0"),
        // A schedule with a name leaves the times as they are initially.
        (Some("@online"), 19, "", "*", "0"),
        (Some("@hourly"), 19, "", "*", "0"),
        (Some("@weekly"), 19, "", "*", "0"),
    ] {
        let body = form(schedule);
        assert_eq!(checked(&body), boxes, "{schedule:?}");
        let is_named = schedule.is_none_or(|schedule| schedule.starts_with('@'));
        assert_eq!(body.contains("name=\"was\" value=\"times\""), !is_named, "{schedule:?}");
        for (name, value) in [("cron", cron), ("dofm", days), ("hofd", hours), ("versions", "7")] {
            let want = format!("name=\"{name}\" value=\"{value}\"");
            assert!(body.contains(&want), "{want} in {body}");
        }
    }
}

#[test]
fn the_form_shows_the_link_depth() {
    for (spec, depth, method) in [
        (None, 0, "host"),
        (Some(FetchSpec { depth: 3, scope: Scope::Site, ..FetchSpec::default() }), 3, "site"),
        (
            Some(FetchSpec {
                depth: 1,
                scope: Scope::parse("http://*/a").unwrap(),
                ..FetchSpec::default()
            }),
            1,
            "http://*/a",
        ),
    ] {
        let url = "http://a.example/";
        let given = MonitorForm {
            url,
            schedule: None,
            versions: None,
            max_versions: 9,
            spec,
            report: ChangeReport::default(),
        };
        let page = options(&shell(), &given);
        assert_harmless(&page);
        let body = page.body;
        for want in [
            format!("name=\"depth\" value=\"{depth}\""),
            format!("<option value=\"{method}\" selected=\"selected\">"),
        ] {
            assert!(body.contains(&want), "{want} in {body}");
        }
    }
}

#[test]
fn an_invalid_form_keeps_the_typed_values() {
    let body = b"url=x%22y&dofw6=Y&mofy2=Y&dofm=30-31&hofd=24&cron=&versions=ten&depth=-1";
    let form = SubmittedForm::parse(Some("application/x-www-form-urlencoded"), body).unwrap();
    let fields = ["url", "dofm", "hofd", "cron", "versions", "depth", "method"];
    let faults = fields.map(|field| FormFault::new(field, tr("none")));
    let page = options_again(&shell(), &form, &faults, 9);
    assert_harmless(&page);
    assert_eq!(page.status, 422);
    assert_eq!(page.body.matches("checked=\"checked\"").count(), 2, "{}", page.body);
    for want in [
        "name=\"url\" value=\"x&quot;y\"",
        "name=\"dofm\" value=\"30-31\"",
        "name=\"versions\" value=\"ten\"",
        "name=\"depth\" value=\"-1\"",
    ] {
        assert!(page.body.contains(want), "{want} in {}", page.body);
    }
    for field in fields {
        let attribute = format!("aria-describedby=\"{field}-fault\"");
        assert_eq!(page.body.matches(&attribute).count(), 1, "{field}");
        assert!(page.body.contains(&format!("id=\"{field}-fault\">none")), "{field}");
    }
    for text in &hostile() {
        let fields = [("url", as_key(text)), ("cron", text), ("hofd", text), ("depth", text)];
        let body: Vec<_> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", url_encode_form_args(value.as_bytes())))
            .collect();
        let Ok(form) = SubmittedForm::parse(
            Some("application/x-www-form-urlencoded"),
            body.join("&").as_bytes(),
        ) else {
            continue;
        };
        assert_harmless(&options_again(&shell(), &form, &faults, 9));
    }
}

#[test]
fn a_change_is_shown_line_by_line() {
    let text = |line: &str| crate::storage::versions::text::VersionText {
        lines: vec![line.to_owned()],
        ..Default::default()
    };
    for hostile in hostile().iter().map(String::as_str).chain(["old"]) {
        let diff = Diff::of(&text(hostile), &text("new words"));
        let difference = VersionDiff {
            url: hostile.to_owned(),
            versions: vec![time(), jiff::Timestamp::UNIX_EPOCH],
            from: jiff::Timestamp::UNIX_EPOCH,
            to: time(),
            title: Some(hostile.to_owned()),
            added: diff.added,
            removed: diff.removed,
            diff: diff.plain(),
            is_cut: true,
        };
        let page = super::diff(&shell(), &difference, &diff);
        assert_harmless(&page);
        assert!(page.body.contains("<bdi>new words</bdi>"), "{}", page.body);
    }
}

#[test]
fn hostile_values_are_text() {
    for text in &hostile() {
        let item = MonitorItem {
            key: as_key(text).to_owned(),
            schedule: text.clone(),
            owner: Some(text.clone()),
            report: Some(ChangeReport {
                words: Some(as_key(text).to_owned()),
                ..ChangeReport::default()
            }),
            ..item(text)
        };
        assert_harmless(&page(&shell(), &[item], &[true]));
        let url = as_key(text);
        let given = MonitorForm {
            url,
            schedule: None,
            versions: None,
            max_versions: 9,
            spec: Some(FetchSpec {
                depth: 7,
                scope: Scope::Prefix(as_key(text).to_owned()),
                ..FetchSpec::default()
            }),
            report: ChangeReport {
                select: Some(as_key(text).to_owned()),
                ..ChangeReport::default()
            },
        };
        assert_harmless(&options(&shell(), &given));
    }
}

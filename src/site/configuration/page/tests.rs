use std::path::Path;

use wwwoffle_config::edit::{Rule, RuleState, quoted};
use wwwoffle_config::schema::SECTIONS;
use wwwoffle_config::{Config, changes};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::changed::{ConfigurationConflict, LastChange};
use super::diff::lines;
use super::index::ConfigurationIndex;
use super::item::{OptionAction, OptionPage, RejectedInput};
use super::part::{OptionSetting, SectionPage};
use super::specification::SpecificationForm;
use super::url::UrlPage;
use super::*;
use crate::page::RenderedPage;
use crate::page::testing::{assert_harmless, hostile, shell, time};

fn item(section: &str, key: &str) -> SectionOption {
    let section = SECTIONS.iter().find(|known| known.name == section).unwrap();
    let option = section.options.iter().find(|known| known.key == key).unwrap();
    SectionOption { section, option }
}

fn setting(value: &str) -> OptionSetting {
    OptionSetting { value: Some(value.to_owned()), place: Some((3, None)) }
}

fn render(page: &OptionPage<'_>) -> RenderedPage {
    item::page(&shell(), 200, page)
}

fn plain(item: SectionOption, setting: &OptionSetting) -> OptionPage<'_> {
    OptionPage {
        item,
        setting,
        in_force: None,
        lines: &[],
        rules: &[],
        stamp: "5a",
        url: None,
        refused: None,
    }
}

#[test]
#[ignore = "slow"]
fn every_option_has_a_page_with_its_control() {
    for section in SECTIONS {
        for option in section.options {
            let none = OptionSetting::default();
            let page = render(&plain(SectionOption { section, option }, &none));
            assert_harmless(&page);
            let body = page.body;
            assert!(body.contains(&format!("<h1>{}.{}</h1>", section.name, option.key)), "{body}");
            assert!(body.contains(r#"name="token" value="f00""#) && body.contains(r#"value="5a""#));
            let has_rules = body.contains(r#"value="add-rule""#);
            assert_eq!(has_rules, option.rules, "{}.{}", section.name, option.key);
            assert!(!body.contains(r#"value="unset""#), "nothing is set");
            assert!(!body.contains('`'), "words to type are shown as code: {body}");
        }
    }
}

#[test]
fn an_input_field_shows_the_set_value() {
    let body = |section, key, value| render(&plain(item(section, key), &setting(value))).body;
    let level = body("options", "log-level", "'warn'");
    assert!(level.contains(r#"<option value="warn" selected="selected">warn</option>"#), "{level}");
    assert!(level.contains(r#"value="unset""#));
    let yes = body("options", "finish-downloads", "false");
    assert!(yes.contains(r#"<option value="false" selected="selected">no</option>"#), "{yes}");
    let odd = body("options", "finish-downloads", "\"perhaps\"");
    assert!(odd.contains("perhaps") && odd.contains("selected"), "{odd}");
    let text = body("options", "connect-timeout", "\"5s\" ");
    assert!(text.contains(r#"name="value" value="5s""#), "{text}");
}

#[test]
fn a_refused_value_is_shown_again_in_its_form() {
    let refused = RejectedInput {
        act: OptionAction::Set,
        value: "thirty".to_owned(),
        urls: String::new(),
        index: None,
        faults: vec!["\"connect-timeout\" takes a time".to_owned()],
    };
    let at = setting("\"5s\"");
    let page =
        OptionPage { refused: Some(&refused), ..plain(item("options", "connect-timeout"), &at) };
    let body = render(&page).body;
    assert!(body.contains(r#"name="value" value="thirty""#) && body.contains(r#"role="alert""#));
    assert!(body.contains("takes a time") && body.contains("Nothing was changed"));
}

#[test]
fn a_secret_is_never_in_a_page() {
    for (section, key) in
        [("startup", "password"), ("allowed-connect-users", "users"), ("proxy", "auth-password")]
    {
        let at = setting("\"(hidden)\"");
        let refused = RejectedInput {
            act: if key == "users" { OptionAction::Add } else { OptionAction::Set },
            value: "s3cr3t".to_owned(),
            urls: "*://*/*".to_owned(),
            index: None,
            faults: vec!["no".to_owned()],
        };
        let page = OptionPage { refused: Some(&refused), ..plain(item(section, key), &at) };
        let page = render(&page);
        assert_harmless(&page);
        assert!(!page.body.contains("s3cr3t") && !page.body.contains("(hidden)"), "{}", page.body);
        assert!(page.body.contains("<b>set</b>"), "{}", page.body);
    }
}

#[test]
#[ignore = "slow"]
fn hostile_values_are_text_on_the_page_of_an_option() {
    for hostile in &hostile() {
        // A form must contain the value that it changes, even if it has a password in a URL.
        let hostile = &hostile.replace("hunter2", "");
        for (section, key) in [
            ("options", "log-level"),
            ("options", "connect-timeout"),
            ("dont-get", "urls"),
            ("offline-options", "dont-request"),
            ("censor-header", "headers"),
        ] {
            let value = quoted(hostile);
            let array = format!("[{value}, {{ file = {value} }}]");
            let value = if key == "urls" { array } else { value };
            let at = OptionSetting {
                value: Some(value.clone()),
                place: Some((1, Some(hostile.clone()))),
            };
            let options = vec![(key.to_owned(), value.clone()), (hostile.clone(), value)];
            let rule = Rule { urls: vec![hostile.clone()], options };
            let rule = RuleState { section: "dont-get", index: 0, line: 1, rule };
            let file = lines(hostile, 1, 3);
            for act in [
                OptionAction::Set,
                OptionAction::Add,
                OptionAction::AddRule,
                OptionAction::SetRule,
                OptionAction::Remove,
            ] {
                let refused = RejectedInput {
                    act,
                    value: hostile.clone(),
                    urls: hostile.clone(),
                    index: Some(0),
                    faults: vec![crate::base::shown::text(hostile)],
                };
                assert_harmless(&render(&OptionPage {
                    in_force: Some(hostile),
                    lines: &file,
                    rules: std::slice::from_ref(&rule),
                    url: Some(hostile),
                    refused: Some(&refused),
                    ..plain(item(section, key), &at)
                }));
            }
        }
    }
}

#[test]
fn the_index_lists_set_options_and_escapes_names() {
    let faults = Config::parse("[options]\nx = 1\n", Path::new("w.conf")).unwrap_err();
    let changed = changes("", "[options]\nlog-level = 'warn'\n[startup]\nmax-connections = 1\n");
    for hostile in &hostile() {
        let page = index::page(
            &shell(),
            200,
            &ConfigurationIndex {
                file: hostile,
                exists: true,
                stamp: "5a",
                in_force: false,
                faults: Some(&faults),
                restart: &changed,
                versions: &[(7, time(), &changed), (8, time(), &[])],
                set: &[("options", "log-level"), ("options", "for")],
                later: &[("options", "log-level")],
                url: Some(hostile),
                words: hostile.get(..200).unwrap_or(hostile),
            },
        );
        assert_harmless(&page);
        let body = page.body;
        assert!(body.contains("1 of ") && body.contains("1 rule"), "{body}");
        assert!(body.contains("has no option"), "{body}");
        assert!(body.contains(r#"name="version" value="7""#));
        assert!(body.contains("startup.max-connections"));
    }
}

#[test]
fn a_section_shows_options_and_rules() {
    let section = item("offline-options", "dont-request").section;
    for hostile in &hostile() {
        let settings: Vec<_> = section.options.iter().map(|_| setting(&quoted(hostile))).collect();
        let options =
            vec![("dont-request".to_owned(), hostile.clone()), (hostile.clone(), hostile.clone())];
        let rule = Rule { urls: vec![hostile.clone(); 12], options };
        let rule = RuleState { section: section.name, index: 0, line: 9, rule };
        let part = SectionPage {
            section,
            settings: &settings,
            rules: &[rule],
            url: Some(hostile.as_str()),
        };
        // A real request has no URL of this length, because the browser limits the length of the
        // page's address. So leave out the URL that the links would pass on.
        let part = if hostile.len() > 1_000 { SectionPage { url: None, ..part } } else { part };
        let page = part::page(&shell(), &part);
        assert_harmless(&page);
        assert!(page.body.contains("line 9") && page.body.contains("and 2 more"));
    }
}

#[test]
#[ignore = "slow"]
fn a_change_and_a_conflict_show_both_texts() {
    let old = "[options]\nlog-level = 'warn'\n";
    let new = "[options]\nlog-level = 'info'\n";
    for hostile in &hostile() {
        let (old, new) = (format!("{old}# {hostile}"), format!("{new}# {hostile}x"));
        let changed = changes(old.as_str(), new.as_str());
        let change = LastChange {
            old: Some(&old),
            new: &new,
            options: &changed,
            restart: &changed,
            version: Some(3),
            stamp: "5a",
            file: hostile,
            was_so: false,
        };
        let page = changed::page(&shell(), &change);
        assert_harmless(&page);
        assert!(page.body.contains("Undo this change"));
        let same = changed::page(&shell(), &LastChange { was_so: true, ..change });
        assert!(same.body.contains("Nothing to change"));
        let first = LastChange { old: None, version: None, ..change };
        assert_harmless(&changed::page(&shell(), &first));
        let short: String = hostile.replace("hunter2", "").chars().take(40).collect();
        let fields = [("do".to_owned(), "set".to_owned()), ("value".to_owned(), short)];
        let fits = crate::base::shown::line(hostile) == *hostile;
        let conflict = ConfigurationConflict {
            known: Some(&old),
            current: &new,
            wanted: Some(&old),
            file: hostile,
            path: "/configuration/options/log-level",
            look: "/configuration/options/log-level",
            fields: fits.then_some(&fields),
        };
        let page = changed::conflict(&shell(), &conflict);
        assert_eq!(page.status, 409);
        assert_harmless(&page);
        assert_eq!(page.body.contains("Apply my change"), fits);
        for (known, wanted) in [(None, None), (None, Some("x"))] {
            let bare = ConfigurationConflict { known, wanted, fields: None, ..conflict };
            assert_harmless(&changed::conflict(&shell(), &bare));
        }
        let gone = ConfigurationConflict { current: "", wanted: None, ..conflict };
        assert_harmless(&changed::conflict(&shell(), &gone));
    }
}

#[test]
#[ignore = "slow"]
fn the_options_of_a_url_are_shown_with_their_location() {
    let text = "[dont-get]\nurls = [\n  \"*://ads.example/*\",\n]\n[startup]\npassword = \"\"\n";
    let config = Config::parse(text, Path::new("w.conf")).unwrap();
    let url = CanonicalUrl::parse("http://ads.example/b?x=1", &LocalHost::default()).unwrap();
    let values = config.explain(&url);
    let page = UrlPage { url: url.as_str(), values: Some(&values), fault: None };
    let page = url::page(&shell(), &page);
    assert_harmless(&page);
    let body = page.body;
    for want in [
        "dont-get.urls",
        "w.conf:3",
        "create a rule",
        "Options with their default value",
        "/configuration/editurl?http",
    ] {
        assert!(body.contains(want), "{want} in {body}");
    }
    // Each option for which a rule can be created repeats the URL, if the page has room for that.
    for (count, is_repeated) in [(1, true), (76, true), (77, false), (300, false)] {
        let url = format!("http://ads.example/{}", "%3C".repeat(count));
        let page = UrlPage { url: &url, values: Some(&values), fault: None };
        let page = url::page(&shell(), &page);
        assert_harmless(&page);
        assert_eq!(page.body.contains("urls?http"), is_repeated, "{count}");
    }
    for hostile in hostile().iter().filter(|hostile| hostile.len() < 1_000) {
        for (values, fault) in
            [(Some(values.as_slice()), None), (None, None), (None, Some("no URL"))]
        {
            let page = UrlPage { url: hostile, values, fault };
            assert_harmless(&url::page(&shell(), &page));
        }
    }
}

#[test]
fn a_specification_is_built_from_a_url() {
    let url = "https://www.example.org:8443/a/\"%3Cb%3E.html?<script>";
    let url = CanonicalUrl::parse(url, &LocalHost::default()).unwrap();
    for hostile in &hostile() {
        let builder = SpecificationForm { url: Some(&url), refused: Some((hostile, "it is none")) };
        let page = specification::page(&shell(), &builder);
        assert_harmless(&page);
        assert_eq!(page.status, 422);
        assert!(page.body.contains("it is none"));
    }
    let builder = SpecificationForm { url: None, refused: None };
    assert_harmless(&specification::page(&shell(), &builder));
}

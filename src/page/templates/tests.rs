use std::sync::Arc;

use super::{BUILT_IN, Templates};
use crate::page::testing;
use crate::page::{Shell, style};

#[test]
fn the_built_in_templates_parse() {
    let environment = super::environment();
    assert_eq!(environment.templates().count(), BUILT_IN.len());
}

#[test]
fn a_user_template_replaces_the_built_in_one() {
    let own = ("undone.html".to_owned(), "<p>{{ page.url.text }} & {{ mode }}</p>".to_owned());
    let (templates, faults) = Templates::new([own]);
    assert!(faults.is_empty());
    assert_eq!(
        testing::undone(&Arc::new(templates)).body,
        "<p>http://a.example/&lt;b&gt; & offline</p>"
    );
}

#[test]
fn a_faulty_template_is_replaced_by_the_built_in_one() {
    let parse = ("undone.html".to_owned(), "{% if %}".to_owned());
    let (templates, faults) = Templates::new([parse]);
    let templates = Arc::new(templates);
    assert_eq!(faults[0].to_string(), "\"undone.html\" cannot be used");
    let built_in = testing::undone(&Arc::default());
    assert_eq!(testing::undone(&templates), built_in);

    let undefined = ("undone.html".to_owned(), "{{ page.nothing }}".to_owned());
    let (templates, faults) = Templates::new([undefined]);
    let templates = Arc::new(templates);
    assert!(faults.is_empty());
    assert_eq!(testing::undone(&templates), built_in);
    // A failure is logged once, not with each page.
    assert!(!templates.record_failure("undone.html") && templates.record_failure("queue.html"));

    let loops = "{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}";
    let (templates, _) = Templates::new([("undone.html".to_owned(), loops.to_owned())]);
    assert_eq!(testing::undone(&Arc::new(templates)), built_in);
}

/// Returns a catalogue with a translation of "Queue".
fn queue(translated: &str) -> String {
    let head = "msgid \"\"\nmsgstr \"Plural-Forms: nplurals=1; plural=0;\\n\"\n\n";
    format!("{head}msgid \"Queue\"\nmsgstr \"{translated}\"\n")
}

#[test]
fn the_language_is_chosen_by_setting_or_browser() {
    let (templates, faults) = Templates::new([
        ("de.po".to_owned(), queue("Reihe")),
        ("ar.po".to_owned(), queue("")),
        ("pt-br.po".to_owned(), queue("")),
        ("x/y.po".to_owned(), queue("")),
    ]);
    assert_eq!(
        faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["\"x/y.po\" cannot be used"]
    );
    for (chosen, accepted, want) in [
        ("", None, "en ltr Queue"),
        ("", Some("de"), "de ltr Reihe"),
        ("", Some("de-CH, de;q=0.9, en;q=0.8"), "de ltr Reihe"),
        ("", Some("xx, ar-EG;q=0.9, de;q=0.8"), "ar rtl Queue"),
        ("", Some("xx, *;q=0.5"), "en ltr Queue"),
        ("", Some("de;q=0, *"), "en ltr Queue"),
        ("", Some("pt"), "en ltr Queue"),
        ("", Some("pt-BR"), "pt-br ltr Queue"),
        ("", Some("\u{1}"), "en ltr Queue"),
        ("de", Some("ar"), "de ltr Reihe"),
        ("DE", None, "de ltr Reihe"),
        ("xx", Some("de"), "de ltr Reihe"),
        ("en", Some("de"), "en ltr Queue"),
    ] {
        let language = templates.language(chosen, accepted);
        let translated = templates.in_language(&templates.languages[language.0]);
        let got = translated
            .built_in
            .render_str("{{ lang }} {{ direction }} {{ t(\"Queue\") }}", ())
            .unwrap();
        assert_eq!(got, want, "{chosen:?} {accepted:?}");
    }
}

#[test]
fn a_catalogue_is_loaded_at_its_first_use() {
    let own = [("nl.po".to_owned(), queue("Rij"))];
    let (templates, faults) = Templates::new(own);
    let templates = Arc::new(templates);
    assert!(faults.is_empty());
    let shown = |language| {
        let shell = Shell { language, templates: templates.clone(), ..testing::shell() };
        crate::page::undone::page(&shell, "http://a/", true).body
    };
    let are_ready = || {
        let languages = templates.languages.iter();
        let ready = languages.filter(|spoken| spoken.templates.get().is_some());
        ready.map(|spoken| spoken.tag.as_str()).collect::<Vec<_>>()
    };
    assert!(are_ready().is_empty());
    shown(templates.language("", None));
    let dutch = templates.language("", Some("nl"));
    assert_eq!(are_ready(), ["en"]);
    let page = shown(dutch);
    assert_eq!(are_ready(), ["en", "nl"]);
    // A text of the user, and a built-in text that the user has not replaced.
    assert!(page.contains("<html lang=\"nl\"") && page.contains(">Rij<"), "{page}");
    assert!(page.contains(">Zoeken<"), "{page}");
}

#[test]
fn the_style_loads_nothing_and_ends_no_element() {
    let css = style(&Templates::default()).body;
    for bad in ["url(", "@import", "</", "<!"] {
        assert!(!css.contains(bad), "{bad}");
    }
    assert!(css.len() <= 24_000, "{} bytes", css.len());
}

/// Pages that ask one question, or report one event: their first line is the question or the event.
const WITHOUT_LEAD: [&str; 10] = [
    "address.html",
    "configuration-changed.html",
    "configuration-conflict.html",
    "confirm-post.html",
    "control-confirm.html",
    "gateway-send.html",
    "history-none.html",
    "message.html",
    "question.html",
    "undone.html",
];

#[test]
fn the_first_line_of_each_page_says_what_it_is_for() {
    for (name, text) in BUILT_IN.iter().filter(|(_, text)| text.contains("extends \"base.html\"")) {
        let has_lead = text.contains("<p class=\"lead\"");
        assert_eq!(has_lead, !WITHOUT_LEAD.contains(name), "{name}");
    }
}

//! The local page `/queue/edit`: the fetch settings of one request, and a form that changes them.

use crate::page::links;

use super::PATH;
use crate::base::shown::ShownUrl;
use crate::base::text::tr;
use crate::page::form::SelectOption;
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::fetches::page::{check_boxes, link_fields};
use wwwoffle_api::fetch_spec::FetchSpec;
use wwwoffle_api::{Priority, QueueItem, RequestKind};

/// Link depths that the form offers, in addition to the current one.
const DEPTHS: [u16; 6] = [0, 1, 2, 3, 4, 5];

/// Returns the arguments that follow the key in the address of the page, so that the page links
/// back to `back`, an address of the queue.
pub(super) fn back_arguments(back: &str) -> String {
    let arguments = back.strip_prefix(PATH).and_then(|rest| rest.strip_prefix('?'));
    arguments.map(|arguments| format!("&{arguments}")).unwrap_or_default()
}

/// Renders the page. `spec` is set if the request itself has settings for further fetches; `back`
/// is the page of the queue to return to.
#[must_use]
pub fn page(
    shell: &Shell,
    (item, spec): (&QueueItem, Option<&FetchSpec>),
    back: &str,
) -> RenderedPage {
    let why = match item.kind {
        _ if spec.is_some() => None,
        RequestKind::Post => Some(tr("A form is sent once, as you filled it in.")),
        RequestKind::Monitored => Some(tr("This page is monitored. Its monitoring settings say \
            what else is fetched.")),
        RequestKind::Part => Some(tr("It is a part of a page, so it has no other settings.")),
        RequestKind::Page | RequestKind::Refresh | RequestKind::Recursive => {
            Some(tr("This request was added by the fetch of another page. The settings of that \
                fetch say what else is fetched."))
        }
    };
    let elsewhere = match item.kind {
        RequestKind::Monitored => Some(links::monitor(&item.url)),
        RequestKind::Recursive => Some("/fetches/".to_owned()),
        _ => None,
    };
    let view = view! {
        key: &item.key,
        back,
        url: ShownUrl::new(&item.url),
        info: links::info(&item.url),
        priorities: priorities(item.priority),
        bring: spec.map(further_fetches),
        elsewhere: elsewhere.filter(|_| why.is_some()),
        // Reason why the other settings cannot be changed here; `elsewhere` is the page where they
        // can be changed.
        why,
    };
    shell.page("queue-edit.html", 200, &view)
}

fn priorities(chosen: Priority) -> Vec<SelectOption> {
    let choice = |value: Priority, label| SelectOption {
        value: value.as_str(),
        label,
        chosen: value == chosen,
    };
    vec![
        choice(Priority::First, tr("before all others")),
        choice(Priority::Usual, tr("in the usual order")),
        choice(Priority::Last, tr("after all others")),
    ]
}

/// Returns the further fetches that the request starts.
fn further_fetches(spec: &FetchSpec) -> View {
    let mut depths: Vec<_> = DEPTHS.into_iter().collect();
    if !depths.contains(&spec.depth) {
        depths.push(spec.depth);
    }
    let depth = |number: u16| view! { number, chosen: number == spec.depth };
    view! {
        parts: check_boxes(spec),
        depths: depths.into_iter().map(depth).collect::<Vec<_>>(),
        links: link_fields(&spec.depth.to_string(), &spec.scope),
        force: spec.force,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::item;
    use super::*;
    use crate::page::testing::{as_key, assert_harmless, hostile, shell};
    use wwwoffle_api::ItemState;
    use wwwoffle_api::fetch_spec::PartClass;

    fn body(item: &QueueItem, spec: Option<&FetchSpec>) -> String {
        let page = page(&shell(), (item, spec), "/queue/?page=2");
        assert_harmless(&page);
        page.body
    }

    #[test]
    fn the_edit_form_shows_the_current_settings() {
        let spec = FetchSpec {
            depth: 9,
            parts: [(PartClass::Images, true)].into(),
            force: true,
            ..FetchSpec::default()
        };
        let first = QueueItem {
            priority: Priority::First,
            ..item("http://a.example/", None, ItemState::Waiting)
        };
        let body = body(&first, Some(&spec));
        for want in [
            r#"action="http://localhost:8080/control/queue/edit""#,
            r#"name="back" value="/queue/?page=2""#,
            r#"<option value="first" selected="selected">"#,
            r#"<option value="9" selected="selected">"#,
            r#"name="images" value="Y" id="images" checked"#,
            r#"name="force" value="Y" id="force" checked"#,
            "/info/?http://a.example/",
        ] {
            assert!(body.contains(want), "{want} in {body}");
        }
        assert!(!body.contains(r#"id="scripts" checked"#), "{body}");
    }

    #[test]
    fn only_priority_can_be_edited_for_dependent_requests() {
        for (kind, want) in [
            (RequestKind::Post, "sent once"),
            (RequestKind::Part, "part of a page"),
            (RequestKind::Monitored, "/monitor-options/?http://a.example/"),
            (RequestKind::Recursive, "/fetches/"),
        ] {
            let item = QueueItem { kind, ..item("http://a.example/", None, ItemState::Waiting) };
            let body = body(&item, None);
            assert!(body.contains(want) && body.contains("name=\"priority\""), "{want} in {body}");
            assert!(!body.contains("name=\"depth\""), "{body}");
        }
    }

    #[test]
    fn hostile_values_are_text() {
        for hostile in &hostile() {
            let key = as_key(hostile).to_owned();
            let item = QueueItem { key, ..item(hostile, Some(hostile), ItemState::Failed) };
            body(&item, Some(&FetchSpec::default()));
        }
    }

    #[test]
    fn the_edit_address_leads_back_to_the_list() {
        for (back, want) in
            [("/queue/", ""), ("/queue/?state=failed&page=2", "&state=failed&page=2")]
        {
            assert_eq!(back_arguments(back), want);
        }
    }
}

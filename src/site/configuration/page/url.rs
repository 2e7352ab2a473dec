//! `/configuration/url?URL`: the value of every option for one URL.

use crate::page::links;
use wwwoffle_config::OptionExplanation;
use wwwoffle_config::schema::SECTIONS;
use wwwoffle_url::url_encode_form_args;

use super::short;
use crate::base::shown::{self, ShownUrl};
use crate::page::{RenderedPage, Shell, view};

/// Maximum length of the URL in each link for a new rule, in bytes of an address. With longer ones
/// the page would have more than 100 kB.
const LONGEST_REPEATED: usize = 400;

/// The content of the page.
#[derive(Clone, Copy, Debug)]
pub struct UrlPage<'a> {
    /// The URL in canonical form, or the invalid input.
    pub url: &'a str,
    /// The values that apply to the URL; `None` if the input is not a URL.
    pub values: Option<&'a [OptionExplanation]>,
    /// Error message if the input is neither a URL nor a pattern.
    pub fault: Option<&'a str>,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, content: &UrlPage<'_>) -> RenderedPage {
    let mut set = Vec::new();
    let mut unset = Vec::new();
    let carried = url_encode_form_args(content.url.as_bytes()).len();
    let carried = Some(content.url).filter(|_| carried <= LONGEST_REPEATED);
    let options = SECTIONS
        .iter()
        .flat_map(|section| section.options.iter().map(move |option| (section, option)));
    for (section, option) in options {
        let explained = content.values.and_then(|values| {
            values.iter().find(|one| (one.section, one.key) == (section.name, option.key))
        });
        let may_rule = option.rules || option.kind.starts_with("URL-SPECIFICATIONs");
        let is_set = explained.is_some_and(|one| one.location.is_some() || one.rule.is_some());
        if !is_set && !may_rule {
            continue;
        }
        let value = explained.map_or(option.default, |one| one.value.as_str());
        let place = explained.and_then(|one| one.location.as_ref());
        let rule = explained.and_then(|one| one.rule.as_ref());
        let is_hidden = option.is_secret && is_set;
        let row = view! {
            name: format!("{}.{}", section.name, option.key),
            path: links::configuration(&[section.name, option.key], None),
            // The form for a new rule, filled in with the URL.
            rule_path: links::configuration(&[section.name, option.key], carried),
            value: if is_hidden { String::new() } else { short(value) },
            // Whether the value is a secret. Then the page only shows that it is set.
            is_hidden,
            place: place.map(|place| shown::text(&place.to_string())),
            rule: rule.map(|rule| shown::text(&format!("{} ({})", rule.spec(), rule.location()))),
            may_rule,
            is_list: !option.rules,
            effect: option.effect.as_str(),
        };
        if is_set { set.push(row) } else { unset.push(row) }
    }
    let view = view! {
        url: (!content.url.is_empty()).then(|| ShownUrl::new(content.url)),
        typed: if content.url.len() > super::control::LONGEST_VALUE {
            String::new()
        } else {
            shown::full_text(content.url)
        },
        is_pattern: content.values.is_none() && content.fault.is_none() && !content.url.is_empty(),
        fault: content.fault.map(shown::text),
        edit: links::configuration(&["editurl"], Some(content.url)),
        set,
        unset,
    };
    let status = if content.fault.is_some() { 400 } else { 200 };
    shell.page("configuration-url.html", status, &view)
}

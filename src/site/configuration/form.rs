//! The forms of the configuration pages.

use hyper::{Response, StatusCode};
use wwwoffle_config::edit::{Edit, without_secrets};
use wwwoffle_config::{ChangeError, Faults, TextStamp, UrlSpec};

use super::super::caller::Caller;
use super::super::forms::FormError;
use super::preset::{self, ConfigPreset, Surroundings};
use super::{
    CurrentConfiguration, answer, builder, failed, included_options, index, item_at, option,
    preset_page,
};
use crate::base::blocking::blocking;
use crate::base::error_chain::error_chain;
use crate::base::live::{Change, ConfigFileChange};
use crate::base::shown;
use crate::page::form::SubmittedForm;
use crate::page::links;
use crate::proxy::body::Body;
use crate::site::configuration::page::changed::{self, ConfigurationConflict};
use crate::site::configuration::page::control::OptionControl;
use crate::site::configuration::page::index::shown_faults;
use crate::site::configuration::page::item::{OptionAction, RejectedInput};
use crate::site::configuration::page::specification::{OTHER, SpecificationParts};
use crate::site::configuration::page::{self, SectionOption};

/// Path of the page about the last change.
const CHANGED: &str = "/configuration/changed";

/// Makes the change that `form` describes. The form is from the page of the option at `path`.
pub(in crate::site) async fn submit_option(
    caller: &Caller,
    path: &str,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let Some(item) = item_at(path) else { return Ok(caller.see_other(links::CONFIGURATION)) };
    Ok(edit(caller, item, form).await.unwrap_or_else(|error| failed(caller, &error)))
}

/// Restores the version in the field `version`.
pub(in crate::site) async fn submit_undo(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    Ok(undo(caller, form).await.unwrap_or_else(|error| failed(caller, &error)))
}

/// Reloads the configuration file. If the file has faults, shows them.
pub(in crate::site) async fn reload(caller: &Caller) -> Result<Response<Body>, FormError> {
    Ok(match caller.context.base.reload().await {
        Ok(_) => caller.see_other(links::CONFIGURATION),
        Err(_faults) => {
            answer(caller, index(caller, StatusCode::UNPROCESSABLE_ENTITY, None, "").await)
        }
    })
}

/// Returns the stamp of the text for which a form was made.
fn expected(form: &SubmittedForm) -> Option<TextStamp> {
    form.value("stamp")?.parse().ok()
}

const NO_STAMP: &str =
    "the form does not say which text of the file it is meant for: load the page again";

async fn edit(
    caller: &Caller,
    item: SectionOption,
    form: &SubmittedForm,
) -> Result<Response<Body>, ChangeError> {
    let Some(act) = form.value("do").and_then(OptionAction::named) else {
        return Ok(caller.bad_form(StatusCode::BAD_REQUEST, "expected a form of the option's page"));
    };
    let Some(expected) = expected(form) else {
        return Ok(caller.bad_form(StatusCode::BAD_REQUEST, NO_STAMP));
    };
    let seen = CurrentConfiguration::of(caller).await?;
    let path = links::configuration(&[item.section.name, item.option.key], None);
    let wanted = match edit_of_form(&seen, item, act, form) {
        Ok(wanted) => wanted,
        Err(fault) => return Ok(refused(caller, &seen, item, act, form, vec![fault])),
    };
    match caller
        .context
        .base
        .change_config(Change::Edit(wanted), Some(expected), caller.permission.reach())
        .await
    {
        Ok(done) => Ok(changed_page(caller, &done, expected)),
        Err(ChangeError::Conflict { current, wanted }) => {
            // A rule is named by its number, which may denote another rule by now. A form with a
            // secret cannot be repeated, because no page may contain secrets.
            let may_repeat = !matches!(act, OptionAction::SetRule | OptionAction::UnsetRule)
                && !item.option.is_secret;
            let change = StaleChange { expected, current, wanted, path: &path };
            conflict(caller, change, form, may_repeat && fits_again(form)).await
        }
        Err(ChangeError::Edit(error)) => {
            let faults = vec![shown::text(&error.to_string())];
            Ok(refused(caller, &seen, item, act, form, faults))
        }
        Err(ChangeError::Faults(faults)) => {
            Ok(refused(caller, &seen, item, act, form, fault_texts(&faults)))
        }
        Err(error) => Err(error),
    }
}

pub(super) fn fault_texts(faults: &Faults) -> Vec<String> {
    let (mut texts, more) = shown_faults(faults);
    if more > 0 {
        texts.push(format!("and {more} more"));
    }
    texts
}

/// Whether the fields of a form can be repeated in a page without changing their values.
fn fits_again(form: &SubmittedForm) -> bool {
    form.fields().all(|(_, value)| value.lines().all(|line| shown::line(line) == line))
}

/// Redirects to the page about a change. `expected` is the stamp of the text before the change.
fn changed_page(caller: &Caller, done: &ConfigFileChange, expected: TextStamp) -> Response<Body> {
    if done.text.stamp == expected {
        return caller.see_other(&format!("{CHANGED}?same"));
    }
    caller.see_other(CHANGED)
}

/// Shows the page of the option again, with the typed value and the error message.
fn refused(
    caller: &Caller,
    seen: &CurrentConfiguration,
    item: SectionOption,
    act: OptionAction,
    form: &SubmittedForm,
    faults: Vec<String>,
) -> Response<Body> {
    let value = if item.option.is_secret { "" } else { form.value("value").unwrap_or_default() };
    let refused = RejectedInput {
        act,
        value: value.to_owned(),
        urls: form.value("urls").unwrap_or_default().to_owned(),
        index: number(form, "index"),
        faults,
    };
    caller.page(option(caller, seen, item, None, Some(&refused)))
}

fn number(form: &SubmittedForm, name: &str) -> Option<usize> {
    form.value(name)?.parse().ok()
}

/// Returns the edit that a form requests.
fn edit_of_form(
    seen: &CurrentConfiguration,
    item: SectionOption,
    act: OptionAction,
    form: &SubmittedForm,
) -> Result<Edit, String> {
    let SectionOption { section, option } = item;
    let typed = form.value("value").unwrap_or_default();
    let (name, key) = (section.name.to_owned(), option.key.to_owned());
    let control = OptionControl::of(option);
    // The page counts from 1.
    let before = number(form, "before").and_then(|number| number.checked_sub(1));
    Ok(match act {
        OptionAction::Set => Edit::Set { section: name, key, value: control.value(typed) },
        OptionAction::Unset => Edit::Unset { section: name, key },
        OptionAction::Add if typed.trim().is_empty() => return Err("expected an entry".to_owned()),
        OptionAction::Add => {
            Edit::Add { section: name, key, item: typed.trim().to_owned(), before }
        }
        OptionAction::Remove => Edit::Remove { section: name, key, item: typed.to_owned() },
        OptionAction::AddRule => {
            let options = vec![(key, control.value(typed))];
            Edit::AddRule { section: name, url: urls(form, &[])?, options, before }
        }
        OptionAction::SetRule | OptionAction::UnsetRule => {
            let index = number(form, "index").ok_or("expected the number of a rule")?;
            let mut rules = seen.rules(section).into_iter();
            // If the rule is missing, the text has changed since the page was made. Then the edit
            // is refused, because the stamp in the form does not match the text.
            let rule = rules.find(|state| state.index == index).map(|state| state.rule);
            let rule = rule.unwrap_or_default();
            let mut options = rule.options;
            if act == OptionAction::UnsetRule {
                options.retain(|(of, _)| *of != key);
                if options.is_empty() {
                    return Ok(Edit::RemoveRule { section: name, index, url: rule.urls });
                }
                let (was, url) = (rule.urls.clone(), rule.urls);
                return Ok(Edit::ReplaceRule { section: name, index, was, url, options });
            }
            let keep = option.is_secret && typed.is_empty();
            if let Some((_, value)) = options.iter_mut().find(|(of, _)| *of == key && !keep) {
                *value = control.value(typed);
            }
            let url = urls(form, &rule.urls)?;
            Edit::ReplaceRule { section: name, index, was: rule.urls, url, options }
        }
    })
}

/// Parses the URL-SPECIFICATIONs of a rule, one per line. Those in `known` are already in the rule
/// and are not validated, because they may name the file of a list.
fn urls(form: &SubmittedForm, known: &[String]) -> Result<Vec<String>, String> {
    let typed = form.value("urls").unwrap_or_default();
    let lines = typed.lines().map(str::trim).filter(|line| !line.is_empty());
    let urls: Vec<String> = lines.map(str::to_owned).collect();
    for url in urls.iter().filter(|url| !known.contains(url)) {
        if let Err(error) = UrlSpec::parse(url) {
            return Err(format!("{:?} is no URL-SPECIFICATION: {error}", shown::text(url)));
        }
    }
    if urls.is_empty() {
        return Err("expected a URL-SPECIFICATION, such as *://*.example.org/*".to_owned());
    }
    Ok(urls)
}

async fn undo(caller: &Caller, form: &SubmittedForm) -> Result<Response<Body>, ChangeError> {
    let Some(expected) = expected(form) else {
        return Ok(caller.bad_form(StatusCode::BAD_REQUEST, NO_STAMP));
    };
    let Some(version) = form.value("version").and_then(|version| version.parse().ok()) else {
        return Ok(caller.bad_form(StatusCode::BAD_REQUEST, "expected the number of a version"));
    };
    match caller
        .context
        .base
        .change_config(Change::Undo(Some(version)), Some(expected), caller.permission.reach())
        .await
    {
        Ok(done) => Ok(changed_page(caller, &done, expected)),
        Err(ChangeError::Conflict { current, wanted }) => {
            let change = StaleChange { expected, current, wanted, path: "/configuration/undo" };
            conflict(caller, change, form, true).await
        }
        Err(error) => Err(error),
    }
}

/// Applies the preset in the field `preset`, as one change of the file.
pub(in crate::site) async fn submit_preset(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    Ok(apply_preset(caller, form).await.unwrap_or_else(|error| failed(caller, &error)))
}

async fn apply_preset(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, ChangeError> {
    let Some(preset) = form.value("preset").and_then(ConfigPreset::named) else {
        return Ok(caller.bad_form(StatusCode::BAD_REQUEST, "expected the name of a preset"));
    };
    let Some(expected) = expected(form) else {
        return Ok(caller.bad_form(StatusCode::BAD_REQUEST, NO_STAMP));
    };
    let base = &caller.context.base;
    let (text, around) = (base.config_text().await?.text, Surroundings::of(caller, &base.config()));
    let lacks_password = preset.needs_password() && !around.has_password;
    if lacks_password || !included_options(caller, preset, &text, &around).await?.is_empty() {
        return Ok(caller.page(preset_page(caller, preset, &[]).await?));
    }
    let machine = around.clone();
    let wanted = blocking(move || preset::edited(preset, &text, &machine)).await?;
    let change = Change::Replace(wanted);
    match base.change_config(change, Some(expected), caller.permission.reach()).await {
        Ok(done) => Ok(changed_page(caller, &done, expected)),
        Err(ChangeError::Conflict { current, .. }) => {
            let wanted = preset::edited(preset, &current, &around).ok();
            let path = page::preset::PATH;
            conflict(caller, StaleChange { expected, current, wanted, path }, form, true).await
        }
        Err(ChangeError::Faults(faults)) => {
            let faults = fault_texts(&faults);
            Ok(caller.page(preset_page(caller, preset, &faults).await?))
        }
        Err(error) => Err(error),
    }
}

/// A change that was made for an earlier text of the file.
struct StaleChange<'a> {
    expected: TextStamp,
    current: String,
    wanted: Option<String>,
    path: &'a str,
}

async fn conflict(
    caller: &Caller,
    change: StaleChange<'_>,
    form: &SubmittedForm,
    may_repeat: bool,
) -> Result<Response<Body>, ChangeError> {
    let context = &caller.context;
    let StaleChange { expected, current, wanted, path } = change;
    let standing = context.base.config_standing().await?;
    let known = blocking(move || {
        let versions = standing.versions.into_iter().rev();
        let texts = versions.filter_map(|version| version.text().ok());
        let mut texts = std::iter::once(standing.in_force).chain(texts);
        texts.find(|text| TextStamp::of(text) == expected)
    })
    .await;
    let stamp = TextStamp::of(&current).to_string();
    let fields: Vec<(String, String)> = form
        .fields()
        .filter(|(name, _)| !matches!(*name, "token" | "stamp"))
        .chain([("stamp", stamp.as_str())])
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let known = known.as_deref().map(without_secrets);
    let may_repeat = may_repeat && wanted.is_some();
    let wanted = wanted.as_deref().map(without_secrets);
    let file = context.base.live.file().path().display().to_string();
    let is_page = !matches!(path, "/configuration/undo" | page::preset::PATH);
    let look = if is_page { path } else { "/configuration/" };
    let shown = changed::conflict(
        &caller.shell,
        &ConfigurationConflict {
            known: known.as_deref(),
            current: &without_secrets(&current),
            wanted: wanted.as_deref(),
            file: &file,
            path,
            look,
            fields: may_repeat.then_some(&fields),
        },
    );
    Ok(caller.page(shown))
}

/// Builds a URL-SPECIFICATION, and redirects to the page with the option values for it. If it is
/// invalid, shows the form again with the error.
pub(in crate::site) fn specification(caller: &Caller, form: &SubmittedForm) -> Response<Body> {
    let chosen_or_typed = |name: &str, other: &str| {
        let chosen = form.value(name).unwrap_or_default();
        let typed = form.value(other).unwrap_or_default();
        // Typed text takes precedence, even if its radio button is not selected.
        if chosen == OTHER || !typed.trim().is_empty() {
            typed.to_owned()
        } else {
            chosen.to_owned()
        }
    };
    let (protocol, host) =
        (chosen_or_typed("proto", "proto_other"), chosen_or_typed("host", "host_other"));
    let (port, path) =
        (chosen_or_typed("port", "port_other"), chosen_or_typed("path", "path_other"));
    let arguments = chosen_or_typed("args", "args_other");
    let parts = SpecificationParts {
        protocol: &protocol,
        host: &host,
        port: &port,
        path: &path,
        arguments: &arguments,
    };
    let spec = parts.specification();
    match UrlSpec::parse(&spec) {
        Ok(_) => caller.see_other(&links::configuration(&["url"], Some(&spec))),
        Err(error) => {
            let fault = error_chain(&error);
            caller.page(builder(caller, None, Some((&spec, &fault))))
        }
    }
}

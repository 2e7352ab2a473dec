//! The pages `/configuration/…`.

pub(crate) mod call;
pub(super) mod form;
pub mod page;
mod preset;

use hyper::{Response, StatusCode};
use jiff::Timestamp;
use wwwoffle_config::edit::{Overview, RuleState, overview, without_secrets};
use wwwoffle_config::schema::{SECTIONS, Section};
use wwwoffle_config::{ChangeError, Config, EarlierConfig, UrlSpec, changes};
use wwwoffle_url::CanonicalUrl;

use self::page::SectionOption;
use self::page::changed::{self, LastChange};
use self::page::diff::lines;
use self::page::find::LONGEST_WORDS;
use self::page::index::{self, ConfigurationIndex};
use self::page::item::{self, OptionPage, RejectedInput};
use self::page::part::{self, OptionSetting, SectionPage};
use self::page::preset::PresetPage;
use self::page::specification::{self, SpecificationForm};
use self::page::url::{self, UrlPage};
use self::preset::{ConfigPreset, Surroundings};
use super::address::url_in;
use super::caller::Caller;
use crate::base::blocking::blocking;
use crate::base::error_chain::error_chain;
use crate::base::live::ConfigFileState;
use crate::page::RenderedPage;
use crate::page::form::SubmittedForm;
use crate::page::links::{self, CONFIGURATION};
use crate::proxy::body::Body;

/// Maximum number of lines of the file shown for one option.
const MOST_LINES: usize = 20;

/// Returns the section of the configuration whose page is at `path`.
fn section_at(path: &str) -> Option<&'static Section> {
    let name = path.strip_prefix(CONFIGURATION)?;
    let name = name.strip_suffix('/').unwrap_or(name);
    SECTIONS.iter().find(|section| section.name == name)
}

/// Returns the option whose page is at `path`.
fn item_at(path: &str) -> Option<SectionOption> {
    let (name, key) = path.strip_prefix(CONFIGURATION)?.split_once('/')?;
    let section = SECTIONS.iter().find(|section| section.name == name)?;
    let option = section.options.iter().find(|option| option.key == key)?;
    Some(SectionOption { section, option })
}

/// Whether `path` is the page of a section.
pub(super) fn is_section(path: &str) -> bool {
    section_at(path).is_some()
}

/// Whether `path` is the page of an option.
pub(super) fn is_option(path: &str) -> bool {
    item_at(path).is_some()
}

/// Shows the file, its versions and the sections.
pub(super) async fn show_index(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let words = form.value("find");
    let about = if words.is_some() { None } else { url_argument(arguments) };
    let words: String = words.unwrap_or_default().chars().take(LONGEST_WORDS).collect();
    answer(caller, index(caller, StatusCode::OK, about.as_deref(), &words).await)
}

/// Shows the last change of the file.
pub(super) async fn show_last_change(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    answer(caller, last_change(caller, arguments == Some("same")).await)
}

/// Shows the value of every option for a URL.
pub(super) fn show_url(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let (context, typed) = (&caller.context, url_in(arguments));
    let text = typed.as_str();
    let parsed = CanonicalUrl::parse(text, &context.base.local);
    let is_pattern = text.contains('*') || text.starts_with(['!', '~']);
    let (url, values, fault) = match (parsed, UrlSpec::parse(text)) {
        _ if text.is_empty() => (String::new(), None, None),
        (_, Ok(_)) if is_pattern => (text.to_owned(), None, None),
        (Ok(url), _) => {
            let values = context.base.config().explain(&url);
            (url.without_credentials().as_str().to_owned(), Some(values), None)
        }
        (Err(error), _) => (text.to_owned(), None, Some(error_chain(&error))),
    };
    let page = UrlPage { url: &url, values: values.as_deref(), fault: fault.as_deref() };
    caller.page(url::page(&caller.shell, &page))
}

/// Shows the form that builds a URL-SPECIFICATION.
pub(super) fn show_builder(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let about = url_argument(arguments);
    caller.page(builder(caller, about.as_deref(), None))
}

/// Shows what a preset would change. Without the name of a preset, shows the presets.
pub(super) async fn show_preset(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    match arguments.and_then(ConfigPreset::named) {
        Some(preset) => answer(caller, preset_page(caller, preset, &[]).await),
        None => caller.see_other(&format!("{CONFIGURATION}#presets")),
    }
}

/// Renders the page of a preset, with the errors of a rejected form.
async fn preset_page(
    caller: &Caller,
    preset: ConfigPreset,
    rejected: &[String],
) -> Result<RenderedPage, ChangeError> {
    let seen = CurrentConfiguration::of(caller).await?;
    let around = Surroundings::of(caller, &seen.config);
    let lacks_password = preset.needs_password() && !around.has_password;
    let has_password = around.has_password;
    let text = seen.standing.text.text.clone();
    let included = included_options(caller, preset, &text, &around).await?;
    let (wanted, options) = blocking(move || {
        let wanted = preset::edited(preset, &text, &around)?;
        let options = changes(&text, &wanted);
        Ok::<_, ChangeError>((wanted, options))
    })
    .await?;
    let is_protected = options.iter().any(|change| {
        let item = item_at(&links::configuration(&[change.section, change.key], None));
        item.is_some_and(|item| item.option.protection.is_protected())
    });
    let has_button = caller.is_administrator() || has_password || !is_protected;
    let settings: Vec<_> =
        options.iter().map(|change| seen.setting(change.section, change.key)).collect();
    let page = PresetPage {
        preset,
        options: &options,
        settings: &settings,
        then: &overview(&wanted)?,
        faults: rejected,
        included: &included,
        lacks_password,
        has_button,
        stamp: &seen.standing.text.stamp.to_string(),
    };
    let status = if rejected.is_empty() { 200 } else { 422 };
    Ok(page::preset::page(&caller.shell, status, &page))
}

/// Returns the options of a preset that are set in included files, each with its file. If `text` is
/// not valid, returns those of the configuration in force.
async fn included_options(
    caller: &Caller,
    preset: ConfigPreset,
    text: &str,
    around: &Surroundings,
) -> Result<Vec<(String, String)>, ChangeError> {
    let base = &caller.context.base;
    let (file, in_force) = (base.live.file().path().to_owned(), base.config());
    let (text, around) = (text.to_owned(), around.clone());
    let find = move || {
        let parsed = Config::parse(&text, &file).ok();
        let config = parsed.as_ref().unwrap_or(&in_force);
        preset::included(preset, &text, &around, (config, &file))
    };
    Ok(blocking(find).await?)
}

/// Shows a section.
pub(super) async fn show_section(
    caller: &Caller,
    path: &str,
    arguments: Option<&str>,
) -> Response<Body> {
    let Some(section) = section_at(path) else { return caller.see_other(CONFIGURATION) };
    let about = url_argument(arguments);
    let page = CurrentConfiguration::of(caller).await.map(|seen| {
        let settings = seen.settings(section);
        let rules = seen.rules(section);
        let part =
            SectionPage { section, settings: &settings, rules: &rules, url: about.as_deref() };
        part::page(&caller.shell, &part)
    });
    answer(caller, page)
}

/// Shows an option.
pub(super) async fn show_option(
    caller: &Caller,
    path: &str,
    arguments: Option<&str>,
) -> Response<Body> {
    let Some(item) = item_at(path) else { return caller.see_other(CONFIGURATION) };
    let about = url_argument(arguments);
    let seen = CurrentConfiguration::of(caller).await;
    answer(caller, seen.map(|seen| option(caller, &seen, item, about.as_deref(), None)))
}

fn answer(caller: &Caller, page: Result<RenderedPage, ChangeError>) -> Response<Body> {
    page.map_or_else(|error| failed(caller, &error), |page| caller.page(page))
}

/// Returns the URL in the arguments of an address.
fn url_argument(arguments: Option<&str>) -> Option<String> {
    Some(url_in(arguments)).filter(|url| !url.is_empty())
}

/// The current file, and the configuration in force.
struct CurrentConfiguration {
    standing: ConfigFileState,
    overview: Overview,
    config: std::sync::Arc<Config>,
    file: String,
}

impl CurrentConfiguration {
    async fn of(caller: &Caller) -> Result<Self, ChangeError> {
        let context = &caller.context;
        let standing = context.base.config_standing().await?;
        let (standing, parsed) = blocking(move || {
            // A text that is not TOML sets no option; the page of the file shows the fault.
            let parsed = overview(&standing.text.text).or_else(|_| overview(""));
            (standing, parsed)
        })
        .await;
        let file = context.base.live.file().path().display().to_string();
        Ok(Self { standing, overview: parsed?, config: context.base.config(), file })
    }

    fn in_force(&self) -> bool {
        self.standing.text.text == self.standing.in_force
    }

    /// Returns the settings of a section's options, from the file or from the files it includes.
    fn settings(&self, section: &Section) -> Vec<OptionSetting> {
        section.options.iter().map(|option| self.setting(section.name, option.key)).collect()
    }

    fn setting(&self, section: &str, key: &str) -> OptionSetting {
        let mut options = self.overview.options.iter();
        let state = options.find(|one| one.section == section && one.option.key == key);
        if let Some(state) = state.filter(|state| state.value.is_some()) {
            let place = state.line.map(|line| (line, None));
            return OptionSetting { value: state.value.clone(), place };
        }
        let elsewhere = self
            .config
            .setting_of(section, key)
            .filter(|(_, place)| place.file().display().to_string() != self.file);
        elsewhere.map_or_else(OptionSetting::default, |(value, place)| OptionSetting {
            value: Some(value.to_owned()),
            place: Some((place.line(), Some(place.file().display().to_string()))),
        })
    }

    fn rules(&self, section: &Section) -> Vec<RuleState> {
        let rules = self.overview.rules.iter().filter(|rule| rule.section == section.name);
        rules.cloned().collect()
    }
}

/// Renders the page of an option. Rejected input is shown again in its form.
fn option(
    caller: &Caller,
    seen: &CurrentConfiguration,
    item: SectionOption,
    about: Option<&str>,
    refused: Option<&RejectedInput>,
) -> RenderedPage {
    let SectionOption { section, option } = item;
    let setting = seen.setting(section.name, option.key);
    let rules = seen.rules(section);
    let text = &seen.standing.text;
    let here = setting.place.as_ref().filter(|(_, file)| file.is_none() && !option.is_secret);
    let lines = here.map(|(line, _)| {
        let height = setting.value.as_deref().map_or(0, |value| value.matches('\n').count());
        let above = comment_above(&text.text, *line);
        lines(&text.text, line - above, line + height.min(MOST_LINES))
    });
    let in_force = seen.config.setting_of(section.name, option.key);
    let in_force = in_force.map_or(option.default, |(value, _)| value);
    let stamp = text.stamp.to_string();
    let page = OptionPage {
        item,
        setting: &setting,
        in_force: (!seen.in_force() && !option.is_secret).then_some(in_force),
        lines: lines.as_deref().unwrap_or_default(),
        rules: &rules,
        stamp: &stamp,
        url: about,
        refused,
    };
    let status = if refused.is_some() { 422 } else { 200 };
    item::page(&caller.shell, status, &page)
}

/// Returns the number of comment lines directly above `line`, at most [`MOST_LINES`].
fn comment_above(text: &str, line: usize) -> usize {
    let before: Vec<&str> = text.lines().take(line.saturating_sub(1)).collect();
    let comments = before.iter().rev().take_while(|line| line.trim_start().starts_with('#'));
    comments.take(MOST_LINES).count()
}

async fn index(
    caller: &Caller,
    status: StatusCode,
    about: Option<&str>,
    words: &str,
) -> Result<RenderedPage, ChangeError> {
    let seen = CurrentConfiguration::of(caller).await?;
    let (versions, text) = (seen.standing.versions.clone(), seen.standing.text.text.clone());
    let versions = blocking(move || {
        let versions = versions.into_iter().map(|version| {
            // A version that was deleted since the list was read counts as unchanged.
            let old = version.text().unwrap_or_else(|_| text.clone());
            (version.number, end_time(&version), changes(&text, &old))
        });
        versions.collect::<Vec<_>>()
    })
    .await;
    let versions: Vec<_> = versions
        .iter()
        .map(|(number, until, changes)| (*number, *until, changes.as_slice()))
        .collect();
    let mut set = Vec::new();
    for section in SECTIONS {
        for option in section.options {
            if seen.setting(section.name, option.key).value.is_some() {
                set.push((section.name, option.key));
            }
        }
    }
    set.extend(seen.overview.rules.iter().map(|rule| (rule.section, "for")));
    let later: Vec<_> =
        seen.config.without_effect().iter().map(|(section, key, _)| (*section, *key)).collect();
    let stamp = seen.standing.text.stamp.to_string();
    let index = ConfigurationIndex {
        file: &seen.file,
        exists: seen.standing.text.exists,
        stamp: &stamp,
        in_force: seen.in_force(),
        faults: seen.standing.faults.as_ref(),
        restart: &seen.standing.restart,
        versions: &versions,
        set: &set,
        later: &later,
        url: about,
        words,
    };
    Ok(index::page(&caller.shell, status.as_u16(), &index))
}

fn end_time(version: &EarlierConfig) -> Timestamp {
    Timestamp::try_from(version.until).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Shows the last change, computed from the file and the last version. So no state is needed, and
/// no link can show a different change.
async fn last_change(caller: &Caller, was_so: bool) -> Result<RenderedPage, ChangeError> {
    let seen = CurrentConfiguration::of(caller).await?;
    let last = seen.standing.versions.last();
    let old = match last {
        Some(version) => {
            let version = version.clone();
            Some(blocking(move || version.text()).await?)
        }
        None => None,
    };
    let new = &seen.standing.text.text;
    let options = changes(old.as_deref().unwrap_or_default(), new);
    let old = old.as_deref().map(without_secrets);
    let stamp = seen.standing.text.stamp.to_string();
    let change = LastChange {
        old: old.as_deref(),
        new: &without_secrets(new),
        options: &options,
        restart: &seen.standing.restart,
        version: last.map(|version| version.number),
        stamp: &stamp,
        file: &seen.file,
        was_so,
    };
    Ok(changed::page(&caller.shell, &change))
}

/// Shows the form that builds a URL-SPECIFICATION.
fn builder(caller: &Caller, about: Option<&str>, refused: Option<(&str, &str)>) -> RenderedPage {
    let context = &caller.context;
    let url = about.and_then(|about| CanonicalUrl::parse(about, &context.base.local).ok());
    let url = url.as_ref().map(CanonicalUrl::without_credentials);
    let builder = SpecificationForm { url: url.as_ref(), refused };
    specification::page(&caller.shell, &builder)
}

/// Logs `error` and responds with its message page.
fn failed(caller: &Caller, error: &ChangeError) -> Response<Body> {
    let status = match error {
        ChangeError::NoVersion(_) => StatusCode::GONE,
        ChangeError::Beyond(_) => StatusCode::FORBIDDEN,
        ChangeError::Locked(_) => StatusCode::SERVICE_UNAVAILABLE,
        ChangeError::Unreadable { .. } | ChangeError::Disk { .. } => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
        ChangeError::Conflict { .. } => StatusCode::CONFLICT,
        ChangeError::Edit(_) | ChangeError::Faults(_) => StatusCode::UNPROCESSABLE_ENTITY,
    };
    let detail = error_chain(error);
    tracing::warn!(error = detail, "the configuration cannot be shown or changed");
    caller.bad_form(status, &detail)
}

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::super::route::PathRoutes;
    use super::{SECTIONS, item_at, section_at};

    #[test]
    fn every_option_has_its_own_address() {
        for section in SECTIONS {
            let path = format!("/configuration/{}", section.name);
            for path in [format!("{path}/"), path] {
                assert_eq!(section_at(&path).map(|found| found.name), Some(section.name));
            }
            for option in section.options {
                let item = item_at(&format!("/configuration/{}/{}", section.name, option.key));
                assert_eq!(item.map(|item| item.option.key), Some(option.key));
            }
        }
        for (path, allowed) in [
            ("/configuration", Some("GET, HEAD")),
            ("/configuration/", Some("GET, HEAD")),
            ("/configuration/url", Some("GET, HEAD")),
            ("/configuration/changed", Some("GET, HEAD")),
            ("/configuration/editurl", Some("GET, HEAD, POST")),
            ("/configuration/undo", Some("POST")),
            ("/configuration/reload", Some("POST")),
            ("/configuration/options", Some("GET, HEAD")),
            ("/configuration/options/log-level", Some("GET, HEAD, POST")),
            ("/configuration/nothing", None),
            ("/configuration/options/nothing", None),
            ("/configurations", None),
        ] {
            let routes = PathRoutes::at(path);
            assert_eq!(routes.allowed(), allowed, "{path}");
            assert!(routes.with(&Method::PUT).is_none(), "{path}");
        }
    }
}

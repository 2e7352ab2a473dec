//! The pages `/configuration/…`: which one is at an address, and what it is told.

mod post;

use hyper::body::Incoming;
use hyper::{Method, Request, Response, StatusCode};
use jiff::Timestamp;
use wwwoffle_config::edit::{Overview, overview, without_secrets};
use wwwoffle_config::schema::{SECTIONS, Section};
use wwwoffle_config::{ChangeError, Config, UrlSpec, Version, changes};
use wwwoffle_url::{CanonicalUrl, url_decode_form_args};

use super::caller::Caller;
use super::is_read;
use crate::base::error_chain::error_chain;
use crate::base::live::{Standing, blocking};
use crate::page::Page;
use crate::page::links::CONFIGURATION;
use crate::proxy::body::Body;
use crate::site::pages::configuration::Item;
use crate::site::pages::configuration::changed::{self, LastChange};
use crate::site::pages::configuration::diff::lines;
use crate::site::pages::configuration::index::{self, Index};
use crate::site::pages::configuration::item::{self, ItemPage, Refused};
use crate::site::pages::configuration::part::{self, Part, RuleSetting, Setting};
use crate::site::pages::configuration::specification::{self, Builder};
use crate::site::pages::configuration::url::{self, UrlPage};

/// Lines of the file that are shown of one option, at most.
const MOST_LINES: usize = 20;

/// A page here.
#[derive(Clone, Copy, Debug)]
pub(super) enum Where {
    /// The file, its versions and the sections.
    Index,
    /// The address without the slash at its end.
    Elsewhere,
    /// What the last change was.
    Changed,
    /// What holds for a URL.
    Url,
    /// A URL-SPECIFICATION, part by part.
    EditUrl,
    /// Puts a version back.
    Undo,
    /// Reads the file again.
    Reload,
    /// A section.
    Section(&'static Section),
    /// An option.
    Item(Item),
}

impl Where {
    /// The page at a path.
    pub(super) fn at(path: &str) -> Option<Self> {
        let Some(rest) = path.strip_prefix(CONFIGURATION) else {
            return (Some(path) == CONFIGURATION.strip_suffix('/')).then_some(Self::Elsewhere);
        };
        Some(match rest {
            "" => Self::Index,
            "changed" => Self::Changed,
            "url" => Self::Url,
            "editurl" => Self::EditUrl,
            "undo" => Self::Undo,
            "reload" => Self::Reload,
            _ => {
                let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
                let section = SECTIONS.iter().find(|section| section.name == name)?;
                if key.is_empty() {
                    return Some(Self::Section(section));
                }
                let option = section.options.iter().find(|option| option.key == key)?;
                Self::Item(Item { section, option })
            }
        })
    }

    /// The methods it takes.
    pub(super) fn allowed(self) -> &'static str {
        match self {
            Self::Undo | Self::Reload => "POST",
            Self::EditUrl | Self::Item(_) => "GET, HEAD, POST",
            Self::Index | Self::Elsewhere | Self::Changed | Self::Url | Self::Section(_) => {
                "GET, HEAD"
            }
        }
    }

    fn takes(self, method: &Method) -> bool {
        self.allowed().split(", ").any(|allowed| allowed == method.as_str())
    }
}

/// Answers with a page, or does what its form says; `None` when it does not take the method.
pub(super) async fn answer(
    caller: &Caller,
    place: Where,
    arguments: Option<&str>,
    request: Request<Incoming>,
) -> Option<Response<Body>> {
    if !place.takes(request.method()) {
        return None;
    }
    let done = if is_read(request.method()) {
        show(caller, place, arguments).await
    } else {
        post::submit(caller, place, request).await
    };
    Some(done.unwrap_or_else(|error| failed(caller, &error)))
}

async fn show(
    caller: &Caller,
    place: Where,
    arguments: Option<&str>,
) -> Result<Response<Body>, ChangeError> {
    let about = arguments.and_then(carried);
    let about = about.as_deref();
    let page = match place {
        Where::Elsewhere => return Ok(caller.see_other(CONFIGURATION)),
        Where::Index => index(caller, StatusCode::OK, about).await?,
        Where::Changed => last_change(caller, arguments == Some("same")).await?,
        Where::Url => url_page(caller, about.unwrap_or_default()),
        Where::EditUrl => builder(caller, about, None),
        Where::Section(section) => {
            let seen = Seen::of(caller).await?;
            let settings = seen.settings(section);
            let rules = seen.rules(section);
            let part = Part { section, settings: &settings, rules: &rules, url: about };
            part::page(&caller.context.pages.templates, &caller.shell, &part)
        }
        Where::Item(item) => {
            let seen = Seen::of(caller).await?;
            option(caller, &seen, item, about, None)
        }
        Where::Undo | Where::Reload => index(caller, StatusCode::OK, None).await?,
    };
    Ok(caller.page(page))
}

/// The URL that an address carries along: all its arguments, or the value of `url` in them.
fn carried(arguments: &str) -> Option<String> {
    let text = arguments.strip_prefix("url=").unwrap_or(arguments);
    let text = url_decode_form_args(text.as_bytes());
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The file as it is, and the configuration in force.
struct Seen {
    standing: Standing,
    told: Overview,
    config: std::sync::Arc<Config>,
    file: String,
}

impl Seen {
    async fn of(caller: &Caller) -> Result<Self, ChangeError> {
        let context = &caller.context;
        let standing = context.base.config_standing().await?;
        let (standing, told) = blocking(move || {
            // A text that is not TOML sets nothing; its fault is on the page of the file.
            let told = overview(&standing.text.text).or_else(|_| overview(""));
            (standing, told)
        })
        .await;
        let file = context.base.live.file().path().display().to_string();
        Ok(Self { standing, told: told?, config: context.base.config(), file })
    }

    fn in_force(&self) -> bool {
        self.standing.text.text == self.standing.in_force
    }

    /// The options of a section as they are set, in the file or in one that it includes.
    fn settings(&self, section: &Section) -> Vec<Setting> {
        section.options.iter().map(|option| self.setting(section.name, option.key)).collect()
    }

    fn setting(&self, section: &str, key: &str) -> Setting {
        let mut options = self.told.options.iter();
        let state = options.find(|one| one.section == section && one.option.key == key);
        if let Some(state) = state.filter(|state| state.value.is_some()) {
            let place = state.line.map(|line| (line, None));
            return Setting { value: state.value.clone(), place };
        }
        let elsewhere = self
            .config
            .setting_of(section, key)
            .filter(|(_, place)| place.file().display().to_string() != self.file);
        elsewhere.map_or_else(Setting::default, |(value, place)| Setting {
            value: Some(value.to_owned()),
            place: Some((place.line(), Some(place.file().display().to_string()))),
        })
    }

    fn rules(&self, section: &Section) -> Vec<RuleSetting> {
        let rules = self.told.rules.iter().filter(|rule| rule.section == section.name);
        let rules = rules.map(|state| RuleSetting {
            index: state.index,
            line: state.line,
            urls: state.rule.urls.clone(),
            options: state.rule.options.clone(),
        });
        rules.collect()
    }
}

/// The page of an option, with what was refused in its form.
fn option(
    caller: &Caller,
    seen: &Seen,
    item: Item,
    about: Option<&str>,
    refused: Option<&Refused>,
) -> Page {
    let Item { section, option } = item;
    let context = &caller.context;
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
    let page = ItemPage {
        item,
        setting: &setting,
        in_force: (!seen.in_force() && !option.is_secret).then_some(in_force),
        lines: lines.as_deref().unwrap_or_default(),
        rules: &rules,
        stamp: &stamp,
        url: about,
        refused,
        token: &context.pages.tokens.general(),
    };
    let status = if refused.is_some() { 422 } else { 200 };
    item::page(&context.pages.templates, &caller.shell, status, &page)
}

/// How many lines of comment are directly above a line.
fn comment_above(text: &str, line: usize) -> usize {
    let before: Vec<&str> = text.lines().take(line.saturating_sub(1)).collect();
    let comments = before.iter().rev().take_while(|line| line.trim_start().starts_with('#'));
    comments.take(MOST_LINES).count()
}

async fn index(
    caller: &Caller,
    status: StatusCode,
    about: Option<&str>,
) -> Result<Page, ChangeError> {
    let context = &caller.context;
    let seen = Seen::of(caller).await?;
    let (versions, text) = (seen.standing.versions.clone(), seen.standing.text.text.clone());
    let versions = blocking(move || {
        let versions = versions.into_iter().map(|version| {
            // One that is gone by now changes nothing.
            let old = version.text().unwrap_or_else(|_| text.clone());
            (version.number, until(&version), changes(&text, &old))
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
    set.extend(seen.told.rules.iter().map(|rule| (rule.section, "for")));
    let later: Vec<_> =
        seen.config.without_effect().iter().map(|(section, key, _)| (*section, *key)).collect();
    let stamp = seen.standing.text.stamp.to_string();
    let index = Index {
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
        token: &context.pages.tokens.general(),
    };
    Ok(index::page(&context.pages.templates, &caller.shell, status.as_u16(), &index))
}

fn until(version: &Version) -> Timestamp {
    Timestamp::try_from(version.until).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// What the last change was, from the file and the last version: nothing has to be remembered, and
/// no link can say anything else.
async fn last_change(caller: &Caller, was_so: bool) -> Result<Page, ChangeError> {
    let context = &caller.context;
    let seen = Seen::of(caller).await?;
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
        token: &context.pages.tokens.general(),
    };
    Ok(changed::page(&context.pages.templates, &caller.shell, &change))
}

fn url_page(caller: &Caller, text: &str) -> Page {
    let (context, shell) = (&caller.context, &caller.shell);
    let parsed = CanonicalUrl::parse(text, &context.base.local);
    let is_pattern = text.contains('*') || text.starts_with(['!', '~']);
    let (url, told, fault) = match (parsed, UrlSpec::parse(text)) {
        _ if text.is_empty() => (String::new(), None, None),
        (_, Ok(_)) if is_pattern => (text.to_owned(), None, None),
        (Ok(url), _) => {
            let told = context.base.config().explain(&url);
            (url.without_credentials().as_str().to_owned(), Some(told), None)
        }
        (Err(error), _) => (text.to_owned(), None, Some(error_chain(&error))),
    };
    let page = UrlPage { url: &url, told: told.as_deref(), fault: fault.as_deref() };
    url::page(&context.pages.templates, shell, &page)
}

/// The page on which a URL-SPECIFICATION is put together.
fn builder(caller: &Caller, about: Option<&str>, refused: Option<(&str, &str)>) -> Page {
    let context = &caller.context;
    let url = about.and_then(|about| CanonicalUrl::parse(about, &context.base.local).ok());
    let url = url.as_ref().map(CanonicalUrl::without_credentials);
    let token = context.pages.tokens.general();
    let builder = Builder { url: url.as_ref(), refused, token: &token };
    specification::page(&context.pages.templates, &caller.shell, &builder)
}

/// Says why nothing can be told or done that is no fault of what was asked.
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
    use super::{SECTIONS, Where};

    #[test]
    fn every_option_has_an_address_and_none_hides_another_page() {
        for section in SECTIONS {
            let at = Where::at(&format!("/configuration/{}", section.name));
            assert!(matches!(at, Some(Where::Section(found)) if found.name == section.name));
            for option in section.options {
                let at = Where::at(&format!("/configuration/{}/{}", section.name, option.key));
                assert!(matches!(at, Some(Where::Item(item)) if item.option.key == option.key));
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
            ("/configuration/options/log-level", Some("GET, HEAD, POST")),
            ("/configuration/nothing", None),
            ("/configuration/options/nothing", None),
            ("/configurations", None),
            ("/", None),
        ] {
            assert_eq!(Where::at(path).map(Where::allowed), allowed, "{path}");
        }
    }
}

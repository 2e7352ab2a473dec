//! The templates, built in and the user's own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;
use minijinja::{
    AutoEscape, Environment, UndefinedBehavior, Value, syntax::SyntaxConfig, value::Serde,
};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{self, BuiltIn, Catalogue, Text};
use crate::net::certificates::with_colons;
use crate::page::{HTML, RenderedPage, Shell, links, places};
use wwwoffle_http::caching::language::Languages;

/// The built-in templates by name, partial ones first.
const BUILT_IN: &[(&str, &str)] = &[
    ("style.css", include_str!("templates/style.css")),
    ("bar.css", include_str!("templates/bar.css")),
    ("marked.css", include_str!("templates/marked.css")),
    ("bar.html", include_str!("templates/bar.html")),
    ("banner.html", include_str!("templates/banner.html")),
    ("mark.html", include_str!("templates/mark.html")),
    ("base.html", include_str!("templates/base.html")),
    ("macros.html", include_str!("templates/macros.html")),
    ("certificates.html", include_str!("templates/certificates.html")),
    ("certificate.html", include_str!("templates/certificate.html")),
    ("configuration-macros.html", include_str!("templates/configuration-macros.html")),
    ("configuration.html", include_str!("templates/configuration.html")),
    ("configuration-section.html", include_str!("templates/configuration-section.html")),
    ("configuration-option.html", include_str!("templates/configuration-option.html")),
    ("configuration-preset.html", include_str!("templates/configuration-preset.html")),
    ("configuration-changed.html", include_str!("templates/configuration-changed.html")),
    ("configuration-conflict.html", include_str!("templates/configuration-conflict.html")),
    ("configuration-url.html", include_str!("templates/configuration-url.html")),
    ("configuration-editurl.html", include_str!("templates/configuration-editurl.html")),
    ("welcome.html", include_str!("templates/welcome.html")),
    ("ca.html", include_str!("templates/ca.html")),
    ("info-macros.html", include_str!("templates/info-macros.html")),
    ("info.html", include_str!("templates/info.html")),
    ("info-request.html", include_str!("templates/info-request.html")),
    ("calendar.html", include_str!("templates/calendar.html")),
    ("history.html", include_str!("templates/history.html")),
    ("history-marked.html", include_str!("templates/history-marked.html")),
    ("history-none.html", include_str!("templates/history-none.html")),
    ("purge.html", include_str!("templates/purge.html")),
    ("monitor.html", include_str!("templates/monitor.html")),
    ("monitor-diff.html", include_str!("templates/monitor-diff.html")),
    ("monitor-options.html", include_str!("templates/monitor-options.html")),
    ("fetches.html", include_str!("templates/fetches.html")),
    ("refresh-options.html", include_str!("templates/refresh-options.html")),
    ("collection-macros.html", include_str!("templates/collection-macros.html")),
    ("collections.html", include_str!("templates/collections.html")),
    ("collection.html", include_str!("templates/collection.html")),
    ("collection-edit.html", include_str!("templates/collection-edit.html")),
    ("collection-choose.html", include_str!("templates/collection-choose.html")),
    ("lists-actions.html", include_str!("templates/lists-actions.html")),
    ("lists-whole.html", include_str!("templates/lists-whole.html")),
    ("lists-undo.html", include_str!("templates/lists-undo.html")),
    ("lists.html", include_str!("templates/lists.html")),
    ("lists-tree.html", include_str!("templates/lists-tree.html")),
    ("lists-calendar.html", include_str!("templates/lists-calendar.html")),
    ("lists-root.html", include_str!("templates/lists-root.html")),
    ("search.html", include_str!("templates/search.html")),
    ("statistics.html", include_str!("templates/statistics.html")),
    ("usage.html", include_str!("templates/usage.html")),
    ("queue.html", include_str!("templates/queue.html")),
    ("queue-edit.html", include_str!("templates/queue-edit.html")),
    ("message-macros.html", include_str!("templates/message-macros.html")),
    ("missing.html", include_str!("templates/missing.html")),
    ("captures.html", include_str!("templates/captures.html")),
    ("control.html", include_str!("templates/control.html")),
    ("control-confirm.html", include_str!("templates/control-confirm.html")),
    ("question.html", include_str!("templates/question.html")),
    ("will-get.html", include_str!("templates/will-get.html")),
    ("confirm-post.html", include_str!("templates/confirm-post.html")),
    ("gateway.html", include_str!("templates/gateway.html")),
    ("gateway-send.html", include_str!("templates/gateway-send.html")),
    ("gateway-onward.html", include_str!("templates/gateway-onward.html")),
    ("address.html", include_str!("templates/address.html")),
    ("undone.html", include_str!("templates/undone.html")),
    ("message.html", include_str!("templates/message.html")),
    ("left-out.html", include_str!("templates/left-out.html")),
];

/// Compiled templates, in each language.
#[derive(Debug)]
pub struct Templates {
    /// The built-in templates, in English.
    built_in: Environment<'static>,
    /// The same, with the user's templates in place of built-in ones; `None` if the user has none.
    own: Option<Environment<'static>>,
    /// The available languages, English first.
    languages: Vec<LanguageEntry>,
    /// The user's templates that have failed: each failure is logged once.
    failed: Mutex<BTreeSet<&'static str>>,
    /// The style sheet and the script, once a page has named them.
    assets: OnceLock<[Asset; 2]>,
}

/// A file that our pages load.
#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) text: String,
    /// Its path, which contains a hash of the text: browsers may keep it for ever.
    pub(crate) path: String,
}

impl Asset {
    fn new(text: String, name: &str, ending: &str) -> Self {
        let digest = Sha256::digest(&text);
        let hash = digest.iter().take(8).fold(0_u64, |hash, byte| (hash << 8) | u64::from(*byte));
        Self { path: format!("/{name}-{hash:016x}.{ending}"), text }
    }
}

/// The values of a page, or of a part of it, by their names in its template: a result of [`view!`].
pub(crate) type View = std::collections::BTreeMap<&'static str, Value>;

/// Makes a [`View`]. The values are written like the fields of a struct.
macro_rules! view {
    (@value $name:ident) => { $name };
    (@value $name:ident $value:expr) => { $value };
    ($($name:ident $(: $value:expr)?),* $(,)?) => {
        $crate::page::templates::View::from([$((
            stringify!($name),
            minijinja::Value::from(minijinja::value::Serde(
                &$crate::page::templates::view!(@value $name $($value)?)
            )),
        )),*])
    };
}
pub(crate) use view;

/// Maximum engine steps of a user's template for one page. Our longest pages, with 50 entries or
/// requests, take about 10,000, whatever their content.
const MOST_STEPS: u64 = 5_000_000;

/// A language, and its templates once a page was rendered in it.
#[derive(Debug)]
struct LanguageEntry {
    tag: String,
    words: CatalogueSource,
    templates: OnceLock<LanguageTemplates>,
}

/// The texts of a language.
#[derive(Debug)]
enum CatalogueSource {
    /// English, or a catalogue of the user.
    Read(Arc<Catalogue>),
    /// A catalogue of the program.
    BuiltIn(&'static BuiltIn),
}

/// The templates in one language.
#[derive(Debug)]
struct LanguageTemplates {
    built_in: Environment<'static>,
    own: Option<Environment<'static>>,
}

/// One of the available languages; the default is English.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Language(usize);

/// A user's template or catalogue that is invalid, in whole or in part. The built-in one is used
/// instead.
#[derive(Debug, thiserror::Error)]
#[error("{name:?} cannot be used")]
pub struct TemplateFault {
    name: String,
    #[source]
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// The values that every template sees.
#[derive(Serialize)]
struct Context<'a, P> {
    /// `http://localhost:8080`, the prefix of every address of ours.
    origin: &'a str,
    mode: &'static str,
    /// The mode that a person chose, which may be `auto`.
    chosen: &'static str,
    version: &'static str,
    /// The path of the page among our own pages; empty elsewhere.
    path: &'a str,
    /// The place in the navigation to which the page belongs; empty if it belongs to none.
    section: &'static str,
    /// The path of the style sheet. `None` on message pages, which contain the sheet: they appear
    /// under other origins, where a browser may refuse to load it.
    style: Option<&'a str>,
    /// The path of the script, which only local pages may load.
    script: &'a str,
    /// The token for the forms of a local page.
    token: &'a str,
    /// The notice at the top of the page.
    notice: Option<&'a Text>,
    /// The function that formats a time, for the macro `when`.
    time: Value,
    page: &'a P,
}

impl Templates {
    /// Creates templates from the built-in ones and `overrides`, the user's templates
    /// (`queue.html`) and catalogues (`de.po`), each with name and text.
    ///
    /// Invalid overrides are left out and returned.
    #[must_use]
    pub fn new(
        overrides: impl IntoIterator<Item = (String, String)>,
    ) -> (Self, Vec<TemplateFault>) {
        let mut faults = Vec::new();
        let (mut catalogues, mut own) = (Vec::new(), None);
        for (name, text) in overrides {
            if let Some(tag) = name.strip_suffix(".po") {
                match Catalogue::parse(&tag.to_ascii_lowercase(), &text) {
                    Ok((catalogue, left_out)) => {
                        faults.extend(left_out.into_iter().map(|fault| fault_of(&name, fault)));
                        add(&mut catalogues, catalogue);
                    }
                    Err(fault) => faults.push(fault_of(&name, fault)),
                }
                continue;
            }
            let environment = own.get_or_insert_with(|| {
                let mut own = environment();
                own.set_fuel(Some(MOST_STEPS));
                own
            });
            if let Err(source) = environment.add_template_owned(name.clone(), text) {
                faults.push(fault_of(&name, source));
            }
        }
        let (built_in, languages) = (environment(), languages(catalogues));
        let (failed, assets) = (Mutex::default(), OnceLock::new());
        (Self { built_in, own, languages, failed, assets }, faults)
    }

    /// Selects the language: `chosen` if it is available, or else the language that the reader
    /// prefers (`Accept-Language`), or else English.
    #[must_use]
    pub fn language(&self, chosen: &str, accepted: Option<&str>) -> Language {
        let tags: Vec<_> = self.languages.iter().map(|spoken| spoken.tag.as_str()).collect();
        let at = |tag: &str| tags.iter().position(|known| known.eq_ignore_ascii_case(tag));
        if let Some(chosen) = at(chosen) {
            return Language(chosen);
        }
        let accepted = accepted.and_then(Languages::parse);
        let wanted = accepted.as_ref().and_then(|accepted| accepted.best_of(&tags));
        Language(wanted.and_then(at).unwrap_or_default())
    }

    /// Returns the style sheet.
    pub(crate) fn style(&self) -> &Asset {
        &self.assets()[0]
    }

    /// Returns the script.
    pub(crate) fn script(&self) -> &Asset {
        &self.assets()[1]
    }

    fn assets(&self) -> &[Asset; 2] {
        self.assets.get_or_init(|| {
            let style = self.render(Language::default(), "style.css", ());
            let script = include_str!("templates/live.js").to_owned();
            [Asset::new(style, "style", "css"), Asset::new(script, "live", "js")]
        })
    }

    fn render(&self, language: Language, name: &'static str, context: impl Serialize) -> String {
        const UNSHOWN: &str =
            "<!DOCTYPE html><title>wwwoffle</title><p>This page cannot be shown.</p>";
        let context = Value::from(Serde(context));
        let Some(spoken) = self.languages.get(language.0).or(self.languages.first()) else {
            return UNSHOWN.to_owned();
        };
        let templates = self.in_language(spoken);
        if let Some(own) = &templates.own {
            match fill(own, name, &context) {
                Ok(body) => return body,
                Err(error) if self.record_failure(name) => {
                    tracing::warn!(template = name, %error, "the built-in template serves instead");
                }
                Err(_) => {}
            }
        }
        fill(&templates.built_in, name, &context).unwrap_or_else(|error| {
            tracing::error!(template = name, %error, "a page cannot be made");
            UNSHOWN.to_owned()
        })
    }

    fn record_failure(&self, name: &'static str) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).insert(name)
    }

    /// Returns the templates in a language. The texts of the language are parsed on first use.
    fn in_language<'a>(&self, spoken: &'a LanguageEntry) -> &'a LanguageTemplates {
        spoken.templates.get_or_init(|| {
            let catalogue = match &spoken.words {
                CatalogueSource::Read(catalogue) => catalogue,
                CatalogueSource::BuiltIn(language) => language.catalogue(),
            };
            // A clone shares the compiled templates: languages differ only in the functions that
            // they call.
            let speaking = |environment: &Environment<'static>| {
                let mut environment = environment.clone();
                text::set_language(&mut environment, catalogue);
                environment
            };
            LanguageTemplates {
                built_in: speaking(&self.built_in),
                own: self.own.as_ref().map(speaking),
            }
        })
    }
}

impl Shell {
    /// Renders the template called `name` as a page.
    pub(crate) fn page(
        &self,
        name: &'static str,
        status: u16,
        page: &impl Serialize,
    ) -> RenderedPage {
        let zone = self.zone.clone();
        let time = move |time: Serde<Timestamp>| Value::from(Serde(ShownTime::new(*time, &zone)));
        let context = Context {
            origin: self.origin.as_str(),
            mode: self.mode.as_str(),
            chosen: self.chosen.as_str(),
            version: env!("CARGO_PKG_VERSION"),
            path: &self.path,
            section: places::section(&self.path),
            style: (!self.path.is_empty()).then(|| self.templates.style().path.as_str()),
            script: &self.templates.script().path,
            token: &self.token,
            notice: self.notice.as_ref(),
            time: Value::from_function(time),
            page,
        };
        let body = self.templates.render(self.language, name, context);
        RenderedPage { status, content_type: HTML, body }
    }
}

impl Default for Templates {
    /// Returns the built-in templates alone.
    fn default() -> Self {
        Self::new([]).0
    }
}

impl LanguageEntry {
    fn new(words: CatalogueSource) -> Self {
        let tag = match &words {
            CatalogueSource::Read(catalogue) => catalogue.tag(),
            CatalogueSource::BuiltIn(language) => language.tag(),
        };
        Self { tag: tag.to_owned(), words, templates: OnceLock::new() }
    }

    fn read(catalogue: Catalogue) -> Self {
        Self::new(CatalogueSource::Read(Arc::new(catalogue)))
    }
}

/// Returns all languages, English first. The user's texts override the built-in ones.
fn languages(mut own: Vec<Catalogue>) -> Vec<LanguageEntry> {
    let mut take = |tag: &str| {
        let at = own.iter().position(|catalogue| catalogue.tag() == tag)?;
        Some(own.remove(at))
    };
    let mut all = vec![LanguageEntry::read(take("en").unwrap_or_else(Catalogue::english))];
    all.extend(text::BUILT_IN.iter().map(|built_in| match take(built_in.tag()) {
        Some(own) => LanguageEntry::read(own.over(built_in)),
        None => LanguageEntry::new(CatalogueSource::BuiltIn(built_in)),
    }));
    all.extend(own.into_iter().map(LanguageEntry::read));
    all
}

/// Adds a catalogue, or merges it over the one of the same language.
fn add(all: &mut Vec<Catalogue>, catalogue: Catalogue) {
    match all.iter_mut().find(|known| known.tag() == catalogue.tag()) {
        Some(known) => known.overlay(catalogue),
        None => all.push(catalogue),
    }
}

fn fault_of(
    name: &str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> TemplateFault {
    TemplateFault { name: name.to_owned(), source: source.into() }
}

fn fill(
    environment: &Environment<'_>,
    name: &str,
    context: &Value,
) -> Result<String, minijinja::Error> {
    environment.get_template(name)?.render(context)
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    // A line with only a tag leaves no empty line. Building the syntax fails only if its delimiters
    // are invalid, and ours are the default ones.
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
        environment.set_syntax(syntax);
    }
    // These filters prepare foreign text and sizes for display.
    environment.add_filter("opens", |href: &str| shown::opening(href));
    environment.add_filter("url", |url: &str| Value::from(Serde(ShownUrl::new(url))));
    environment.add_filter("options", |url: Option<&str>| url.and_then(links::row_options));
    environment.add_filter("text", shown::text);
    environment.add_filter("size", shown::bytes);
    environment.add_filter("fingerprint", |hex: &str| with_colons(&shown::text(hex)));
    // English texts for checking the templates. Each language replaces them.
    text::set_language(&mut environment, &Arc::new(Catalogue::english()));
    // Everything but the style sheets is HTML, whatever the name of a user's template.
    environment.set_auto_escape_callback(|name| {
        if matches!(name, "style.css" | "bar.css") { AutoEscape::None } else { AutoEscape::Html }
    });
    for (name, text) in BUILT_IN {
        let added = environment.add_template(name, text);
        debug_assert!(added.is_ok(), "built-in template {name}: {added:?}");
    }
    environment
}

#[cfg(test)]
impl Templates {
    /// Uses the built-in templates also as the user's own, with this limit of steps.
    pub(crate) fn with_step_limit(steps: u64) -> Self {
        let mut own = environment();
        own.set_fuel(Some(steps));
        Self { own: Some(own), ..Self::default() }
    }

    /// Whether a user's template has failed, as it does if it exceeds the limit of steps.
    pub(crate) fn has_exceeded_steps(&self) -> bool {
        !self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

#[cfg(test)]
mod tests;

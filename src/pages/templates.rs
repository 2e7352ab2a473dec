//! The templates, built in and the user's own.

use minijinja::{
    AutoEscape, Environment, UndefinedBehavior, Value, syntax::SyntaxConfig, value::Serde,
};
use serde::Serialize;

use super::{HTML, Page, Shell};

/// The built-in templates by name, partial ones first.
const BUILT_IN: &[(&str, &str)] = &[
    ("style.css", include_str!("templates/style.css")),
    ("bar.css", include_str!("templates/bar.css")),
    ("bar.html", include_str!("templates/bar.html")),
    ("base.html", include_str!("templates/base.html")),
    ("macros.html", include_str!("templates/macros.html")),
    ("certificates.html", include_str!("templates/certificates.html")),
    ("certificate.html", include_str!("templates/certificate.html")),
    ("configuration-macros.html", include_str!("templates/configuration-macros.html")),
    ("configuration.html", include_str!("templates/configuration.html")),
    ("configuration-section.html", include_str!("templates/configuration-section.html")),
    ("configuration-option.html", include_str!("templates/configuration-option.html")),
    ("configuration-changed.html", include_str!("templates/configuration-changed.html")),
    ("configuration-conflict.html", include_str!("templates/configuration-conflict.html")),
    ("configuration-url.html", include_str!("templates/configuration-url.html")),
    ("configuration-editurl.html", include_str!("templates/configuration-editurl.html")),
    ("welcome.html", include_str!("templates/welcome.html")),
    ("ca.html", include_str!("templates/ca.html")),
    ("info.html", include_str!("templates/info.html")),
    ("history.html", include_str!("templates/history.html")),
    ("history-none.html", include_str!("templates/history-none.html")),
    ("purge.html", include_str!("templates/purge.html")),
    ("monitor.html", include_str!("templates/monitor.html")),
    ("monitor-diff.html", include_str!("templates/monitor-diff.html")),
    ("monitor-options.html", include_str!("templates/monitor-options.html")),
    ("fetches.html", include_str!("templates/fetches.html")),
    ("refresh-options.html", include_str!("templates/refresh-options.html")),
    ("lists.html", include_str!("templates/lists.html")),
    ("lists-root.html", include_str!("templates/lists-root.html")),
    ("search.html", include_str!("templates/search.html")),
    ("queue.html", include_str!("templates/queue.html")),
    ("will-get.html", include_str!("templates/will-get.html")),
    ("confirm-post.html", include_str!("templates/confirm-post.html")),
    ("undone.html", include_str!("templates/undone.html")),
    ("message.html", include_str!("templates/message.html")),
];

/// Templates ready to be filled.
#[derive(Debug)]
pub struct Templates {
    built_in: Environment<'static>,
    /// The built-in ones with the user's own over them; `None` when there are none.
    own: Option<Environment<'static>>,
}

/// A template of the user's own that cannot be used. The built-in one serves in its place.
#[derive(Debug, thiserror::Error)]
#[error("the template {name:?} cannot be used")]
pub struct TemplateFault {
    name: String,
    #[source]
    source: minijinja::Error,
}

/// What a template sees.
#[derive(Serialize)]
struct Context<'a, P> {
    /// `http://localhost:8080`, to go before every address of ours.
    origin: &'a str,
    mode: &'static str,
    version: &'static str,
    page: &'a P,
}

impl Templates {
    /// Takes the user's own templates, name and text, over the built-in ones.
    ///
    /// Those that cannot be parsed are left out and given back.
    #[must_use]
    pub fn new(
        overrides: impl IntoIterator<Item = (String, String)>,
    ) -> (Self, Vec<TemplateFault>) {
        let mut faults = Vec::new();
        let mut own = None;
        for (name, text) in overrides {
            let environment = own.get_or_insert_with(environment);
            if let Err(source) = environment.add_template_owned(name.clone(), text) {
                faults.push(TemplateFault { name, source });
            }
        }
        (Self { built_in: environment(), own }, faults)
    }

    /// The stylesheet.
    pub(super) fn style(&self) -> String {
        self.render("style.css", ())
    }

    /// Fills the template called `name` and makes a page of it.
    pub(super) fn page(
        &self,
        name: &'static str,
        status: u16,
        shell: &Shell,
        page: &impl Serialize,
    ) -> Page {
        let context = Context {
            origin: shell.origin.as_str(),
            mode: shell.mode.as_str(),
            version: env!("CARGO_PKG_VERSION"),
            page,
        };
        Page { status, content_type: HTML, body: self.render(name, context) }
    }

    fn render(&self, name: &'static str, context: impl Serialize) -> String {
        let context = Value::from(Serde(context));
        if let Some(own) = &self.own {
            match fill(own, name, &context) {
                Ok(body) => return body,
                Err(error) => {
                    tracing::warn!(template = name, %error, "the built-in template serves instead");
                }
            }
        }
        fill(&self.built_in, name, &context).unwrap_or_else(|error| {
            tracing::error!(template = name, %error, "a page cannot be made");
            "<!DOCTYPE html><title>wwwoffle</title><p>This page cannot be shown.</p>".to_owned()
        })
    }
}

impl Default for Templates {
    /// The built-in templates alone.
    fn default() -> Self {
        Self::new([]).0
    }
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
    // Lines that hold a tag alone leave no empty line. Only odd delimiters can make this fail.
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
        environment.set_syntax(syntax);
    }
    // Everything but the stylesheets is HTML, whatever a user calls a template of their own.
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
mod tests {
    use super::{BUILT_IN, Templates};
    use crate::pages::{style, testing};

    #[test]
    fn the_built_in_templates_parse() {
        let environment = super::environment();
        assert_eq!(environment.templates().count(), BUILT_IN.len());
    }

    #[test]
    fn a_users_own_template_takes_the_place() {
        let own = ("undone.html".to_owned(), "<p>{{ page.url.text }} & {{ mode }}</p>".to_owned());
        let (templates, faults) = Templates::new([own]);
        assert!(faults.is_empty());
        let page = crate::pages::undone::page(&templates, &testing::shell(), "http://a/<b>", true);
        assert_eq!(page.body, "<p>http:&#x2f;&#x2f;a&#x2f;&lt;b&gt; & offline</p>");
    }

    #[test]
    fn a_faulty_template_gives_way_to_the_built_in_one() {
        let parse = ("undone.html".to_owned(), "{% if %}".to_owned());
        let (templates, faults) = Templates::new([parse]);
        assert_eq!(faults[0].to_string(), "the template \"undone.html\" cannot be used");
        let built_in = testing::undone(&Templates::default());
        assert_eq!(testing::undone(&templates), built_in);

        let undefined = ("undone.html".to_owned(), "{{ page.nothing }}".to_owned());
        let (templates, faults) = Templates::new([undefined]);
        assert!(faults.is_empty());
        assert_eq!(testing::undone(&templates), built_in);
    }

    #[test]
    fn the_style_loads_nothing_and_ends_no_element() {
        let css = style(&Templates::default()).body;
        for bad in ["url(", "@import", "</", "<!"] {
            assert!(!css.contains(bad), "{bad}");
        }
        assert!(css.len() < 6_000, "the style is in every page: {} bytes", css.len());
    }
}

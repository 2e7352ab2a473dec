//! The value of every option for a URL, with the location in the files.

use crate::{
    disk::location::Location,
    pattern::parts::UrlParts,
    schema::{Config, Effect, SECTIONS},
    source::explain::OptionExplanation,
};
use wwwoffle_url::CanonicalUrl;

impl Config {
    /// Every option in force for `url`, in the order of `docs/options.md`.
    ///
    /// ```
    /// use std::path::Path;
    /// use wwwoffle_config::Config;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    ///
    /// let text = "[dont-get]\nurls = [\n  \"*://ads.example/*\",\n]\n";
    /// let config = Config::parse(text, Path::new("wwwoffle.conf"))?;
    /// let url = CanonicalUrl::parse("http://ads.example/banner", &LocalHost::default())?;
    /// let told = config.explain(&url);
    /// let urls = told.iter().find(|told| (told.section, told.key) == ("dont-get", "urls")).unwrap();
    /// assert_eq!(urls.rule.as_ref().unwrap().location().to_string(), "wwwoffle.conf:3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn explain(&self, url: &CanonicalUrl) -> Vec<OptionExplanation> {
        let mut explanations = Vec::new();
        self.explain_all(&UrlParts::of(url), &mut explanations);
        explanations
    }

    /// The options that are set but have no effect yet: section, option, and the location of one of
    /// the values.
    #[must_use]
    pub fn without_effect(&self) -> Vec<(&'static str, &'static str, Location)> {
        let later = SECTIONS.iter().flat_map(|section| {
            let later = section.options.iter().filter(|option| option.effect == Effect::Later);
            later.map(|option| (section.name, option.key))
        });
        let set = later.filter_map(|(section, key)| {
            let location =
                self.origin_of(section, key).or_else(|| self.origins.in_rule(section, key));
            Some((section, key, location?.clone()))
        });
        set.collect()
    }

    /// The value of an option outside of rules, shortened to one line, and its location. `None` if
    /// the option has its default or does not exist.
    #[must_use]
    pub fn setting_of(&self, section: &str, key: &str) -> Option<(&str, &Location)> {
        let known = SECTIONS.iter().find(|known| known.name == section)?;
        let key = known.options.iter().find(|option| option.key == key)?.key;
        let origin = self.origins.of(known.name, key)?;
        Some((&*origin.shown, &origin.location))
    }

    /// The location where an option is set outside of rules. `None` if the option has its default
    /// or does not exist.
    #[must_use]
    pub fn origin_of(&self, section: &str, key: &str) -> Option<&Location> {
        self.setting_of(section, key).map(|(_, location)| location)
    }
}

//! Rules: values of options for some URLs.

use super::{
    RawValue, ValueSource,
    explain::UrlValue,
    first_span,
    list::ENTRIES,
    origin::ValueOrigin,
    value::{Value, elements},
};
use crate::{
    disk::location::Location,
    error::FaultKind,
    pattern::{
        parts::UrlParts,
        set::{ListedSpec, UrlSpecSet},
    },
};
use std::{fmt, sync::Arc};
use toml_edit::{TableLike, Value as Toml};

/// The key of a section's rules.
pub(crate) const FOR: &str = "for";

/// The key of the URLs in a rule.
pub(crate) const URL: &str = "url";

const URL_EXPECTED: &str =
    "a URL-SPECIFICATION or an array of them, such as \"*://*.example.org/*\"";

/// An option that may depend on the URL. The first rule that applies to the URL and sets the option
/// decides; without one, the value in the section applies.
///
/// ```
/// use std::path::Path;
/// use wwwoffle_config::{Config, UrlParts};
/// use wwwoffle_url::{CanonicalUrl, LocalHost};
///
/// let text = r#"
///     [[offline-options.for]]
///     url = ["!*://*.example.org/news/*", "*://*.example.org/*"]
///     dont-request = true
/// "#;
/// let config = Config::parse(text, Path::new("wwwoffle.conf"))?;
/// for (url, want) in [
///     ("http://www.example.org/", true),
///     ("http://www.example.org/news/", false),
///     ("http://www.example.com/", false),
/// ] {
///     let url = CanonicalUrl::parse(url, &LocalHost::default())?;
///     assert_eq!(*config.offline_options.dont_request.of(&UrlParts::of(&url)), want);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct UrlRules<T> {
    plain: T,
    /// The specifications of the section's rules, shared by all options of the section.
    specs: Arc<RuleSpecs>,
    /// The number of each rule that sets the option, in ascending order, with the value and its
    /// location.
    set: Vec<(usize, T, ValueOrigin)>,
}

impl<T> UrlRules<T> {
    /// The value for a URL.
    #[must_use]
    pub fn of(&self, url: &UrlParts<'_>) -> &T {
        self.rule(url).map_or(&self.plain, |(_, value, _)| value)
    }

    /// The value for a URL. If no rule decides about it, the value for `other`.
    #[must_use]
    pub fn of_either(&self, url: &UrlParts<'_>, other: Option<&UrlParts<'_>>) -> &T {
        let rule = self.rule(url).or_else(|| self.rule(other?));
        rule.map_or(&self.plain, |(_, value, _)| value)
    }

    /// The value for a URL, and the specification of the rule that decided. The specification is
    /// `None` if no rule decided.
    #[must_use]
    pub fn decided(&self, url: &UrlParts<'_>) -> (&T, Option<&ListedSpec>) {
        self.rule(url).map_or((&self.plain, None), |(listed, value, _)| (value, Some(listed)))
    }

    /// The value for URLs without a rule.
    #[must_use]
    pub fn plain(&self) -> &T {
        &self.plain
    }

    /// Each value that a rule sets, with its location.
    pub fn rules(&self) -> impl Iterator<Item = (&T, &Location)> {
        self.set.iter().map(|(_, value, origin)| (value, &origin.location))
    }

    /// A text that identifies the values and their URLs. The text changes if and only if a value or
    /// a URL changes. Locations are not part of the text.
    ///
    /// ```
    /// use std::path::Path;
    /// use wwwoffle_config::Config;
    ///
    /// let age = |text: &str| {
    ///     Config::parse(text, Path::new("wwwoffle.conf")).map(|config| config.purge.age.to_identity())
    /// };
    /// let one = "[[purge.for]]\nurl = \"*://a/*\"\nage = \"1w\"\n";
    /// assert_eq!(age(one)?, age(&format!("# Pages\n{one}"))?);
    /// assert_ne!(age(one)?, age(&one.replace("a/", "b/"))?);
    /// assert_ne!(age(one)?, age(&one.replace("1w", "2w"))?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn to_identity(&self) -> String
    where
        T: fmt::Debug,
    {
        let mut words = vec![format!("{:?}", self.plain)];
        for (number, value, _) in &self.set {
            words.extend(self.specs.of_rule(*number).map(|listed| listed.spec().to_string()));
            words.push(format!("{value:?}"));
        }
        words.join(" ")
    }

    /// The same rules for a part of the value, which `of` extracts. Rules without the part are left
    /// out. If the plain value does not have the part, `otherwise` is the new plain value.
    pub(crate) fn narrowed<P>(&self, of: impl Fn(&T) -> Option<P>, otherwise: P) -> UrlRules<P> {
        let part = |(number, value, origin): &(usize, T, ValueOrigin)| {
            Some((*number, of(value)?, origin.clone()))
        };
        UrlRules {
            plain: of(&self.plain).unwrap_or(otherwise),
            specs: Arc::clone(&self.specs),
            set: self.set.iter().filter_map(part).collect(),
        }
    }

    fn rule(&self, url: &UrlParts<'_>) -> Option<(&ListedSpec, &T, &ValueOrigin)> {
        if self.set.is_empty() {
            return None;
        }
        let sets = |rule| self.set.binary_search_by_key(&rule, |(number, ..)| *number).ok();
        let (listed, at) = self.specs.first(url, sets)?;
        self.set.get(at).map(|(_, value, origin)| (listed, value, origin))
    }

    /// The value and location of the rule that decides about a URL, for
    /// [`Config::explain`](crate::Config::explain). `None` if no rule decides.
    pub(crate) fn value_for_url(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        let (listed, _, origin) = self.rule(url)?;
        Some(UrlValue::at(&origin.location, origin.shown.to_string(), Some(listed)))
    }
}

/// Two options are equal if their values and the URLs of these values are written alike. Locations
/// are ignored, and so are rules that do not set the option.
impl<T: PartialEq> PartialEq for UrlRules<T> {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(one, two): (&(usize, T, ValueOrigin), &(usize, T, ValueOrigin))| {
            let specs = |rules: &Self, number| {
                rules.specs.of_rule(number).map(|listed| listed.spec().clone()).collect::<Vec<_>>()
            };
            one.1 == two.1 && specs(self, one.0) == specs(other, two.0)
        };
        self.plain == other.plain
            && self.set.len() == other.set.len()
            && self.set.iter().zip(&other.set).all(is_same)
    }
}

impl<T: Eq> Eq for UrlRules<T> {}

/// Shows only the value if there are no rules.
impl<T: fmt::Debug> fmt::Debug for UrlRules<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.set.is_empty() {
            return self.plain.fmt(f);
        }
        let mut rules = f.debug_struct("Ruled");
        rules.field("plain", &self.plain).field("set", &self.set).finish_non_exhaustive()
    }
}

/// Reads an option with rules from the current section of `source`.
pub(crate) fn take<T: Value>(
    source: &mut ValueSource<'_>,
    section: &'static str,
    key: &'static str,
    default: &'static str,
) -> UrlRules<T> {
    let plain = source.option(section, key, default);
    let texts = source.rules().texts.clone();
    let mut set = Vec::new();
    for (number, rule) in texts.into_iter().enumerate() {
        if let Some((value, origin)) = source.in_rule(rule, key) {
            source.origins.add_rule(section, key, &origin.location);
            set.push((number, value, origin));
        }
    }
    UrlRules { plain, specs: Arc::clone(&source.rules().specs), set }
}

/// The specifications of all rules of a section, in one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleSpecs {
    specs: UrlSpecSet,
    /// For each rule, the number of specifications in this rule and all rules before it.
    ends: Vec<usize>,
}

impl RuleSpecs {
    /// The specifications of a rule, in order.
    fn of_rule(&self, number: usize) -> impl Iterator<Item = &ListedSpec> {
        let from = number.checked_sub(1).and_then(|before| self.ends.get(before));
        let (from, to) = (from.copied().unwrap_or(0), self.ends.get(number).copied().unwrap_or(0));
        (from..to).filter_map(|number| self.specs.get(number))
    }

    /// Finds the first rule that applies to `url` and for whose number `sets` returns a value.
    /// Returns the matching specification and this value, or `None` if there is no such rule.
    ///
    /// In a rule the first matching specification decides. If it begins with `!`, the rule does not
    /// apply.
    pub(crate) fn first<S>(
        &self,
        url: &UrlParts<'_>,
        sets: impl Fn(usize) -> Option<S>,
    ) -> Option<(&ListedSpec, S)> {
        let mut begin = 0;
        for number in self.specs.candidates(url) {
            if number < begin {
                continue;
            }
            let Some(listed) = self.specs.get(number) else { continue };
            if !listed.spec().matches_parts(url) {
                continue;
            }
            let rule = self.ends.partition_point(|end| *end <= number);
            match sets(rule).filter(|_| !listed.spec().negated()) {
                Some(set) => return Some((listed, set)),
                None => begin = self.ends.get(rule).copied().unwrap_or(begin),
            }
        }
        None
    }
}

/// A rule as written.
#[derive(Clone, Copy)]
pub(crate) struct RuleText<'a> {
    /// The number of the text that contains the rule.
    pub(crate) at: usize,
    pub(crate) table: &'a dyn TableLike,
}

/// The rules of one section, in order.
#[derive(Default)]
pub(crate) struct SectionRules<'a> {
    pub(crate) specs: Arc<RuleSpecs>,
    pub(crate) texts: Vec<RuleText<'a>>,
}

impl<'a> SectionRules<'a> {
    /// Adds a rule. Faults in its URLs are recorded in `source`.
    pub(crate) fn add(
        &mut self,
        at: usize,
        table: &'a dyn TableLike,
        source: &mut ValueSource<'_>,
    ) {
        let read = if let Some(value) = table.get(URL).and_then(toml_edit::Item::as_value) {
            urls(value, source)
        } else {
            source.add(first_span(table), FaultKind::RuleWithoutUrl);
            UrlSpecSet::default()
        };
        let specs = Arc::make_mut(&mut self.specs);
        specs.specs.add_all(&read);
        specs.ends.push(specs.specs.len());
        // A rule with faulty URLs is added too, so that faults of its values are reported.
        self.texts.push(RuleText { at, table });
    }
}

/// Reads the specifications of a rule. Faulty ones are recorded in `source` and left out.
fn urls(value: &Toml, source: &mut ValueSource<'_>) -> UrlSpecSet {
    let given = RawValue { option: URL, value, is_secret: false };
    let mut set = UrlSpecSet::default();
    let sound = if value.is_str() {
        set.read_one(&given, source, ENTRIES).is_some()
    } else {
        elements(&given, source, URL_EXPECTED, |one, source| set.read_one(one, source, ENTRIES))
            .is_some()
    };
    if sound && set.iter().all(|listed| listed.spec().negated()) {
        source.add(value.span(), FaultKind::RuleForNothing);
    }
    set
}

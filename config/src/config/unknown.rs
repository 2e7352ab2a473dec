//! Settings that the schema does not know, and listeners that are not safe.

use super::nearest::nearest;
use crate::{
    error::FaultKind,
    schema::{Config, OptionInfo, SECTIONS, Section},
    source::{
        ValueSource, first_span,
        rule::{FOR, URL},
        rules_of, shortened,
        text::INCLUDE,
    },
};
use toml_edit::TableLike;

/// Records a fault if `config` listens for other machines without the required settings.
pub(super) fn refuse_open(source: &mut ValueSource<'_>, config: &Config) {
    let Err(open_listener) = config.may_listen(config.startup.listen.as_slice()) else {
        return;
    };
    let listen = source.tables("startup").find_map(|(at, table)| {
        Some((at, table.get("listen").and_then(toml_edit::Item::as_value)?))
    });
    source.select(listen.map_or(0, |(at, _)| at));
    source.add(listen.and_then(|(_, value)| value.span()), FaultKind::Open(open_listener));
}

/// Records a fault for each section and option that is unknown or has the wrong form.
pub(super) fn refuse_unknown(source: &mut ValueSource<'_>) {
    for (at, text) in source.texts().iter().enumerate() {
        source.select(at);
        let own = text.section();
        match own.and_then(|own| SECTIONS.iter().find(|section| section.name == own)) {
            Some(section) => refuse_unknown_options(source, section, text.root()),
            None => refuse_unknown_sections(source, text.root()),
        }
    }
}

fn refuse_unknown_sections(source: &mut ValueSource<'_>, root: &toml_edit::Table) {
    for (name, item) in root {
        let span = || root.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
        let section = SECTIONS.iter().find(|section| section.name == name);
        match (section, item.as_table_like()) {
            (Some(section), Some(options)) => refuse_unknown_options(source, section, options),
            (Some(section), None) => {
                source.add(span(), FaultKind::NotASection { found: section.name });
            }
            (None, options) => source.add(span(), unknown_section(name, options.is_some())),
        }
    }
}

fn refuse_unknown_options(
    source: &mut ValueSource<'_>,
    section: &'static Section,
    table: &dyn TableLike,
) {
    for (name, item) in table.iter() {
        let span = || table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
        let ruled = section.options.iter().any(|option| option.rules);
        if name == FOR && ruled {
            if rules_of(table).is_empty() {
                source.add(span(), FaultKind::NotRules { section: section.name });
            }
            for rule in rules_of(table) {
                refuse_in_rule(source, section, rule);
            }
            continue;
        }
        if name == INCLUDE {
            if !item.is_value() {
                source.add(span(), FaultKind::NotAValue { option: INCLUDE, kind: "file names" });
            }
            continue;
        }
        let Some(option) = section.options.iter().find(|option| option.key == name) else {
            source.add(span(), unknown_option(section, name));
            continue;
        };
        if !item.is_value() {
            let kind = FaultKind::NotAValue { option: option.key, kind: option.kind };
            source.add(span(), kind);
        }
    }
}

/// Records a fault for each setting that a rule must not contain or that has the wrong form, and
/// for a rule without settings.
fn refuse_in_rule(source: &mut ValueSource<'_>, section: &'static Section, rule: &dyn TableLike) {
    let mut sets = 0;
    for (name, item) in rule.iter().filter(|(name, _)| *name != URL) {
        sets += 1;
        let span = || rule.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
        let kind = match section.options.iter().find(|option| option.key == name) {
            Some(option) if !option.rules => {
                FaultKind::NotInRule { section: section.name, option: option.key }
            }
            Some(option) if !item.is_value() => {
                FaultKind::NotAValue { option: option.key, kind: option.kind }
            }
            Some(_) => continue,
            None => unknown_in_rule(section, name),
        };
        source.add(span(), kind);
    }
    if sets == 0 {
        source.add(first_span(rule), FaultKind::EmptyRule { section: section.name });
    }
}

fn unknown_section(name: &str, is_table: bool) -> FaultKind {
    let found = shortened(name).into_owned();
    if is_table {
        let nearest = nearest(name, SECTIONS.iter().map(|section| section.name));
        return FaultKind::UnknownSection { found, nearest };
    }
    if let Some(belongs) = section_of_option(name) {
        return FaultKind::Misplaced { option: found, belongs };
    }
    let options = SECTIONS.iter().flat_map(|section| section.options);
    FaultKind::NoSection { found, nearest: nearest(name, options.map(|option| option.key)) }
}

fn unknown_option(section: &Section, name: &str) -> FaultKind {
    let near = nearest(name, section.options.iter().map(|option| option.key));
    match section_of_option(name) {
        Some(belongs) if near.is_none() => {
            FaultKind::Misplaced { option: name.to_owned(), belongs }
        }
        _ => FaultKind::UnknownOption {
            section: section.name,
            found: shortened(name).into_owned(),
            nearest: near,
        },
    }
}

fn unknown_in_rule(section: &Section, name: &str) -> FaultKind {
    let ruled = section.options.iter().filter(|option| option.rules);
    FaultKind::UnknownOption {
        section: section.name,
        found: shortened(name).into_owned(),
        nearest: nearest(name, ruled.map(|option: &OptionInfo| option.key)),
    }
}

/// The section with an option of this name, if there is exactly one.
fn section_of_option(option: &str) -> Option<&'static str> {
    let has = |section: &&Section| section.options.iter().any(|known| known.key == option);
    let mut homes = SECTIONS.iter().filter(has).map(|section| section.name);
    homes.next().filter(|_| homes.next().is_none())
}

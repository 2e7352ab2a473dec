//! The options that a new text of a configuration changes.

use crate::schema::{Effect, OptionInfo, SECTIONS, Section};
use toml_edit::{Document, Item, TableLike, Value as Toml};

/// The key of a section's rules.
const RULES: &str = "for";

/// An option with a new value or new rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionChange {
    /// The section.
    pub section: &'static str,
    /// The option; `for` stands for the rules of the section.
    pub key: &'static str,
    /// The time at which the new value comes into force.
    pub effect: Effect,
}

/// The options to which `old` and `new` give different values. Both texts must be free of faults.
/// The notation of a value makes no difference, nor whether a default is written. The content of
/// lists in other files is ignored.
#[must_use]
pub fn changes(old: &str, new: &str) -> Vec<OptionChange> {
    let (Ok(old), Ok(new)) = (Document::parse(old), Document::parse(new)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for section in SECTIONS {
        let of = |document: &Document<&str>, key: &str, default: &str| {
            let table = document.get(section.name).and_then(Item::as_table_like);
            meaning(table.and_then(|table| table.get(key)), default)
        };
        for OptionInfo { key, default, effect, .. } in section.options {
            if of(&old, key, default) != of(&new, key, default) {
                found.push(OptionChange { section: section.name, key, effect: *effect });
            }
        }
        if of(&old, RULES, "[]") != of(&new, RULES, "[]") {
            found.push(rules_of(section));
        }
    }
    found
}

fn rules_of(section: &'static Section) -> OptionChange {
    OptionChange { section: section.name, key: RULES, effect: Effect::Live }
}

/// The meaning of an item, independent of its spelling.
fn meaning(item: Option<&Item>, default: &str) -> String {
    let mut out = String::new();
    match item {
        None | Some(Item::None) => {
            if let Ok(value) = default.parse() {
                write_value(&value, &mut out);
            }
        }
        Some(Item::Value(value)) => write_value(value, &mut out),
        Some(Item::Table(table)) => write_table(table, &mut out),
        Some(Item::ArrayOfTables(tables)) => {
            out.push('[');
            for table in tables {
                write_table(table, &mut out);
                out.push(',');
            }
            out.push(']');
        }
    }
    out
}

fn write_value(value: &Toml, out: &mut String) {
    match value {
        Toml::String(text) => out.extend(["\"", &text.value().escape_debug().to_string(), "\""]),
        Toml::Array(array) => {
            out.push('[');
            for element in array {
                write_value(element, out);
                out.push(',');
            }
            out.push(']');
        }
        Toml::InlineTable(table) => write_table(table, out),
        Toml::Integer(number) => *out += &number.value().to_string(),
        Toml::Boolean(is) => *out += &is.value().to_string(),
        Toml::Float(_) | Toml::Datetime(_) => {
            *out += &value.clone().decorated("", "").to_string();
        }
    }
}

fn write_table(table: &dyn TableLike, out: &mut String) {
    out.push('{');
    for (key, item) in table.iter() {
        out.extend([key, "=", &meaning(Some(item), ""), ","]);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn an_equal_meaning_is_not_a_change() {
        for (old, new, want) in [
            ("", "[options]\n", ""),
            ("", "[options]\nlog-level = \"info\"", ""),
            ("", "[options]\nlog-level = 'debug'", "options.log-level"),
            ("options.log-level = 'warn'", "", "options.log-level"),
            ("[tunnel]\nports = [443]", "[tunnel]\n# c\nports = [\n 443, # c\n]", ""),
            ("[tunnel]\nports = [443]", "[tunnel]\nports = [\"443\"]", "tunnel.ports"),
            ("[https]\nrefuse = [{file='a'}]", "[https]\nrefuse = [ { file = \"a\" } ]", ""),
            (
                "[options]\ndns-timeout = '1s'",
                "[startup]\nmax-connections = 1",
                "startup.max-connections options.dns-timeout",
            ),
            ("[https]", "[[https.for]]\nurl = []", "https.for"),
            ("[[https.for]]\nurl=[ ]", "[[https.for]]\nurl = []", ""),
        ] {
            let got: Vec<_> = changes(old, new)
                .iter()
                .map(|change| format!("{}.{}", change.section, change.key))
                .collect();
            assert_eq!(got.join(" "), want, "{old} -> {new}");
        }
    }
}

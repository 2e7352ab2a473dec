//! The schema of the configuration as JSON Schema (draft 2020-12), for programs.

use crate::schema::{OptionInfo, SECTIONS, Section};

/// The JSON schema of `include`.
const ONE_OR_MORE: &str = r#"{"type": ["string", "array"], "items": {"type": "string"}}"#;
const URL: &str = r#"{"type": ["string", "array"], "items": {"type": ["string", "object"]}}"#;

/// The configuration as a JSON schema. A file that violates the schema is faulty. The parser checks
/// more than the schema, so a file that conforms to the schema may also be faulty.
#[must_use]
pub fn json_schema() -> String {
    let sections = joined(SECTIONS.iter().map(section));
    format!(
        "{{\n\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n\
         \"title\": \"The configuration of wwwoffle\",\n\"type\": \"object\",\n\
         \"additionalProperties\": false,\n\"properties\": {{\n{sections}\n}}\n}}\n"
    )
}

fn section(section: &Section) -> String {
    let options = section.options.iter().map(|known| option(known, true));
    let ruled = section.options.iter().filter(|known| known.rules);
    let ruled: Vec<String> = ruled.map(|known| option(known, false)).collect();
    let of_rules = (!ruled.is_empty()).then(|| {
        let ruled = joined(ruled.into_iter());
        format!(
            "\"for\": {{\"type\": \"array\", \"items\": {{\"type\": \"object\", \"required\": [\"url\"], \
             \"additionalProperties\": false, \"properties\": {{\"url\": {URL},\n{ruled}}}}}}}"
        )
    });
    let include = format!("\"include\": {ONE_OR_MORE}");
    let properties = joined(options.chain([include]).chain(of_rules));
    format!(
        "\"{}\": {{\"type\": \"object\", \"description\": {:?}, \"additionalProperties\": false, \
         \"properties\": {{\n{properties}\n}}}}",
        section.name,
        section.sentence.trim()
    )
}

/// The schema of an option. `with_default` is set for an option of a section. An option of a rule
/// has no default.
fn option(option: &OptionInfo, with_default: bool) -> String {
    let kind = option.json.strip_prefix('{').and_then(|json| json.strip_suffix('}'));
    let kind = kind.unwrap_or_default();
    let default = if with_default && !option.is_secret {
        format!(", \"default\": {}", option.default)
    } else {
        String::new()
    };
    format!(
        "\"{}\": {{{kind}, \"description\": {:?}, \"x-kind\": {:?}, \"x-effect\": \"{}\", \
         \"x-rules\": {}, \"x-protection\": \"{}\"{default}}}",
        option.key,
        option.sentence.trim(),
        option.kind,
        option.effect,
        option.rules,
        option.protection
    )
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",\n")
}

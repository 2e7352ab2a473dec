//! Header fields of requests and responses that are removed or replaced.

use crate::{
    pattern::parts::UrlParts,
    source::{
        RawValue, ValueSource,
        explain::UrlValue,
        field::OptionType,
        rule::{self, UrlRules},
        value::Value,
    },
};
use std::{collections::BTreeMap, fmt};

/// Fields that must stay, because without them a message cannot be sent or has another meaning.
const KEPT: &[&str] = &[
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "host",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The longest name and the longest value of a field, in bytes.
const MAX_NAME: usize = 256;
const MAX_VALUE: usize = 8 << 10;

/// The treatment of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldAction {
    /// The field stays unchanged.
    Leave,
    /// The field is removed.
    Remove,
    /// The field gets this value, if it is present.
    Replace(String),
}

/// The treatment of fields, by their names in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldActions(BTreeMap<String, FieldAction>);

/// The treatment of fields, with separate rules for each field.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CensoredFields {
    all: UrlRules<FieldActions>,
    /// The rules of each field, by its name in lower case.
    each: BTreeMap<String, UrlRules<FieldAction>>,
}

impl CensoredFields {
    /// The fields that are removed or replaced in requests for a URL and their responses: the name
    /// in lower case, and the treatment.
    pub fn of<'a>(
        &'a self,
        url: &'a UrlParts<'_>,
    ) -> impl Iterator<Item = (&'a str, &'a FieldAction)> {
        let each = self.each.iter().map(|(name, ruled)| (name.as_str(), ruled.of(url)));
        each.filter(|(_, censor)| **censor != FieldAction::Leave)
    }

    /// Whether no field is ever removed or replaced.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }
}

/// Shows the setting as written. The rules of each field follow from it.
impl fmt::Debug for CensoredFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.all.fmt(f)
    }
}

impl Value for FieldActions {
    const KIND: &'static str = "fields";
    const MEANING: &'static str = "\
A table of field names, each with `true` to remove the field, `false` to leave it, or a new
value for it if it is present: `{ Cookie = true, User-Agent = \"Mozilla/5.0\" }`. For each
field, the first rule that names it decides. Fields that messages depend on, such as `Host`,
cannot be changed.";
    const EXPECTED: &'static str = "a table of fields, such as { Cookie = true, From = \"me\" }";
    const JSON: &'static str =
        r#"{"type": "object", "additionalProperties": {"type": ["string", "boolean"]}}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let Some(table) = given.value.as_inline_table() else {
            return source.refuse(given, Self::EXPECTED, "");
        };
        let mut fields = BTreeMap::new();
        let mut sound = true;
        for (name, value) in table {
            let one = RawValue { value, ..*given };
            let read = censor(name, value).map_or_else(
                |because| source.refuse(&one, Self::EXPECTED, &format!("{name:?}: {because}")),
                Some,
            );
            sound &= read.is_some();
            fields.extend(read.map(|read| (name.to_ascii_lowercase(), read)));
        }
        sound.then_some(Self(fields))
    }
}

fn censor(name: &str, value: &toml_edit::Value) -> Result<FieldAction, &'static str> {
    // The characters of a token (RFC 9110 §5.6.2).
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_token) {
        return Err("it is not the name of a field");
    }
    if KEPT.contains(&name.to_ascii_lowercase().as_str()) {
        return Err("it must stay, because messages depend on it");
    }
    match (value.as_bool(), value.as_str()) {
        (Some(true), _) => Ok(FieldAction::Remove),
        (Some(false), _) => Ok(FieldAction::Leave),
        (None, Some(text)) if is_field_value(text) => Ok(FieldAction::Replace(text.to_owned())),
        _ => Err("it takes true, false or text of visible characters"),
    }
}

/// Whether a text consists of visible characters, with spaces only between them (RFC 9110 §5.5,
/// without the obsolete forms).
fn is_field_value(text: &str) -> bool {
    text.len() <= MAX_VALUE
        && text.trim() == text
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
}

impl OptionType for CensoredFields {
    type Plain = FieldActions;
    const RULES: bool = true;

    fn take(
        source: &mut ValueSource<'_>,
        section: &'static str,
        key: &'static str,
        default: &'static str,
    ) -> Self {
        let all = rule::take::<FieldActions>(source, section, key, default);
        let maps = all.rules().map(|(fields, _)| fields).chain([all.plain()]);
        let names: Vec<String> = maps.flat_map(|fields| fields.0.keys().cloned()).collect();
        let each = names.into_iter().map(|name| {
            let ruled = all.narrowed(|fields| fields.0.get(&name).cloned(), FieldAction::Leave);
            (name, ruled)
        });
        Self { each: each.collect(), all }
    }

    fn value_for_url(&self, url: &UrlParts<'_>) -> Option<UrlValue> {
        let quoted = |(name, censor): (&str, &FieldAction)| match censor {
            FieldAction::Leave => format!("{name:?} = false"),
            FieldAction::Remove => format!("{name:?} = true"),
            FieldAction::Replace(text) => format!("{name:?} = {text:?}"),
        };
        let decided = self.all.value_for_url(url)?;
        let fields: Vec<String> = self.of(url).map(quoted).collect();
        Some(UrlValue { value: format!("{{ {} }}", fields.join(", ")), ..decided })
    }
}

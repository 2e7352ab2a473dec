//! Media types, and the file extensions that go with them.

use crate::source::{
    RawValue, ValueSource,
    value::{STRINGS, Value, texts},
};
use std::collections::BTreeMap;

/// The longest media type or file extension, in bytes.
const MAX_NAME: usize = 127;

/// A media type: `text/html`, without parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaType(String);

impl MediaType {
    /// The type in lower case.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Parses `type/subtype` and converts it to lower case. If `any` is set, the subtype may be `*`.
fn media_type(text: &str, any: bool) -> Option<String> {
    // A restricted name (RFC 6838 §4.2).
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    let (kind, subtype) = text.split_once('/').filter(|_| text.len() <= MAX_NAME)?;
    let right = is_name(kind) && (is_name(subtype) || any && subtype == "*");
    right.then(|| text.to_ascii_lowercase())
}

/// Parses a file extension, such as `.gz`, and converts it to lower case.
fn extension(text: &str) -> Option<String> {
    let is_end = text.len() <= MAX_NAME
        && text.strip_prefix('.').is_some_and(|rest| !rest.is_empty())
        && !text.contains(|c: char| c == '/' || c == '*' || c.is_whitespace() || c.is_control());
    is_end.then(|| text.to_ascii_lowercase())
}

impl Value for MediaType {
    const KIND: &'static str = "media type";
    const MEANING: &'static str = "A media type without parameters, as in `\"text/plain\"`.";
    const EXPECTED: &'static str = "a media type, such as \"text/plain\"";

    fn parse(text: &str) -> Result<Self, &'static str> {
        media_type(text, false).map(Self).ok_or("")
    }
}

/// A list of media types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaTypes(Vec<String>);

impl MediaTypes {
    /// Whether the list includes a media type, with or without parameters.
    #[must_use]
    pub fn contains(&self, media_type: &str) -> bool {
        let bare = media_type.split(';').next().unwrap_or_default().trim();
        self.0.iter().any(|known| match known.strip_suffix('*') {
            Some(kind) => bare.get(..kind.len()).is_some_and(|own| own.eq_ignore_ascii_case(kind)),
            None => bare.eq_ignore_ascii_case(known),
        })
    }
}

impl Value for MediaTypes {
    const KIND: &'static str = "media types";
    const MEANING: &'static str = "\
An array of media types without parameters. A `*` after the slash stands for any subtype:
`[\"image/*\", \"application/zip\"]`.";
    const EXPECTED: &'static str = "an array of media types, such as [\"image/*\", \"text/css\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let expected = [Self::EXPECTED, "media types, such as \"image/*\""];
        texts(given, source, expected, |text| media_type(text, true)).map(Self)
    }
}

/// A list of file extensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions(Vec<String>);

impl Extensions {
    /// Whether a path ends in one of these extensions, in upper or lower case.
    #[must_use]
    pub fn matches_path(&self, path: &str) -> bool {
        self.0.iter().any(|known| ends_with(path, known))
    }
}

fn ends_with(path: &str, end: &str) -> bool {
    let from = path.len().checked_sub(end.len());
    from.and_then(|from| path.get(from..)).is_some_and(|own| own.eq_ignore_ascii_case(end))
}

impl Value for Extensions {
    const KIND: &'static str = "file name ends";
    const MEANING: &'static str = "\
An array of file extensions, each with its dot: `[\".gz\", \".tar.xz\"]`. Case is ignored.";
    const EXPECTED: &'static str = "an array of file extensions, such as [\".gz\", \".png\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let expected = [Self::EXPECTED, "file extensions, such as \".gz\""];
        texts(given, source, expected, extension).map(Self)
    }
}

/// Media types by file extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypesByExtension(BTreeMap<String, MediaType>);

impl TypesByExtension {
    /// The media type of a path. The longest matching extension decides. `None` if no extension
    /// matches.
    #[must_use]
    pub fn of(&self, path: &str) -> Option<&MediaType> {
        let fitting = self.0.iter().filter(|(end, _)| ends_with(path, end));
        fitting.max_by_key(|(end, _)| end.len()).map(|(_, media_type)| media_type)
    }
}

impl Value for TypesByExtension {
    const KIND: &'static str = "types by file name";
    const MEANING: &'static str = "\
A table of file extensions, each with its dot, and their media types: `{ \".html\" =
\"text/html\", \".svg\" = \"image/svg+xml\" }`. The longest matching extension decides.";
    const EXPECTED: &'static str =
        "a table of file extensions and media types, such as { \".html\" = \"text/html\" }";
    const JSON: &'static str = r#"{"type": "object", "additionalProperties": {"type": "string"}}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let Some(table) = given.value.as_inline_table() else {
            return source.refuse(given, Self::EXPECTED, "");
        };
        let mut types = BTreeMap::new();
        let mut sound = true;
        for (end, value) in table {
            let one = RawValue { value, ..*given };
            match (extension(end), MediaType::read(&one, source)) {
                (Some(end), Some(media_type)) => {
                    types.insert(end, media_type);
                }
                (None, _) => {
                    let because = format!("{end:?} is not a file extension, such as \".html\"");
                    source.refuse::<()>(given, Self::EXPECTED, &because);
                    sound = false;
                }
                (_, None) => sound = false,
            }
        }
        sound.then_some(Self(types))
    }
}

//! Names of arguments in URLs.

use crate::source::{
    RawValue, ValueSource,
    value::{STRINGS, Value, texts},
};

/// The longest name of an argument, in bytes.
const MAX_NAME: usize = 127;

/// Names of arguments. A name that ends in `*` stands for all longer names with that beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentNames(Vec<String>);

impl ArgumentNames {
    /// Whether the list has no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the list contains `name`; case matters.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|known| match known.strip_suffix('*') {
            Some(begin) => name.len() > begin.len() && name.starts_with(begin),
            None => name == known,
        })
    }
}

impl Value for ArgumentNames {
    const KIND: &'static str = "argument names";
    const MEANING: &'static str = "\
An array of names of URL arguments or of fields. A `*` at the end stands for any rest: `[\"ref\",
\"track_*\"]`.";
    const EXPECTED: &'static str = "an array of names of arguments, such as [\"ref\", \"track_*\"]";
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let expected = [Self::EXPECTED, "names of arguments, such as \"ref\""];
        texts(given, source, expected, name).map(Self)
    }
}

/// Parses one name. `None` if it is invalid. A lone `*` is invalid, because it would stand for all
/// arguments.
fn name(text: &str) -> Option<String> {
    let plain = text.strip_suffix('*').unwrap_or(text);
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"*=&?#".contains(&byte);
    let is_name = !plain.is_empty() && text.len() <= MAX_NAME && plain.bytes().all(is_plain);
    is_name.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_names_match_exactly_or_by_prefix() {
        let names = ArgumentNames(["ref", "track_*"].map(str::to_owned).to_vec());
        for (name, want) in [
            ("ref", true),
            ("Ref", false),
            ("refs", false),
            ("track_a", true),
            ("track_", false),
            ("", false),
        ] {
            assert_eq!(names.contains(name), want, "{name}");
        }
        for bad in ["", "*", "a=b", "a&b", "a b", "a*b"] {
            assert_eq!(name(bad), None, "{bad:?}");
        }
    }
}

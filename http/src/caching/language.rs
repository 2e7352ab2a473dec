//! The languages that a client accepts: `Accept-Language` (RFC 9110 §12.5.4).

/// The most language ranges read from one field. Browsers send the user's list, about ten at most.
const MAX_RANGES: usize = 64;

/// The weight 1. Weights are counted in thousandths (RFC 9110 §12.4.2).
const WHOLE: u16 = 1_000;

/// The languages that a client accepts, with their weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Languages {
    /// The ranges in lower case and without duplicates, by descending weight, then by name.
    ranges: Vec<(String, u16)>,
}

impl Languages {
    /// Parses the value of an `Accept-Language` field with its lines combined.
    ///
    /// `None` if the value violates RFC 9110 §12.5.4, gives one language two weights, or has too
    /// many ranges. Its meaning is then unknown, so it is only equal to an identical value.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut ranges: Vec<(String, u16)> = Vec::new();
        // RFC 9110 §5.6.1.2: empty list members are ignored.
        for member in text.split(',').map(str::trim).filter(|member| !member.is_empty()) {
            let (range, weight) = match member.split_once(';') {
                None => (member, WHOLE),
                Some((range, weight)) => (range.trim_end(), self::weight(weight.trim_start())?),
            };
            if !is_range(range) || ranges.len() == MAX_RANGES {
                return None;
            }
            let range = range.to_ascii_lowercase();
            match ranges.iter().find(|(known, _)| *known == range) {
                None => ranges.push((range, weight)),
                Some((_, known)) if *known == weight => {}
                Some(_) => return None,
            }
        }
        ranges.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        Some(Self { ranges })
    }

    /// The normal form of the value, which is the same for all equivalent values. The order of the
    /// list has no meaning, but the weights have (RFC 9110 §12.4.2).
    #[must_use]
    pub fn text(&self) -> String {
        let spelled = |(range, weight): &(String, u16)| match weight {
            &WHOLE => range.clone(),
            0 => format!("{range};q=0"),
            weight => format!("{range};q=0.{}", format!("{weight:03}").trim_end_matches('0')),
        };
        self.ranges.iter().map(spelled).collect::<Vec<_>>().join(",")
    }

    /// The weight of `tag` in thousandths; 0 if the client does not accept it.
    ///
    /// The longest matching range determines the weight (RFC 4647 §3.3.1: basic filtering).
    #[must_use]
    pub fn weight_of(&self, tag: &str) -> u16 {
        let length = |range: &str| if range == "*" { 0 } else { range.len() };
        self.ranges
            .iter()
            .filter(|(range, _)| range == "*" || begins_with(tag, range))
            .max_by_key(|(range, _)| length(range))
            .map_or(0, |(_, weight)| *weight)
    }

    /// The tag that suits the client best, found by lookup (RFC 4647 §3.4): the ranges are tried in
    /// descending weight, each with its prefixes. `*` matches nothing, because the caller has a
    /// default. `None` if no tag is found.
    #[must_use]
    pub fn best_of<'a>(&self, tags: &[&'a str]) -> Option<&'a str> {
        let known = |range: &str| tags.iter().find(|tag| tag.eq_ignore_ascii_case(range));
        let mut wanted = self.ranges.iter().filter(|(range, weight)| *weight > 0 && range != "*");
        let found = wanted.find_map(|(range, _)| {
            std::iter::successors(Some(range.as_str()), |range| Some(range.rsplit_once('-')?.0))
                .find_map(known)
        });
        found.copied()
    }

    /// The language with the highest weight. `None` if another range has the same weight, or if the
    /// weight is 0 or the range is `*`.
    #[must_use]
    pub fn favourite(&self) -> Option<&str> {
        let mut heaviest = self.ranges.iter();
        let (range, weight) = heaviest.next()?;
        let is_alone = heaviest.next().is_none_or(|(_, next)| next < weight);
        (is_alone && *weight > 0 && range != "*").then_some(range)
    }
}

/// Parses `q=0.5` (RFC 9110 §12.4.2).
fn weight(text: &str) -> Option<u16> {
    let (name, value) = text.split_once('=')?;
    if !name.eq_ignore_ascii_case("q") {
        return None;
    }
    let (whole, part) = value.split_once('.').unwrap_or((value, ""));
    if part.len() > 3 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part: u16 = format!("{part:0<3}").parse().ok()?;
    match whole {
        "0" => Some(part),
        "1" if part == 0 => Some(WHOLE),
        _ => None,
    }
}

/// Whether `text` is a basic language range (RFC 4647 §2.1).
fn is_range(text: &str) -> bool {
    let mut parts = text.split('-');
    let sized = |part: &str| (1..=8).contains(&part.len());
    text == "*"
        || (parts.next().is_some_and(|first| {
            sized(first) && first.bytes().all(|byte| byte.is_ascii_alphabetic())
        }) && parts
            .all(|part| sized(part) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())))
}

fn begins_with(tag: &str, range: &str) -> bool {
    tag.get(..range.len()).is_some_and(|start| start.eq_ignore_ascii_case(range))
        && matches!(tag.as_bytes().get(range.len()), None | Some(b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_preference_has_one_spelling() {
        for (given, want) in [
            ("en, de", Some("de,en")),
            ("de, en", Some("de,en")),
            (" eN ,   De,,", Some("de,en")),
            ("en-US,en;q=0.5", Some("en-us,en;q=0.5")),
            ("en;q=0.5, en-us ; Q=1.000", Some("en-us,en;q=0.5")),
            ("fr;q=0.050, *;q=0", Some("fr;q=0.05,*;q=0")),
            ("de, DE", Some("de")),
            ("", Some("")),
            ("de, de;q=0.5", None),
            ("de;q=1.5", None),
            ("de;q=0.1234", None),
            ("de;q=-1", None),
            ("de;q", None),
            ("de;level=1", None),
            ("de;q=0.5;q=0.5", None),
            ("d e", None),
            ("de-", None),
            ("3d", None),
            ("verylonglanguage", None),
        ] {
            let got = Languages::parse(given).map(|languages| languages.text());
            assert_eq!(got.as_deref(), want, "{given:?}");
            // Normalising a normal form does not change it.
            if let Some(normal) = want {
                assert_eq!(Languages::parse(normal).unwrap().text(), normal);
            }
        }
        let many = |count| (0..count).map(|n| format!("aa-{n}")).collect::<Vec<_>>().join(",");
        assert!(Languages::parse(&many(MAX_RANGES)).is_some());
        assert!(Languages::parse(&many(MAX_RANGES + 1)).is_none());
    }

    #[test]
    fn the_longest_language_range_decides_the_weight() {
        let languages = Languages::parse("de-at, de;q=0.5, en-gb;q=0, *;q=0.1").unwrap();
        for (tag, want) in [
            ("de-AT", 1_000),
            ("de-AT-1996", 1_000),
            ("de", 500),
            ("de-CH", 500),
            ("en-GB", 0),
            ("en", 100),
            ("den", 100),
        ] {
            assert_eq!(languages.weight_of(tag), want, "{tag}");
        }
        assert_eq!(Languages::parse("de").unwrap().weight_of("en"), 0);
    }

    #[test]
    fn the_favourite_language_has_the_greatest_weight() {
        for (given, want) in [
            ("fr;q=0.5, de;q=1.0", Some("de")),
            ("de", Some("de")),
            ("de, en", None),
            ("*, de;q=0.5", None),
            ("de;q=0", None),
            ("", None),
        ] {
            assert_eq!(Languages::parse(given).unwrap().favourite(), want, "{given}");
        }
    }
}

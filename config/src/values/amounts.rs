//! Ages, sizes, percentages and permissions.

use crate::source::{RawValue, ValueSource, value::Value};
use std::time::Duration;

/// The longest age, in days: a hundred years. No clock overflows if this age is subtracted from a
/// date.
const MAX_AGE_DAYS: u64 = 36_500;

/// The reason to refuse a number without quotes.
pub(super) const IN_QUOTES: &str = "it must be in quotes, with its unit";

const HOUR: u64 = 60 * 60;
const DAY: u64 = 24 * HOUR;

/// An age of at most 100 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Age(Duration);

impl Age {
    /// The age as a duration.
    #[must_use]
    pub fn as_duration(self) -> Duration {
        self.0
    }
}

/// An age, or no limit of age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgeLimit {
    /// The limit is this age.
    At(Age),
    /// There is no limit.
    Never,
}

/// The age at which a stored page is revalidated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevalidationAge {
    /// If the page is stale by HTTP's own rules (RFC 9111).
    Standard,
    /// At no age.
    Never,
    /// If the page is older than this age, whatever its response header says.
    OlderThan(Age),
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

impl Size {
    /// The size in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }
}

/// Parses a size as in the configuration: `200MB`.
impl std::str::FromStr for Size {
    type Err = ParseSizeError;

    fn from_str(text: &str) -> Result<Self, ParseSizeError> {
        Self::parse(text).map_err(ParseSizeError)
    }
}

/// The error for a text that is not a [`Size`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct ParseSizeError(&'static str);

/// The number of older versions of a page that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionCount(u8);

impl VersionCount {
    /// The number of versions.
    #[must_use]
    pub fn number(self) -> usize {
        self.0.into()
    }
}

impl Value for VersionCount {
    const KIND: &'static str = "number of versions";
    const MEANING: &'static str = "A whole number from 0 to 100.";
    const EXPECTED: &'static str = "a number from 0 to 100";
    const JSON: &'static str = r#"{"type": "integer", "minimum": 0, "maximum": 100}"#;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let number = given.value.as_integer().and_then(|number| u8::try_from(number).ok());
        let number = number.filter(|number| *number <= 100).map(Self);
        number.or_else(|| source.refuse(given, Self::EXPECTED, ""))
    }
}

/// A size, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeLimit {
    /// At most this size.
    At(Size),
    /// Any size.
    None,
}

/// A size, no limit, or a limit that depends on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceLimit {
    /// A share of the disk.
    Auto,
    /// This size.
    At(Size),
    /// No limit.
    None,
}

impl SpaceLimit {
    /// The limit in bytes. `auto` is the limit that depends on the disk. `None` means no limit.
    #[must_use]
    pub fn bytes(self, auto: Option<u64>) -> Option<u64> {
        match self {
            Self::Auto => auto,
            Self::At(size) => Some(size.bytes()),
            Self::None => None,
        }
    }
}

/// A percentage, from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u8);

impl Percent {
    /// The number before the percent sign.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0
    }
}

/// The permissions of a file or directory, in the format of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permissions(u32);

impl Permissions {
    /// The permission bits.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }
}

/// Splits a whole number from its unit. A space between them is allowed.
pub(super) fn number_and_unit(text: &str) -> Result<(u64, &str), &'static str> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() {
        return Err("it must begin with a whole number");
    }
    // A number that overflows is above every limit anyway.
    Ok((number.parse().unwrap_or(u64::MAX), unit.trim_start()))
}

fn age(text: &str) -> Result<Age, &'static str> {
    let (number, unit) = number_and_unit(text)?;
    let unit = match unit {
        "min" => 60,
        "h" => HOUR,
        "d" => DAY,
        "w" => 7 * DAY,
        "mo" => 30 * DAY,
        "y" => 365 * DAY,
        "" => return Err("the unit is missing"),
        "m" => return Err("\"m\" is ambiguous: write min for minutes or mo for months"),
        _ => return Err("units are min, h, d, w, mo and y"),
    };
    match number.checked_mul(unit) {
        Some(seconds) if seconds <= MAX_AGE_DAYS * DAY => Ok(Age(Duration::from_secs(seconds))),
        _ => Err("it must be at most 100y"),
    }
}

impl Value for AgeLimit {
    const KIND: &'static str = "age";
    const MEANING: &'static str = "\
A whole number and its unit, in quotes: `min` (minutes), `h` (hours), `d` (days), `w` (weeks),
`mo` (months of 30 days) or `y` (years of 365 days), as in `\"4w\"`, at most 100 years; or
`\"never\"`. `m` is not allowed for ages, because it could mean minutes or months.";
    const EXPECTED: &'static str = "an age, such as \"2w\" or \"6mo\", or \"never\"";
    const IF_NUMBER: &'static str = IN_QUOTES;

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "never" { Ok(Self::Never) } else { age(text).map(Self::At) }
    }
}

impl Value for RevalidationAge {
    const KIND: &'static str = "age that matters";
    const MEANING: &'static str = "\
`\"standard\"`: by HTTP's own rules (RFC 9111). An age, as in `\"10min\"`, `\"2h\"` or
`\"1mo\"`: at that age. `\"never\"`: at no age.";
    const EXPECTED: &'static str = "an age, such as \"10min\" or \"2h\", \"standard\" or \"never\"";
    const IF_NUMBER: &'static str = IN_QUOTES;

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "standard" => Ok(Self::Standard),
            "never" => Ok(Self::Never),
            text => age(text).map(Self::OlderThan),
        }
    }
}

impl Value for Size {
    const KIND: &'static str = "size";
    const MEANING: &'static str = "\
A whole number and its unit, in quotes: `B`, `kB`, `MB`, `GB`, `TB` (a thousand times each), `KiB`, `MiB`,
`GiB` or `TiB` (1024 times each), as in `\"10 MB\"`.";
    const EXPECTED: &'static str = "a size, such as \"10 MB\" or \"64 KiB\"";
    const IF_NUMBER: &'static str = IN_QUOTES;

    fn parse(text: &str) -> Result<Self, &'static str> {
        let (number, unit) = number_and_unit(text)?;
        let unit: u64 = match unit {
            "B" => 1,
            "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "TB" => 1_000_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "TiB" => 1 << 40,
            "" => return Err("the unit is missing"),
            _ => return Err("units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB"),
        };
        let bytes = number.checked_mul(unit).filter(|bytes| i64::try_from(*bytes).is_ok());
        bytes.map(Self).ok_or("it must be at most 8388607 TiB")
    }
}

impl Value for SizeLimit {
    const KIND: &'static str = "size limit";
    const MEANING: &'static str = "A size, as in `\"20 GB\"`, or `\"none\"`.";
    const EXPECTED: &'static str = "a size, such as \"20 GB\", or \"none\"";
    const IF_NUMBER: &'static str = IN_QUOTES;

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "none" { Ok(Self::None) } else { Size::parse(text).map(Self::At) }
    }
}

impl Value for SpaceLimit {
    const KIND: &'static str = "size limit by the disk";
    const MEANING: &'static str =
        "`\"auto\"`: depends on the size of the disk. Or a size, as in `\"20 GB\"`, or `\"none\"`.";
    const EXPECTED: &'static str = "\"auto\", a size, such as \"20 GB\", or \"none\"";
    const IF_NUMBER: &'static str = IN_QUOTES;

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            text => Size::parse(text).map(Self::At),
        }
    }
}

impl Value for Percent {
    const KIND: &'static str = "share";
    const MEANING: &'static str =
        "A whole number from 0 to 100 and `%`, in quotes, as in `\"80%\"`.";
    const EXPECTED: &'static str = "a percentage, such as \"80%\"";
    const IF_NUMBER: &'static str = IN_QUOTES;

    fn parse(text: &str) -> Result<Self, &'static str> {
        let (number, unit) = number_and_unit(text)?;
        match (u8::try_from(number).ok().filter(|number| *number <= 100), unit) {
            (_, "") => Err("the % is missing"),
            (Some(number), "%") => Ok(Self(number)),
            (None, "%") => Err("it must be at most 100%"),
            _ => Err("its unit is %"),
        }
    }
}

impl Value for Permissions {
    const KIND: &'static str = "permissions";
    const MEANING: &'static str = "\
Octal digits in quotes, as for `chmod`, at most `\"0777\"`. The owner can always read and write.";
    const EXPECTED: &'static str = "permissions, such as \"0600\"";
    const IF_NUMBER: &'static str = IN_QUOTES;

    fn parse(text: &str) -> Result<Self, &'static str> {
        let octal = !text.is_empty() && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let bits = octal.then(|| u32::from_str_radix(text, 8).ok()).flatten();
        match bits {
            Some(bits) if bits > 0o777 => Err("it must be at most \"0777\""),
            Some(bits) if bits & 0o600 != 0o600 => Err("the owner must be able to read and write"),
            Some(bits) => Ok(Self(bits)),
            None => Err("it must be octal digits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read() {
        for (text, want) in [
            ("10min", Ok(600)),
            ("2 h", Ok(7_200)),
            ("0d", Ok(0)),
            ("2w", Ok(14 * 86_400)),
            ("1mo", Ok(30 * 86_400)),
            ("100y", Ok(36_500 * 86_400)),
            ("101y", Err("it must be at most 100y")),
            ("99999999999999999999y", Err("it must be at most 100y")),
            ("2m", Err("\"m\" is ambiguous: write min for minutes or mo for months")),
            ("2", Err("the unit is missing")),
            ("2M", Err("units are min, h, d, w, mo and y")),
            ("-1d", Err("it must begin with a whole number")),
        ] {
            assert_eq!(age(text).map(|age| age.as_duration().as_secs()), want, "{text}");
        }
    }

    #[test]
    fn sizes_are_read() {
        for (text, want) in [
            ("0B", Ok(0)),
            ("10 MB", Ok(10_000_000)),
            ("64 KiB", Ok(65_536)),
            ("2GiB", Ok(2_147_483_648)),
            ("8388607 TiB", Ok(9_223_370_937_343_148_032)),
            ("8388608 TiB", Err("it must be at most 8388607 TiB")),
            ("99999999999999999999 B", Err("it must be at most 8388607 TiB")),
            ("10", Err("the unit is missing")),
            ("10 mb", Err("units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB")),
            ("1.5 GB", Err("units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB")),
        ] {
            assert_eq!(Size::parse(text).map(Size::bytes), want, "{text}");
        }
    }

    #[test]
    fn shares_and_permissions_are_read() {
        for (text, want) in [
            ("80%", Ok(80)),
            ("0 %", Ok(0)),
            ("100%", Ok(100)),
            ("101%", Err("it must be at most 100%")),
            ("80", Err("the % is missing")),
            ("80p", Err("its unit is %")),
        ] {
            assert_eq!(Percent::parse(text).map(Percent::number), want, "{text}");
        }
        for (text, want) in [
            ("0600", Ok(0o600)),
            ("755", Ok(0o755)),
            ("1777", Err("it must be at most \"0777\"")),
            ("0444", Err("the owner must be able to read and write")),
            ("0x1ff", Err("it must be octal digits")),
            ("", Err("it must be octal digits")),
        ] {
            assert_eq!(Permissions::parse(text).map(Permissions::bits), want, "{text}");
        }
    }
}

//! Conversion of values of 2.9.

use crate::edit::quoted;

/// A function that converts a value of 2.9 to TOML, or returns the reason why the value has no
/// counterpart.
pub(super) type Converter = fn(&str) -> Result<String, &'static str>;

/// Whether `text` is an empty value in 2.9.
pub(super) fn is_none(text: &str) -> bool {
    text.is_empty() || text.eq_ignore_ascii_case("none")
}

pub(super) fn convert_bool(text: &str) -> Result<String, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok("true".to_owned()),
        "no" | "false" => Ok("false".to_owned()),
        _ => Err("expected yes or no"),
    }
}

/// The reason why the import never disables the storing of HTTPS.
///
/// 2.9 refuses HTTPS by default, so a file of 2.9 has options for HTTPS only to make it work at
/// all.
pub(super) const HTTPS_IS_STORED: &str = "HTTPS is stored by default; to intercept none of it, \
                                          set \"intercept = false\" in [https]";

/// Converts a Boolean that turns on the storing of HTTPS. `false` is left out, for the reason given
/// at [`HTTPS_IS_STORED`].
pub(super) fn intercept(text: &str) -> Result<String, &'static str> {
    match convert_bool(text)?.as_str() {
        "false" => Err(HTTPS_IS_STORED),
        stored => Ok(stored.to_owned()),
    }
}

/// Converts a time: a number of seconds, or a number with the letter of its unit. It must be above
/// zero.
pub(super) fn time(text: &str) -> Result<String, &'static str> {
    let (number, unit) = number(text)?;
    match (number, unit) {
        (..=0, _) => Err("a time must be above zero here"),
        (_, "" | "s" | "S") => Ok(quoted(&format!("{number}s"))),
        (_, "m" | "h" | "d" | "w" | "M" | "H" | "D" | "W") => {
            Ok(quoted(&format!("{number}{}", unit.to_ascii_lowercase())))
        }
        _ => Err("expected a time with s, m, h, d or w"),
    }
}

/// Converts the age at which a page is revalidated: a number of seconds, or a number with the
/// letter of its unit. Seconds become minutes, rounded up. A negative number means never.
pub(super) fn convert_revalidation_age(text: &str) -> Result<String, &'static str> {
    match number(text)? {
        (..=-1, _) => Ok(quoted("never")),
        (number, "" | "s" | "S") => {
            let minutes = number / 60 + i64::from(number % 60 > 0);
            Ok(quoted(&format!("{minutes}min")))
        }
        (number, "m" | "M") => Ok(quoted(&format!("{number}min"))),
        (number, unit @ ("h" | "H" | "d" | "D" | "w" | "W")) => {
            Ok(quoted(&format!("{number}{}", unit.to_ascii_lowercase())))
        }
        _ => Err("expected a time with s, m, h, d or w"),
    }
}

/// Converts the age of a page: a number of days, or a number with the letter of its unit. A
/// negative number means never.
pub(super) fn age(text: &str) -> Result<String, &'static str> {
    match number(text)? {
        (..=-1, _) => Ok(quoted("never")),
        (number, "" | "d" | "D") => Ok(quoted(&format!("{number}d"))),
        (number, "w" | "W") => Ok(quoted(&format!("{number}w"))),
        (number, "m" | "M") => Ok(quoted(&format!("{number}mo"))),
        (number, "y" | "Y") => Ok(quoted(&format!("{number}y"))),
        _ => Err("expected an age with d, w, m or y"),
    }
}

pub(super) fn kilobytes(text: &str) -> Result<String, &'static str> {
    match number(text)? {
        (number @ 0.., "") => Ok(quoted(&format!("{number} KiB"))),
        _ => Err("expected a number of kilobytes"),
    }
}

/// Converts a limit in megabytes. In 2.9, zero and negative numbers mean no limit.
pub(super) fn megabytes(text: &str) -> Result<String, &'static str> {
    match number(text)? {
        (..=0, "") => Ok(quoted("none")),
        (number, "") => Ok(quoted(&format!("{number} MiB"))),
        _ => Err("expected a number of megabytes"),
    }
}

pub(super) fn percent(text: &str) -> Result<String, &'static str> {
    match number(text.trim_end_matches('%').trim_end())? {
        (number @ 0..=100, "") => Ok(quoted(&format!("{number}%"))),
        _ => Err("expected a number from 0 to 100"),
    }
}

pub(super) fn count(text: &str) -> Result<String, &'static str> {
    match number(text)? {
        (number @ 1.., "") => Ok(number.to_string()),
        _ => Err("expected a number above zero"),
    }
}

/// Quotes a text. `none` becomes the empty text.
#[expect(clippy::unnecessary_wraps, reason = "it is one of those that may refuse")]
pub(super) fn text(text: &str) -> Result<String, &'static str> {
    Ok(quoted(if is_none(text) { "" } else { text }))
}

/// Converts the name or number of an account; -1 means no account.
pub(super) fn account(given: &str) -> Result<String, &'static str> {
    if given == "-1" { Ok(quoted("")) } else { text(given) }
}

/// Converts a level of the log. 2.9 logs each request at a level that is `debug` here.
pub(super) fn level(text: &str) -> Result<String, &'static str> {
    match text.to_ascii_lowercase().as_str() {
        "debug" | "info" => Ok(quoted("debug")),
        "important" => Ok(quoted("info")),
        "warning" => Ok(quoted("warn")),
        "fatal" => Ok(quoted("error")),
        _ => Err("expected debug, info, important, warning or fatal"),
    }
}

/// Converts `use-syslog` to the destination of the log.
pub(super) fn syslog(text: &str) -> Result<String, &'static str> {
    convert_bool(text).map(|yes| quoted(if yes == "true" { "syslog" } else { "stderr" }))
}

/// Splits a whole number from the text after it.
fn number(text: &str) -> Result<(i64, &str), &'static str> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let digits = digits.bytes().take_while(u8::is_ascii_digit).count();
    let signs = text.len() - text.strip_prefix('-').unwrap_or(text).len();
    let (number, unit) = text.split_at(signs + digits);
    let number = number.parse().map_err(|_| "expected a whole number")?;
    Ok((number, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rewritten() {
        let rows: &[(&str, Converter, &str, Result<&str, ()>)] = &[
            ("yes", convert_bool, "yes", Ok("true")),
            ("False", convert_bool, "False", Ok("false")),
            ("maybe", convert_bool, "maybe", Err(())),
            ("seconds", time, "30", Ok("\"30s\"")),
            ("minutes", time, "2m", Ok("\"2m\"")),
            ("no time", time, "0", Err(())),
            ("never asked again", convert_revalidation_age, "-1", Ok("\"never\"")),
            ("always asked again", convert_revalidation_age, "0", Ok("\"0min\"")),
            ("seconds", convert_revalidation_age, "61", Ok("\"2min\"")),
            ("ten minutes", convert_revalidation_age, "10m", Ok("\"10min\"")),
            ("days", age, "14", Ok("\"14d\"")),
            ("months", age, "2m", Ok("\"2mo\"")),
            ("years", age, "1y", Ok("\"1y\"")),
            ("never", age, "-1", Ok("\"never\"")),
            ("seconds are no age", age, "3s", Err(())),
            ("kilobytes", kilobytes, "1", Ok("\"1 KiB\"")),
            ("no limit", megabytes, "-1", Ok("\"none\"")),
            ("a limit", megabytes, "500", Ok("\"500 MiB\"")),
            ("percent", percent, "80", Ok("\"80%\"")),
            ("too many percent", percent, "101", Err(())),
            ("nothing", text, "none", Ok("\"\"")),
            ("quotes", text, "a \"b\"", Ok("'a \"b\"'")),
            ("nobody in particular", account, "-1", Ok("\"\"")),
            ("a level", level, "important", Ok("\"info\"")),
            ("too large for any number", time, "99999999999999999999", Err(())),
        ];
        for (what, convert, given, want) in rows {
            let got = convert(given);
            assert_eq!(got.as_deref().map_err(|_| ()), *want, "{what}");
        }
    }
}

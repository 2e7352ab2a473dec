//! Media queries, lengths and `sizes`, as far as they decide which image a browser chooses.
//!
//! [`Viewport`] describes the window. The font size is 16 pixels, the colour scheme light, the
//! pointer fine. An unknown condition is false (Media Queries §3.2).

use super::Viewport;

/// The maximum nesting of parentheses that is parsed.
const MAX_DEPTH: u32 = 16;

/// The maximum number of bytes of a list that are parsed.
const MAX_LIST: usize = 16 * 1024;

/// Pixels per `em`.
const EM: f64 = 16.0;

/// Whether a media query list matches. An empty list matches.
pub(super) fn matches(list: &str, want: &Viewport) -> bool {
    let list = list.trim();
    list.is_empty()
        || (list.len() <= MAX_LIST
            && split(list, ',').iter().any(|query| condition(query, want, 0)))
}

/// The width of an image in CSS pixels from its `sizes` (HTML §2.5.7): the first entry whose
/// condition holds, or the width of the window. `auto` is skipped because it depends on layout.
pub(super) fn source_size(sizes: Option<&str>, want: &Viewport) -> f64 {
    let sizes = sizes.filter(|sizes| sizes.len() <= MAX_LIST).unwrap_or_default();
    for entry in split(sizes, ',') {
        let entry = entry.trim();
        let at = last_component(entry);
        let (media, size) = entry.split_at(at);
        let Some(size) = length(size, want).filter(|size| *size >= 0.0) else { continue };
        if media.trim().is_empty() || condition(media, want, 0) {
            return size;
        }
    }
    f64::from(want.width)
}

/// Splits a text at a character outside parentheses.
fn split(text: &str, at: char) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_u32, 0, Vec::new());
    for (index, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if c == at && depth == 0 => {
                parts.push(text.get(start..index).unwrap_or_default());
                start = index + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

/// The start of the last word outside parentheses.
fn last_component(text: &str) -> usize {
    let (mut depth, mut start) = (0_u32, 0);
    for (index, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            c if c.is_whitespace() && depth == 0 => start = index + c.len_utf8(),
            _ => {}
        }
    }
    start
}

/// Whether a query, or a part of one in parentheses, is true.
fn condition(text: &str, want: &Viewport, depth: u32) -> bool {
    let words: Vec<&str> =
        words(text).into_iter().filter(|word| !word.eq_ignore_ascii_case("only")).collect();
    if depth > MAX_DEPTH {
        return false;
    }
    let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
    let (negate, words) = match words.split_first() {
        Some((first, rest)) if is(first, "not") => (true, rest),
        _ => (false, &words[..]),
    };
    let (mut all, mut any, mut seen_or) = (true, false, false);
    for word in words {
        if is(word, "and") {
            continue;
        }
        if is(word, "or") {
            seen_or = true;
            continue;
        }
        let Some(holds) = term(word, want, depth) else { return false };
        all &= holds;
        any |= holds;
    }
    !words.is_empty() && negate != if seen_or { any } else { all }
}

/// Splits a text at spaces outside parentheses, and before each parenthesis.
fn words(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_u32, 0, Vec::new());
    let mut push = |from: usize, to: usize| {
        found.extend(text.get(from..to).map(str::trim).filter(|word| !word.is_empty()));
    };
    for (index, c) in text.char_indices() {
        match c {
            '(' => {
                if depth == 0 {
                    push(start, index);
                    start = index;
                }
                depth += 1;
            }
            ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    push(start, index + 1);
                    start = index + 1;
                }
            }
            c if c.is_whitespace() && depth == 0 => {
                push(start, index);
                start = index;
            }
            _ => {}
        }
    }
    push(start, text.len());
    found
}

/// Evaluates a media type or a parenthesised term; `None` for an unknown term.
fn term(word: &str, want: &Viewport, depth: u32) -> Option<bool> {
    let Some(inner) = word.strip_prefix('(') else {
        return Some(["all", "screen"].iter().any(|known| word.eq_ignore_ascii_case(known)));
    };
    let inner = inner.strip_suffix(')').unwrap_or(inner).trim();
    let nested = inner.starts_with('(')
        || inner.get(..4).is_some_and(|not| {
            not.eq_ignore_ascii_case("not ") || not.eq_ignore_ascii_case("not(")
        });
    if nested {
        return Some(condition(inner, want, depth + 1));
    }
    if let Some((name, value)) = inner.split_once(':') {
        return plain(&name.trim().to_ascii_lowercase(), value.trim(), want);
    }
    if inner.contains(['<', '>', '=']) {
        return range(inner, want);
    }
    let name = inner.to_ascii_lowercase();
    Some(match value_of(&name, want) {
        Some(value) => value > 0.0,
        None => {
            matches!(name.as_str(), "color" | "hover" | "any-hover" | "pointer" | "any-pointer")
        }
    })
}

/// A numeric property of the window: in pixels, in device pixels per CSS pixel, or a ratio.
fn value_of(name: &str, want: &Viewport) -> Option<f64> {
    let (width, height) = (f64::from(want.width), f64::from(want.height));
    match name {
        "width" | "device-width" => Some(width),
        "height" | "device-height" => Some(height),
        "aspect-ratio" | "device-aspect-ratio" => Some(width / height.max(1.0)),
        "resolution" | "-webkit-device-pixel-ratio" => {
            Some(f64::from(want.density_percent) / 100.0)
        }
        _ => None,
    }
}

fn plain(name: &str, value: &str, want: &Viewport) -> Option<bool> {
    let unprefixed = name.replace("-webkit-min-device", "min--webkit-device");
    let unprefixed = unprefixed.replace("-webkit-max-device", "max--webkit-device");
    let (feature, compare): (&str, fn(f64, f64) -> bool) =
        if let Some(feature) = unprefixed.strip_prefix("min-") {
            (feature, |is, bound| is >= bound)
        } else if let Some(feature) = unprefixed.strip_prefix("max-") {
            (feature, |is, bound| is <= bound)
        } else {
            (&unprefixed, |is, bound| (is - bound).abs() < 0.001)
        };
    if let Some(is) = value_of(feature, want) {
        return Some(compare(is, number(value, want)?));
    }
    let value = value.to_ascii_lowercase();
    let meant = match name {
        "orientation" if want.height >= want.width => "portrait",
        "orientation" => "landscape",
        "prefers-color-scheme" => "light",
        "prefers-reduced-motion" | "prefers-contrast" | "prefers-reduced-data" => "no-preference",
        "hover" | "any-hover" => "hover",
        "pointer" | "any-pointer" => "fine",
        "scripting" => "enabled",
        "update" => "fast",
        _ => return None,
    };
    Some(value == meant)
}

/// Evaluates a range, such as `width >= 600px` or `400px <= width < 800px` (Media Queries §2.4.3).
/// `None` if a comparison cannot be evaluated.
fn range(text: &str, want: &Viewport) -> Option<bool> {
    let side = |text: &str| {
        let text = text.trim();
        value_of(&text.to_ascii_lowercase(), want).or_else(|| number(text, want))
    };
    let mut rest = text;
    let mut holds = true;
    // A range has at most two comparisons.
    for _ in 0..2 {
        let Some(at) = rest.find(['<', '>', '=']) else { return Some(holds) };
        let (left, after) = rest.split_at(at);
        let signs = after.bytes().take_while(|byte| b"<>=".contains(byte)).count();
        let (sign, right) = after.split_at(signs);
        let end = right.find(['<', '>', '=']).unwrap_or(right.len());
        let (left, this) = (side(left)?, side(right.get(..end)?)?);
        holds &= match sign {
            "<" => left < this,
            "<=" => left <= this,
            ">" => left > this,
            ">=" => left >= this,
            "=" => (left - this).abs() < 0.001,
            _ => return None,
        };
        rest = right;
    }
    Some(holds)
}

/// Parses a length, a resolution, a ratio or a number.
fn number(text: &str, want: &Viewport) -> Option<f64> {
    if let Some((left, right)) = text.split_once('/') {
        let (left, right) = (left.trim().parse::<f64>().ok()?, right.trim().parse::<f64>().ok()?);
        return Some(left / right);
    }
    resolution(text).or_else(|| length(text, want)).or_else(|| text.parse().ok())
}

/// Parses a resolution. Returns device pixels per CSS pixel.
pub(super) fn resolution(text: &str) -> Option<f64> {
    let (number, unit) = unit(text.trim())?;
    match unit.as_str() {
        "x" | "dppx" => Some(number),
        "dpi" => Some(number / 96.0),
        "dpcm" => Some(number * 2.54 / 96.0),
        _ => None,
    }
}

/// Splits a number from the unit after it, which may be empty. Returns the unit in lower case.
fn unit(text: &str) -> Option<(f64, String)> {
    let is_unit = |c: char| c.is_ascii_alphabetic() || c == '%';
    let end = text.trim_end_matches(is_unit).len();
    let (number, unit) = text.split_at(end);
    let number = number.parse::<f64>().ok().filter(|number| number.is_finite())?;
    Some((number, unit.to_ascii_lowercase()))
}

/// Parses a length. Returns CSS pixels; `calc()` and similar functions are evaluated.
fn length(text: &str, want: &Viewport) -> Option<f64> {
    let text = text.trim();
    if text.contains('(') {
        let mut rest = text;
        let (value, is_length) = function(&mut rest, want, 0)?;
        return Some(value).filter(|_| is_length && rest.trim().is_empty());
    }
    let (value, is_length) = dimension(text, want)?;
    Some(value).filter(|_| is_length || value == 0.0)
}

/// Parses a number with an optional unit. Also returns whether it is a length; a length is in CSS
/// pixels.
fn dimension(text: &str, want: &Viewport) -> Option<(f64, bool)> {
    let (number, unit) = unit(text)?;
    let (width, height) = (f64::from(want.width), f64::from(want.height));
    let pixels = match unit.as_str() {
        "" => return Some((number, false)),
        "px" => 1.0,
        "em" | "rem" | "ic" => EM,
        "ex" | "ch" | "rex" | "rch" => EM / 2.0,
        "lh" | "rlh" => EM * 1.2,
        "vw" | "svw" | "lvw" | "dvw" | "vi" => width / 100.0,
        "vh" | "svh" | "lvh" | "dvh" | "vb" => height / 100.0,
        "vmin" => width.min(height) / 100.0,
        "vmax" => width.max(height) / 100.0,
        "in" => 96.0,
        "cm" => 96.0 / 2.54,
        "mm" => 9.6 / 2.54,
        "q" => 2.4 / 2.54,
        "pt" => 96.0 / 72.0,
        "pc" => 16.0,
        _ => return None,
    };
    Some((number * pixels, true))
}

/// Evaluates `calc(…)`, `min(…)`, `max(…)`, `clamp(…)`, or parentheses.
fn function(rest: &mut &str, want: &Viewport, depth: u32) -> Option<(f64, bool)> {
    let (name, after) = rest.split_once('(').filter(|_| depth < MAX_DEPTH)?;
    *rest = after;
    let mut arguments = vec![sum(rest, want, depth + 1)?];
    while let Some(after) = rest.trim_start().strip_prefix(',') {
        *rest = after;
        arguments.push(sum(rest, want, depth + 1)?);
    }
    *rest = rest.trim_start().strip_prefix(')')?;
    let is_length = arguments.iter().any(|(_, is_length)| *is_length);
    let values = arguments.iter().map(|(value, _)| *value);
    let value = match (name.trim().to_ascii_lowercase().as_str(), arguments.as_slice()) {
        ("" | "calc" | "-webkit-calc", [(value, _)]) => *value,
        ("min", _) => values.fold(f64::INFINITY, f64::min),
        ("max", _) => values.fold(f64::NEG_INFINITY, f64::max),
        ("clamp", [(low, _), (value, _), (high, _)]) => value.min(*high).max(*low),
        _ => return None,
    };
    Some((value, is_length))
}

fn sum(rest: &mut &str, want: &Viewport, depth: u32) -> Option<(f64, bool)> {
    let (mut value, mut is_length) = product(rest, want, depth)?;
    loop {
        let after = rest.trim_start();
        let sign = match after.chars().next() {
            Some('+') => 1.0,
            Some('-') => -1.0,
            _ => return Some((value, is_length)),
        };
        *rest = after.get(1..)?;
        let (more, also) = product(rest, want, depth)?;
        value += sign * more;
        is_length |= also;
    }
}

fn product(rest: &mut &str, want: &Viewport, depth: u32) -> Option<(f64, bool)> {
    let (mut value, mut is_length) = atom(rest, want, depth)?;
    loop {
        let after = rest.trim_start();
        let Some(sign @ ('*' | '/')) = after.chars().next() else {
            return Some((value, is_length));
        };
        *rest = after.get(1..)?;
        let (more, also) = atom(rest, want, depth)?;
        value = if sign == '*' { value * more } else { value / more };
        is_length |= also;
        if !value.is_finite() {
            return None;
        }
    }
}

fn atom(rest: &mut &str, want: &Viewport, depth: u32) -> Option<(f64, bool)> {
    let text = rest.trim_start();
    let signed = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '%';
    let end = signed.find(|c| !is_word(c)).unwrap_or(signed.len()) + (text.len() - signed.len());
    if text.get(end..)?.starts_with('(')
        || text.starts_with('-') && text.get(end..)?.starts_with('-')
    {
        *rest = text;
        return function(rest, want, depth);
    }
    let (word, after) = text.split_at_checked(end)?;
    *rest = after;
    dimension(word, want)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want() -> Viewport {
        Viewport { width: 1000, height: 500, density_percent: 200, all_candidates: false }
    }

    #[test]
    fn conditions_are_judged_for_the_window() {
        let rows = [
            ("", true),
            ("screen", true),
            ("print", false),
            ("print, screen and (min-width: 600px)", true),
            ("only screen and (max-width:999.9px)", false),
            ("not print", true),
            ("not all and (min-width: 1px)", false),
            ("(min-width: 40em) and (max-width: 62.5em)", true),
            ("(min-width: 2000px) or (orientation: landscape)", true),
            ("(orientation:portrait)", false),
            ("(not (min-width: 2000px))", true),
            ("((min-width: 2000px) or (width > 999px)) and (height)", true),
            ("(400px <= width <= 700px)", false),
            ("(400px<width<=1000px)", true),
            ("(width = 1000px)", true),
            ("(min-resolution: 192dpi)", true),
            ("(-webkit-min-device-pixel-ratio: 2)", true),
            ("(-webkit-max-device-pixel-ratio: 1.5)", false),
            ("(min-resolution: 2.1x)", false),
            ("(min-aspect-ratio: 16/9)", true),
            ("(prefers-color-scheme: dark)", false),
            ("(prefers-color-scheme: light)", true),
            ("(prefers-reduced-motion: reduce)", false),
            ("(hover) and (pointer: fine)", true),
            ("(unheard: of)", false),
            ("not (unheard: of)", false),
            ("(width >", false),
            ("(", false),
            (")", false),
        ];
        for (list, expected) in rows {
            assert_eq!(matches(list, &want()), expected, "{list}");
        }
        let deep = format!("{}(width > 1px){}", "(".repeat(5000), ")".repeat(5000));
        assert!(!matches(&deep, &want()));
    }

    #[test]
    fn the_first_matching_size_is_used() {
        let rows = [
            ("", 1000.0),
            ("300px", 300.0),
            ("50vw", 500.0),
            ("(max-width: 600px) 100vw, 33vw", 330.0),
            ("(min-width: 600px) 20em, 33vw", 320.0),
            ("auto, 40vw", 400.0),
            ("(min-width: 600px) calc((100vw - 40px) / 3), 10px", 320.0),
            ("calc(50% - 1px), 7px", 7.0),
            ("min(80vw, 640px)", 640.0),
            ("clamp(1px, 2rem + 3px, 20px)", 20.0),
            ("max(10vh,20vmin)", 100.0),
            ("calc(100vw - calc(2 * 10px))", 980.0),
            ("calc(-1 * -5px)", 5.0),
            ("0", 0.0),
            ("5", 1000.0),
            ("-5px", 1000.0),
            ("1e999px", 1000.0),
            ("calc(1px / 0)", 1000.0),
            ("1in", 96.0),
        ];
        for (sizes, expected) in rows {
            let size = source_size(Some(sizes), &want());
            assert!((size - expected).abs() < 0.01, "{sizes}: {size}");
        }
        let deep = format!("calc{}1px{}", "(".repeat(5000), ")".repeat(5000));
        assert!(source_size(Some(&deep), &want()) > 999.0);
    }
}

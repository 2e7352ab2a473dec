//! `srcset`: candidates, and the one that a browser chooses (HTML §4.8.4.3).

use super::{Viewport, media};

/// The most candidates of one list.
const MAX_CANDIDATES: usize = 256;

/// One image of a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SrcsetCandidate<'a> {
    pub(crate) url: &'a str,
    /// The descriptors of the image as written.
    pub(crate) described: &'a str,
    descriptor: Descriptor,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Descriptor {
    /// Device pixels per CSS pixel; 1 by default.
    Density(f64),
    /// Width of the image in pixels.
    Width(f64),
}

/// *Parse a srcset attribute*.
pub(crate) fn parse(text: &str) -> Vec<SrcsetCandidate<'_>> {
    let mut candidates = Vec::new();
    let mut rest = text;
    while candidates.len() < MAX_CANDIDATES {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            break;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, after) = rest.split_at(end);
        let bare = url.trim_end_matches(',');
        let descriptors = if bare.len() < url.len() {
            rest = after;
            ""
        } else {
            let (descriptors, after) = descriptors(after);
            rest = after;
            descriptors
        };
        if let Some(descriptor) = read(descriptors).filter(|_| !bare.is_empty()) {
            candidates.push(SrcsetCandidate {
                url: bare,
                described: descriptors.trim(),
                descriptor,
            });
        }
    }
    candidates
}

/// Splits the text at the next comma outside parentheses.
fn descriptors(text: &str) -> (&str, &str) {
    let mut inside = false;
    for (index, c) in text.char_indices() {
        match c {
            '(' => inside = true,
            ')' => inside = false,
            ',' if !inside => {
                let (before, after) = text.split_at(index);
                return (before, after.get(1..).unwrap_or_default());
            }
            _ => {}
        }
    }
    (text, "")
}

/// Parses the descriptors of a candidate; `None` if the candidate is invalid.
fn read(descriptors: &str) -> Option<Descriptor> {
    let (mut width, mut density, mut height) = (None, None, None);
    for word in descriptors.split_ascii_whitespace() {
        let (number, unit) = word.split_at_checked(word.len().checked_sub(1)?)?;
        match unit {
            "w" if width.is_none() && density.is_none() => {
                width = Some(number.parse::<u32>().ok().filter(|width| *width > 0)?);
            }
            "x" if width.is_none() && density.is_none() && height.is_none() => {
                let value = number.parse::<f64>().ok()?;
                density = Some(value).filter(|value| value.is_finite() && *value >= 0.0);
                density?;
            }
            "h" if height.is_none() && density.is_none() => {
                height = Some(number.parse::<u32>().ok().filter(|height| *height > 0)?);
            }
            _ => return None,
        }
    }
    match (width, density, height) {
        (Some(width), ..) => Some(Descriptor::Width(f64::from(width))),
        (None, _, Some(_)) => None,
        (None, density, None) => Some(Descriptor::Density(density.unwrap_or(1.0))),
    }
}

/// Adds `src` to the list, as browsers do: with density 1, unless the list has that density or has
/// widths.
pub(super) fn with_src<'a>(
    mut candidates: Vec<SrcsetCandidate<'a>>,
    src: Option<&'a str>,
) -> Vec<SrcsetCandidate<'a>> {
    let stands = |candidate: &SrcsetCandidate<'_>| match candidate.descriptor {
        Descriptor::Width(_) => true,
        Descriptor::Density(density) => (density - 1.0).abs() < f64::EPSILON,
    };
    if let Some(url) = src
        && !candidates.iter().any(stands)
    {
        candidates.push(SrcsetCandidate {
            url,
            described: "",
            descriptor: Descriptor::Density(1.0),
        });
    }
    candidates
}

/// The candidate that Chromium chooses: the first with sufficient density, or the one before it if
/// that is nearer on a logarithmic scale. Firefox always chooses the first with sufficient density.
pub(super) fn choose(
    candidates: &[SrcsetCandidate<'_>],
    sizes: Option<&str>,
    want: &Viewport,
) -> Option<usize> {
    let size = media::source_size(sizes, want);
    let mut by_density: Vec<(f64, usize)> = Vec::with_capacity(candidates.len());
    for (index, candidate) in candidates.iter().enumerate() {
        let density = match candidate.descriptor {
            Descriptor::Density(density) => density,
            Descriptor::Width(width) => width / size,
        };
        // If several candidates have the same density, the first one counts.
        if !by_density.iter().any(|(known, _)| known.total_cmp(&density).is_eq()) {
            by_density.push((density, index));
        }
    }
    by_density.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    nearest(&by_density, f64::from(want.density_percent) / 100.0)
}

/// The index of the density that Chromium chooses for `screen`. `by_density` has ascending
/// densities, each with its index. `None` if it is empty.
pub(super) fn nearest(by_density: &[(f64, usize)], screen: f64) -> Option<usize> {
    for pair in by_density.windows(2) {
        let [(current, index), (next, next_index)] = pair else { continue };
        if *next < screen {
            continue;
        }
        let is_next = (screen <= 1.0 && screen > *current) || screen >= (current * next).sqrt();
        return Some(if is_next { *next_index } else { *index });
    }
    by_density.last().map(|(_, index)| *index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(text: &str) -> Vec<String> {
        let show = |candidate: SrcsetCandidate<'_>| match candidate.descriptor {
            Descriptor::Density(density) => format!("{} {density}x", candidate.url),
            Descriptor::Width(width) => format!("{} {width}w", candidate.url),
        };
        parse(text).into_iter().map(show).collect()
    }

    #[test]
    fn lists_are_read_as_the_standard_reads_them() {
        let rows: &[(&str, &[&str])] = &[
            ("", &[]),
            (" , ,", &[]),
            ("a.png", &["a.png 1x"]),
            ("a.png, b.png 2x", &["a.png 1x", "b.png 2x"]),
            ("a.png 1x,b.png 2x", &["a.png 1x", "b.png 2x"]),
            ("a,b.png 2x", &["a,b.png 2x"]),
            ("a.png,,, b.png 1.5x", &["a.png 1x", "b.png 1.5x"]),
            ("data:image/png;base64,AA== 1x, c 2x", &["data:image/png;base64,AA== 1x", "c 2x"]),
            ("a 100w, b 200w 100h,\n c 300w", &["a 100w", "b 200w", "c 300w"]),
            ("a 1x 2x, b 0w, c -1x, d 1q, e 100h, f 3x", &["f 3x"]),
            ("a (x, y) , b 2x", &["b 2x"]),
            ("a 1w 1x, b", &["b 1x"]),
            ("a 1e2x", &["a 100x"]),
        ];
        for (text, expected) in rows {
            assert_eq!(urls(text), *expected, "{text}");
        }
        assert_eq!(parse(&"a 1x, ".repeat(1000)).len(), MAX_CANDIDATES);
    }

    #[test]
    fn the_candidate_of_a_browser_is_chosen() {
        let rows = [
            ("a 1x, b 2x, c 3x", 100, "a"),
            ("a 1x, b 2x, c 3x", 150, "b"),
            ("a 1x, b 2x, c 3x", 120, "a"),
            ("a 1x, b 2x, c 3x", 200, "b"),
            ("a 1x, b 2x, c 3x", 500, "c"),
            ("b 2x, a 1x, c 1x", 100, "a"),
            ("a 0.5x, b 2x", 100, "b"),
            ("a 400w, b 800w, c 1600w", 100, "b"),
            ("a 400w, b 800w, c 1600w", 200, "c"),
            ("a 400w, b 800w, c 801w", 100, "b"),
        ];
        for (text, density_percent, expected) in rows {
            let want = Viewport { width: 800, density_percent, ..Viewport::default() };
            let candidates = parse(text);
            let chosen = choose(&candidates, None, &want).unwrap();
            assert_eq!(candidates[chosen].url, expected, "{text} at {density_percent} %");
        }
        assert_eq!(choose(&[], None, &Viewport::default()), None);
        let candidates = with_src(parse("b 2x"), Some("a"));
        assert_eq!(choose(&candidates, None, &Viewport::default()), Some(1));
        assert_eq!(with_src(parse("b 1x"), Some("a")).len(), 1);
        assert_eq!(with_src(parse("b 100w"), Some("a")).len(), 1);
    }
}

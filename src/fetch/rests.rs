//! The times until which origins asked to receive no requests, saved for the next start. Pure.

use std::sync::Arc;

use jiff::Timestamp;

use super::schedule::time_after;
use wwwoffle_http::retry_after::MAX_RETRY_AFTER;

/// The key of these times in the state of the spool.
pub(super) const STATE: &str = "left-alone";

/// The largest number of hosts in the text. Hosts with the longest pause take precedence.
const MAX_HOSTS: usize = 100;

/// The longest text, in bytes. It is limited because the state file contains other values too.
const MAX_TEXT: usize = 16 << 10;

/// Writes hosts and the ends of their rest times to one line: `www.example.org 2026-11-20T12:00:00Z
/// h.example:81 …`.
pub(super) fn to_text(mut rests: Vec<(Arc<str>, Timestamp)>) -> String {
    rests.sort_unstable_by(|(a, until_a), (b, until_b)| until_b.cmp(until_a).then(a.cmp(b)));
    let mut text = String::new();
    for (host, until) in rests.into_iter().take(MAX_HOSTS) {
        let blank = if text.is_empty() { "" } else { " " };
        let more = format!("{blank}{host} {until}");
        if text.len() + more.len() <= MAX_TEXT {
            text.push_str(&more);
        }
    }
    text
}

/// Parses the text of [`to_text`]. Invalid parts and past times are skipped. Each pause is limited
/// to the longest that an origin can request.
pub(super) fn of_text(text: &str, now: Timestamp) -> Vec<(Arc<str>, Timestamp)> {
    let longest = time_after(now, MAX_RETRY_AFTER);
    let words: Vec<&str> = text.split(' ').collect();
    let pairs = words.chunks_exact(2).filter_map(|pair| match pair {
        [host, until] => Some((Arc::from(*host), until.parse::<Timestamp>().ok()?.min(longest))),
        _ => None,
    });
    pairs.filter(|(_, until)| *until > now).take(MAX_HOSTS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn pauses_round_trip_with_the_longest_first() {
        let rests = vec![(Arc::from("a"), at(200)), (Arc::from("[::1]:81"), at(300))];
        let text = to_text(rests.clone());
        assert_eq!(text, "[::1]:81 1970-01-01T00:05:00Z a 1970-01-01T00:03:20Z");
        let back: Vec<_> = rests.into_iter().rev().collect();
        assert_eq!(of_text(&text, at(100)), back);
        assert_eq!(of_text(&text, at(200)), back[..1], "what is over is over");
        assert_eq!(to_text(Vec::new()), "");
    }

    #[test]
    fn an_edited_pause_list_is_harmless() {
        let now = at(100);
        for (text, want) in [
            ("", &[][..]),
            ("a", &[]),
            ("a soon", &[]),
            ("a soon b 1970-01-01T00:05:00Z c", &[("b", at(300))]),
            ("a 9999-01-01T00:00:00Z", &[("a", at(86_500))]),
        ] {
            let want: Vec<_> =
                want.iter().map(|(host, until)| (Arc::from(*host), *until)).collect();
            assert_eq!(of_text(text, now), want, "{text:?}");
        }
    }

    #[test]
    fn the_text_is_bounded() {
        let long = |number: i64| (Arc::from(format!("{number}{}", "x".repeat(250))), at(number));
        let text = to_text((1_000..9_000).map(long).collect());
        assert!(text.len() <= MAX_TEXT, "{}", text.len());
        assert!(text.starts_with("8999x"), "{text:.20}");
        assert!(of_text(&text, at(1)).len() > 50);
    }
}

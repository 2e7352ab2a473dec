//! A line of the access log.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde_json::json;
use wwwoffle_config::AccessLogFormat;

use crate::base::redaction::{RedactedText, without_credentials};
use crate::base::statistics::Outcome;

/// The maximum length in bytes of a URL, a `Referer` or a `User-Agent` in the log, before it is
/// escaped. The rest is left out.
const MAX_TEXT: usize = 4 * 1024;

/// The part of such a text in which credentials are searched, in bytes. It is longer than
/// [`MAX_TEXT`], because credentials are removed before the text is shortened.
const MAX_SEARCHED: usize = 4 * MAX_TEXT;

/// A request and its response, as the access log shows them.
#[derive(Debug)]
pub struct AccessLine<'a> {
    /// The time when the request came.
    pub at: SystemTime,
    /// The time until the last byte of the response.
    pub took: Duration,
    /// The address of the client.
    pub client: IpAddr,
    /// The user of the proxy.
    pub user: Option<&'a str>,
    /// The method.
    pub method: &'a str,
    /// The URL, which may contain credentials.
    pub url: &'a str,
    /// The version of HTTP, such as `HTTP/1.1`.
    pub version: &'a str,
    /// The status of the response, or 499 if the client left before it.
    pub status: u16,
    /// The number of bytes of the body that were sent to the client.
    pub bytes: u64,
    /// How the request was answered.
    pub outcome: Option<Outcome>,
    /// The URL of the page that led to the request, which may contain credentials.
    pub referer: Option<&'a [u8]>,
    /// The program of the client.
    pub agent: Option<&'a [u8]>,
}

impl AccessLine<'_> {
    /// Formats the line, without its end. It has no control characters and no credentials. If it is
    /// longer than `longest` bytes, its texts are shortened.
    #[must_use]
    pub fn format(&self, format: AccessLogFormat, zone: &TimeZone, longest: usize) -> String {
        let at = Timestamp::try_from(self.at).unwrap_or(Timestamp::UNIX_EPOCH);
        let mut max_text = MAX_TEXT;
        loop {
            let line = match format {
                AccessLogFormat::Combined => self.combined(&at.to_zoned(zone.clone()), max_text),
                AccessLogFormat::Json => self.json(at, max_text),
            };
            if line.len() <= longest || max_text == 0 {
                return line;
            }
            max_text /= 2;
        }
    }

    fn combined(&self, at: &Zoned, max: usize) -> String {
        let text = |bytes: Option<&[u8]>, meaning| {
            bytes.map_or("-".to_owned(), |bytes| escaped(&logged(bytes, meaning, max)))
        };
        let user = self.user.map_or("-".to_owned(), |user| {
            escaped(&shortened(user.as_bytes(), max)).replace(' ', "\\x20")
        });
        let outcome = self.outcome.map_or("-".to_owned(), |how| how.as_str().to_ascii_uppercase());
        format!(
            "{} - {user} [{}] \"{} {} {}\" {} {} \"{}\" \"{}\" {outcome} {:.3}",
            self.client,
            at.strftime("%d/%b/%Y:%H:%M:%S %z"),
            escaped(&shortened(self.method.as_bytes(), max)),
            escaped(&logged(self.url.as_bytes(), RedactedText::Url, max)),
            self.version,
            self.status,
            self.bytes,
            text(self.referer, RedactedText::Url),
            text(self.agent, RedactedText::Words),
            self.took.as_secs_f64(),
        )
    }

    fn json(&self, at: Timestamp, max: usize) -> String {
        let milliseconds = u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX);
        let line = json!({
            "time": format!("{at:.3}"),
            "client": self.client,
            "user": self.user.map(|user| shortened(user.as_bytes(), max)),
            "method": shortened(self.method.as_bytes(), max),
            "url": logged(self.url.as_bytes(), RedactedText::Url, max),
            "version": self.version,
            "status": self.status,
            "bytes": self.bytes,
            "outcome": self.outcome.map(Outcome::as_str),
            "milliseconds": milliseconds,
            "referer": self.referer.map(|url| logged(url, RedactedText::Url, max)),
            "agent": self.agent.map(|words| logged(words, RedactedText::Words, max)),
        });
        // All strings are ASCII, so no terminal obeys a character in them.
        line.to_string().chars().fold(String::new(), |mut text, letter| {
            if matches!(letter, ' '..='~') {
                text.push(letter);
            } else {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    let _written = write!(text, "\\u{unit:04x}");
                }
            }
            text
        })
    }
}

/// Returns a text without the credentials in its URLs, of at most `max` bytes.
fn logged(bytes: &[u8], meaning: RedactedText, max: usize) -> String {
    let searched = bytes.get(..MAX_SEARCHED).unwrap_or(bytes);
    let is_cut = searched.len() < bytes.len();
    let safe = without_credentials(searched, meaning, is_cut);
    let text = shortened(&safe, max);
    if is_cut && safe.len() <= max { text + "..." } else { text }
}

/// Returns the first `max` bytes of a text.
fn shortened(bytes: &[u8], max: usize) -> String {
    match bytes.get(..max).filter(|first| first.len() < bytes.len()) {
        Some(first) => String::from_utf8_lossy(first).into_owned() + "...",
        None => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Escapes a text as Apache and nginx do: `"`, `\`, control characters and all bytes above 126.
fn escaped(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut escaped, byte| {
        match byte {
            b'"' | b'\\' => escaped.extend(['\\', char::from(byte)]),
            b' '..=b'~' => escaped.push(char::from(byte)),
            _ => {
                let _written = write!(escaped, "\\x{byte:02X}");
            }
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line<'a>(url: &'a str, agent: &'a [u8]) -> AccessLine<'a> {
        AccessLine {
            at: "2026-11-20T23:30:15.5Z".parse::<Timestamp>().unwrap().into(),
            took: Duration::from_micros(12_345),
            client: [192, 168, 1, 5].into(),
            user: Some("ada b"),
            method: "GET",
            url,
            version: "HTTP/1.1",
            status: 200,
            bytes: 1_234,
            outcome: Some(Outcome::Hit),
            referer: None,
            agent: Some(agent),
        }
    }

    fn both(line: &AccessLine<'_>) -> [String; 2] {
        let zone = TimeZone::fixed(jiff::tz::offset(1));
        [AccessLogFormat::Combined, AccessLogFormat::Json]
            .map(|format| line.format(format, &zone, usize::MAX))
    }

    #[test]
    fn both_forms_have_user_outcome_bytes_and_time() {
        let [combined, json] = both(&line("http://a.example/x", b"curl/8"));
        assert_eq!(
            combined,
            "192.168.1.5 - ada\\x20b [21/Nov/2026:00:30:15 +0100] \"GET http://a.example/x HTTP/1.1\" \
             200 1234 \"-\" \"curl/8\" HIT 0.012"
        );
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let want = json!({
            "time": "2026-11-20T23:30:15.500Z", "client": "192.168.1.5", "user": "ada b",
            "method": "GET", "url": "http://a.example/x", "version": "HTTP/1.1", "status": 200,
            "bytes": 1234, "outcome": "hit", "milliseconds": 12, "referer": null,
            "agent": "curl/8",
        });
        assert_eq!(json, want);
    }

    #[test]
    fn credentials_are_left_out() {
        for (given, want) in [
            ("http://ada:secret@a.example/x", "http://a.example/x"),
            ("http://a.example/?u=//b:secret@c/&x=1", "http://a.example/?u=//c/&x=1"),
            ("http://a.example/?access_token=secret&x=1", "http://a.example/?access_token=***&x=1"),
            ("http://a.example/?x=1&PASSWORD=secret", "http://a.example/?x=1&PASSWORD=***"),
            ("http://a.example/?key=secret&monkey=1", "http://a.example/?key=***&monkey=1"),
            ("http://a.example/?sig=secret", "http://a.example/?sig=***"),
            ("/info/?http://a.example/%3Faccess_token%3Dsecret", "example/%3Faccess_token%3D***"),
            ("/history/?http://a.example/%253Ftoken%253Dsecret%2526b", "%253Ftoken%253D***%2526b"),
            ("/configuration/url?http%3A%2F%2Fada%3Asecret%40a%2F", "url?http%3A%2F%2Fa%2F"),
            ("/monitor-options/?http://a/%3Fx%26pwd%3Dsecret", "/%3Fx%26pwd%3D***"),
            ("/x?url=http%3A%2F%2Fada%3Asecret%40a%2F&b", "/x?url=http%3A%2F%2Fa%2F&b"),
            ("/x?url=http%3A%2F%2Fada%3Asecret%26%40a&m=b@c", "/x?url=http%3A%2F%2Fa&m=b@c"),
            ("/login?next=/cb?access_token=secret", "/login?next=/cb?access_token=***"),
            ("/login?next=%2Fcb%3Fpassword%3Dp%253Fsecret&x", "%3Fpassword%3D***&x"),
            ("/?x=1;token=secret;y=2", "/?x=1;token=***;y=2"),
            ("/?token=a;secret?secret&y=2", "/?token=***&y=2"),
            ("/a;jsessionid=secret?b", "/a;jsessionid=***"),
            ("/a#access_token=secret", "/a#access_token=***"),
            ("/?X-Amz-Signature=secret&x=1", "/?X-Amz-Signature=***&x=1"),
            ("/?X-Goog-Signature=secret", "/?X-Goog-Signature=***"),
            ("/?access%5Ftoken=secret", "/?access%5Ftoken=***"),
            ("/?access%255Ftoken=secret&country-code=de", "Ftoken=***&country-code=de"),
            ("ada:secret@h.example:443", "h.example:443"),
            ("ada%3Asecret%40h.example:443", "h.example:443"),
            ("http:\\\\ada:secret@a/", "a/"),
        ] {
            let mut line = line(given, b"x");
            line.referer = Some(given.as_bytes());
            for text in both(&line) {
                assert!(text.matches(want).count() >= 2, "{given}: {text}");
                assert!(!text.contains("secret"), "{given}: {text}");
            }
        }
    }

    #[test]
    fn a_credential_that_is_cut_off_is_left_out() {
        let long = |length| "p".repeat(length);
        for given in [
            format!("http://a.example/?u=//ada:secret{}@b/", long(MAX_SEARCHED)),
            format!("http://a.example/?u=%2F%2Fada:secret{}@b/", long(MAX_SEARCHED)),
            format!("http://ada:secret{}@b/", long(MAX_TEXT)),
            format!("http://a.example/?token={}secret", long(MAX_TEXT)),
            format!("ada:secret{}@b:443", long(MAX_SEARCHED)),
        ] {
            for text in both(&line(&given, given.as_bytes())) {
                let is_words = given.starts_with("ada");
                let secrets = text.matches("secret").count();
                assert_eq!(secrets, usize::from(is_words), "{given:.60}: {text:.300}");
            }
        }
    }

    #[test]
    fn a_line_is_shortened_for_a_datagram() {
        let url = format!("http://a/{}", "\u{1}".repeat(100_000));
        let mut line = line(&url, url.as_bytes());
        line.referer = Some(url.as_bytes());
        for format in [AccessLogFormat::Combined, AccessLogFormat::Json] {
            let text = line.format(format, &TimeZone::UTC, 2_000);
            assert!(text.len() <= 2_000 && text.contains("http://a/"), "{text}");
            if format == AccessLogFormat::Json {
                let json: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert_eq!(json["status"], 200);
            }
        }
    }

    #[test]
    fn foreign_text_stays_in_its_field_and_in_one_line() {
        let [combined, json] = both(&line("http://a/\" 200 1\\", b"a\"\n\x1b[31m\xc2\x9b\xff\x7f"));
        for text in [&combined, &json] {
            assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{text}");
        }
        assert!(combined.contains(r#""GET http://a/\" 200 1\\ HTTP/1.1" 200"#), "{combined}");
        assert!(
            combined.contains(r#""a\"\x0A\x1B[31m\xC2\x9B\xEF\xBF\xBD\x7F" HIT"#),
            "{combined}"
        );
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["agent"], "a\"\n\u{1b}[31m\u{9b}\u{fffd}\u{7f}");
    }

    #[test]
    fn a_long_text_is_cut_off() {
        let url = format!("http://a/{}", "x".repeat(100_000));
        for text in both(&line(&url, b"x")) {
            assert!(text.contains("xxx...") && text.len() < MAX_TEXT + 400, "{}", text.len());
        }
    }
}

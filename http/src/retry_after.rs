//! `Retry-After`: how long an origin asks clients to wait (RFC 9110 §10.2.3).

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// The longest wait that is honoured; longer values are usually mistakes.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// How long the origin of a response with these fields asks clients to wait; `None` if the field is
/// missing or invalid. A date is compared with the `Date` of the response, if there is one, because
/// the origin's clock may be wrong.
#[must_use]
pub fn retry_after(fields: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = fields.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let wanted = if is_number {
        // A number that overflows is above the limit anyway.
        value.parse().map_or(MAX_RETRY_AFTER, Duration::from_secs)
    } else {
        let until = httpdate::parse_http_date(value).ok()?;
        let date = fields.get(DATE).and_then(|date| date.to_str().ok());
        let told = date.and_then(|date| httpdate::parse_http_date(date).ok());
        until.duration_since(told.unwrap_or(now)).unwrap_or_default()
    };
    Some(wanted.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn seconds_and_dates_are_read_and_bounded() {
        // Sun, 06 Nov 1994 08:49:37 GMT.
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (value, date, want) in [
            ("120", None, Some(120)),
            (" 0 ", None, Some(0)),
            ("99999999", None, Some(86_400)),
            ("99999999999999999999999", None, Some(86_400)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", None, Some(60)),
            ("Sun, 06 Nov 1994 08:48:37 GMT", None, Some(0)),
            ("Sat, 06 Nov 2094 08:49:37 GMT", None, Some(86_400)),
            // The origin's clock is wrong, but both of its dates have the same error.
            ("Sun, 06 Nov 1994 10:00:30 GMT", Some("Sun, 06 Nov 1994 10:00:00 GMT"), Some(30)),
            ("-5", None, None),
            ("1.5", None, None),
            ("soon", None, None),
            ("", None, None),
        ] {
            let mut fields = HeaderMap::new();
            fields.insert(RETRY_AFTER, value.parse().unwrap());
            if let Some(date) = date {
                fields.insert(DATE, date.parse().unwrap());
            }
            let got = retry_after(&fields, now).map(|wait| wait.as_secs());
            assert_eq!(got, want, "{value}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}

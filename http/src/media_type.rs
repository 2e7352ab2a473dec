//! Media types (RFC 9110 §8.3.1).

use http::HeaderMap;
use http::header::CONTENT_TYPE;

/// The type and subtype of a media type or of a range in `Accept`, in lower case, without
/// parameters.
#[must_use]
pub fn essence(media_type: &str) -> String {
    without_parameters(media_type).to_ascii_lowercase()
}

/// Whether a media type or a range in `Accept` has this type and subtype.
#[must_use]
pub fn has_essence(media_type: &str, essence: &str) -> bool {
    without_parameters(media_type).eq_ignore_ascii_case(essence)
}

fn without_parameters(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// The [`essence`] of the first `Content-Type`. Empty if there is none that is ASCII.
#[must_use]
pub fn content_essence(fields: &HeaderMap) -> String {
    let value = fields.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    essence(value.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_essence_has_no_parameters_and_no_case() {
        for (given, want) in [
            ("text/html", "text/html"),
            (" Text/HTML ;charset=utf-8; x=\"a;b\"", "text/html"),
            ("text/html\t; q=0.5", "text/html"),
            (";charset=utf-8", ""),
            ("", ""),
        ] {
            assert_eq!(essence(given), want, "{given:?}");
            assert!(has_essence(given, want), "{given:?}");
        }
    }

    #[test]
    fn the_essence_of_fields_is_that_of_the_first_content_type() {
        let mut fields = HeaderMap::new();
        assert_eq!(content_essence(&fields), "");
        fields.append(CONTENT_TYPE, "IMAGE/png".parse().unwrap());
        fields.append(CONTENT_TYPE, "text/html".parse().unwrap());
        assert_eq!(content_essence(&fields), "image/png");
        fields.insert(CONTENT_TYPE, http::HeaderValue::from_bytes(b"text/\xff").unwrap());
        assert_eq!(content_essence(&fields), "");
    }
}

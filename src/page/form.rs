//! Forms sent to our own pages: `application/x-www-form-urlencoded`, or `multipart/form-data` if they
//! have a file.

mod multipart;

use serde::Serialize;
use wwwoffle_url::url_decode_form_args;

use crate::base::text::Text;
use wwwoffle_http::media_type::essence;

/// Maximum length of a form, in bytes. Our forms have short fields and one URL, or the URLs
/// selected in a list. Each byte of a URL may be encoded as three bytes.
pub const LONGEST_FORM: usize = 192 * 1024;

/// The content type of a form.
const FORM: &str = "application/x-www-form-urlencoded";

/// Maximum number of fields of a form.
const MOST_FIELDS: usize = 64;

/// The fields of a form, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubmittedForm {
    fields: Vec<(String, String)>,
}

/// An option of a `select` in a form of ours.
#[derive(Debug, Serialize)]
pub(crate) struct SelectOption {
    pub(crate) value: &'static str,
    pub(crate) label: Text,
    pub(crate) chosen: bool,
}

/// Why a form was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadForm {
    /// The `Content-Type` is not that of a form.
    #[error("expected a form of type application/x-www-form-urlencoded")]
    WrongType,
    /// The body has no form of its type.
    #[error("the form is malformed")]
    Malformed,
    /// The form is too long.
    #[error("the form is longer than {LONGEST_FORM} bytes")]
    TooLong,
    /// The form has too many fields.
    #[error("the form has more than {MOST_FIELDS} fields")]
    TooManyFields,
    /// A field is not UTF-8, the encoding of the page with the form.
    #[error("a field of the form is not UTF-8")]
    NotUtf8,
}

impl SubmittedForm {
    /// Parses the arguments of an address.
    ///
    /// # Errors
    ///
    /// [`BadForm`] if a field is not UTF-8, or if the arguments are longer or have more fields than
    /// a form may have.
    pub fn of_arguments(arguments: Option<&str>) -> Result<Self, BadForm> {
        Self::fields_of(arguments.unwrap_or_default().as_bytes(), b"&")
    }

    /// Parses the arguments of an address that WWWOFFLE 2.9 had too, where `;` separates them like
    /// `&`.
    ///
    /// # Errors
    ///
    /// [`BadForm`] as in [`of_arguments`](Self::of_arguments).
    pub fn of_former_arguments(arguments: Option<&str>) -> Result<Self, BadForm> {
        Self::fields_of(arguments.unwrap_or_default().as_bytes(), b"&;")
    }

    /// Parses the body of a form. As in WWWOFFLE 2.9, `;` separates fields like `&`: browsers escape
    /// both in names and values.
    ///
    /// # Errors
    ///
    /// [`BadForm`] if `content_type` is not that of a form, if the body is malformed, if a field is not UTF-8, or if the body
    /// is longer or has more fields than a form may have.
    pub fn parse(content_type: Option<&str>, body: &[u8]) -> Result<Self, BadForm> {
        if let Some(boundary) = content_type.and_then(multipart::boundary) {
            if body.len() > LONGEST_FORM {
                return Err(BadForm::TooLong);
            }
            return Ok(Self { fields: multipart::fields(body, boundary)? });
        }
        if essence(content_type.unwrap_or_default()) != FORM {
            return Err(BadForm::WrongType);
        }
        Self::fields_of(body, b"&;")
    }

    fn fields_of(body: &[u8], separators: &[u8]) -> Result<Self, BadForm> {
        if body.len() > LONGEST_FORM {
            return Err(BadForm::TooLong);
        }
        let mut fields = Vec::new();
        let fields_of_body = body.split(|byte| separators.contains(byte));
        for field in fields_of_body.filter(|field| !field.is_empty()) {
            if fields.len() == MOST_FIELDS {
                return Err(BadForm::TooManyFields);
            }
            let equals = field.iter().position(|&byte| byte == b'=').unwrap_or(field.len());
            let (name, value) = field.split_at(equals);
            fields.push((decode(name)?, decode(value.get(1..).unwrap_or_default())?));
        }
        Ok(Self { fields })
    }

    /// Returns the fields, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the value of the first field called `name`.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

/// Reverses the encoding that a browser applies to a field.
fn decode(field: &[u8]) -> Result<String, BadForm> {
    String::from_utf8(url_decode_form_args(field)).map_err(|_| BadForm::NotUtf8)
}

#[cfg(test)]
mod tests {
    use super::{BadForm, LONGEST_FORM, MOST_FIELDS, SubmittedForm};

    const TYPE: Option<&str> = Some("Application/X-WWW-form-urlencoded; charset=utf-8");

    #[test]
    fn fields_are_decoded() {
        let body = b"url=http%3A%2F%2Fa%2F%3Fb%3Dc%26d&&token=a+b%2B&empty=&bare\
            &%C3%A9=%c3%A9&p=5%&q=%zz&url=2";
        let form = SubmittedForm::parse(TYPE, body).unwrap();
        let table = [
            ("url", Some("http://a/?b=c&d")),
            ("token", Some("a b+")),
            ("empty", Some("")),
            ("bare", Some("")),
            ("é", Some("é")),
            ("p", Some("5%")),
            ("q", Some("%zz")),
            ("none", None),
        ];
        for (name, want) in table {
            assert_eq!(form.value(name), want, "{name}");
        }
        assert_eq!(SubmittedForm::parse(TYPE, b""), Ok(SubmittedForm::default()));
    }

    #[test]
    fn semicolons_separate_the_fields_of_forms_and_of_former_addresses() {
        let fields = "a=1;b=2%3B&c=3;";
        let of = |form: Result<SubmittedForm, BadForm>| {
            let form = form.unwrap();
            ["a", "b", "c"].map(|name| form.value(name).unwrap_or_default().to_owned())
        };
        assert_eq!(of(SubmittedForm::parse(TYPE, fields.as_bytes())), ["1", "2;", "3"]);
        assert_eq!(of(SubmittedForm::of_former_arguments(Some(fields))), ["1", "2;", "3"]);
        assert_eq!(of(SubmittedForm::of_arguments(Some(fields))), ["1;b=2;", "", "3;"]);
    }

    #[test]
    fn an_invalid_form_is_refused() {
        assert_eq!(SubmittedForm::parse(None, b""), Err(BadForm::WrongType));
        assert_eq!(SubmittedForm::parse(Some("text/plain"), b"a=b"), Err(BadForm::WrongType));
        assert_eq!(SubmittedForm::parse(TYPE, b"a=%ff"), Err(BadForm::NotUtf8));
        assert_eq!(
            SubmittedForm::parse(TYPE, &vec![b'a'; LONGEST_FORM + 1]),
            Err(BadForm::TooLong)
        );
        assert!(SubmittedForm::parse(TYPE, &vec![b'a'; LONGEST_FORM]).is_ok());
        let many = "a=b&".repeat(MOST_FIELDS);
        assert!(SubmittedForm::parse(TYPE, many.as_bytes()).is_ok());
        assert_eq!(
            SubmittedForm::parse(TYPE, (many + "c").as_bytes()),
            Err(BadForm::TooManyFields)
        );
    }
}

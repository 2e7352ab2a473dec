//! The Basic authentication scheme (RFC 7617): a user and a password in a header field.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue, InvalidHeaderValue};

/// The maximum length in bytes of a field that is parsed as a login. Names and passwords are far
/// shorter.
const MAX_FIELD: usize = 4096;

/// A user and a password, as bytes. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Login {
    /// The name, without a colon.
    pub user: Vec<u8>,
    /// The password.
    pub password: Vec<u8>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(…)")
    }
}

impl Login {
    /// Parses the value of a field. `None` for another scheme or an invalid login.
    #[must_use]
    pub fn parse(value: &HeaderValue) -> Option<Self> {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let pair = BASE64_STANDARD.decode(token.trim()).ok()?;
        let colon = pair.iter().position(|byte| *byte == b':')?;
        let (user, password) = pair.split_at(colon);
        let password = password.get(1..).unwrap_or_default().to_vec();
        Some(Self { user: user.to_vec(), password })
    }

    /// Returns the login as the value of a field, which is not shown in logs.
    ///
    /// # Errors
    ///
    /// Never: Base64 has only characters that a field may have.
    pub fn to_field(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        let pair = [self.user.as_slice(), b":", &self.password].concat();
        let mut value = HeaderValue::from_str(&format!("Basic {}", BASE64_STANDARD.encode(pair)))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Removes the field `name` from a request and returns its login. `None` if the field is
    /// missing or invalid, or occurs more than once, since the intended value is then unknown.
    pub fn take(fields: &mut HeaderMap, name: &HeaderName) -> Option<Self> {
        let only = fields.get_all(name).iter().count() == 1;
        let value = fields.remove(name)?;
        if only && value.len() <= MAX_FIELD { Self::parse(&value) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::{HeaderMap, HeaderValue, Login};
    use hyper::header::PROXY_AUTHORIZATION;

    #[test]
    fn a_proxy_login_is_removed_from_the_request() {
        let long = format!("Basic {}", "QUFB".repeat(1024));
        for (values, want) in [
            (&["Basic YWRhOnNlY3JldA=="][..], Some(("ada", "secret"))),
            (&["bAsIc  YWRhOnNlY3JldA== "], Some(("ada", "secret"))),
            (&["Basic YWRhOnNlOmNyZXQ="], Some(("ada", "se:cret"))),
            (&["Basic YWRhOg=="], Some(("ada", ""))),
            (&["Basic Og=="], Some(("", ""))),
            (&["Basic YWRh"], None),
            (&["Basic !"], None),
            (&["Basic"], None),
            (&["Bearer YWRhOnNlY3JldA=="], None),
            (&["Basic YWRhOnNlY3JldA==", "Basic YWRhOnNlY3JldA=="], None),
            (&[&long], None),
            (&[""], None),
            (&[], None),
        ] {
            let mut fields = HeaderMap::new();
            for value in values {
                fields.append(PROXY_AUTHORIZATION, HeaderValue::from_str(value).unwrap());
            }
            let got = Login::take(&mut fields, &PROXY_AUTHORIZATION);
            let want = want.map(|(user, password)| Login {
                user: user.as_bytes().to_vec(),
                password: password.as_bytes().to_vec(),
            });
            assert_eq!(got, want, "{values:?}");
            assert!(fields.is_empty());
        }
    }

    #[test]
    fn a_login_is_not_shown() {
        let login = Login::parse(&HeaderValue::from_static("Basic YWRhOnNlY3JldA==")).unwrap();
        assert_eq!(format!("{login:?}"), "Login(…)");
    }
}

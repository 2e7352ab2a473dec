//! Logins of web sites: Basic (RFC 7617) and Digest (RFC 7616).
//!
//! A response to a request with such a login is stored for this login. Its recorded request has a
//! field with a *login record*: the challenge with which the proxy asks for the login offline, and
//! a salted hash that only the right login matches. The record contains no password:
//!
//! - Basic: the hash of user and password.
//! - Digest: the parameters of the client's proof, and the hash of that proof. A password that is
//!   sent with Basic gives the same proof, so it can be verified. A new Digest proof could not be:
//!   that needs a secret (HA1) which opens the site like the password itself.
//!
//! ```text
//! basic $argon2id$… <challenge>
//! digest $argon2id$… <challenge> <parameters>      both in Base64
//! ```

use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::header::{AUTHORIZATION, HeaderValue, WWW_AUTHENTICATE};
use hyper::{HeaderMap, Method};
use md5::Md5;
use sha2::{Digest, Sha256};
use wwwoffle_config::PasswordHash;
use wwwoffle_spool::Place;

use crate::base::basic::Login;

/// The name that stands for a login without a password. Its user name may be a secret, such as the
/// key of an API.
const NAMELESS: &str = "-";

/// The maximum length of credentials and of a challenge, in bytes.
const MAX_FIELD: usize = 4096;

/// The longest realm that is stored, in bytes.
const MAX_REALM: usize = 256;

/// The login of a request.
#[derive(Clone, PartialEq, Eq)]
pub enum SiteLogin {
    /// User and password.
    Basic(Login),
    /// The proof that the client knows the password.
    Digest {
        /// The proof.
        proof: Vec<u8>,
        /// The parameters of the proof.
        parameters: DigestParameters,
    },
}

/// The parameters of a Digest proof, without the password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestParameters {
    user: String,
    method: String,
    realm: String,
    /// The text of the field, without the proof.
    text: String,
}

impl SiteLogin {
    /// The login in the fields of a request with this method. `None` if there is no login, or its
    /// form is not supported.
    #[must_use]
    pub fn of(method: &Method, fields: &HeaderMap) -> Option<Self> {
        let value = fields.get(AUTHORIZATION).filter(|value| value.len() <= MAX_FIELD)?;
        if let Some(login) = Login::parse(value) {
            return Some(Self::Basic(login));
        }
        let (scheme, text) = value.to_str().ok()?.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("digest") {
            return None;
        }
        let proof = parameter(text, "response")?.to_ascii_lowercase();
        let others = members(text).filter(|member| name_of(member) != "response");
        let text = others.collect::<Vec<_>>().join(", ");
        let parameters = DigestParameters::read(method.as_str(), &text)?;
        Some(Self::Digest { proof: proof.into_bytes(), parameters })
    }

    /// A text for which one login record is enough: a login, or a session with one nonce.
    #[must_use]
    pub fn session(&self, origin: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(origin);
        match self {
            Self::Basic(login) => hash.update(secret_of(login)),
            Self::Digest { parameters, .. } => {
                let nonce = parameter(&parameters.text, "nonce").unwrap_or_default();
                for part in [&parameters.user, &parameters.realm, &nonce] {
                    hash.update([0]);
                    hash.update(part);
                }
            }
        }
        hash.finalize().into()
    }

    /// Makes the login record for a response from `host`. `challenge` is the challenge of the
    /// origin for Basic, if it is known. Takes time, on purpose.
    #[must_use]
    pub fn record(&self, host: &str, challenge: Option<&str>) -> Option<String> {
        let encoded = |text: &str| BASE64_STANDARD.encode(text);
        match self {
            Self::Basic(login) => {
                let hash = PasswordHash::make(&secret_of(login)).ok()?;
                let usual = || basic_challenge(host, None);
                let challenge = challenge.map_or_else(usual, str::to_owned);
                Some(format!("basic {} {}", hash.as_str(), encoded(&challenge)))
            }
            Self::Digest { proof, parameters } => {
                let hash = PasswordHash::make(&hex::encode(proof)).ok()?;
                let challenge = basic_challenge(&parameters.realm, Some("UTF-8"));
                let given = encoded(&format!("{}\n{}", parameters.method, parameters.text));
                Some(format!("digest {} {} {given}", hash.as_str(), encoded(&challenge)))
            }
        }
    }
}

/// The login record of a stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRecord {
    hash: PasswordHash,
    challenge: HeaderValue,
    parameters: Option<DigestParameters>,
}

impl LoginRecord {
    /// Parses the text of a record.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let decoded = |text| String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok();
        let mut words = text.split(' ');
        let (scheme, hash) = (words.next()?, PasswordHash::parse(words.next()?).ok()?);
        let challenge = HeaderValue::from_str(&decoded(words.next()?)?).ok()?;
        let parameters = match scheme {
            "basic" => None,
            "digest" => {
                let given = decoded(words.next()?)?;
                let (method, text) = given.split_once('\n')?;
                Some(DigestParameters::read(method, text)?)
            }
            _ => return None,
        };
        Some(Self { hash, challenge, parameters })
    }

    /// The challenge for the login.
    #[must_use]
    pub fn challenge(&self) -> &HeaderValue {
        &self.challenge
    }

    /// The hash that the right login matches.
    #[must_use]
    pub fn hash(&self) -> &PasswordHash {
        &self.hash
    }

    /// Whether the site never gets the password itself, so that it must not travel in clear.
    #[must_use]
    pub fn is_digest(&self) -> bool {
        self.parameters.is_some()
    }

    /// The text to compare with the hash, for a login that was sent with Basic.
    #[must_use]
    pub fn secret_of(&self, login: &Login) -> Option<String> {
        match &self.parameters {
            None => Some(secret_of(login)),
            Some(parameters) => Some(hex::encode(parameters.proof_of(login)?)),
        }
    }
}

impl DigestParameters {
    /// Reads the parameters. `None` if the proof cannot be computed again: it covers a body
    /// (`auth-int`), or hides the user name.
    fn read(method: &str, text: &str) -> Option<Self> {
        let (user, realm) = (parameter(text, "username")?, parameter(text, "realm")?);
        let read = Self { user, method: method.to_owned(), realm, text: text.to_owned() };
        let is_hidden = read.get("userhash").eq_ignore_ascii_case("true");
        let is_usual = matches!(read.get("qop").as_str(), "" | "auth");
        let is_known = read.realm.len() <= MAX_REALM && read.hash(b"").is_some();
        (is_usual && is_known && !is_hidden).then_some(read)
    }

    fn get(&self, name: &str) -> String {
        parameter(&self.text, name).unwrap_or_default()
    }

    /// The hash function of the parameter `algorithm`, in hexadecimal. `None` if it is unknown.
    fn hash(&self, data: &[u8]) -> Option<String> {
        let algorithm = self.get("algorithm").to_ascii_uppercase();
        match algorithm.strip_suffix("-SESS").unwrap_or(&algorithm) {
            "" | "MD5" => Some(hex::encode(Md5::digest(data))),
            "SHA-256" => Some(hex::encode(Sha256::digest(data))),
            _ => None,
        }
    }

    /// The proof that `login` gives for these parameters (RFC 7616 §3.4.1).
    fn proof_of(&self, login: &Login) -> Option<String> {
        if login.user != self.user.as_bytes() {
            return None;
        }
        let hash = |parts: &[&[u8]]| self.hash(&parts.join(&b':'));
        let text = |name| self.get(name).into_bytes();
        let (nonce, cnonce) = (text("nonce"), text("cnonce"));
        let mut ha1 = hash(&[&login.user, self.realm.as_bytes(), &login.password])?;
        if self.get("algorithm").to_ascii_uppercase().ends_with("-SESS") {
            ha1 = hash(&[ha1.as_bytes(), &nonce, &cnonce])?;
        }
        let ha2 = hash(&[self.method.as_bytes(), &text("uri")])?;
        let (ha1, ha2, qop) = (ha1.as_bytes(), ha2.as_bytes(), text("qop"));
        if qop.is_empty() {
            return hash(&[ha1, &nonce, ha2]);
        }
        hash(&[ha1, &nonce, &text("nc"), &cnonce, &qop, ha2])
    }
}

/// The challenge for Basic in a `401` of an origin, with its realm and charset only.
#[must_use]
pub fn challenge_of(answer: &HeaderMap) -> Option<String> {
    let lines = answer.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let lines = lines.filter(|line| line.len() <= MAX_FIELD).collect::<Vec<_>>().join(", ");
    // A scheme stands before the first of its parameters, with a space between them.
    let scheme = |member: &&str| {
        let (word, rest) = member.split_once(' ').unwrap_or((*member, ""));
        let is_scheme = !word.contains('=') && !rest.trim_start().starts_with('=');
        is_scheme.then(|| word.to_ascii_lowercase())
    };
    let mut all = members(&lines).skip_while(|member| scheme(member).as_deref() != Some("basic"));
    let first = all.next()?;
    let rest = all.take_while(|member| scheme(member).is_none());
    let text = std::iter::once(first.get("basic".len()..).unwrap_or_default());
    let text = text.chain(rest).collect::<Vec<_>>().join(", ");
    let realm = parameter(&text, "realm").unwrap_or_default();
    let charset = parameter(&text, "charset").filter(|name| name.eq_ignore_ascii_case("utf-8"));
    (realm.len() <= MAX_REALM).then(|| basic_challenge(&realm, charset.as_deref()))
}

fn basic_challenge(realm: &str, charset: Option<&str>) -> String {
    let mut text = "Basic realm=\"".to_owned();
    for character in realm.chars() {
        if matches!(character, '"' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push('"');
    if let Some(charset) = charset {
        let _ = write!(text, ", charset=\"{charset}\"");
    }
    text
}

/// The text whose hash is stored for a Basic login. A digest has no length or characters that a
/// password hash rejects.
fn secret_of(login: &Login) -> String {
    hex::encode(Sha256::digest([&login.user[..], b":", &login.password].concat()))
}

/// The name of the login in these fields under which a response is stored. `None` without a login.
#[must_use]
pub fn login_name(fields: &HeaderMap) -> Option<String> {
    let value = fields.get(AUTHORIZATION)?;
    if let Some(Login { user, password }) = Login::parse(value) {
        return Some(if password.is_empty() {
            NAMELESS.to_owned()
        } else {
            Place::login_name(&user)
        });
    }
    let text = String::from_utf8_lossy(value.as_bytes());
    let (scheme, text) = text.split_once(' ')?;
    let user = parameter(text, "username").or_else(|| parameter(text, "username*"));
    scheme
        .eq_ignore_ascii_case("digest")
        .then(|| Place::login_name(user.unwrap_or_default().as_bytes()))
}

/// The members of a list that are separated by commas outside quoted text (RFC 9110 §5.6.1).
fn members(text: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    let all = text.split(move |character| {
        let is_end = character == ',' && !quoted;
        if character == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && character == '\\' && !escaped;
        is_end
    });
    all.map(str::trim).filter(|member| !member.is_empty())
}

fn name_of(member: &str) -> String {
    member.split('=').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The value of a parameter, without its quotes (RFC 9110 §11.2).
fn parameter(text: &str, name: &str) -> Option<String> {
    let member = members(text).find(|member| name_of(member) == name)?;
    let value = member.split_once('=')?.1.trim();
    let Some(quoted) = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Some(value.to_owned());
    };
    let (mut plain, mut escaped) = (String::new(), false);
    for character in quoted.chars() {
        escaped = character == '\\' && !escaped;
        if !escaped {
            plain.push(character);
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(name: &'static str, lines: &[&str]) -> HeaderMap {
        let field = |line: &&str| (name.parse().unwrap(), line.parse().unwrap());
        let mut all = HeaderMap::new();
        lines.iter().map(field).for_each(|(name, value): (hyper::header::HeaderName, _)| {
            all.append(name, value);
        });
        all
    }

    fn login(user: &str, password: &str) -> Login {
        Login { user: user.into(), password: password.into() }
    }

    #[test]
    fn the_challenge_for_basic_is_found_among_others() {
        for (lines, want) in [
            (&["Basic realm=\"a\""][..], Some("Basic realm=\"a\"")),
            (&["basic Realm = a, charset=utf-8"], Some("Basic realm=\"a\", charset=\"utf-8\"")),
            (&["Digest realm=\"d, Basic x\", nonce=n", "Basic realm=b"], Some("Basic realm=\"b\"")),
            (&["Negotiate, Basic realm=b, Digest realm=d"], Some("Basic realm=\"b\"")),
            (&["NTLM abc==, Basic realm=\"x\\\"y\\\\\""], Some("Basic realm=\"x\\\"y\\\\\"")),
            (&["Basic"], Some("Basic realm=\"\"")),
            (&["Basic realm=\"a"], Some("Basic realm=\"\\\"a\"")),
            (&["Digest realm=Basic"], None),
            (&["Basicrealm=x"], None),
            (&[&format!("Basic realm={}", "x".repeat(257))], None),
            (&[], None),
        ] {
            let got = challenge_of(&fields("www-authenticate", lines));
            assert_eq!(got.as_deref(), want, "{lines:?}");
        }
    }

    /// RFC 7616 §3.9.1, with its password.
    #[test]
    fn a_digest_proof_is_verified_with_the_password() {
        for (algorithm, proof) in [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ] {
            let line = format!(
                "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", \
                 uri=\"/dir/index.html\", algorithm={algorithm}, \
                 nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, \
                 cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, \
                 response=\"{proof}\", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
            );
            let given = SiteLogin::of(&Method::GET, &fields("authorization", &[&line])).unwrap();
            let record = given.record("example.org", None).unwrap();
            assert!(!record.contains(proof), "{record}");
            let record = LoginRecord::parse(&record).unwrap();
            let matches = |user, password| {
                let secret = record.secret_of(&login(user, password));
                secret.is_some_and(|secret| record.hash().verify(secret.as_bytes()))
            };
            assert!(matches("Mufasa", "Circle of Life"), "{algorithm}");
            assert!(!matches("Mufasa", "circle of life") && !matches("Simba", "Circle of Life"));
            let want = "Basic realm=\"http-auth@example.org\", charset=\"UTF-8\"";
            assert_eq!(record.challenge(), want);
        }
    }

    #[test]
    fn a_login_that_cannot_be_verified_has_no_record() {
        for line in [
            "Digest username=u, realm=r, nonce=n, uri=\"/\"",
            "Digest username=u, realm=r, nonce=n, uri=\"/\", response=0a, qop=auth-int",
            "Digest username=u, realm=r, nonce=n, uri=\"/\", response=0a, userhash=true",
            "Digest username=u, realm=r, nonce=n, uri=\"/\", response=0a, algorithm=MD6",
            "Digest realm=r, nonce=n, uri=\"/\", response=0a",
            "Bearer x",
            "Basic !",
        ] {
            let fields = fields("authorization", &[line]);
            assert!(SiteLogin::of(&Method::GET, &fields).is_none(), "{line}");
        }
        for text in ["", "basic", "basic x y", "digest $argon2id$ x", "ntlm x y"] {
            assert_eq!(LoginRecord::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_user_name_is_part_of_a_variant_text_and_of_a_url() {
        for (user, want) in [
            ("ada", "ada"),
            ("a@b:c/&?", "a%40b%3Ac%2F%26%3F"),
            ("", "-"),
            (&"ü".repeat(40), &hex::encode(Sha256::digest("ü".repeat(40)))),
        ] {
            assert_eq!(Place::login_name(user.as_bytes()), want);
        }
    }

    proptest::proptest! {
        #[test]
        fn hostile_fields_are_read(
            line in "(Basic|Digest|x)? ?([a-z]{1,8} ?= ?\"?[ -~]{0,9}\"?,? ?){0,6}",
        ) {
            let fields = fields("authorization", &[&line]);
            let name = login_name(&fields).unwrap_or_default();
            proptest::prop_assert!(!name.contains(['&', '@', '/', ':']), "{}", name);
            let challenge = challenge_of(&self::fields("www-authenticate", &[&line]));
            proptest::prop_assert!(HeaderValue::from_str(&challenge.unwrap_or_default()).is_ok());
            let _read = (SiteLogin::of(&Method::GET, &fields), LoginRecord::parse(&line));
        }
    }
}

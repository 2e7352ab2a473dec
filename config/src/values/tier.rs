//! The engines of the archive tier, and the part of this node in it.

use crate::source::value::{Value, or_none};
use std::{
    fmt,
    path::{Path, PathBuf},
};
use wwwoffle_url::{CanonicalUrl, LocalHost, canonicalise_host};

/// The longest address of an engine, in bytes.
const MAX_ADDRESS: usize = 2 << 10;

/// The longest name of a node, a user or a database, in bytes. PostgreSQL allows 63.
const MAX_NAME: usize = 63;

/// The port of PostgreSQL.
const POSTGRESQL: u16 = 5432;

/// A bucket of an object store, and the beginning of the names in it; or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectBucket(Option<(String, String)>);

impl ObjectBucket {
    /// The bucket, and the beginning of the names of objects: empty, or with a slash at its end.
    /// `None` without an object store.
    #[must_use]
    pub fn parts(&self) -> Option<(&str, &str)> {
        self.0.as_ref().map(|(bucket, prefix)| (bucket.as_str(), prefix.as_str()))
    }
}

impl Value for ObjectBucket {
    const KIND: &'static str = "bucket";
    const MEANING: &'static str = "\
A bucket of an S3-compatible store, with an optional prefix of the names in it, as in
`\"s3://archive/pages\"`; or `\"\"` for none.";
    const EXPECTED: &'static str =
        "a bucket and an optional prefix, such as \"s3://archive/pages\", or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let rest = text.strip_prefix("s3://").filter(|rest| rest.len() <= MAX_ADDRESS).ok_or("")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_bucket = (3..=MAX_NAME).contains(&bucket.len()) && bucket.bytes().all(is_name);
        // A segment of dots would lead to another bucket.
        let is_segment = |part: &str| !matches!(part, "" | "." | "..") && part.bytes().all(is_name);
        let is_prefix = prefix.is_empty() || prefix.split('/').all(is_segment);
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let is_valid = is_bucket && bucket != ".." && is_prefix;
        is_valid.then(|| Self(Some((bucket.to_owned(), prefix)))).ok_or("")
    }
}

/// The address of an object store, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreEndpoint(Option<String>);

impl StoreEndpoint {
    /// The URL. `None` for the endpoint of AWS in the configured region.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Value for StoreEndpoint {
    const KIND: &'static str = "endpoint";
    const MEANING: &'static str = "\
An `http` or `https` URL without path, user and password, as in `\"https://s3.example.org\"`; or
`\"\"` for the one of AWS in the region.";
    const EXPECTED: &'static str =
        "a URL of http or https without path and user, or \"\" for the one of AWS";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let is_bare = |text: &str| {
            CanonicalUrl::parse(text, &LocalHost::default()).is_ok_and(|url| {
                matches!(url.protocol(), "http" | "https")
                    && url.user().is_none()
                    && matches!(url.path(), "" | "/")
                    && url.arguments().is_none()
            })
        };
        or_none(text, text.len() <= MAX_ADDRESS && is_bare(text)).map(Self)
    }
}

/// The database that is the catalogue of the tier, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogueAddress(Option<CatalogueDatabase>);

/// A database of PostgreSQL. Displayed as its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueDatabase {
    /// The host, with an IPv6 address in brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The name of the user.
    pub user: String,
    /// The name of the database.
    pub name: String,
    /// Whether the connection uses TLS, with a certificate that is verified.
    pub tls: bool,
}

impl fmt::Display for CatalogueDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, user, name, .. } = self;
        write!(f, "postgresql://{user}@{host}:{port}/{name}")
    }
}

impl CatalogueAddress {
    /// The database. `None` without a catalogue.
    #[must_use]
    pub fn database(&self) -> Option<&CatalogueDatabase> {
        self.0.as_ref()
    }
}

impl Value for CatalogueAddress {
    const KIND: &'static str = "catalogue";
    const MEANING: &'static str = "\
A database of PostgreSQL, without a password, as in `\"postgresql://wwwoffle@db.example.org/archive\"`;
or `\"\"` for none. The connection uses TLS; `?sslmode=disable` at the end turns that off.";
    const EXPECTED: &'static str = "user, host and database, such as \
         \"postgresql://wwwoffle@db.example.org/archive\", or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let rest =
            ["postgresql://", "postgres://"].iter().find_map(|begin| text.strip_prefix(begin));
        let rest = rest.filter(|rest| rest.len() <= MAX_ADDRESS).ok_or("")?;
        let (rest, tls) = match rest.split_once('?') {
            None | Some((_, "sslmode=require" | "sslmode=verify-full")) => (rest, true),
            Some((_, "sslmode=disable")) => (rest, false),
            Some(_) => return Err("the only setting is sslmode, \"require\" or \"disable\""),
        };
        let rest = rest.split('?').next().unwrap_or_default();
        let (user, rest) = rest.rsplit_once('@').ok_or("the user is missing")?;
        if user.contains(':') {
            return Err("the password belongs in the file of `credentials`");
        }
        let (authority, name) = rest.split_once('/').ok_or("the database is missing")?;
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().map_err(|_| "")?),
            _ => (authority, POSTGRESQL),
        };
        let host = canonicalise_host(host.as_bytes()).map_err(|_| "the host is invalid")?;
        let is_name = |name: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_plain)
        };
        if port == 0 || !is_name(user) || !is_name(name) {
            return Err("");
        }
        let (user, name) = (user.to_owned(), name.to_owned());
        Ok(Self(Some(CatalogueDatabase { host, port, user, name, tls })))
    }
}

/// A file with credentials, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CredentialsFile(Option<PathBuf>);

impl CredentialsFile {
    /// The absolute path. `None` without a file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}

impl Value for CredentialsFile {
    const KIND: &'static str = "credentials";
    const MEANING: &'static str = "\
The absolute path of a file that only its owner may read, or `\"\"` for none. Its lines are
`access-key = …`, `secret-key = …` and `catalogue-password = …`.";
    const EXPECTED: &'static str = "the absolute path of a file, or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        or_none(text, Path::new(text).is_absolute() && !text.contains('\0')).map(Self)
    }
}

/// A short name, or none: of a node, or of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShortName(String);

impl ShortName {
    /// The name; empty without a name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Value for ShortName {
    const KIND: &'static str = "name";
    const MEANING: &'static str = "\
At most 63 letters, digits and `-`, `_` or `.`, as in `\"library-3\"`, or `\"\"` for none.";
    const EXPECTED: &'static str = "at most 63 letters, digits and -, _ or ., or \"\" for none";

    fn parse(text: &str) -> Result<Self, &'static str> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_name = text.len() <= MAX_NAME && text.bytes().all(is_plain);
        is_name.then(|| Self(text.to_owned())).ok_or("")
    }
}

/// The part of a node in the tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TierRole {
    /// The node reads from the tier and adds its entries to it.
    ReadWrite,
    /// The node only reads.
    ReadOnly,
}

impl Value for TierRole {
    const KIND: &'static str = "role";
    const MEANING: &'static str = "\
`\"read-write\"`: the node reads from the tier, and adds its entries. `\"read-only\"`: the node only
reads.";
    const EXPECTED: &'static str = "\"read-write\" or \"read-only\"";
    const JSON: &'static str = r#"{"enum": ["read-write", "read-only"]}"#;

    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "read-write" => Ok(Self::ReadWrite),
            "read-only" => Ok(Self::ReadOnly),
            _ => Err(""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_never_leads_out_of_itself() {
        let parts = |text| {
            let bucket = ObjectBucket::parse(text).ok()?;
            bucket.parts().map(|(bucket, prefix)| format!("{bucket} {prefix}"))
        };
        assert_eq!(parts("s3://archive").as_deref(), Some("archive "));
        assert_eq!(parts("s3://archive/a/b/").as_deref(), Some("archive a/b/"));
        for wrong in [
            "archive",
            "http://archive",
            "s3://",
            "s3://ab",
            "s3://abc/..",
            "s3://abc/a//b",
            "s3://abc/./x",
            "s3://abc/x?y",
            "s3://a b/x",
            "s3://user:pass@abc/x",
        ] {
            assert!(ObjectBucket::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_catalogue_has_a_user_and_no_password() {
        let shown = |text| match CatalogueAddress::parse(text) {
            Ok(catalogue) => catalogue.database().map(|base| format!("{base} {}", base.tls)),
            Err(because) => Some(format!("! {because}")),
        };
        let is = |text, want: &str| assert_eq!(shown(text).as_deref(), Some(want), "{text}");
        is("postgresql://w@Db.Example/a", "postgresql://w@db.example:5432/a true");
        is("postgres://w@[::1]:6000/a?sslmode=disable", "postgresql://w@[::1]:6000/a false");
        is("postgresql://w:secret@db/a", "! the password belongs in the file of `credentials`");
        is("postgresql://db/a", "! the user is missing");
        is("postgresql://w@db", "! the database is missing");
        is(
            "postgresql://w@db/a?host=/tmp",
            "! the only setting is sslmode, \"require\" or \"disable\"",
        );
        for wrong in [
            "mysql://w@db/a",
            "postgresql://w@db:0/a",
            "postgresql://w@db/",
            "postgresql://@db/a",
            "postgresql://w@db:70000/a",
            "postgresql://w@db/a/b",
        ] {
            assert!(shown(wrong).is_some_and(|shown| shown.starts_with('!')), "{wrong}");
        }
    }
}

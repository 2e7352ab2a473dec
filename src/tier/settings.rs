//! The configuration of the tier, and the credentials for its engines.

use std::path::{Path, PathBuf};

use wwwoffle_config::{CatalogueDatabase, Config, TierRole};

use crate::base::small_file;
use crate::base::tier_secrets::TierSecrets;

/// The largest file with credentials, in bytes.
const MAX_CREDENTIALS: u64 = 64 << 10;

/// The name of a node on a machine without a name.
const UNNAMED: &str = "node";

/// A fault in `[tier]`, or in the file with its credentials.
#[derive(Debug, thiserror::Error)]
pub enum SettingsFault {
    /// The password could be read on the way.
    #[error(
        "`sslmode=disable` in [tier] sends the password without TLS: use TLS, or list the host of \
         the catalogue in [local-net]"
    )]
    NoTls,
    /// Only one of the two engines is configured.
    #[error("[tier] needs both `objects` and `catalogue`")]
    Half,
    /// The endpoint and the bucket make no URL.
    #[error("the endpoint in [tier] and its bucket make no URL")]
    Endpoint,
    /// The keys of the object store are missing.
    #[error(
        "the keys of the object store are missing: write `access-key` and `secret-key` into the \
         file of `credentials` in [tier]"
    )]
    NoKeys,
    /// The file is unreadable.
    #[error("the credentials in {} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Other users may read the file.
    #[error("other users may read {}; run `chmod 600` on it", .0.display())]
    Open(PathBuf),
    /// A line is invalid. The line itself is not shown.
    #[error("line {line} of {} is none of access-key, secret-key and catalogue-password with a value", path.display())]
    Line {
        /// The path.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
}

/// The settings that stay the same until the next start.
#[derive(Clone, Debug)]
pub(super) struct TierSettings {
    pub(super) database: CatalogueDatabase,
    pub(super) bucket: String,
    /// The beginning of the names of objects.
    pub(super) prefix: String,
    pub(super) endpoint: String,
    pub(super) region: String,
    pub(super) path_style: bool,
    /// The bucket and prefix, for people.
    pub(super) place: String,
    pub(super) node: String,
    pub(super) role: TierRole,
}

/// The credentials. Never displayed.
pub(super) struct EngineKeys {
    pub(super) access: String,
    pub(super) secret: String,
    pub(super) password: Option<String>,
}

impl TierSettings {
    /// Reads the settings and credentials. `None` without a tier.
    pub(super) fn of(
        config: &Config,
        secrets: TierSecrets,
    ) -> Result<Option<(Self, EngineKeys)>, SettingsFault> {
        let options = &config.tier;
        let (bucket, prefix, database) =
            match (options.objects.parts(), options.catalogue.database()) {
                (None, None) => return Ok(None),
                (Some((bucket, prefix)), Some(database)) => (bucket, prefix, database.clone()),
                _ => return Err(SettingsFault::Half),
            };
        if !database.tls && !config.local_net.hosts.contains(&database.host) {
            return Err(SettingsFault::NoTls);
        }
        let mut secrets = secrets;
        if let Some(path) = options.credentials.path() {
            let file = read_file(path)?;
            secrets.access_key = file.access_key.or(secrets.access_key);
            secrets.secret_key = file.secret_key.or(secrets.secret_key);
            secrets.catalogue_password = file.catalogue_password.or(secrets.catalogue_password);
        }
        let (Some(access), Some(secret)) = (secrets.access_key, secrets.secret_key) else {
            return Err(SettingsFault::NoKeys);
        };
        let region = options.region.as_str().to_owned();
        let endpoint = options.endpoint.url().map_or_else(
            || format!("https://s3.{region}.amazonaws.com"),
            |url| url.trim_end_matches('/').to_owned(),
        );
        let settings = Self {
            database,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            place: format!("{endpoint}/{bucket}/{prefix}"),
            endpoint,
            region,
            path_style: options.path_style,
            node: node_name(options.node.as_str()),
            role: options.role,
        };
        Ok(Some((settings, EngineKeys { access, secret, password: secrets.catalogue_password })))
    }
}

/// The configured name, or that of the machine.
fn node_name(configured: &str) -> String {
    if !configured.is_empty() {
        return configured.to_owned();
    }
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy();
    let name: String = name.chars().filter(|one| !one.is_control()).take(63).collect();
    if name.is_empty() { UNNAMED.to_owned() } else { name }
}

fn read_file(path: &Path) -> Result<TierSecrets, SettingsFault> {
    let unreadable = |reason: String| SettingsFault::Unreadable { path: path.to_owned(), reason };
    let bytes = small_file::read_at_most(path, MAX_CREDENTIALS)
        .map_err(|error| unreadable(error.to_string()))?
        .ok_or_else(|| unreadable("it does not exist".to_owned()))?;
    let about = rustix::fs::stat(path).map_err(|error| unreadable(error.to_string()))?;
    if about.st_mode & 0o077 != 0 {
        return Err(SettingsFault::Open(path.to_owned()));
    }
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    let mut secrets = TierSecrets::default();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let bad = || SettingsFault::Line { path: path.to_owned(), line };
        let (key, value) = text.split_once('=').ok_or_else(bad)?;
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
        let place = match key.trim() {
            "access-key" => &mut secrets.access_key,
            "secret-key" => &mut secrets.secret_key,
            "catalogue-password" => &mut secrets.catalogue_password,
            _ => return Err(bad()),
        };
        if value.is_empty() {
            return Err(bad());
        }
        *place = Some(value.to_owned());
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::small_file::Readers;

    #[test]
    fn credentials_come_from_a_file_that_only_its_owner_reads() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys");
        let read = |text: &str, readers| {
            small_file::write(&path, text.as_bytes(), readers).unwrap();
            read_file(&path)
        };
        let text = "# keys\naccess-key = AK\nsecret-key=\"s = k\"\n\ncatalogue-password = p\n";
        let secrets = read(text, Readers::Owner).unwrap();
        assert_eq!(secrets.access_key.as_deref(), Some("AK"));
        assert_eq!(secrets.secret_key.as_deref(), Some("s = k"));
        assert_eq!(secrets.catalogue_password.as_deref(), Some("p"));
        assert_eq!(format!("{secrets:?}"), "TierSecrets(not shown)");
        let open = read(text, Readers::All).unwrap_err().to_string();
        assert!(open.contains("other users may read") && open.contains("chmod 600"), "{open}");
        for wrong in ["access-key", "password = x", "secret-key ="] {
            let said = read(wrong, Readers::Owner).unwrap_err().to_string();
            assert!(said.starts_with("line 1 of "), "{said}");
        }
        small_file::remove(&path).unwrap();
        assert!(read_file(&path).unwrap_err().to_string().ends_with("it does not exist"));
    }
}

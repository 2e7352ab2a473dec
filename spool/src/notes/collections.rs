//! The collections of pages of each owner: one text file each, `collections/<name>`. The caller
//! defines the form of the text.
//!
//! The name is `everyone`, `local`, `user-` and a hash of the user, or `client-`, a hash of the
//! network and a hash of the address. An unreadable file stays in its place, so that no change replaces it.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sha2::{Digest, Sha256};

use crate::durability::Root;
use crate::entry::place::share_name;
use crate::error::{Error, Result};
use crate::fs::Disk;
use crate::fs::names::names_if_any;
use crate::fs::parallel::lock;
use crate::fs::whole::read_whole;

/// The directory of the texts.
pub(crate) const COLLECTIONS: &str = "collections";

/// The longest text of one owner, in bytes.
pub const MAX_COLLECTIONS_TEXT: usize = 4 << 20;

/// The largest number of owners of one kind (users, or clients without a login) with collections.
pub const MAX_COLLECTION_OWNERS: usize = 500;

/// The longest text of a client without a login, in bytes.
pub const MAX_CLIENT_TEXT: usize = 256 << 10;

/// The largest number of clients of one network with collections. A machine may choose any address
/// of its IPv6 network.
pub const MAX_OF_NETWORK: usize = 16;

/// The beginning of the names of clients without a login.
const CLIENT: &str = "client-";

/// The number of bytes of the hash in a name.
const HASH: usize = 8;

/// The lock that is held while collections change.
#[derive(Debug, Default)]
pub(crate) struct CollectionsLock(Mutex<()>);

impl CollectionsLock {
    /// Replaces the text of an owner, durably. `edit` gets the current text, and returns the new
    /// one, or `None` if nothing changes.
    pub(crate) fn change(
        &self,
        root: &Root,
        owner: Option<&str>,
        edit: &mut dyn FnMut(Option<&str>) -> Option<String>,
    ) -> Result<()> {
        let _held = lock(&self.0);
        let text = read(&*root.disk, &root.path, owner)?;
        let Some(new) = edit(text.as_deref()) else { return Ok(()) };
        let name = name_of(owner);
        let is_client = name.starts_with(CLIENT);
        let most = if is_client { MAX_CLIENT_TEXT } else { MAX_COLLECTIONS_TEXT };
        Error::check_length("the text of the collections", new.len(), most)?;
        if text.is_none() {
            check_owners(root, &name)?;
        }
        root.replace_file(&root.join(COLLECTIONS).join(name), new.as_bytes())
    }
}

/// Refuses the first collection of an owner if too many owners of the kind have collections. Every
/// address of a network may be a client, so clients must leave room for users.
fn check_owners(root: &Root, name: &str) -> Result<()> {
    let Some((kind, _)) = name.split_once('-') else { return Ok(()) };
    let network = name.rsplit_once('-').filter(|_| kind == CLIENT.trim_end_matches('-'));
    let (mut of_kind, mut of_network) = (1, 1);
    for name in names_if_any(&*root.disk, &root.join(COLLECTIONS))? {
        let name = name?;
        let Some(name) = name.to_str() else { continue };
        of_kind += usize::from(name.split_once('-').is_some_and(|(its, _)| its == kind));
        let its_network = name.rsplit_once('-').map(|(its, _)| its);
        of_network += usize::from(network.is_some_and(|(its, _)| Some(its) == its_network));
    }
    if network.is_some() {
        let what = "the number of clients of one network with collections";
        Error::check_length(what, of_network, MAX_OF_NETWORK)?;
    }
    Error::check_length("the number of owners of collections", of_kind, MAX_COLLECTION_OWNERS)
}

/// Reads the text of an owner; that of everyone if `owner` is `None`. `None` if there is none.
pub(crate) fn read(disk: &dyn Disk, root: &Path, owner: Option<&str>) -> Result<Option<String>> {
    let path = path(root, owner);
    let Some(bytes) = read_whole(disk, &path, MAX_COLLECTIONS_TEXT)? else { return Ok(None) };
    let bytes = bytes.map_err(|_| unreadable(b""))?;
    String::from_utf8(bytes).map(Some).map_err(|error| unreadable(error.as_bytes()))
}

fn path(root: &Path, owner: Option<&str>) -> PathBuf {
    root.join(COLLECTIONS).join(name_of(owner))
}

fn name_of(owner: Option<&str>) -> String {
    let Some(owner) = owner else { return "everyone".to_owned() };
    let Some((kind, _)) = owner.split_once(':') else { return "local".to_owned() };
    if kind == "user" {
        return format!("user-{}", hash_of(owner));
    }
    format!("{CLIENT}{}-{}", hash_of(&share_name(owner)), hash_of(owner))
}

fn hash_of(text: &str) -> String {
    hex::encode(Sha256::digest(text).get(..HASH).unwrap_or_default())
}

/// The error for a file that is not text.
fn unreadable(bytes: &[u8]) -> Error {
    Error::invalid(
        "the file of collections",
        "is damaged (correct it, or delete it to remove these collections)",
        bytes.get(..40).unwrap_or(bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn each_owner_has_a_file() {
        assert_eq!(name_of(None), "everyone");
        assert_eq!(name_of(Some("local")), "local");
        assert_eq!(name_of(Some("user:ada")), name_of(Some("user:ada")));
        assert_ne!(name_of(Some("user:ada")), name_of(Some("user:Ada")));
        let name = name_of(Some("user:../../x"));
        assert!(name.starts_with("user-") && name.len() == 5 + 16, "{name}");
        let network = |owner: &str| {
            let name = name_of(Some(owner));
            let (network, hash) = name.rsplit_once('-').unwrap();
            assert!(name.starts_with("client-") && hash.len() == 16, "{name}");
            network.to_owned()
        };
        assert_ne!(network("client:192.0.2.1"), network("client:192.0.2.2"));
        assert_eq!(network("client:2001:db8::1"), network("client:2001:db8::2"));
        assert_ne!(network("client:2001:db8::1"), network("client:2001:db8:1::1"));
    }
}

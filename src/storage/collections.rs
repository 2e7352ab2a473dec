//! Collections: named sets of pages, sites and searches of one owner, or of everyone.
//!
//! The collections of an owner are one JSON file in the spool, which is replaced as a whole. The
//! functions of [`CollectionFile`] change it in memory; [`change`] writes it.

pub mod edit;
pub mod members;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use wwwoffle_spool::{Error, Reader, Spool};

use super::store::Store;
use crate::base::owner::Owner;
use wwwoffle_api::{Collection, MemberItem};

/// The largest number of collections of an owner, or of everyone.
pub const MAX_COLLECTIONS: usize = 200;

/// The largest number of members of a collection.
pub const MAX_MEMBERS: usize = 1_000;

/// The longest name, in characters.
pub const MAX_NAME: usize = 80;

/// The longest note, in characters.
pub const MAX_NOTE: usize = 2_000;

/// The longest collection as JSON, in bytes: so the file of a collection fits into a form.
pub const MAX_COLLECTION: usize = 160 << 10;

/// The longest words of a search, in characters.
pub const MAX_WORDS: usize = 500;

/// The time for which a deletion can be undone.
const UNDO_FOR: SignedDuration = SignedDuration::from_hours(1);

/// The largest number of deletions of an owner that can be undone.
const MAX_REMOVED: usize = 20;

/// The format of the file.
const FORMAT: &str = "wwwoffle-collections 1";

/// Failure of an action on a collection.
#[derive(Debug, thiserror::Error)]
pub enum CollectionError {
    /// There is no such collection, or the caller may not see it.
    #[error("there is no such collection")]
    Unknown,
    /// The deletion cannot be undone any more.
    #[error("the deletion cannot be undone any more")]
    TooLate,
    /// The name is empty or too long.
    #[error("a collection needs a name of at most {MAX_NAME} characters")]
    Name,
    /// The owner has another collection with this name.
    #[error("there is a collection with this name already")]
    NameTaken,
    /// The note is too long.
    #[error("the note has more than {MAX_NOTE} characters")]
    Note,
    /// The owner has too many collections.
    #[error("there are {MAX_COLLECTIONS} collections already: delete one first")]
    TooMany,
    /// The collection has too many members, or they are too long.
    #[error(
        "a collection has at most {MAX_MEMBERS} members, and {} kB of addresses",
        MAX_COLLECTION / 1024
    )]
    Full,
    /// The collections of an owner, or of all owners, need too much space.
    #[error("there is no room for more collections: delete some first")]
    NoRoom,
    /// The id is invalid.
    #[error("expected an id of 16 hex digits")]
    Id,
    /// A member is invalid; the reason in words.
    #[error("{0}")]
    Member(String),
    /// The file of collections is from a later version, or was damaged by hand.
    #[error("the collections in the spool cannot be read: {0}")]
    Format(String),
    /// The text to import is not a collection.
    #[error("this is not the file of a collection: {0}")]
    Definition(String),
    /// The spool failed.
    #[error(transparent)]
    Spool(#[from] Error),
}

/// The collections of one owner, or of everyone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionFile {
    format: String,
    /// The owner, for people who read the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// The collections.
    #[serde(default)]
    pub collections: Vec<Collection>,
    /// Deletions that can be undone, the earliest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<RemovedPart>,
}

/// A deleted collection, or members that were removed from one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedPart {
    /// The name of the deletion, 16 hex digits.
    pub removal: String,
    /// The time of the deletion.
    pub at: Timestamp,
    /// The id of the collection.
    pub id: String,
    /// The collection, if it was deleted as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Collection>,
    /// The removed members.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MemberItem>,
}

/// The reader of a file of collections: that of an owner, or of everyone.
pub trait CollectionSource {
    /// Reads the text of the file.
    ///
    /// # Errors
    ///
    /// Those of [`Spool::collections`].
    fn text(&self, owner: Option<&str>) -> Result<Option<String>, Error>;
}

impl CollectionSource for Spool {
    fn text(&self, owner: Option<&str>) -> Result<Option<String>, Error> {
        self.collections(owner)
    }
}

impl CollectionSource for Reader {
    fn text(&self, owner: Option<&str>) -> Result<Option<String>, Error> {
        self.collections(owner)
    }
}

impl CollectionFile {
    fn parse(text: Option<&str>, owner: Option<&str>) -> Result<Self, CollectionError> {
        let empty = || Self {
            format: FORMAT.to_owned(),
            owner: owner.map(str::to_owned),
            collections: Vec::new(),
            removed: Vec::new(),
        };
        let Some(text) = text else { return Ok(empty()) };
        let file: Self = serde_json::from_str(text)
            .map_err(|error| CollectionError::Format(error.to_string()))?;
        if file.format != FORMAT {
            return Err(CollectionError::Format(format!("unknown format {:?}", file.format)));
        }
        Ok(file)
    }

    /// The collection with this id.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Collection> {
        self.collections.iter().find(|one| one.id == id)
    }
}

/// Returns the collections that an owner may see: their own and those for everyone, by name. Blocks.
///
/// # Errors
///
/// [`CollectionError::Format`] and [`CollectionError::Spool`].
pub fn visible(
    source: &impl CollectionSource,
    owner: &Owner,
) -> Result<Vec<Collection>, CollectionError> {
    let mut all = Vec::new();
    for owner in [Some(owner.to_string()), None] {
        let text = source.text(owner.as_deref())?;
        let file = CollectionFile::parse(text.as_deref(), owner.as_deref())?;
        let for_everyone = owner.is_none();
        all.extend(file.collections.into_iter().map(|one| Collection { for_everyone, ..one }));
    }
    all.sort_by_cached_key(|one| (one.name.to_lowercase(), one.id.clone()));
    // A crash while a collection was moved to everyone may have left it in both files.
    let mut seen = std::collections::HashSet::new();
    all.retain(|one| seen.insert(one.id.clone()));
    Ok(all)
}

/// Returns a collection that an owner may see, by its id. Blocks.
///
/// # Errors
///
/// [`CollectionError::Unknown`], and those of [`visible`].
pub fn find(
    source: &impl CollectionSource,
    owner: &Owner,
    id: &str,
) -> Result<Collection, CollectionError> {
    let all = visible(source, owner)?;
    all.into_iter().find(|one| one.id == id).ok_or(CollectionError::Unknown)
}

/// Returns a collection that an owner may see, by its id or its name, in any case. Blocks.
///
/// # Errors
///
/// [`CollectionError::Unknown`], and those of [`visible`].
pub fn named(
    source: &impl CollectionSource,
    owner: &Owner,
    name: &str,
) -> Result<Collection, CollectionError> {
    let all = visible(source, owner)?;
    let is_named = |one: &&Collection| one.name.to_lowercase() == name.to_lowercase();
    let found = all.iter().find(|one| one.id == name).or_else(|| all.iter().find(is_named));
    found.cloned().ok_or(CollectionError::Unknown)
}

/// Runs a call that reads collections outside the runtime's own threads.
///
/// # Errors
///
/// Those of `call`.
pub async fn read<T: Send + 'static>(
    store: &Store,
    call: impl FnOnce(&Spool) -> Result<T, CollectionError> + Send + 'static,
) -> Result<T, CollectionError> {
    store.run(move |spool| Ok(call(spool))).await?
}

/// Changes the collections of an owner, or of everyone, durably. If `edit` fails, nothing changes.
///
/// # Errors
///
/// Those of `edit`, [`CollectionError::Format`] and [`CollectionError::Spool`].
pub async fn change<T: Send + 'static>(
    store: &Store,
    owner: Option<String>,
    mut edit: impl FnMut(&mut CollectionFile) -> Result<T, CollectionError> + Send + 'static,
) -> Result<T, CollectionError> {
    let changed = store.run(move |spool| {
        let mut done = Err(CollectionError::Unknown);
        spool.change_collections(owner.as_deref(), &mut |text| {
            let mut file = match CollectionFile::parse(text, owner.as_deref()) {
                Ok(file) => file,
                Err(error) => {
                    done = Err(error);
                    return None;
                }
            };
            let before = file.clone();
            done = edit(&mut file);
            let is_changed = done.is_ok() && file != before;
            is_changed
                .then(|| serde_json::to_string(&file).unwrap_or_default())
                .filter(|it| !it.is_empty())
        })?;
        Ok(done)
    });
    match changed.await {
        Err(error) if error.is_too_large() => Err(CollectionError::NoRoom),
        changed => changed?,
    }
}

#[cfg(test)]
mod tests;

//! Changes of the collections of one owner. They are pure: the caller writes the result.

use jiff::Timestamp;
use sha2::{Digest, Sha256};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::{
    CollectionError, CollectionFile, MAX_COLLECTION, MAX_COLLECTIONS, MAX_MEMBERS, MAX_NAME,
    MAX_NOTE, MAX_REMOVED, MAX_WORDS, RemovedPart, UNDO_FOR,
};
use crate::base::shown;
use crate::base::text::Text;
use crate::storage::lists::query::ListQuery;
use wwwoffle_api::{
    Collection, CollectionDefinition, CollectionRequest, Member, MemberItem, SavedSearch,
};

/// The longest title of a member, in characters.
const MAX_TITLE: usize = 200;

/// The longest name of a site or host, in bytes.
const MAX_HOST: usize = 260;

/// Returns a new id.
///
/// # Errors
///
/// If the system has no randomness.
pub fn new_id() -> Result<String, CollectionError> {
    let number = getrandom::u64().map_err(|error| CollectionError::Member(error.to_string()))?;
    Ok(format!("{number:016x}"))
}

/// Whether a text has the form of an id.
#[must_use]
pub fn is_id(text: &str) -> bool {
    text.len() == 16
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns the name of a member in forms: a hash of what it is.
#[must_use]
pub fn member_key(member: &Member) -> String {
    let text = match member {
        Member::Page { url } => format!("page {url}"),
        Member::Site { site } => format!("site {site}"),
        Member::Search(SavedSearch { words, host, class, since, until }) => {
            format!("search {words}\n{host}\n{class}\n{since}\n{until}")
        }
    };
    let hash = Sha256::digest(text);
    hex::encode(hash.get(..8).unwrap_or_default())
}

/// Checks a member, and returns it in its canonical form.
///
/// # Errors
///
/// [`CollectionError::Member`].
pub fn check_member(member: Member, local: &LocalHost) -> Result<Member, CollectionError> {
    let bad = |why: String| Err(CollectionError::Member(why));
    match member {
        Member::Page { url } => match CanonicalUrl::parse(url.trim(), local) {
            Ok(known) if known.is_local() => {
                bad("a page of wwwoffle itself cannot be in a collection".to_owned())
            }
            Ok(known) if known.as_str().len() > wwwoffle_spool::MAX_URL => {
                bad("the address of the page is too long".to_owned())
            }
            Ok(known) => Ok(Member::Page { url: known.without_credentials().as_str().to_owned() }),
            Err(error) => bad(format!("the address of the page is invalid: {error}")),
        },
        Member::Site { site } => {
            let site = site.trim().to_lowercase();
            let is_host = |c: char| !c.is_control() && !c.is_whitespace() && !"/?#@".contains(c);
            if site.is_empty() || site.len() > MAX_HOST || !site.chars().all(is_host) {
                return bad("the name of the site is invalid".to_owned());
            }
            Ok(Member::Site { site })
        }
        Member::Search(search) => check_search(search),
    }
}

fn check_search(search: SavedSearch) -> Result<Member, CollectionError> {
    let SavedSearch { words, host, class, since, until } = search;
    let trimmed = |text: String| text.trim().to_owned();
    let search = SavedSearch {
        words: trimmed(words),
        host: trimmed(host).to_ascii_lowercase(),
        class: trimmed(class),
        since: trimmed(since),
        until: trimmed(until),
    };
    let query = query_of(&search).map_err(|why| CollectionError::Member(why.to_string()))?;
    let is_long = search.words.chars().count() > MAX_WORDS || search.host.len() > MAX_HOST;
    if query.query().is_empty() || is_long {
        let why = format!("a search needs words, at most {MAX_WORDS} characters");
        return Err(CollectionError::Member(why));
    }
    Ok(Member::Search(search))
}

/// Returns the query of a search.
///
/// # Errors
///
/// The description of an invalid argument.
pub fn query_of(search: &SavedSearch) -> Result<ListQuery, Text> {
    ListQuery::parse(|name| search.value(name))
}

impl CollectionFile {
    /// Makes or changes a collection. Returns it.
    ///
    /// # Errors
    ///
    /// If a field is invalid, the name is taken, or there are too many collections.
    pub fn save(
        &mut self,
        wanted: &CollectionRequest,
        id: &str,
        now: Timestamp,
    ) -> Result<Collection, CollectionError> {
        if !is_id(id) {
            return Err(CollectionError::Id);
        }
        let mut new = self.find(id).cloned().unwrap_or_else(|| empty(id, now));
        if let Some(name) = &wanted.name {
            new.name = clean_name(name);
        }
        if let Some(note) = &wanted.note {
            new.note = clean_note(note);
        }
        new.colour = wanted.colour.unwrap_or(new.colour);
        if self.find(id) == Some(&new) {
            return Ok(new);
        }
        new.changed = now;
        self.put(new)
    }

    /// Puts a collection into the file, in place of an earlier one with its id.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save), and [`CollectionError::Full`].
    pub fn put(&mut self, new: Collection) -> Result<Collection, CollectionError> {
        if new.name.is_empty() || new.name.chars().count() > MAX_NAME {
            return Err(CollectionError::Name);
        }
        if new.note.chars().count() > MAX_NOTE {
            return Err(CollectionError::Note);
        }
        let name = new.name.to_lowercase();
        let is_other = |one: &Collection| one.id != new.id && one.name.to_lowercase() == name;
        if self.collections.iter().any(is_other) {
            return Err(CollectionError::NameTaken);
        }
        check_size(&new)?;
        let is_full = self.collections.len() >= MAX_COLLECTIONS;
        match self.collections.iter_mut().find(|one| one.id == new.id) {
            Some(old) => *old = new.clone(),
            None if is_full => return Err(CollectionError::TooMany),
            None => self.collections.push(new.clone()),
        }
        Ok(new)
    }

    /// Adds members, which [`check_member`] has checked. Those that are there already stay as they
    /// are. Returns the number of new members.
    ///
    /// # Errors
    ///
    /// [`CollectionError::Unknown`] and [`CollectionError::Full`].
    pub fn add(
        &mut self,
        id: &str,
        members: &[MemberItem],
        now: Timestamp,
    ) -> Result<usize, CollectionError> {
        let mut new = self.find(id).cloned().ok_or(CollectionError::Unknown)?;
        let count = new.members.len();
        add_members(&mut new, members, now);
        let added = new.members.len() - count;
        if added > 0 {
            new.changed = now;
            self.put(new)?;
        }
        Ok(added)
    }

    /// Removes the members with these keys. Returns the name of the deletion, and their number.
    ///
    /// # Errors
    ///
    /// [`CollectionError::Unknown`], or if the system has no randomness.
    pub fn remove(
        &mut self,
        id: &str,
        keys: &[String],
        now: Timestamp,
    ) -> Result<(String, usize), CollectionError> {
        let collection = self.collections.iter_mut().find(|one| one.id == id);
        let collection = collection.ok_or(CollectionError::Unknown)?;
        let is_meant = |item: &MemberItem| keys.contains(&member_key(&item.member));
        let (gone, rest): (Vec<_>, Vec<_>) =
            collection.members.drain(..).partition(|item| is_meant(item));
        collection.members = rest;
        let count = gone.len();
        if count == 0 {
            // The form was sent twice: the deletion of the first can be undone.
            let is_this = |it: &&RemovedPart| {
                it.id == id && it.whole.is_none() && it.members.iter().any(is_meant)
            };
            let removal = self.removed.iter().rfind(is_this).map(|it| it.removal.clone());
            return Ok((removal.unwrap_or_default(), 0));
        }
        collection.changed = now;
        let part = RemovedPart {
            removal: new_id()?,
            at: now,
            id: id.to_owned(),
            whole: None,
            members: gone,
        };
        Ok((self.keep_removed(part, now), count))
    }

    /// Deletes a collection. Returns the name of the deletion.
    ///
    /// # Errors
    ///
    /// [`CollectionError::Unknown`], or if the system has no randomness.
    pub fn delete(&mut self, id: &str, now: Timestamp) -> Result<String, CollectionError> {
        let at = self.collections.iter().position(|one| one.id == id);
        let whole = self.collections.remove(at.ok_or(CollectionError::Unknown)?);
        let part = RemovedPart {
            removal: new_id()?,
            at: now,
            id: id.to_owned(),
            whole: Some(whole),
            members: Vec::new(),
        };
        Ok(self.keep_removed(part, now))
    }

    /// Returns the name of the deletion of a whole collection, if it can be undone.
    #[must_use]
    pub fn removal_of(&self, id: &str) -> Option<String> {
        let is_this = |it: &&RemovedPart| it.id == id && it.whole.is_some();
        self.removed.iter().rfind(is_this).map(|it| it.removal.clone())
    }

    fn keep_removed(&mut self, part: RemovedPart, now: Timestamp) -> String {
        let name = part.removal.clone();
        self.removed.push(part);
        // A later time comes from a wrong clock.
        self.removed.retain(|it| now.duration_since(it.at) < UNDO_FOR && it.at <= now);
        let surplus = self.removed.len().saturating_sub(MAX_REMOVED);
        self.removed.drain(..surplus);
        name
    }

    /// Undoes a deletion. Returns the id of the collection.
    ///
    /// # Errors
    ///
    /// [`CollectionError::TooLate`], or if the collection has become full, or its name is taken.
    pub fn restore(&mut self, removal: &str, now: Timestamp) -> Result<String, CollectionError> {
        let at = self.removed.iter().position(|it| it.removal == removal);
        let part = at.and_then(|at| self.removed.get(at)).cloned();
        let part = part.ok_or(CollectionError::TooLate)?;
        let mut new = match part.whole {
            Some(whole) => self.find(&part.id).cloned().unwrap_or(whole),
            None => self.find(&part.id).cloned().ok_or(CollectionError::TooLate)?,
        };
        add_members(&mut new, &part.members, now);
        self.put(new)?;
        self.removed.retain(|it| it.removal != removal);
        Ok(part.id)
    }
}

/// Returns a name on one line. Characters that would hide or reorder the text are made visible, so
/// that people see the name that is stored.
fn clean_name(name: &str) -> String {
    shown::full_text(&name.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn clean_note(note: &str) -> String {
    note.trim().lines().map(shown::full_text).collect::<Vec<_>>().join("\n")
}

fn empty(id: &str, now: Timestamp) -> Collection {
    Collection {
        id: id.to_owned(),
        name: String::new(),
        note: String::new(),
        colour: wwwoffle_api::Colour::default(),
        for_everyone: false,
        created: now,
        changed: now,
        schedule: None,
        scheduled_by: None,
        monitored: Vec::new(),
        members: Vec::new(),
    }
}

fn add_members(collection: &mut Collection, members: &[MemberItem], now: Timestamp) {
    let known = collection.members.iter().map(|item| member_key(&item.member));
    let mut known: std::collections::HashSet<_> = known.collect();
    for item in members {
        if known.insert(member_key(&item.member)) {
            let title = item.title.as_deref().map(|title| title.chars().take(MAX_TITLE).collect());
            let added = Some(item.added.unwrap_or(now));
            collection.members.push(MemberItem { member: item.member.clone(), title, added });
        }
    }
}

fn check_size(collection: &Collection) -> Result<(), CollectionError> {
    let is_long = || {
        serde_json::to_string(&CollectionDefinition::from(collection))
            .map_or(true, |text| text.len() > MAX_COLLECTION)
    };
    if collection.members.len() > MAX_MEMBERS || is_long() {
        return Err(CollectionError::Full);
    }
    Ok(())
}

/// Returns the definition of a collection as text.
#[must_use]
pub fn definition_text(collection: &Collection) -> String {
    let definition = CollectionDefinition::from(collection);
    // The type has no map with keys that are not texts, so this cannot fail.
    serde_json::to_string_pretty(&definition).unwrap_or_default() + "\n"
}

/// Makes a collection of its file. If its name is in `taken`, in lower case, a number is added.
///
/// # Errors
///
/// [`CollectionError::Definition`], and those of its fields.
pub fn of_definition(
    definition: CollectionDefinition,
    taken: &[String],
    local: &LocalHost,
    now: Timestamp,
) -> Result<Collection, CollectionError> {
    let CollectionDefinition { format, name, note, colour, members } = definition;
    if format != CollectionDefinition::FORMAT {
        return Err(CollectionError::Definition(format!(
            "expected the format {:?}, not {:?}",
            CollectionDefinition::FORMAT,
            shown::text(&format)
        )));
    }
    if members.len() > MAX_MEMBERS {
        return Err(CollectionError::Full);
    }
    let name = clean_name(&name);
    let numbered = (2..=MAX_COLLECTIONS + 1).map(|number| format!("{name} {number}"));
    let free = std::iter::once(name.clone())
        .chain(numbered)
        .find(|name| !taken.contains(&name.to_lowercase()));
    let mut new = Collection {
        name: free.unwrap_or(name),
        note: clean_note(&note),
        colour,
        ..empty(&new_id()?, now)
    };
    let mut checked = Vec::new();
    for item in members {
        let member = check_member(item.member, local)?;
        checked.push(MemberItem { member, title: item.title, added: None });
    }
    add_members(&mut new, &checked, now);
    Ok(new)
}

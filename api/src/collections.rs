//! The JSON types of collections.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

wwwoffle_url::named! {
    /// The colour of a collection.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Colour {
        /// Grey.
        #[default]
        Grey = "grey",
        /// Red.
        Red = "red",
        /// Orange.
        Orange = "orange",
        /// Green.
        Green = "green",
        /// Teal.
        Teal = "teal",
        /// Blue.
        Blue = "blue",
        /// Purple.
        Purple = "purple",
    }
}

/// A named set of pages, sites and searches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collection {
    /// Its id, 16 hex digits.
    pub id: String,
    /// Its name.
    pub name: String,
    /// A note about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Its colour.
    #[serde(default)]
    pub colour: Colour,
    /// Whether everyone who uses this proxy sees it; otherwise only its owner does.
    #[serde(default)]
    pub for_everyone: bool,
    /// When it was made.
    pub created: Timestamp,
    /// When it was last changed.
    pub changed: Timestamp,
    /// The schedule by which its members are fetched, as a cron line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The owner who set the schedule, as `local`, `user:ada` or `client:192.0.2.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_by: Option<String>,
    /// The pages that are monitored because of the schedule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitored: Vec<String>,
    /// Its members, in the order in which they were added.
    #[serde(default)]
    pub members: Vec<MemberItem>,
}

/// A member of a collection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberItem {
    /// The member.
    #[serde(flatten)]
    pub member: Member,
    /// The title of the page when it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When it was added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<Timestamp>,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Member {
    /// A page.
    Page {
        /// Its URL.
        url: String,
    },
    /// All stored entries of a site.
    Site {
        /// The registrable domain, such as `example.co.uk`.
        site: String,
    },
    /// The pages that a search finds.
    Search(SavedSearch),
}

/// A search, as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedSearch {
    /// The words.
    #[serde(rename = "q")]
    pub words: String,
    /// The host of the results; empty for all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// The class of the results; empty for all.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub class: String,
    /// Only pages saved on this day or later; empty for all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub since: String,
    /// Only pages saved on this day or earlier; empty for all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub until: String,
}

impl SavedSearch {
    /// The value of an argument of a search.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        Some(match name {
            "q" => &self.words,
            "host" => &self.host,
            "type" => &self.class,
            "since" => &self.since,
            "until" => &self.until,
            _ => return None,
        })
    }
}

/// The response to `GET /api/collections`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionList {
    /// The collections that the caller may see, by name.
    pub collections: Vec<Collection>,
}

/// The body of `POST /api/collections`: a new collection, or changes of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionRequest {
    /// The id of the collection to change. With an unknown id, a collection with this id is made,
    /// so that a call that is repeated makes only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name; unchanged if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The note; unchanged if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The colour; unchanged if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<Colour>,
    /// Whether everyone sees it; unchanged if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_everyone: Option<bool>,
}

/// The body of `POST /api/collections/members`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MembersRequest {
    /// The id of the collection.
    pub id: String,
    /// The members to add.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Member>,
    /// The members to remove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<Member>,
}

/// The body of calls about one collection: `POST /api/collections/delete` and `/fetch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionChoice {
    /// The id of the collection.
    pub id: String,
}

/// The response to `POST /api/collections/delete`, and the body of `POST /api/collections/restore`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionRemoval {
    /// The name of the deletion, with which it is undone.
    pub removal: String,
}

/// The body of `POST /api/collections/schedule`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionSchedule {
    /// The id of the collection.
    pub id: String,
    /// The schedule, as a cron line; none ends the schedule.
    #[serde(default)]
    pub schedule: Option<String>,
}

/// The response to `POST /api/collections/fetch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionFetch {
    /// The number of pages that were queued.
    pub queued: u64,
    /// The number of pages that could not be queued.
    pub refused: u64,
    /// Why the first of them could not be queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A collection as a file, which another wwwoffle imports: the response to `GET
/// /api/collections/definition` and the body of `POST /api/collections/import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionDefinition {
    /// [`CollectionDefinition::FORMAT`].
    pub format: String,
    /// Its name.
    pub name: String,
    /// A note about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Its colour.
    #[serde(default)]
    pub colour: Colour,
    /// Its members.
    #[serde(default)]
    pub members: Vec<MemberItem>,
}

impl CollectionDefinition {
    /// The format of this version.
    pub const FORMAT: &str = "wwwoffle-collection 1";
}

impl From<&Collection> for CollectionDefinition {
    fn from(collection: &Collection) -> Self {
        let members = collection.members.iter();
        let members = members.map(|item| MemberItem { added: None, ..item.clone() });
        Self {
            format: Self::FORMAT.to_owned(),
            name: collection.name.clone(),
            note: collection.note.clone(),
            colour: collection.colour,
            members: members.collect(),
        }
    }
}

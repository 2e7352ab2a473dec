//! Full-text search in the entries of all nodes. PostgreSQL knows the forms of words in the
//! languages for which it has a configuration; words of other languages are found as they are
//! written.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::types::{ToSql, Type};

use super::{CatalogueClient, fault};
use crate::tier::error::TierError;

/// The time for a search.
const SEARCH_WITHIN: Duration = Duration::from_secs(5);

/// The largest number of matches in one language that are ranked.
const MAX_RANKED: i64 = 2_000;

/// The configurations of PostgreSQL, by the language tag of a page.
const LANGUAGES: [(&str, &str); 20] = [
    ("ar", "arabic"),
    ("da", "danish"),
    ("de", "german"),
    ("el", "greek"),
    ("en", "english"),
    ("es", "spanish"),
    ("fi", "finnish"),
    ("fr", "french"),
    ("hi", "hindi"),
    ("hu", "hungarian"),
    ("id", "indonesian"),
    ("it", "italian"),
    ("nl", "dutch"),
    ("no", "norwegian"),
    ("pt", "portuguese"),
    ("ro", "romanian"),
    ("ru", "russian"),
    ("sv", "swedish"),
    ("ta", "tamil"),
    ("tr", "turkish"),
];

/// The configuration for pages in other languages.
const OTHER: &str = "simple";

/// The marks around a matching word in an excerpt.
pub(in crate::tier) const MARKS: (char, char) = ('\u{2}', '\u{3}');

const SEARCH: &str = "\
WITH asked AS MATERIALIZED (
  SELECT l.language::regconfig AS language, websearch_to_tsquery(l.language::regconfig, $1) AS query
  FROM unnest($2::text[]) AS l (language)),
matching AS (
  SELECT m.* FROM asked AS a CROSS JOIN LATERAL (
    SELECT t.key, t.variant, t.beginning, t.language, a.query,
      ts_rank_cd(t.words, a.query, 1) AS rank
    FROM texts AS t JOIN entries AS e USING (key, variant)
    WHERE t.words @@ a.query AND t.language = a.language AND numnode(a.query) > 0
    AND ($3::text = '' OR split_part(split_part(e.url, '://', 2), '/', 1) = $3)
    AND ($4::text = '' OR e.media LIKE $4 || '%')
    LIMIT $5) AS m),
best AS (SELECT * FROM matching ORDER BY rank DESC, key, variant LIMIT $6 OFFSET $7)
SELECT left(e.url, 8192), left(e.title, 500), left(e.media, 200), e.status, e.size, e.object_size,
  e.stored, ts_headline(b.language, left(b.beginning, 1000), b.query, $8)
FROM best AS b JOIN entries AS e USING (key, variant) ORDER BY b.rank DESC, b.key, b.variant";

const NEWEST_PAGES: &str = "\
SELECT left(e.url, 8192), left(e.title, 500), left(e.media, 200), e.status, e.size, e.object_size,
  e.stored, ''
FROM entries AS e WHERE ($1::text = '' OR split_part(split_part(e.url, '://', 2), '/', 1) = $1)
AND ($2::text = '' OR e.media LIKE $2 || '%')
ORDER BY e.stored DESC, e.key, e.variant LIMIT $3 OFFSET $4";

/// The hosts after $1 in the order of their names, each found by one step through the index, and
/// how many entries they have, up to $3.
const HOSTS: &str = "\
WITH RECURSIVE hosts (host) AS (
  SELECT (SELECT split_part(split_part(e.url, '://', 2), '/', 1) AS host FROM entries AS e
    WHERE split_part(split_part(e.url, '://', 2), '/', 1) > $1 ORDER BY host LIMIT 1)
  UNION ALL
  SELECT (SELECT split_part(split_part(e.url, '://', 2), '/', 1) AS host FROM entries AS e
    WHERE split_part(split_part(e.url, '://', 2), '/', 1) > h.host ORDER BY host LIMIT 1)
  FROM hosts AS h WHERE h.host IS NOT NULL)
SELECT h.host, c.entries, c.bytes
FROM (SELECT host FROM hosts WHERE host IS NOT NULL AND length(host) <= 300 LIMIT $2) AS h
CROSS JOIN LATERAL (
  SELECT count(*) AS entries, coalesce(sum(counted.object_size), 0)::bigint AS bytes
  FROM (SELECT e.object_size FROM entries AS e
    WHERE split_part(split_part(e.url, '://', 2), '/', 1) = h.host LIMIT $3) AS counted) AS c";

/// The text of an entry, to be found by its words.
#[derive(Debug)]
pub(in crate::tier) struct EntryText {
    pub(in crate::tier) title: String,
    pub(in crate::tier) text: String,
    /// The language tag, such as `en-GB`.
    pub(in crate::tier) language: Option<String>,
}

/// What is searched for.
#[derive(Clone, Debug, Default)]
pub struct TierQuery {
    /// The words. Empty: the newest entries.
    pub words: String,
    /// The host; empty for all.
    pub host: String,
    /// The beginning of the content type; empty for all.
    pub media: String,
    /// The number of hits.
    pub limit: usize,
    /// The number of hits before them.
    pub offset: usize,
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tier) struct TierHit {
    /// The URL.
    pub(in crate::tier) url: String,
    /// The title of a page.
    pub(in crate::tier) title: Option<String>,
    /// The value of `Content-Type`.
    pub(in crate::tier) media: String,
    /// The status of the response.
    pub(in crate::tier) status: u16,
    /// The length of the body.
    pub(in crate::tier) size: u64,
    /// The length of the object.
    pub(in crate::tier) object_size: u64,
    /// When it was stored, in microseconds since 1970.
    pub(in crate::tier) stored: i64,
    /// An excerpt, with [`MARKS`].
    pub(in crate::tier) excerpt: String,
}

/// Which hosts are listed.
#[derive(Clone, Debug)]
pub struct TierHostsQuery {
    /// The host before the first one; empty for all.
    pub after: String,
    /// The number of hosts.
    pub limit: usize,
    /// The largest number of entries that are counted of each.
    pub counted: usize,
}

/// A host with entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tier) struct TierHost {
    /// Its name, with the port unless that is the default one.
    pub(in crate::tier) host: String,
    /// The number of entries, or the largest that is counted.
    pub(in crate::tier) entries: u64,
    /// The length of the objects of the counted entries.
    pub(in crate::tier) bytes: u64,
}

/// The configuration of PostgreSQL for a page in this language.
pub(super) fn configuration(language: Option<&str>) -> &'static str {
    let tag = language.unwrap_or_default().to_ascii_lowercase();
    let tag = tag.split(['-', '_']).next().unwrap_or_default();
    // Norwegian has two written forms.
    let tag = if matches!(tag, "nb" | "nn") { "no" } else { tag };
    LANGUAGES.iter().find(|(known, _)| *known == tag).map_or(OTHER, |(_, name)| name)
}

impl CatalogueClient {
    /// Searches for entries, over a connection of its own. Dropping the future ends it.
    pub(in crate::tier) async fn search(
        &self,
        wanted: &TierQuery,
    ) -> Result<Vec<TierHit>, TierError> {
        let found = timeout(SEARCH_WITHIN, self.search_now(wanted)).await;
        found.unwrap_or(Err(TierError::Timeout))
    }

    /// Lists hosts by name, over a connection of its own. Dropping the future ends it.
    pub(in crate::tier) async fn hosts(
        &self,
        wanted: &TierHostsQuery,
    ) -> Result<Vec<TierHost>, TierError> {
        let listed = async {
            let client = self.connect().await?;
            let [limit, counted] = [wanted.limit, wanted.counted]
                .map(|count| i64::try_from(count).unwrap_or(i64::MAX));
            let values: [(&(dyn ToSql + Sync), Type); 3] =
                [(&wanted.after, Type::TEXT), (&limit, Type::INT8), (&counted, Type::INT8)];
            let rows = client.query_typed(HOSTS, &values).await.map_err(|error| fault(&error))?;
            Ok(rows.iter().filter_map(host).collect())
        };
        timeout(SEARCH_WITHIN, listed).await.unwrap_or(Err(TierError::Timeout))
    }

    async fn search_now(&self, wanted: &TierQuery) -> Result<Vec<TierHit>, TierError> {
        let client = self.connect().await?;
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let (limit, offset) = (number(wanted.limit), number(wanted.offset));
        let TierQuery { words, host, media, .. } = wanted;
        let rows = if words.is_empty() {
            let values: [(&(dyn ToSql + Sync), Type); 4] = [
                (host, Type::TEXT),
                (media, Type::TEXT),
                (&limit, Type::INT8),
                (&offset, Type::INT8),
            ];
            client.query_typed(NEWEST_PAGES, &values).await
        } else {
            let mut languages: Vec<&str> = LANGUAGES.iter().map(|(_, name)| *name).collect();
            languages.push(OTHER);
            let options =
                format!("StartSel={}, StopSel={}, MinWords=20, MaxWords=40", MARKS.0, MARKS.1);
            let values: [(&(dyn ToSql + Sync), Type); 8] = [
                (words, Type::TEXT),
                (&languages, Type::TEXT_ARRAY),
                (host, Type::TEXT),
                (media, Type::TEXT),
                (&MAX_RANKED, Type::INT8),
                (&limit, Type::INT8),
                (&offset, Type::INT8),
                (&options, Type::TEXT),
            ];
            client.query_typed(SEARCH, &values).await
        };
        let rows = rows.map_err(|error| fault(&error))?;
        Ok(rows.iter().filter_map(hit).collect())
    }
}

fn host(row: &tokio_postgres::Row) -> Option<TierHost> {
    let number = |index| u64::try_from(row.try_get::<_, i64>(index).ok()?).ok();
    Some(TierHost { host: row.try_get(0).ok()?, entries: number(1)?, bytes: number(2)? })
}

fn hit(row: &tokio_postgres::Row) -> Option<TierHit> {
    let length = |index| u64::try_from(row.get::<_, i64>(index)).ok();
    Some(TierHit {
        url: row.try_get(0).ok()?,
        title: row.try_get(1).ok()?,
        media: row.try_get(2).ok()?,
        status: u16::try_from(row.get::<_, i16>(3)).ok()?,
        size: length(4)?,
        object_size: length(5)?,
        stored: row.get(6),
        excerpt: row.try_get(7).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::configuration;

    #[test]
    fn a_page_is_read_in_its_language() {
        for (tag, want) in [
            (Some("de-AT"), "german"),
            (Some("EN"), "english"),
            (Some("nb_NO"), "norwegian"),
            (Some("ja"), "simple"),
            (Some(""), "simple"),
            (None, "simple"),
        ] {
            assert_eq!(configuration(tag), want, "{tag:?}");
        }
    }
}

//! Full-text search.
//!
//! The rank of a page combines the match of its text and of its names ([`relevance`]). The number
//! of ranked pages is limited ([`RANKED`], [`TITLES`]). For frequent words, pages with a match in
//! the title are ranked, and then the pages that were indexed last. So the most frequent word costs
//! as much as a word that occurs on a few thousand pages.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};

use crate::column::first_of;
use crate::error::Result;
use crate::facts::Facts;
use crate::filter::{Filter, PreparedFilter};
use crate::item::Item;
use crate::list::{Cursor, MAX_PAGE, item};
use crate::query::{Query, TitleCondition};
use crate::relevance;

/// The maximum number of pages that are ranked.
const RANKED: usize = 10_000;

/// The maximum number of additional pages that are ranked for each condition on the title.
const TITLES: usize = 2_000;

/// The number of pages without a match in the title whose names are compared: those with the best
/// texts.
const NAMED: usize = 1_000;

/// The number of pages, the best ones, whose incoming links are counted.
const LINKED: usize = 100;

/// The time limit for ranking.
const PATIENCE: Duration = Duration::from_millis(40);

/// The weight of a word in the title. A word in the text has the weight 1.
const TITLE_WEIGHT: f64 = 8.0;

/// The factor by which a rank is multiplied before it becomes a whole number.
const STEPS: f64 = 1e9;

/// A page of search results.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hits {
    /// The pages, the best first.
    pub items: Vec<Item>,
    /// Where to continue; `None` at the end.
    pub next: Option<Cursor>,
    /// Whether some matches were not ranked. They might be better.
    pub is_partial: bool,
}

/// A matching page.
#[derive(Debug, Clone, Copy, Default)]
struct SearchMatch {
    /// How well the text of the page matches; larger is better.
    text: f64,
    is_in_title: bool,
}

/// A running search.
struct Ranking<'a> {
    connection: &'a Connection,
    query: &'a Query,
    candidates: HashMap<i64, SearchMatch>,
    is_partial: bool,
    until: Instant,
}

/// The best pages for a query, after `after`.
pub(crate) fn search(
    connection: &Connection,
    query: &Query,
    filter: &Filter,
    after: Option<&Cursor>,
    limit: usize,
    keep: &dyn Fn(&Item) -> bool,
) -> Result<Hits> {
    if query.is_empty() {
        return Ok(Hits::default());
    }
    let after = after.map(|cursor| cursor.of_letter('q')).transpose()?;
    let after = after.map_or((i64::MIN, i64::MIN), |at| (at.value, at.id));
    let limit = limit.clamp(1, MAX_PAGE);
    let mut ranking = Ranking {
        connection,
        query,
        candidates: HashMap::new(),
        is_partial: false,
        until: Instant::now() + PATIENCE,
    };
    ranking.find(&query.to_match(Some(TitleCondition::All)), TITLES, true)?;
    if query.groups() > 1 {
        ranking.find(&query.to_match(Some(TitleCondition::Any)), TITLES, true)?;
    }
    ranking.find(&query.to_match(None), RANKED, false)?;
    let mut hits = Hits { is_partial: ranking.is_partial, ..Hits::default() };
    let sieve = PreparedFilter::new(connection, filter)?;
    let mut last = None;
    for here in ranking.rank()?.into_iter().filter(|here| *here > after) {
        let Some(item) = item(connection, here.1)? else { continue };
        if !sieve.may_pass(Facts(item.position.facts)) || !sieve.passes(&item) || !keep(&item) {
            continue;
        }
        if hits.items.len() == limit {
            hits.next = last.map(|(rank, id)| Cursor::after_hit(rank, id));
            break;
        }
        hits.items.push(item);
        last = Some(here);
    }
    Ok(hits)
}

impl Ranking<'_> {
    /// Collects at most `most` matches, the latest first.
    fn find(&mut self, matches: &str, most: usize, is_in_title: bool) -> Result<()> {
        let mut find = self.connection.prepare_cached(&format!(
            "SELECT rowid, bm25(words, {TITLE_WEIGHT}, 1.0) FROM words WHERE words MATCH ?1 \
             ORDER BY rowid DESC"
        ))?;
        let mut rows = find.query([matches])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            if count > most || (count % 64 == 0 && Instant::now() > self.until) {
                self.is_partial = true;
                break;
            }
            let (id, rank): (i64, f64) = (row.get(0)?, row.get(1)?);
            let candidate = self.candidates.entry(id).or_default();
            candidate.text = -rank;
            candidate.is_in_title |= is_in_title;
        }
        Ok(())
    }

    /// Rank and id of each match, the best first.
    fn rank(&self) -> Result<Vec<(i64, i64)>> {
        let mut candidates: Vec<_> =
            self.candidates.iter().map(|(id, found)| (*id, *found)).collect();
        candidates.sort_by(|(one, a), (other, b)| {
            let order = b.is_in_title.cmp(&a.is_in_title).then(b.text.total_cmp(&a.text));
            order.then(one.cmp(other))
        });
        let in_titles = candidates.iter().filter(|(_, found)| found.is_in_title).count();
        let best = candidates.iter().map(|(_, found)| found.text).fold(f64::MIN_POSITIVE, f64::max);
        let mut scores = Vec::with_capacity(candidates.len());
        for (at, (id, found)) in candidates.into_iter().enumerate() {
            let names = if at < in_titles + NAMED { self.names(id)? } else { 0.0 };
            scores.push((found.text / best + names, names, id));
        }
        scores.sort_by(|(a, _, one), (b, _, other)| b.total_cmp(a).then(one.cmp(other)));
        for (score, names, id) in
            scores.iter_mut().take(LINKED).filter(|(_, names, _)| *names > 0.0)
        {
            *score += *names * relevance::of_links(self.links(*id)?);
        }
        let mut ranks: Vec<_> =
            scores.into_iter().map(|(score, _, id)| (integer_rank(-score), id)).collect();
        ranks.sort_unstable();
        Ok(ranks)
    }

    /// How well the names of an entry match.
    fn names(&self, id: i64) -> Result<f64> {
        let mut find = self.connection.prepare_cached(
            "SELECT e.title, h.name, e.path FROM entries e JOIN hosts h ON h.id = e.host WHERE e.id = ?1",
        )?;
        let found = find.query_row([id], |row| {
            let title: Option<String> = row.get(0)?;
            let (host, path): (String, String) = (row.get(1)?, row.get(2)?);
            Ok(relevance::of_names(self.query, title.as_deref().unwrap_or_default(), &host, &path))
        });
        Ok(found.optional()?.unwrap_or_default())
    }

    /// The number of incoming links, up to the limit.
    fn links(&self, id: i64) -> Result<u32> {
        let mut find = self.connection.prepare_cached("SELECT key FROM entries WHERE id = ?1")?;
        let key: Option<[u8; 32]> = find.query_row([id], |row| row.get(0)).optional()?;
        let Some(key) = key else { return Ok(0) };
        let mut count = self.connection.prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM refs WHERE target = ?1 AND part = 0 LIMIT ?2)",
        )?;
        Ok(count.query_row((first_of(&key), relevance::MAX_LINKS), |row| row.get(0))?)
    }
}

/// A rank as a whole number; better ranks are smaller, as in SQLite.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float that is too large becomes the largest"
)]
#[expect(clippy::as_conversions, reason = "there is no other way from a float")]
fn integer_rank(rank: f64) -> i64 {
    (rank * STEPS) as i64
}

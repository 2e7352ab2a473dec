//! Pages by their words.
//!
//! Ranked is at most so much ([`RANKED`], [`TITLES`]): for words that are everywhere, the pages whose titles have
//! them, and of the others those that came into the index last. So the most common word costs no more
//! than a rare one that a few thousand pages have.

use std::collections::{BinaryHeap, HashSet};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::error::Result;
use crate::facts::Facts;
use crate::filter::{Filter, Sieve};
use crate::item::Item;
use crate::list::{Cursor, MAX_PAGE, item};
use crate::query::Query;

/// Pages that are ranked at most.
const RANKED: usize = 10_000;

/// Pages with what is looked for in their title that are ranked at most, besides.
const TITLES: usize = 2_000;

/// How long pages are ranked.
const PATIENCE: Duration = Duration::from_millis(40);

/// What a word in a title counts, where one in the text counts 1.
const TITLE_WEIGHT: f64 = 8.0;

/// Ranks are compared as whole numbers, of so many to 1.
const STEPS: f64 = 1e9;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hits {
    /// The best first.
    pub items: Vec<Item>,
    /// Where to go on; `None` at the end.
    pub next: Option<Cursor>,
    /// There are more than were ranked, some of which may be better.
    pub is_partial: bool,
}

/// Looks for the best pages.
struct Ranking<'a> {
    connection: &'a Connection,
    sieve: Sieve<'a>,
    keep: &'a dyn Fn(&Item) -> bool,
    after: (i64, i64),
    /// As many are wanted, and one to see whether there are more.
    limit: usize,
    /// The worst on top.
    best: BinaryHeap<(i64, i64)>,
    items: Vec<Item>,
    seen: HashSet<i64>,
    until: Instant,
}

/// The best pages for a query, from behind `after`.
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
    let limit = limit.clamp(1, MAX_PAGE);
    let mut ranking = Ranking {
        connection,
        sieve: Sieve::new(connection, filter)?,
        keep,
        after: after.map_or((i64::MIN, i64::MIN), |at| (at.value, at.id)),
        limit: limit + 1,
        best: BinaryHeap::new(),
        items: Vec::new(),
        seen: HashSet::new(),
        until: Instant::now() + PATIENCE,
    };
    let titles = ranking.rank(&query.to_match(Some("title")), TITLES)?;
    let all = ranking.rank(&query.to_match(None), RANKED)?;
    Ok(ranking.finish(limit, titles || all))
}

impl Ranking<'_> {
    /// Ranks what matches, the last first; true when there was more.
    fn rank(&mut self, matches: &str, most: usize) -> Result<bool> {
        let mut find = self.connection.prepare_cached(&format!(
            "SELECT rowid, bm25(words, {TITLE_WEIGHT}, 1.0) FROM words WHERE words MATCH ?1 \
             ORDER BY rowid DESC"
        ))?;
        let mut rows = find.query([matches])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            if count > most || (count % 64 == 0 && Instant::now() > self.until) {
                return Ok(true);
            }
            let (id, rank): (i64, f64) = (row.get(0)?, row.get(1)?);
            self.consider(id, whole(rank))?;
        }
        Ok(false)
    }

    fn consider(&mut self, id: i64, rank: i64) -> Result<()> {
        // What its title has counts by that, on every page.
        let is_new = self.seen.insert(id);
        let (here, is_full) = ((rank, id), self.best.len() >= self.limit);
        let is_beaten = is_full && self.best.peek().is_some_and(|worst| here >= *worst);
        if !is_new || here <= self.after || is_beaten {
            return Ok(());
        }
        // Only of what is among the best so far it is looked whether it is asked for.
        let Some(item) = item(self.connection, id)? else { return Ok(()) };
        if !self.sieve.may_pass(Facts(item.facts))
            || !self.sieve.passes(&item)
            || !(self.keep)(&item)
        {
            return Ok(());
        }
        self.best.push(here);
        self.items.push(item);
        if self.best.len() > self.limit
            && let Some((_, worst)) = self.best.pop()
        {
            self.items.retain(|item| item.id != worst);
        }
        Ok(())
    }

    fn finish(self, limit: usize, is_partial: bool) -> Hits {
        let mut items = self.items;
        let mut order = self.best.into_sorted_vec();
        let has_more = order.len() > limit;
        order.truncate(limit);
        let next = order.last().filter(|_| has_more);
        let next = next.map(|(rank, id)| Cursor::behind_hit(*rank, *id));
        let mut sorted = Vec::with_capacity(order.len());
        for (_, id) in order {
            if let Some(at) = items.iter().position(|item| item.id == id) {
                sorted.push(items.swap_remove(at));
            }
        }
        Hits { items: sorted, next, is_partial }
    }
}

/// A rank as a whole number; the better is the lesser, as the database has it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float that is too large becomes the largest"
)]
#[expect(clippy::as_conversions, reason = "there is no other way from a float")]
fn whole(rank: f64) -> i64 {
    (rank * STEPS) as i64
}

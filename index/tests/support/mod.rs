//! Spools for tests, and a parser of pages with titles and links.

#![allow(dead_code, reason = "each test uses some of it")]

use std::path::Path;
use std::sync::Arc;

use wwwoffle_index::{Describe, Description, Filter, Index, Item, Reference, Sort};
use wwwoffle_spool::{
    Body, Durability, Entry, NewEntry, Options, Place, Spool, Timestamp, Versions,
};
use wwwoffle_url::{CanonicalUrl, LocalHost};

/// A parser of pages made of lines: `title …`, `part URL`, `spare URL`, `link URL`, and text.
#[derive(Debug)]
pub(crate) struct Lines;

impl Describe for Lines {
    fn describe(&self, entry: &Entry) -> Option<Description> {
        let Body::Whole(body) = entry.body() else { return None };
        let mut told = Description::default();
        for line in String::from_utf8_lossy(body).lines() {
            match line.split_once(' ') {
                Some(("title", title)) => told.title = Some(title.to_owned()),
                Some((kind @ ("part" | "spare" | "link"), url)) => {
                    let (is_part, is_spare) = (kind != "link", kind == "spare");
                    let key = url_of(url).key();
                    told.references.push(Reference { key, is_part, is_spare });
                }
                _ => told.text.extend([line, "\n"]),
            }
        }
        Some(told)
    }
}

pub(crate) fn url_of(url: &str) -> CanonicalUrl {
    CanonicalUrl::parse(url, &LocalHost::default()).unwrap()
}

pub(crate) fn place(url: &str) -> Place {
    Place::of(&url_of(url))
}

pub(crate) fn open(root: &Path) -> Spool {
    open_as(root, Durability::Batch)
}

pub(crate) fn open_as(root: &Path, durability: Durability) -> Spool {
    let options =
        Options { durability, versions: Versions::from_rule(|_| 3), ..Options::default() };
    Spool::open(root, &options).unwrap().0
}

pub(crate) fn index(spool: &Spool) -> Index {
    Index::open(spool, Some(Arc::new(Lines))).unwrap()
}

/// Stores a response that arrived at this second.
pub(crate) fn store_at(
    spool: &Spool,
    place: &Place,
    status: u16,
    kind: &str,
    body: &str,
    second: i64,
) {
    let when = Timestamp::from_second(second).unwrap();
    let head = format!("HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\n\r\n").into_bytes();
    let request = b"GET / HTTP/1.1\r\n\r\n".to_vec();
    let new = NewEntry { asked: when, when, head, request, connection: None };
    let mut writer = spool.begin(place, new).unwrap();
    writer.write(body.as_bytes()).unwrap();
    writer.finish(None).unwrap();
}

pub(crate) fn store(spool: &Spool, url: &str, body: &str) {
    store_at(spool, &place(url), 200, "text/html", body, 1_700_000_000);
}

/// All matching entries in order, in pages of seven.
pub(crate) fn list(index: &Index, filter: &Filter, sort: Sort) -> Vec<Item> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = index.list(filter, sort, after.as_ref(), 7, &|_| true).unwrap();
        all.extend(page.items);
        // The cursor is converted to text and back, as in a URL.
        after = page.next.map(|cursor| cursor.to_string().parse().unwrap());
        if after.is_none() {
            return all;
        }
    }
}

pub(crate) fn urls(index: &Index, filter: &Filter, sort: Sort) -> Vec<String> {
    list(index, filter, sort).into_iter().map(|item| item.place.url().to_owned()).collect()
}

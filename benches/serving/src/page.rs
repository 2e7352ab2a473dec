//! A page: its URL, its date and its content.

use std::fmt::Write as _;

use wwwoffle_spool::{NewEntry, Place, Timestamp};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::words::Chance;

/// The time of the newest page, in seconds since 1970: 2026-11-01 00:00:00 UTC.
const NEWEST: i64 = 1_793_491_200;

/// Seconds per day.
const DAY: u64 = 86_400;

/// The end of every page, after its text.
const END: &str = "</p>\n</body>\n</html>\n";

/// The parameters of all pages of a spool.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The size of the smallest body in bytes.
    pub smallest: usize,
    /// The size of the largest body in bytes.
    pub largest: usize,
    /// The number of hosts.
    pub hosts: u64,
    /// The number of days over which the dates are spread.
    pub days: u64,
}

/// One page and its response.
#[derive(Debug)]
pub struct Page {
    /// `http://siteS.test/p/NNNNNNN`, where S is the number modulo the number of hosts.
    pub url: String,
    /// The time of the response.
    pub when: Timestamp,
    /// HTML: a title with the number, a date, links, and text.
    pub body: String,
    host: String,
}

impl Shape {
    /// The page with this number.
    pub fn page(&self, number: u64) -> Page {
        let mut chance = Chance::new(number);
        let host = format!("site{}.test", number % self.hosts);
        let back = chance.below(self.days.max(1) * DAY);
        let when = Timestamp::from_second(NEWEST - i64::try_from(back).unwrap_or_default());
        let when = when.unwrap_or_default();
        let body = self.body(number, when, &mut chance);
        Page { url: format!("http://{host}/p/{number:07}"), when, body, host }
    }

    fn body(&self, number: u64, when: Timestamp, chance: &mut Chance) -> String {
        let spread = u64::try_from(self.largest - self.smallest).unwrap_or_default() + 1;
        let size = self.smallest + usize::try_from(chance.below(spread)).unwrap_or_default();
        let mut text = String::with_capacity(size + 64);
        text.push_str(
            "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\n<title>",
        );
        let words = 3 + chance.below(6);
        chance.words(words, &mut text);
        write!(text, " {number:07}</title></head>\n<body>\n<h1>").expect("a string takes all");
        chance.words(3, &mut text);
        write!(text, "</h1>\n<time>{when}</time>\n").expect("a string takes all");
        self.links(number, chance, &mut text);
        text.push_str("<p>");
        while text.len() + END.len() < size {
            chance.word(&mut text);
            text.push_str(if chance.below(80) == 0 { "</p>\n<p>" } else { " " });
        }
        text.truncate(size.saturating_sub(END.len()));
        text.push_str(END);
        text
    }

    /// Adds a link to the next page on the same host, and a link to a random earlier page.
    fn links(&self, number: u64, chance: &mut Chance, text: &mut String) {
        let near = number + self.hosts;
        let far = chance.below(number + 1);
        let site = far % self.hosts;
        write!(
            text,
            "<a href=\"/p/{near:07}\">next</a> <a href=\"http://site{site}.test/p/{far:07}\">"
        )
        .expect("a string takes all");
        chance.words(2, text);
        text.push_str("</a>\n");
    }
}

impl Page {
    /// The place of the page.
    ///
    /// # Panics
    ///
    /// If the URL is invalid, which those of [`Shape::page`] are not.
    pub fn place(&self) -> Place {
        let url = CanonicalUrl::parse(&self.url, &LocalHost::default());
        Place::of(&url.expect("the URL is canonical"))
    }

    /// The exchange of the page without its body, as if it was browsed.
    pub fn entry(&self) -> NewEntry {
        NewEntry {
            asked: self.when,
            when: self.when,
            head: self.head(),
            request: self.request(),
            connection: None,
        }
    }

    /// The head of the response, which is fresh for ten years, so that it is never revalidated.
    pub fn head(&self) -> Vec<u8> {
        let date = self.when.strftime("%a, %d %b %Y %H:%M:%S GMT");
        let length = self.body.len();
        format!(
            "HTTP/1.1 200 OK\r\nServer: bench\r\nDate: {date}\r\nContent-Type: text/html; charset=utf-8\r\n\
             Content-Length: {length}\r\nLast-Modified: {date}\r\nETag: \"{length:x}\"\r\n\
             Cache-Control: max-age=315360000\r\n\r\n"
        )
        .into_bytes()
    }

    /// The head of the request for the page.
    pub fn request(&self) -> Vec<u8> {
        format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", self.url, self.host).into_bytes()
    }
}

//! A site with any number of pages and with every kind of endless links.

use std::collections::BTreeSet;

use super::{Answer, Origin};

/// The path of page `number`.
pub(crate) fn page(number: usize) -> String {
    let part = ["a", "b", "c", "d"][number % 4];
    format!("/p/{part}/{number}.html")
}

/// The number of the page with this path. `None` if the path is not that of a page.
fn number(target: &str) -> Option<usize> {
    target.strip_prefix("/p/")?.split_once('/')?.1.strip_suffix(".html")?.parse().ok()
}

/// The current year, which determines the range of the calendar.
fn year() -> i32 {
    let now = wwwoffle_spool::Timestamp::now().to_string();
    now.split('-').next().and_then(|year| year.parse().ok()).expect("a date begins with its year")
}

/// The data from which the pages of the site are built.
#[derive(Clone)]
pub(crate) struct Maze {
    pages: usize,
    year: i32,
    /// The URL of a page at another host.
    other: String,
    /// The URL of the site itself.
    here: String,
}

impl Maze {
    /// Turns `origin` into a maze of `pages` pages. Each page links to ten others, to an earlier
    /// one in other spellings, to another host, and to endless spaces. The endless spaces are a
    /// calendar, arguments in any combination, growing paths, and circles of redirects and pages.
    pub(crate) fn build(origin: &Origin, elsewhere: &Origin, pages: usize) -> Self {
        let (other, here) = (elsewhere.url("/other.html"), origin.url(""));
        let maze = Self { pages, year: year(), other, here };
        let built = maze.clone();
        origin.on("*", move |exchange| {
            let answer = built.answer(&exchange.seen.target);
            exchange.answer(&answer)
        });
        let robots = Answer::new(200, "text/plain", "User-agent: *\nDisallow: /private/\n");
        origin.say("/robots.txt", robots);
        maze
    }

    /// The response for a path.
    pub(crate) fn answer(&self, target: &str) -> Answer {
        if let Some(step) = target.strip_prefix("/loop/") {
            let next = (step.parse::<usize>().unwrap_or_default() + 1) % 3;
            return Answer::redirect(302, &format!("/loop/{next}"));
        }
        let links = if target == "/" {
            Some(format!("<a href={}>in</a>", page(0)))
        } else if let Some(number) = number(target).filter(|number| *number < self.pages) {
            Some(self.links(number))
        } else {
            endless(target)
        };
        links.map_or_else(|| Answer::html("nothing").with_status(404), Answer::html)
    }

    fn links(&self, number: usize) -> String {
        let Self { pages, year, other, here } = self;
        let next = (1..=10).map(|step| page((number * 10 + step) % pages));
        let next: String = next.map(|next| format!("<a href={next}#a>x</a>")).collect();
        let again = page(number / 10);
        let spelled = again.strip_prefix("/p").unwrap_or_default();
        let scheme = here.replacen("http://", "HTTP://", 1);
        format!(
            "{next}<a href=/./q/../p{spelled}>1</a><a href=/%70{spelled}>2</a>\
             <a href={scheme}{again}>3</a><a href=/cal/{year}/6>c</a><a href=/grow/>g</a>\
             <a href=/list?a=1>l</a><a href=/loop/0>r</a><a href=/ring/0>r</a>\
             <a href=/private/x>p</a><a rel=nofollow href=/follow-me-not>n</a><a href='{other}'>o</a>"
        )
    }

    /// The URLs that should be fetched: all pages, and as many URLs of the endless spaces as the
    /// limits allow.
    pub(crate) fn in_scope(&self) -> BTreeSet<String> {
        let years = self.year - 60..=self.year + 1;
        let months = years.flat_map(|year| (1..=12).map(move |month| (year, month)));
        let argument = |count| {
            let more: String = (0..count).map(|number| format!("&s{number}=1")).collect();
            format!("/list?a=1{more}")
        };
        let mut all: BTreeSet<_> = (0..self.pages).map(page).collect();
        all.insert("/".to_owned());
        all.extend(months.map(|(year, month)| format!("/cal/{year}/{month}")));
        all.extend((1..=3).map(|times| format!("/{}", "grow/".repeat(times))));
        all.extend((0..16).map(argument));
        all.extend((0..3).flat_map(|step| [format!("/loop/{step}"), format!("/ring/{step}")]));
        all
    }
}

/// The HTML of a page of an endless space. `None` if the path belongs to no such space.
fn endless(target: &str) -> Option<String> {
    if let Some((year, month)) = target.strip_prefix("/cal/").and_then(|at| at.split_once('/')) {
        let months = year.parse::<i32>().ok()? * 12 + month.parse::<i32>().ok()?;
        let link = |at: i32| format!("<a href=/cal/{}/{}>m</a>", (at - 1) / 12, (at - 1) % 12 + 1);
        Some(link(months - 1) + &link(months + 1))
    } else if target.starts_with("/grow/") {
        Some("<a href=grow/>deeper</a>".to_owned())
    } else if target.starts_with("/list?") {
        let arguments = target.matches('&').count();
        Some(format!("<a href='{}&amp;s{arguments}=1'>s</a>", target.replace('&', "&amp;")))
    } else {
        let step: usize = target.strip_prefix("/ring/")?.parse().ok()?;
        Some(format!("<meta http-equiv=refresh content='0;url=/ring/{}'>", (step + 1) % 3))
    }
}

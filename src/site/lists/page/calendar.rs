//! The local page with the calendar of a site.

use super::{ROOT, encode_path, list_unavailable, tree};
use crate::base::shown;
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::history::calendar::Calendar;

/// A calendar to show.
#[derive(Debug)]
pub(in crate::site) struct SiteCalendar<'a> {
    /// The site.
    pub(in crate::site) site: &'a str,
    /// The days on which its pages were stored.
    pub(in crate::site) calendar: Calendar,
    /// The year to show.
    pub(in crate::site) year: i16,
    /// Whether pages are missing, because the site has too many.
    pub(in crate::site) is_cut: bool,
}

/// Returns the address of the calendar of a site.
pub(in crate::site) fn address(site: &str) -> String {
    format!("{ROOT}calendar/{}", encode_path(site))
}

/// Renders the page.
pub(in crate::site) fn page(shell: &Shell, shown: &SiteCalendar<'_>) -> RenderedPage {
    let mut view = addresses(shown.site);
    view.extend(view! {
        calendar: shown.calendar.view(shown.year).0,
        is_cut: shown.is_cut,
        refused: None::<crate::base::text::Text>,
    });
    shell.page("lists-calendar.html", 200, &view)
}

/// Renders the page if the index is not available.
pub(in crate::site) fn refused(shell: &Shell, site: &str, why: &str) -> RenderedPage {
    let mut view = addresses(site);
    view.extend(view! { refused: list_unavailable(why) });
    shell.page("lists-calendar.html", 404, &view)
}

fn addresses(site: &str) -> View {
    view! {
        site: shown::text(site),
        list: format!("{ROOT}site/{}", encode_path(site)),
        tree: tree::address(site),
        calendar_path: address(site),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, hostile, shell};
    use crate::site::history::calendar::SavedDay;

    #[test]
    fn a_day_leads_to_its_pages_and_the_page_is_small() {
        let first = jiff::civil::date(2026, 1, 1);
        let hostile = hostile();
        // A site has no password, and its name is short.
        let hostile = hostile
            .iter()
            .map(String::as_str)
            .filter(|site| !site.contains('@') && site.len() < 254);
        for site in hostile.chain(["a.example"]) {
            let days = first.series(jiff::ToSpan::day(1)).take(365);
            let saved = |day: &jiff::civil::Date| SavedDay {
                count: 1_000,
                value: day.to_string(),
                is_here: false,
            };
            let calendar = Calendar(days.map(|day| (day, saved(&day))).collect());
            let page = page(&shell(), &SiteCalendar { site, calendar, year: 2026, is_cut: true });
            assert_harmless(&page);
            let day = "name=\"on\" value=\"2026-11-20\" aria-label=\"1000 pages of 2026-11-20\"";
            assert!(page.body.contains(day), "{}", page.body);
            assert!(page.body.contains("Days may be missing"), "{}", page.body);
            assert_harmless(&refused(&shell(), site, "busy"));
        }
    }
}

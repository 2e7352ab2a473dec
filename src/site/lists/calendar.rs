//! The days on which the pages of a site were stored, as a calendar.

use hyper::Response;
use jiff::civil::Date;

use super::page::ROOT;
use super::page::calendar::{self as page, SiteCalendar};
use crate::base::error_chain::error_chain;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::site::caller::Caller;
use crate::site::history::calendar::Calendar;
use crate::site::search::call::query_index;
use crate::storage::lists::query::ListQuery;

/// Maximum length of the name of a host, in bytes.
const LONGEST_NAME: usize = 253;

/// Shows the calendar of a site: the year of the day in the argument `on`, or else the newest one.
pub(super) async fn show(caller: &Caller, site: &str, arguments: Option<&str>) -> Response<Body> {
    if site.len() > LONGEST_NAME {
        return caller.see_other(ROOT);
    }
    let form = SubmittedForm::of_arguments(arguments).unwrap_or_default();
    let named = site.to_owned();
    let zone = caller.shell.zone.clone();
    let look = query_index(caller, ListQuery::of_everything(), move |source, _| {
        let found = source.index.stored_times(source.viewer, &named)?;
        let mut calendar = Calendar::default();
        for time in &found.times {
            let day = zone.to_datetime(*time).date();
            let saved = calendar.0.entry(day).or_default();
            saved.count += 1;
        }
        for (day, saved) in &mut calendar.0 {
            saved.value = day.to_string();
        }
        Ok((calendar, found.is_cut))
    });
    match look.await {
        Ok((calendar, is_cut)) => {
            let chosen = form.value("on").and_then(|day| day.parse::<Date>().ok());
            let newest = calendar.0.last_key_value().map(|(day, _)| *day);
            let year = chosen.or(newest).map_or(0, Date::year);
            let shown = SiteCalendar { site, calendar, year, is_cut };
            caller.page(page::page(&caller.shell, &shown))
        }
        Err(error) => caller.page(page::refused(&caller.shell, site, &error_chain(&error))),
    }
}

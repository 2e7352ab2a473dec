//! Monitored pages: the list, the form of one page, and the actions of the forms.

pub(super) mod call;
pub mod page;
pub(super) mod preset;
pub mod schedule;

use hyper::Response;
use jiff::tz::TimeZone;
use wwwoffle_spool::{MonitorSummary, ParseScheduleError, Schedule};
use wwwoffle_url::url_encode_form_args;

use self::preset::Preset;
use super::address::url_in;
use super::caller::Caller;
use super::control::former_form;
use crate::base::clock;
use crate::base::text::tr;
use crate::fetch::WantError;
use crate::fetch::monitor::report::BadReport;
use crate::fetch::monitor::{self, MonitorSettings, report};
use crate::page::fault::FormFault;
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;
use crate::proxy::{like, target};
use crate::site::fetches::{invalid_address, no_url};
use crate::storage::lists::found::ListType;
use crate::storage::store::timestamp;
use wwwoffle_api::fetch_spec::MAX_DEPTH;
use wwwoffle_api::scope::Scope;
use wwwoffle_api::{ChangeReport, MonitorItem};

/// Returns the monitored pages that the caller may see.
pub(super) fn list(caller: &Caller) -> Vec<MonitorItem> {
    let list = monitor::list(&caller.context.fetch, |place| caller.may_see_queued(place));
    list.iter().map(|one| item(caller, one)).collect()
}

/// Converts a monitored page to the type of the API.
pub(super) fn item(caller: &Caller, one: &MonitorSummary) -> MonitorItem {
    let session = caller.context.base.mode.session().map(timestamp);
    MonitorItem {
        key: one.place.key().to_string(),
        url: one.place.url().to_owned(),
        target: one.target.clone(),
        schedule: one.schedule.to_string(),
        versions: one.versions,
        last: one.last_run,
        next: one.next_run(timestamp(clock::now()), &TimeZone::system(), session),
        owner: one.place.owner().map(str::to_owned),
        report: report::of(one),
    }
}

/// Shows the list of monitored pages, without those that the configuration excludes from lists.
pub(super) async fn show(caller: &Caller) -> Response<Body> {
    let context = &caller.context;
    let config = context.base.config();
    let mut items = list(caller);
    items.retain(|item| ListType::Monitored.lists_url(&config, &item.url));
    let mut changed = Vec::new();
    for item in items.iter().take(page::SHOWN_PAGES) {
        changed.push(has_changed(caller, &item.url).await);
    }
    caller.page(page::page(&caller.shell, &items, &changed))
}

/// Whether there is an older version to compare with; `false` if this cannot be determined.
async fn has_changed(caller: &Caller, url: &str) -> bool {
    let Ok(places) = caller.places_of(url) else { return false };
    like::has_versions(&caller.context.proxy, &places).await.unwrap_or_default()
}

/// Shows the form for the URL in the arguments, `?URL` or `?url=URL`, filled in with the current
/// settings of the page.
pub(super) async fn options(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let url = url_in(arguments);
    let known = match caller.key_of(&url) {
        _ if url.is_empty() => Ok(None),
        Ok(key) => caller.context.storage.store.run(move |spool| spool.monitors().get(&key)).await,
        // The fault of the URL is reported when the form is submitted.
        Err(_) => Ok(None),
    };
    let known = match known {
        Ok(known) => known,
        // A damaged record counts as missing.
        Err(error) if error.is_damaged() => None,
        Err(error) => return caller.spool_failed(&error),
    };
    let form = page::MonitorForm {
        url: &url,
        schedule: known.as_ref().map(|known| known.schedule),
        versions: known.as_ref().map(|known| known.versions),
        max_versions: monitor::MAX_VERSIONS,
        spec: known.as_ref().and_then(|known| monitor::fetch_spec(&known.request)),
        report: known.and_then(|known| report::of(&known.summary())).unwrap_or_default(),
    };
    caller.page(page::options(&caller.shell, &form))
}

/// Shows the form for the page that a link names, in the syntax of WWWOFFLE 2.9.
pub(super) async fn show_for_link(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let form = former_form(arguments);
    let url = form.value("url").unwrap_or_default();
    options(caller, Some(&url_encode_form_args(url.as_bytes()))).await
}

/// Monitors the page that a form names. An invalid form is shown again.
pub(super) async fn set(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, WantError> {
    let wanted = match wanted(form) {
        Ok(wanted) => wanted,
        Err(mut faults) => {
            let url = form.value("url").unwrap_or_default().trim();
            if target::of_url(url, &caller.context.base.local).is_err() {
                faults.push(FormFault::new("url", no_url()));
            }
            return Ok(show_again(caller, form, &faults));
        }
    };
    match monitor::set(&caller.context.fetch, &caller.requester(), wanted).await {
        Ok(_) => Ok(caller.see_other("/monitor/")),
        Err(error) => match invalid_address(&error) {
            Some(text) => Ok(show_again(caller, form, &[FormFault::new("url", text)])),
            None => Err(error),
        },
    }
}

fn show_again(caller: &Caller, form: &SubmittedForm, faults: &[FormFault]) -> Response<Body> {
    caller.page(page::options_again(&caller.shell, form, faults, monitor::MAX_VERSIONS))
}

/// Parses the form. The error lists the faults of all fields except the URL. A missing URL is an
/// error without a fault.
fn wanted(form: &SubmittedForm) -> Result<MonitorSettings, Vec<FormFault>> {
    let mut faults = Vec::new();
    let mut number = |field: &'static str, most: u16| {
        let text = form.value(field).map(str::trim).filter(|text| !text.is_empty());
        let number = text.map_or(Some(0), |text| text.parse().ok()).filter(|it| *it <= most);
        if number.is_none() {
            let text = tr("Enter a number from 0 to {most}.").with("most", most.to_string());
            faults.push(FormFault::new(field, text));
        }
        number.unwrap_or_default()
    };
    let (versions, depth) = (number("versions", monitor::MAX_VERSIONS), number("depth", MAX_DEPTH));
    let scope = form.value("method").map_or(Ok(Scope::default()), Scope::parse);
    if scope.is_err() {
        faults.push(FormFault::new("method", tr("Select one of these.")));
    }
    let url = form.value("url").map(str::trim).filter(|url| !url.is_empty());
    let field = |name: &str| form.value(name).map(str::to_owned);
    let report =
        ChangeReport { select: field("select"), words: field("words"), mail: field("mail") };
    let report = report::check(&report).unwrap_or_else(|error| {
        faults.push(match error {
            BadReport::Selector => FormFault::new(
                "select",
                tr("Enter a CSS selector, such as {example}.").with("example", "#news"),
            ),
            BadReport::Words => FormFault::new("words", tr("Enter fewer words.")),
            BadReport::Mail => {
                let text = tr("Enter a mail address, such as {example}.");
                FormFault::new("mail", text.with("example", "ada@example.org"))
            }
        });
        None
    });
    match (schedule(form), url) {
        (Ok(schedule), Some(url)) if faults.is_empty() => {
            Ok(MonitorSettings::new(url.to_owned(), schedule, versions)
                .following(depth, scope.unwrap_or_default())
                .reporting(report))
        }
        (Ok(_), _) => Err(faults),
        (Err(wrong), _) => {
            faults.extend(wrong);
            Err(faults)
        }
    }
}

/// Monitors a page once a day, unless it is already monitored.
pub(super) async fn monitor_daily(caller: &Caller, url: &str) -> Result<(), WantError> {
    let monitors = caller.context.storage.store.spool().monitors();
    let known = caller.key_of(url).is_ok_and(|key| monitors.summary(&key).is_some());
    let schedule = if known { None } else { "@daily".parse().ok() };
    if let Some(schedule) = schedule {
        let wanted = MonitorSettings::new(url.to_owned(), schedule, 0);
        monitor::set(&caller.context.fetch, &caller.requester(), wanted).await?;
    }
    Ok(())
}

/// Parses the schedule: the choice in the field `every`. If that is to set times, or is missing: a
/// line of cron in the field `cron`, or else the fields of WWWOFFLE 2.9. If no month is checked, all
/// months count, and likewise for the days of the week.
fn schedule(form: &SubmittedForm) -> Result<Schedule, Vec<FormFault>> {
    if let Some(schedule) = Preset::meant(form).schedule() {
        return Ok(schedule);
    }
    let text = |name: &str| form.value(name).map(str::trim).filter(|text| !text.is_empty());
    if let Some(line) = text("cron") {
        let fault = || {
            let text = tr("Enter five fields separated by spaces, such as {example}.");
            vec![FormFault::new("cron", text.with("example", "30 6 * * 1-5"))]
        };
        return line.parse().map_err(|_: ParseScheduleError| fault());
    }
    let checked = |name: &str, numbers: std::ops::RangeInclusive<u8>| {
        let is_checked = |number: &u8| form.value(&format!("{name}{number}")).is_some();
        let numbers: Vec<_> = numbers.filter(is_checked).map(|n| n.to_string()).collect();
        if numbers.is_empty() { "*".to_owned() } else { numbers.join(",") }
    };
    let (days, hours) = (text("dofm").unwrap_or("*"), text("hofd").unwrap_or("0"));
    let set = Schedule::of_sets(&checked("mofy", 1..=12), days, &checked("dofw", 0..=6), hours);
    set.map_err(|_| {
        let mut faults = Vec::new();
        if Schedule::of_sets("*", days, "*", "*").is_err() {
            let text = tr("Enter days from 1 to 31, such as {example}.");
            faults.push(FormFault::new("dofm", text.with("example", "1,3,5-10")));
        }
        if Schedule::of_sets("*", "*", "*", hours).is_err() {
            let text = tr("Enter hours from 0 to 23, such as {example}.");
            faults.push(FormFault::new("hofd", text.with("example", "6,18-20")));
        }
        if faults.is_empty() {
            faults.push(FormFault::new("dofm", tr("These months do not have these days.")));
        }
        faults
    })
}

/// Stops monitoring the page that a form names by its key or its URL.
pub(super) async fn delete(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, wwwoffle_spool::Error> {
    let monitors = caller.context.storage.store.spool().monitors();
    let known = caller.named_key(form).and_then(|key| monitors.summary(&key));
    if let Some(known) = known.filter(|known| caller.may_see_queued(&known.place)) {
        monitor::remove(&caller.context.fetch, known.place.key()).await?;
    }
    Ok(caller.see_other("/monitor/"))
}

/// Deletes all monitors that the caller may see, even those that the configuration excludes from
/// the list.
pub(super) async fn delete_all(caller: &Caller) -> Result<Response<Body>, wwwoffle_spool::Error> {
    for one in monitor::list(&caller.context.fetch, |place| caller.may_see_queued(place)) {
        monitor::remove(&caller.context.fetch, one.place.key()).await?;
    }
    Ok(caller.see_other("/monitor/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_2_9_and_lines_of_cron_are_schedules() {
        for (fields, want) in [
            ("", "0 0 * * *"),
            ("hofd=", "0 0 * * *"),
            ("hofd=6,18", "0 6,18 * * *"),
            ("mofy1=Y&mofy12=Y&dofm=1,3,5-10&hofd=4", "0 4 1,3,5-10 1,12 *"),
            ("dofm=20-&dofw0=Y&dofw6=Y", "0 0 20-31 * 0,6 and"),
            ("dofm=*&hofd=*", "0 * * * *"),
            ("cron=30+6+*+*+mon-fri&hofd=7", "30 6 * * 1-5"),
            ("cron=@weekly", "0 0 * * 0"),
            ("every=hour&hofd=0&dofm=*", "0 * * * *"),
            // Typed times count.
            ("every=day&hofd=6", "0 6 * * *"),
            ("every=day&dofw1=Y&hofd=0", "0 0 * * 1"),
            // Times with which the form was filled in do not.
            ("every=day&was=times&cron=%40online", "0 0 * * *"),
            ("every=day&was=times&cron=30+6+*+*+1-5", "0 0 * * *"),
            ("every=hour&was=times&hofd=6&dofw1=Y", "0 * * * *"),
            ("every=times&was=times&cron=30+6+*+*+1-5", "30 6 * * 1-5"),
            ("every=week", "0 0 * * 0"),
            ("every=month", "0 0 1 * *"),
            ("every=online", "@online"),
            ("every=times&hofd=6", "0 6 * * *"),
            ("every=never&hofd=6", "0 6 * * *"),
            ("every=hour&cron=30+6+*+*+*", "30 6 * * *"),
            ("cron=@online&hofd=6", "@online"),
        ] {
            let form =
                SubmittedForm::parse(Some("application/x-www-form-urlencoded"), fields.as_bytes());
            assert_eq!(schedule(&form.unwrap()).unwrap().to_string(), want, "{fields}");
        }
        for (fields, wrong) in [
            ("hofd=24", &["hofd"][..]),
            ("dofm=0", &["dofm"]),
            ("dofm=x&hofd=-", &["dofm", "hofd"]),
            ("mofy2=Y&dofm=30", &["dofm"]),
            ("cron=x&hofd=24", &["cron"]),
            ("every=hour&dofm=x", &["dofm"]),
        ] {
            let form =
                SubmittedForm::parse(Some("application/x-www-form-urlencoded"), fields.as_bytes());
            let faults = schedule(&form.unwrap()).unwrap_err();
            let fields_of: Vec<_> = faults.iter().map(FormFault::field).collect();
            assert_eq!(fields_of, wrong, "{fields}");
        }
    }
}

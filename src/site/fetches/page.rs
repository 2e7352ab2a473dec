//! The local pages `/refresh-options/` (a form that fetches a page with its sub-resources and
//! follows its links) and `/fetches/` (the list of these fetches).

use super::extent::{Extent, filled_in};
use super::{plan, progress};
use crate::base::shown::{self, ShownUrl};
use crate::base::text::{Text, tr};
use crate::page::fault::{self, FormFault};
use crate::page::left_out::left_out;
use crate::page::{RenderedPage, Shell, View, view};
use wwwoffle_api::fetch_spec::{FetchSpec, MAX_DEPTH, PartClass, RecursiveRequest};
use wwwoffle_api::plan::RunPlan;
use wwwoffle_api::runs::RunItem;
use wwwoffle_api::scope::Scope;
use wwwoffle_api::{DownloadItem, TotalProgress};

/// Maximum number of listed downloads; the others are counted.
const SHOWN_DOWNLOADS: usize = 20;

/// Maximum number of listed failures; the others are counted.
const SHOWN_FAILURES: usize = 20;

/// Returns the form fields that determine which links are followed. `depth` is the value of the
/// depth field: the typed text if the form is shown again.
pub(in crate::site) fn link_fields(depth: &str, chosen: &Scope) -> View {
    let known = [
        (Scope::Directory, tr("this folder")),
        (Scope::Host, tr("this host")),
        (Scope::Site, tr("this site")),
        (Scope::Protocol, tr("the same protocol")),
        (Scope::Any, tr("anywhere")),
    ];
    let is_known = known.iter().any(|(scope, _)| scope == chosen);
    let other = (!is_known).then(|| (chosen.clone(), tr("the present setting")));
    let option = |(scope, label): (Scope, Text)| {
        view! { value: scope.to_string(), label, chosen: scope == *chosen }
    };
    let scopes = known.into_iter().chain(other).map(option);
    view! { depth, max_depth: MAX_DEPTH, scopes: scopes.collect::<Vec<_>>() }
}

/// Returns the form fields that select the classes of sub-resources.
pub(in crate::site) fn check_boxes(spec: &FetchSpec) -> Vec<View> {
    let check_box = |class: PartClass| {
        let checked = spec.parts.get(&class).copied().unwrap_or_default();
        view! { name: class.as_str(), label: label(class), checked }
    };
    PartClass::ALL.into_iter().map(check_box).collect()
}

/// Renders the form, filled in from `asked`, with the plan of the fetch if there is one. `saves`
/// says whether the data saver leaves anything out.
#[must_use]
pub fn options(
    shell: &Shell,
    asked: &RecursiveRequest,
    saves: bool,
    plan: Option<&RunPlan>,
) -> RenderedPage {
    form(shell, (asked, &asked.spec.depth.to_string()), saves, &[], plan)
}

/// Renders the form again, with the typed `depth` and the error messages.
#[must_use]
pub fn options_again(
    shell: &Shell,
    asked: &RecursiveRequest,
    depth: &str,
    saves: bool,
    faults: &[FormFault],
) -> RenderedPage {
    form(shell, (asked, &shown::text(depth)), saves, faults, None)
}

fn form(
    shell: &Shell,
    (asked, depth): (&RecursiveRequest, &str),
    saves: bool,
    faults: &[FormFault],
    plan: Option<&RunPlan>,
) -> RenderedPage {
    let spec = &asked.spec;
    let view = view! {
        url: ShownUrl::new(&asked.url),
        // Value that the form sends: the URL as it was given, which may contain a password.
        value: &asked.url,
        extents: Extent::ALL.map(|extent| view! {
            value: extent.as_str(),
            label: extent.label(),
            chosen: extent == Extent::of(spec),
        }),
        // Whether the choices that few people need are shown.
        is_open: !faults.is_empty() || Extent::of(spec) == Extent::Own,
        links: link_fields(depth, &spec.scope),
        // How the fields of `links` are filled in.
        was: filled_in(depth, &spec.scope),
        force: spec.force,
        parts: check_boxes(spec),
        // `None` if the data saver is off.
        whole: (saves || spec.whole).then_some(spec.whole),
        plan: plan.map(|plan| view! {
            start_kept: plan.start_kept,
            lines: plan::describe_run(plan),
            failures: plan.failed.get(..SHOWN_FAILURES).unwrap_or(&plan.failed),
        }),
        faults,
    };
    shell.page("refresh-options.html", fault::status(faults), &view)
}

fn label(class: PartClass) -> Text {
    match class {
        PartClass::Stylesheets => tr("style sheets"),
        PartClass::Images => tr("images"),
        PartClass::Icons => tr("icons"),
        PartClass::Fonts => tr("fonts"),
        PartClass::Scripts => tr("scripts"),
        PartClass::Frames => tr("frames"),
        PartClass::Iframes => tr("inline frames"),
        PartClass::Media => tr("audio and video"),
        PartClass::Objects => tr("objects"),
    }
}

/// Renders the list of recursive fetches and running downloads. `measured` is the progress of each
/// recursive fetch.
#[must_use]
pub fn list(
    shell: &Shell,
    runs: &[RunItem],
    downloads: &[DownloadItem],
    measured: &[TotalProgress],
) -> RenderedPage {
    let fetch = |(run, measured): (&RunItem, &TotalProgress)| {
        let is_running = run.ended.is_none();
        let left = run.report.left_out.iter();
        let left = left.map(|(why, left)| view! { count: left.count, why: left_out(*why) });
        view! {
            run,
            has_ended: run.ended.is_some(),
            percent: progress::percent_of_total(measured).filter(|_| is_running),
            pace: progress::describe_pace(measured).filter(|_| is_running),
            left_out: left.collect::<Vec<_>>(),
        }
    };
    let fetches: Vec<_> = runs.iter().zip(measured).map(fetch).collect();
    let most_failures = SHOWN_FAILURES;
    let more = downloads.len().saturating_sub(SHOWN_DOWNLOADS);
    let row = |download: &DownloadItem| {
        let (text, percent) = (progress::describe_download(download), progress::percent(download));
        view! { id: download.id, url: ShownUrl::new(&download.url), text, percent }
    };
    let downloads = downloads.iter().take(SHOWN_DOWNLOADS).map(row).collect::<Vec<_>>();
    // Without the script, the browser reloads the page while something is running.
    let is_running = !downloads.is_empty() || runs.iter().any(|run| run.ended.is_none());
    let view = view! {
        downloads,
        more,
        fetches,
        most_failures,
        is_running,
    };
    shell.page("fetches.html", 200, &view)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::recurse::run::{LeftOut, Report};
    use crate::page::testing::{as_key, assert_harmless, hostile, shell};
    use wwwoffle_api::runs::FailedUrl;

    #[test]
    fn the_form_shows_the_requested_fetch() {
        let spec = FetchSpec {
            depth: 3,
            scope: Scope::Prefix("http://h.example/<a>".to_owned()),
            parts: [(PartClass::Images, true)].into(),
            ..FetchSpec::default()
        };
        let asked = RecursiveRequest { url: "http://h.example/\"><script>".to_owned(), spec };
        let page = options(&shell(), &asked, false, None);
        let text = String::from_utf8(page.body.clone().into()).unwrap();
        assert!(!text.contains("<script>") && !text.contains("<a>\""), "{text}");
        for want in [
            "name=\"depth\" value=\"3\"",
            "name=\"images\" value=\"Y\" id=\"images\" checked",
            "name=\"icons\" value=\"N\"",
            "name=\"fonts\" value=\"N\"",
            "value=\"f00\"",
        ] {
            assert!(text.contains(want), "{want} in {text}");
        }
    }

    #[test]
    fn an_error_is_shown_next_to_its_field() {
        let faults = ["url", "depth", "method"].map(|field| FormFault::new(field, tr("none")));
        for text in &hostile() {
            let asked =
                RecursiveRequest { url: as_key(text).to_owned(), spec: FetchSpec::default() };
            let page = options_again(&shell(), &asked, text, false, &faults);
            assert_eq!(page.status, 422);
            assert_harmless(&page);
            for field in ["url", "depth", "method"] {
                let attributes =
                    format!("aria-invalid=\"true\" aria-describedby=\"{field}-fault\"");
                assert!(page.body.contains(&attributes), "{attributes} in {}", page.body);
                assert!(page.body.contains(&format!("id=\"{field}-fault\">none")), "{field}");
            }
        }
    }

    #[test]
    fn the_list_shows_failures_and_omissions() {
        let mut report = Report::default();
        report.counts.pages = 12;
        report.counts.fetched = 3;
        report.left_out.entry(LeftOut::Robots).or_default().count = 7;
        let url = "http://h.example/<b>".to_owned();
        let reason = "404 <i>".to_owned();
        report.failed.push(FailedUrl { url, from: None, reason, dead: true });
        let run = RunItem {
            id: "0123456789abcdef".to_owned(),
            owner: None,
            start: "http://h.example/".to_owned(),
            spec: FetchSpec::default(),
            begun: jiff::Timestamp::UNIX_EPOCH,
            ended: None,
            waiting: 5,
            report,
        };
        let download = DownloadItem {
            id: 77,
            url: "http://h.example/<film>".to_owned(),
            bytes: 1_500,
            total: Some(3_000),
            rate: Some(200),
            seconds_left: Some(8),
            resumed: 0,
            waiting: None,
        };
        let seconds_left = Some(3_725);
        let measured =
            TotalProgress { rate: Some(2_000), seconds_left, ..TotalProgress::of_run(&run) };
        let page = list(&shell(), &[run], &vec![download; 21], &[measured]);
        let text = String::from_utf8(page.body.clone().into()).unwrap();
        for markup in ["<b>", "<i>", "<film>"] {
            assert!(!text.contains(markup), "{text}");
        }
        for want in [
            "12 pages",
            "robots.txt",
            "404",
            "5 to go",
            "value=\"0123456789abcdef\"",
            "value=\"77\"",
            "1.5 kB of 3.0 kB, 200 B/s, 0:08 left",
            "value=\"50\" aria-label=\"50 percent\"",
            "value=\"37\" aria-label=\"37 percent\"",
            "2.0 kB/s, 1:02:05 left",
            "and 1 more",
        ] {
            assert!(text.contains(want), "{want} in {text}");
        }
    }
}

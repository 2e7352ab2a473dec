use wwwoffle_url::LocalHost;

use super::*;
use wwwoffle_api::fetch_spec::Limits;
use wwwoffle_api::report::{MAX_EXAMPLES, MAX_REASON, MAX_TOLD};

fn url(text: &str) -> CanonicalUrl {
    CanonicalUrl::parse(text, &LocalHost::default()).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn run(spec: FetchSpec) -> Run {
    let start = url("http://h.example/");
    let mut run = Run::new(RunId::from_number(7), None, start.clone(), spec, at(1000));
    run.take_start_page(start.key());
    run
}

fn page(run: &mut Run, text: &str, left: u16) -> Result<RunDecision, LeftOut> {
    let url = url(text);
    run.page(&url, url.key(), left, at(1001))
}

#[test]
fn each_page_is_fetched_once_unless_a_shorter_path_leads_to_it() {
    let mut run = run(FetchSpec { depth: 3, ..FetchSpec::default() });
    assert_eq!(page(&mut run, "http://h.example/", 2), Ok(RunDecision::Nothing));
    assert_eq!(page(&mut run, "http://h.example/a", 0), Ok(RunDecision::Fetch));
    assert_eq!(page(&mut run, "http://h.example/a", 0), Ok(RunDecision::Nothing));
    assert_eq!(page(&mut run, "http://h.example/a", 1), Ok(RunDecision::Fetch), "it waits still");
    run.record(&url("http://h.example/a").key(), UrlOutcome::Fetched, 10);
    assert_eq!(page(&mut run, "http://h.example/a", 1), Ok(RunDecision::Nothing));
    assert_eq!(page(&mut run, "http://h.example/a", 2), Ok(RunDecision::Follow));
    assert_eq!((run.report.counts.pages, run.waiting_count()), (2, 2));
    run.record(&url("http://h.example/a").key(), UrlOutcome::Fetched, 0);
    assert_eq!((run.report.counts.fetched, run.report.counts.bytes), (1, 10));
    assert_eq!(run.waiting_count(), 1);
    run.waits_for([(url("http://h.example/b").key(), Some(1))].into());
    assert_eq!((run.report.counts.pages, run.waiting_count()), (2, 1));
    assert_eq!(page(&mut run, "http://h.example/b", 1), Ok(RunDecision::Nothing));
}

#[test]
fn a_frame_has_the_links_of_its_page() {
    let mut run = run(FetchSpec { depth: 3, ..FetchSpec::default() });
    let frame = url("http://h.example/frame");
    let part = |run: &mut Run, left| run.part(frame.as_str(), frame.key(), left, at(1001));
    assert_eq!(part(&mut run, None), Ok(RunDecision::Fetch));
    assert_eq!(part(&mut run, Some(1)), Ok(RunDecision::Fetch), "it waits still");
    assert_eq!(part(&mut run, Some(1)), Ok(RunDecision::Nothing));
    run.record(&frame.key(), UrlOutcome::Fetched, 10);
    assert_eq!(part(&mut run, None), Ok(RunDecision::Nothing));
    assert_eq!(part(&mut run, Some(2)), Ok(RunDecision::Follow));
    assert_eq!(
        (run.waiting_count(), run.report.counts.parts, run.report.counts.fetched),
        (2, 1, 0)
    );
    assert_eq!(page(&mut run, frame.as_str(), 2), Ok(RunDecision::Nothing));
    run.record_exclusion(&frame.key(), frame.as_str(), LeftOut::Robots);
    assert_eq!(part(&mut run, Some(1)), Ok(RunDecision::Fetch), "robots.txt is for pages");
}

#[test]
fn a_picture_that_the_data_saver_leaves_out_is_no_part_but_may_be_a_page() {
    let mut run = run(FetchSpec { depth: 1, ..FetchSpec::default() });
    let picture = url("http://h.example/p.png");
    let part = |run: &mut Run| run.part(picture.as_str(), picture.key(), None, at(1001));
    assert_eq!(part(&mut run), Ok(RunDecision::Fetch));
    for _ in 0..2 {
        run.record_exclusion(&picture.key(), picture.as_str(), LeftOut::Saver);
    }
    assert_eq!((run.waiting_count(), run.report.counts.parts), (1, 0), "the start page waits");
    assert_eq!(run.report.left_out[&LeftOut::Saver].count, 1);
    // Another page shows it, too.
    assert_eq!(part(&mut run), Ok(RunDecision::Nothing));
    // A link to the picture itself is followed.
    assert_eq!(page(&mut run, picture.as_str(), 0), Ok(RunDecision::Fetch));
    assert_eq!((run.waiting_count(), run.report.counts.pages), (2, 2));
}

#[test]
fn limits_end_a_recursive_fetch() {
    let limits = Limits { pages: 2, bytes: Some(100), minutes: Some(1) };
    let spec = FetchSpec { depth: 1, limits, ..FetchSpec::default() };
    let mut run = run(spec);
    assert_eq!(page(&mut run, "http://other.example/", 0), Err(LeftOut::Scope));
    assert_eq!(page(&mut run, "http://h.example/2099/01", 0), Err(LeftOut::Endless));
    assert_eq!(page(&mut run, "http://h.example/a", 0), Ok(RunDecision::Fetch));
    assert_eq!(page(&mut run, "http://h.example/b", 0), Err(LeftOut::Pages));
    let part = url("http://cdn.example/x.png");
    assert_eq!(run.part(part.as_str(), part.key(), None, at(1059)), Ok(RunDecision::Fetch));
    assert_eq!(run.part(part.as_str(), part.key(), None, at(1059)), Ok(RunDecision::Nothing));
    let late = url("http://cdn.example/y.png");
    assert_eq!(run.part(late.as_str(), late.key(), None, at(1060)), Err(LeftOut::Time));
    run.record(&part.key(), UrlOutcome::Fetched, 100);
    assert_eq!(run.part(late.as_str(), late.key(), None, at(1001)), Err(LeftOut::Bytes));
    let left: Vec<_> = run.report.left_out.iter().map(|(why, left)| (*why, left.count)).collect();
    let want = [LeftOut::Scope, LeftOut::Endless, LeftOut::Pages, LeftOut::Bytes, LeftOut::Time];
    assert_eq!(left, want.map(|why| (why, 1)));
}

#[test]
fn the_redirect_target_of_the_start_page_is_in_scope() {
    let mut run = run(FetchSpec { depth: 1, ..FetchSpec::default() });
    assert_eq!(page(&mut run, "https://www.h.example/a", 0), Err(LeftOut::Scope));
    run.record_redirect(&url("http://elsewhere.example/"), &url("https://www.h.example/"));
    assert_eq!(page(&mut run, "https://www.h.example/a", 0), Err(LeftOut::Scope));
    run.record_redirect(&url("http://h.example/"), &url("https://www.h.example/"));
    assert_eq!(page(&mut run, "https://www.h.example/a", 0), Ok(RunDecision::Fetch));
    assert_eq!(page(&mut run, "http://h.example/a", 0), Ok(RunDecision::Fetch));
}

#[test]
fn the_report_is_limited() {
    let mut run = run(FetchSpec::default());
    for number in 0..2_000 {
        let url = url(&format!("http://h.example/{number}"));
        let failed = FailedUrl {
            url: url.as_str().to_owned(),
            from: (number % 2 == 0).then(|| "http://h.example/".to_owned()),
            reason: "ä".repeat(1_000),
            dead: true,
        };
        run.failed(&url.key(), failed.clone());
        run.failed(&url.key(), failed);
        run.count_left_out(LeftOut::Scope, url.as_str());
    }
    assert_eq!(run.report.failed.len(), MAX_TOLD);
    assert_eq!(run.report.failed[0].reason.len(), MAX_REASON);
    let counts = run.report.counts;
    assert_eq!((counts.failed, counts.dead), (1_000, 1_000), "dead links are counted apart");
    let left = &run.report.left_out[&LeftOut::Scope];
    assert_eq!((left.count, left.examples.len()), (2_000, MAX_EXAMPLES));
}

#[test]
fn disallowed_pages_are_counted_once() {
    let mut run = run(FetchSpec { depth: 9, ..FetchSpec::default() });
    let private = url("http://h.example/private/");
    for _ in 0..2 {
        assert_eq!(page(&mut run, private.as_str(), 1), Ok(RunDecision::Fetch));
        run.record_exclusion(&private.key(), private.as_str(), LeftOut::Robots);
        run.record_exclusion(&private.key(), private.as_str(), LeftOut::Robots);
        assert_eq!(
            page(&mut run, private.as_str(), 8),
            Ok(RunDecision::Nothing),
            "by a shorter way"
        );
        let counts = (run.report.counts.pages, run.waiting_count());
        assert_eq!((counts, run.report.left_out[&LeftOut::Robots].count), ((1, 1), 1));
        // The rules for pages do not apply to a sub-resource of an allowed page.
        assert_eq!(
            run.part(private.as_str(), private.key(), None, at(1001)),
            Ok(RunDecision::Fetch)
        );
        assert_eq!((run.report.counts.parts, run.waiting_count()), (1, 2));
        run.release_url(&private.key());
        run.report.left_out.clear();
    }
}

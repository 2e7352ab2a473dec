//! The local page `/purge/`: entries that a purge would remove, and the report of the last purge.

use minijinja::Value;
use minijinja::value::Serde;

use crate::base::shown;
use crate::base::text::{Text, count, tr};
use crate::page::{RenderedPage, Shell, view};
use wwwoffle_api::{PurgeShared, PurgeStatus};

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, purging: &PurgeStatus) -> RenderedPage {
    let shared = purging.last.as_ref().and_then(|last| last.shared.as_ref());
    let view = view! {
        purging,
        // Translates the reason of a row, such as `old` or `pinned`.
        why: Value::from_function(|why: &str| Value::from(Serde(in_words(why)))),
        // Sentences without their full stop.
        shared: shared.map(shared_in_words).unwrap_or_default(),
    };
    shell.page("purge.html", 200, &view)
}

/// Describes what a purge did with identical bodies, and how many bodies are shared in total. Each
/// fact is one line; facts without a number are omitted.
#[must_use]
pub fn shared_in_words(shared: &PurgeShared) -> Vec<Text> {
    let once = count(
        shared.entries,
        "equal content stored once: {n} entry, {size} freed",
        "equal content stored once: {n} entries, {size} freed",
    );
    let removed = count(
        shared.removed,
        "removed {n} unused shared file, {size}",
        "removed {n} unused shared files, {size}",
    );
    let bodies = count(shared.bodies, "{n} shared file", "{n} shared files").if_any();
    let total = bodies.map(|bodies| {
        let text = count(
            shared.all_entries,
            "equal content in total: {n} entry uses {bodies} ({size}), which saves {saved}",
            "equal content in total: {n} entries use {bodies} ({size}), which saves {saved}",
        );
        text.with("bodies", bodies)
            .with("size", shown::bytes(shared.bodies_bytes))
            .with("saved", shown::bytes(shared.all_saved))
    });
    let once = once.with("size", shown::bytes(shared.saved)).if_any();
    let removed = removed.with("size", shown::bytes(shared.removed_bytes)).if_any();
    [once, removed, total].into_iter().flatten().collect()
}

/// Translates the name of a reason why a purge removes or keeps entries.
#[must_use]
pub fn in_words(why: &str) -> Text {
    match why {
        "old" => tr("older than their maximum age"),
        "room" => tr("to free space, before their maximum age"),
        "dont-get" => tr("blocked by the configuration now"),
        "dont-cache" => tr("excluded from saving by the configuration now"),
        "young" => tr("younger than their maximum age"),
        "recent" => tr("used or stored within the last hour"),
        "no-age" => tr("without a maximum age"),
        "pinned" => tr("pinned"),
        "needed" => tr("files of pages that are not purged"),
        "perhaps-needed" => tr("may belong to pages that are not purged"),
        "removed" => tr("removed"),
        "compress" => tr("waiting to be compressed"),
        _ => tr("for another reason"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::testing::{assert_harmless, hostile, shell, time};
    use wwwoffle_api::{PurgeCompressed, PurgeReport, PurgeSum};

    fn report(why: &str, missing: u64) -> PurgeReport {
        let sum = |why: &str| PurgeSum { why: why.to_owned(), entries: 7, bytes: 81_920 };
        PurgeReport {
            at: time(),
            goes: vec![sum(why), sum("room")],
            stays: vec![sum("pinned"), sum("perhaps-needed")],
            scale: 420,
            missing,
            removed: Some(sum("removed")),
            compressible: Some(sum("compress")),
            compressed: Some(PurgeCompressed {
                entries: 3,
                before: 40_960,
                after: 12_288,
                failed: 2,
                first_failure: Some(why.to_owned()),
                failure: Some(why.to_owned()),
                tried: None,
            }),
            shared: Some(PurgeShared {
                entries: 2,
                saved: 70_000,
                removed: 1,
                removed_bytes: 3_000,
                bodies: 4,
                bodies_bytes: 90_000,
                all_entries: 9,
                all_saved: 400_000,
                failure: Some(why.to_owned()),
            }),
            free: Some(1_000_000),
        }
    }

    fn body(purging: &PurgeStatus) -> String {
        let page = page(&shell(), purging);
        assert_harmless(&page);
        page.body
    }

    #[test]
    fn the_page_shows_the_plan_and_the_result() {
        let purging = PurgeStatus { plan: Some(report("old", 0)), ..PurgeStatus::default() };
        let shown = body(&purging);
        for want in [
            "older than their maximum age: 7 entries, 81 kB",
            "pinned: 7 entries",
            "42 %",
            "7 entries (81 kB) will be compressed with the next purge",
            r#"action="http://localhost:8080/control/purge""#,
            r#"name="token" value="f00""#,
        ] {
            assert!(shown.contains(want), "{want} in {shown}");
        }
        let short = PurgeStatus { last: Some(report("old", 5_000)), ..PurgeStatus::default() };
        let shown = body(&short);
        assert!(shown.contains("Another 5.0 kB"), "{shown}");
        assert!(shown.contains("3 entries were compressed, from 40 kB to 12 kB"), "{shown}");
        assert!(shown.contains("2 entries could not be compressed"), "{shown}");
        for want in ["Another 5.0 kB", "9 entries use 4 shared files (90 kB), which saves 400 kB"] {
            assert!(body(&short).contains(want), "{want} in {}", body(&short));
        }
        let running = PurgeStatus { running: true, looked: 512, ..PurgeStatus::default() };
        let shown = body(&running);
        assert!(shown.contains("512 entries") && !shown.contains("<button"), "{shown}");
        let nothing = PurgeReport { goes: Vec::new(), scale: 1_000, ..report("old", 0) };
        let shown = body(&PurgeStatus { plan: Some(nothing), ..PurgeStatus::default() });
        assert!(shown.contains("Nothing would be purged") && !shown.contains("<button"), "{shown}");
    }

    #[test]
    fn hostile_values_are_text() {
        for text in hostile() {
            let (plan, failure) = (Some(report(&text, 1)), Some(text));
            body(&PurgeStatus { last: plan.clone(), plan, failure, ..PurgeStatus::default() });
        }
    }
}

//! Reports of the changes of monitored pages, by mail.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use tracing::{debug, warn};
use wwwoffle_spool::{Error, MonitorSummary};
use wwwoffle_url::{Key, url_encode_form_args};

use crate::base::error_chain::error_chain;
use crate::base::owner::Places;
use crate::base::shown;
use crate::fetch::context::FetchContext;
use crate::storage::versions::text::PagePart;
use crate::storage::versions::{self, NotCompared, VersionComparison};
use wwwoffle_api::ChangeReport;

/// The longest selector, list of words or mail address, in bytes. Together they fit into the file
/// of the page.
const MAX_FIELD: usize = 1 << 10;

/// The longest mail address, in bytes (RFC 5321 §4.5.3.1.3).
const MAX_ADDRESS: usize = 254;

/// The longest difference in a mail, in bytes.
const MAX_DIFF: usize = 64 << 10;

/// The bytes of a subject in one encoded word (RFC 2047 §2), and of the whole subject.
const WORD: usize = 42;
const MAX_SUBJECT: usize = 4 * WORD;

/// The reason why a report cannot be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadReport {
    /// The selector cannot be used.
    #[error("select: expected a CSS selector, such as \"#news\" or \"div.price\"")]
    Selector,
    /// The words are too long.
    #[error("words: expected at most {MAX_FIELD} bytes")]
    Words,
    /// The address cannot get mail.
    #[error("mail: expected a mail address, such as \"ada@example.org\"")]
    Mail,
}

/// Removes empty fields of a report and checks the others. `None` if nothing is left.
///
/// # Errors
///
/// [`BadReport`] names the first invalid field.
pub fn check(report: &ChangeReport) -> Result<Option<ChangeReport>, BadReport> {
    let report = read(report)?;
    let is_bad = |select: &String| PagePart::new(Some(select), None).is_err();
    if report.as_ref().and_then(|report| report.select.as_ref()).is_some_and(is_bad) {
        return Err(BadReport::Selector);
    }
    Ok(report)
}

/// The same without a check of the selector, which takes longer than the rest.
fn read(report: &ChangeReport) -> Result<Option<ChangeReport>, BadReport> {
    let field = |text: &Option<String>| {
        text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let [select, words, mail] = [&report.select, &report.words, &report.mail].map(field);
    let is_long = |text: &Option<String>| text.as_ref().is_some_and(|text| text.len() > MAX_FIELD);
    if is_long(&select) {
        return Err(BadReport::Selector);
    }
    if is_long(&words) {
        return Err(BadReport::Words);
    }
    if mail.as_deref().is_some_and(|mail| !is_address(mail)) {
        return Err(BadReport::Mail);
    }
    let report = ChangeReport { select, words, mail };
    Ok((report != ChangeReport::default()).then_some(report))
}

/// Whether `text` is one plain mail address, or the name of a local user. It goes into a header
/// field, so nothing else may be in it, such as a second address or the name of a program.
fn is_address(text: &str) -> bool {
    let (user, host) = text.split_once('@').map_or((text, None), |(user, at)| (user, Some(at)));
    let is_plain = |text: &str, more: &[u8]| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
    };
    text.len() <= MAX_ADDRESS
        && is_plain(user, b"._+-=")
        && host.is_none_or(|host| is_plain(host, b".-"))
}

/// The report of a monitored page; `None` if it has none.
#[must_use]
pub fn of(monitor: &MonitorSummary) -> Option<ChangeReport> {
    // The file may have been changed by hand, and the address goes into the header of a mail.
    read(&serde_json::from_str(monitor.report.as_deref()?).ok()?).ok().flatten()
}

/// The chosen part, words and address of a report in one line, for lists.
#[must_use]
pub fn describe(report: &ChangeReport) -> String {
    let ChangeReport { select, words, mail } = report;
    let words = words.as_ref().map(|words| format!("\"{words}\""));
    let mail = mail.as_ref().map(|mail| format!("→ {mail}"));
    let texts = [select.clone(), words, mail].into_iter().flatten();
    texts.map(|text| shown::text(&text)).collect::<Vec<_>>().join(" ")
}

/// The part of the page whose changes are reported. With an invalid selector it is the whole page.
#[must_use]
pub fn part(report: &ChangeReport) -> PagePart {
    PagePart::new(report.select.as_deref(), report.words.as_deref()).unwrap_or_default()
}

/// Mails the change of a monitored page after it was fetched, if its settings ask for it.
pub(in crate::fetch) fn send_if_changed(context: &Arc<FetchContext>, key: Key) {
    let mails = |one: MonitorSummary| of(&one).is_some_and(|report| report.mail.is_some());
    if context.storage.store.spool().monitors().summary(&key).is_some_and(mails) {
        let context = Arc::clone(context);
        context.base.tasks.clone().spawn(async move {
            // An earlier report may still be on its way, so the settings are read only now.
            let _turn = context.reporting.lock().await;
            let monitor = context.storage.store.spool().monitors().summary(&key);
            let report = monitor.as_ref().and_then(of);
            let Some((monitor, report)) = monitor.zip(report) else { return };
            let (url, mail) = (monitor.place.url(), report.mail.as_deref().unwrap_or_default());
            let chosen = part(&report);
            let sent = tokio::select! {
                // The mail program ends, and the next fetch reports the change.
                () = context.base.tasks.stopping() => return,
                sent = send(&context, &monitor, &chosen, mail) => sent,
            };
            match sent {
                Ok(true) => debug!(url, "a change was reported"),
                Ok(false) => {}
                Err(error) => {
                    let error = error_chain(&error);
                    warn!(url, error, "the change of a monitored page cannot be reported");
                }
            }
        });
    }
}

/// Compares the current version with the one that was reported last, and mails the difference.
/// Returns whether a mail was sent. If it cannot be sent, the next fetch tries again.
async fn send(
    context: &Arc<FetchContext>,
    monitor: &MonitorSummary,
    part: &PagePart,
    mail: &str,
) -> Result<bool, NotCompared> {
    let places = Places::of_queued(&monitor.place, &context.base.local);
    let Some(places) = places else { return Ok(false) };
    // The version that the new one has replaced is listed once the batch is written.
    context.storage.store.run(wwwoffle_spool::Spool::flush).await?;
    let versions = versions::of(&context.storage, &places).await?.ok_or(NotCompared::NotKept)?;
    let current = versions.current.entry.stored();
    let Some(reported) = monitor.reported else {
        // The first version is no change.
        record(context, monitor.place.key(), current).await?;
        return Ok(false);
    };
    // The names of versions have microseconds.
    let reported = Timestamp::from_microsecond(reported.as_microsecond()).unwrap_or(reported);
    // A copy that is fetched again without a change gets a new time, but leaves no older version. So
    // the page has changed if a version remains that was current at the last report or later.
    let older = versions.older.iter().map(|one| one.stored);
    let Some(from) = older.filter(|stored| (reported..current).contains(stored)).min() else {
        return Ok(false);
    };
    let done = versions::compare(&context.storage, &versions, Some(from), None, part).await?;
    let has_changed = done.diff.added + done.diff.removed > 0;
    if has_changed {
        let site = context.proxy.pages.origin.as_str();
        let message = message(mail, monitor.place.url(), &done, site);
        if !context.base.send_mail(message).await {
            return Ok(false);
        }
    }
    record(context, monitor.place.key(), current).await?;
    Ok(has_changed)
}

async fn record(context: &FetchContext, key: Key, stored: Timestamp) -> Result<bool, Error> {
    context.storage.store.run(move |spool| spool.monitors().record_report(&key, stored)).await
}

/// Writes the mail (RFC 5322). Its body is encoded, because lines of pages may be too long.
fn message(to: &str, url: &str, change: &VersionComparison, site: &str) -> String {
    let title = change.title.as_deref().unwrap_or(url);
    let subject = format!("Changed: {}", shown::text(title));
    let VersionComparison { from, to: until, diff, .. } = change;
    let mut text = format!(
        "{}\n{}\n\n{} lines added and {} removed between {from:.0} and {until:.0}:\n\n",
        shown::text(title),
        shown::text(url),
        diff.added,
        diff.removed,
    );
    let plain = diff.plain();
    let end =
        plain.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|at| *at <= MAX_DIFF);
    let end = end.last().unwrap_or_default();
    plain.get(..end).unwrap_or_default().lines().for_each(|line| {
        text.push_str(&shown::text(line));
        text.push('\n');
    });
    if diff.is_cut || end < plain.len() {
        text.push_str("…\n");
    }
    let link = url_encode_form_args(url.as_bytes());
    // Writing to a string does not fail.
    let _written = write!(
        text,
        "\nAll changes: {site}/monitor/diff/?url={link}&from={from}&to={until}\n\
         Monitored pages: {site}/monitor/\n"
    );
    let mut message = format!(
        "To: {to}\nSubject: {}\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n\
         Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n",
        encoded_words(&subject)
    );
    let encoded = BASE64_STANDARD.encode(text);
    for line in encoded.as_bytes().chunks(76) {
        message.push_str(&String::from_utf8_lossy(line));
        message.push('\n');
    }
    message
}

/// Encodes a subject as words of base64 (RFC 2047).
fn encoded_words(subject: &str) -> String {
    let mut words = vec![String::new()];
    for c in subject.chars() {
        let length: usize = words.iter().map(String::len).sum();
        if length + c.len_utf8() > MAX_SUBJECT {
            break;
        }
        match words.last_mut() {
            Some(word) if word.len() + c.len_utf8() <= WORD => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    let words = words.iter().map(|word| format!("=?utf-8?B?{}?=", BASE64_STANDARD.encode(word)));
    words.collect::<Vec<_>>().join("\n ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_plain_address_gets_mail() {
        for (address, want) in [
            ("ada@example.org", true),
            ("ada+news@mail.example.org", true),
            ("ada", true),
            ("", false),
            ("ada@", false),
            ("@example.org", false),
            ("-oQ/tmp@example.org", false),
            ("|program", false),
            ("/tmp/file", false),
            ("ada@example.org,bob@example.org", false),
            ("ada@example.org bob@example.org", false),
            ("ada@example.org\nBcc: bob@example.org", false),
            ("Ada <ada@example.org>", false),
        ] {
            assert_eq!(is_address(address), want, "{address:?}");
        }
    }

    #[test]
    fn fields_of_a_report_are_checked() {
        let report = |select: &str, words: &str, mail: &str| ChangeReport {
            select: Some(select.to_owned()),
            words: Some(words.to_owned()),
            mail: Some(mail.to_owned()),
        };
        assert_eq!(check(&report("", " ", "")), Ok(None));
        let one = check(&report(" #news ", "", "ada")).unwrap().unwrap();
        assert_eq!((one.select.as_deref(), one.words), (Some("#news"), None));
        let long = "x".repeat(MAX_FIELD + 1);
        assert_eq!(check(&report("div[", "", "")), Err(BadReport::Selector));
        assert_eq!(check(&report(&long, "", "")), Err(BadReport::Selector));
        assert_eq!(check(&report("", &long, "")), Err(BadReport::Words));
        assert_eq!(check(&report("", "", "a b")), Err(BadReport::Mail));
    }

    #[test]
    fn a_subject_is_encoded_in_bounded_words() {
        let subject = encoded_words(&"ü\n".repeat(1_000));
        let lines: Vec<_> = subject.split("\n ").collect();
        assert!(lines.len() <= 5 && lines.iter().all(|line| line.len() <= 75), "{subject}");
        assert_eq!(encoded_words("Changed: x"), "=?utf-8?B?Q2hhbmdlZDogeA==?=");
    }
}

//! The local pages `/info/`, the details of one URL, and `/info/request`, the request of the
//! browser.

mod words;

use serde::Serialize;
use wwwoffle_url::{CanonicalUrl, LocalHost, url_encode_form_args};

use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, count, tr};
use crate::page::links;
use crate::page::{RenderedPage, Shell, View, view};
use crate::proxy::last::LastAction;
use crate::proxy::rehearsal::PredictedAction;
use crate::site::collections::page::add_page;
use crate::site::lists::page as lists;
use crate::site::lists::page::{ActionResult, result_view};
use crate::storage::store::timestamp;
use wwwoffle_api::fetch_spec::AS_CONFIGURED;
use wwwoffle_api::{BodyOnDisk, Field, Info, PageParts, PartItem, PartState, StoredInfo};

/// Maximum number of listed sub-resources of each state; the others are counted.
const SHOWN_PARTS: usize = 15;

/// Maximum number of listed header fields of a request or response; the others are counted.
const SHOWN_FIELDS: usize = 40;

/// Maximum number of listed referring pages; the others are counted.
const SHOWN_REFERRERS: usize = 50;

/// Maximum size of the listed referring URLs before escaping, in bytes: a URL may be very long.
const ROOM_FOR_REFERRERS: usize = 5_000;

/// Content of the page that is not part of the API's response.
#[derive(Clone, Debug, Default)]
pub struct InfoExtras {
    /// Referring pages that the caller may see; `None` if the index cannot list referring pages.
    pub referrers: Option<Vec<String>>,
    /// Number of stored versions, including the current one.
    pub versions: Option<usize>,
    /// How the caller's last request for this URL was handled.
    pub last: Option<LastAction>,
    /// How a request of the caller would be handled now.
    pub would: Option<PredictedAction>,
    /// Whether the queue has a request of the caller for this URL.
    pub queued: bool,
    /// Whether the data saver may have left out pictures of the page.
    pub saves: bool,
    /// Result of the action that the caller just performed on this entry.
    pub action: Option<ActionResult>,
}

/// A request, as it arrived and as it would be sent on.
#[derive(Clone, Debug, Serialize)]
pub struct RequestComparison {
    /// The URL that would be requested from the origin.
    pub url: String,
    /// Request line and header fields that arrived.
    pub came: (String, Vec<Field>),
    /// Request line and header fields that would be sent.
    pub goes: (String, Vec<Field>),
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, info: &Info<Text>, more: &InfoExtras) -> RenderedPage {
    let login = info.kept.as_ref().and_then(|copy| copy.whose.login.as_deref());
    let url = ShownUrl::new(&info.url).of_login(login);
    let address = shown::with_login(&info.url, login);
    let mut view = view! {
        // The other pages about the URL.
        links: view! {
            // The URL, encoded as an argument of an address.
            argument: url_encode_form_args(url.href.as_deref().unwrap_or_default().as_bytes()),
            // Address of the list of versions, without scheme and host.
            history: links::history(&address),
            // Address of the page with the options for this URL, without scheme and host.
            options: links::options(&info.url),
            versions: more.versions.map_or(0, |many| u64::try_from(many).unwrap_or(u64::MAX)),
            // Address of the page that adds this one to a collection.
            collect: add_page(&address),
            // Address of this page, to which forms return.
            back: links::info(&address),
        },
        referrers: more.referrers.as_deref().map(referrers),
        // The requests of the caller for the URL: the last one, and the next one.
        requests: view! {
            last: more.last.as_ref().map(|last| last_action(last, shell)),
            would: more.would.map(words::describe_prediction),
            queued: more.queued,
        },
        // The actions that the page offers for the entry.
        actions: view! {
            // Value of the form field `parts` that fetches the sub-resources which the
            // configuration selects.
            as_configured: AS_CONFIGURED,
            saves: more.saves,
            pinned: info.pinned,
            // Whether the URL alone identifies the entry. Otherwise no button could find it.
            is_named_by_url: info.kept.as_ref().is_some_and(|copy| {
                lists::is_named_by_url(&info.url, copy.whose.owner.as_deref(), &info.key)
            }),
            // Whether the entry is the response to a form. Such a response cannot be fetched again.
            is_form_answer: CanonicalUrl::parse(&info.url, &LocalHost::default())
                .is_ok_and(|url| url.is_form_answer()),
        },
        is_secure: info.url.starts_with("https:"),
        kept: info.kept.as_ref().map(|copy| stored_entry(info, copy, shell)),
        parts: info.parts.as_ref().map(sub_resources),
        url,
    };
    view.extend(result_view(more.action, shell));
    shell.page("info.html", 200, &view)
}

/// Returns the first referring pages and the number of the others.
fn referrers(all: &[String]) -> View {
    let (mut shown, mut room) = (Vec::new(), ROOM_FOR_REFERRERS);
    for url in all.iter().take(SHOWN_REFERRERS) {
        let url = ShownUrl::new(url);
        let takes = url.text.len() + url.href.as_deref().map_or(0, str::len);
        let Some(left) = room.checked_sub(takes) else { break };
        room = left;
        shown.push(url);
    }
    view! { more: all.len() - shown.len(), shown }
}

/// Renders the page about a request.
#[must_use]
pub fn request_page(shell: &Shell, request: &RequestComparison) -> RenderedPage {
    let view = view! { request, most_fields: SHOWN_FIELDS };
    shell.page("info-request.html", 200, &view)
}

fn last_action(last: &LastAction, shell: &Shell) -> View {
    view! {
        at: ShownTime::new(timestamp(last.at), &shell.zone),
        method: shown::text(last.method.as_str()),
        answer: last.answer.as_u16(),
        took: format!("{} ms", last.took.as_millis()),
        status: last.status.to_string(),
        words: words::describe_status(last.status),
    }
}

fn sub_resources(parts: &PageParts<Text>) -> View {
    let counts = parts.counts;
    let groups = [
        (PartState::Absent, tr("Not saved"), counts.absent),
        (PartState::Failed, tr("Failed"), counts.failed),
        (PartState::Queued, tr("On the queue"), counts.queued),
        (PartState::LeftOut, tr("Left out"), counts.left_out),
        (PartState::Kept, tr("Saved"), counts.kept),
    ];
    let groups = groups.into_iter().filter(|(.., count)| *count > 0);
    // The sub-resources in one state.
    let group = |(state, title, count): (PartState, Text, u64)| {
        let of_state = parts.list.iter().filter(|part| part.state == state);
        let shown: Vec<_> = of_state.take(SHOWN_PARTS).map(sub_resource).collect();
        let listed = u64::try_from(shown.len()).unwrap_or(u64::MAX);
        view! { title, count, more: count.saturating_sub(listed), parts: shown }
    };
    view! {
        complete: parts.complete,
        kept: counts.kept,
        missing: counts.missing(),
        // Whether some of the missing sub-resources could be requested now.
        can_be_had: counts.absent.saturating_add(counts.failed) > 0,
        cut: parts.cut,
        groups: groups.map(group).collect::<Vec<_>>(),
    }
}

fn sub_resource(part: &PartItem<Text>) -> View {
    view! {
        url: ShownUrl::new(&part.url),
        class: words::describe_class(&part.class),
        from: part.from.as_deref().map(ShownUrl::new),
        reason: part.reason,
    }
}

fn stored_entry(info: &Info<Text>, entry: &StoredInfo, shell: &Shell) -> View {
    let owner = entry.whose.owner.as_deref();
    view! {
        owner: owner.map_or(tr("for everyone"), |owner| shell.for_whom(owner)),
        key: info.key,
        // Notes about the file and the body of the entry.
        notes: notes(&entry.storage),
        most_fields: SHOWN_FIELDS,
        entry,
    }
}

/// Returns notes about how the entry is stored: compressed, or with a shared body.
fn notes(storage: &BodyOnDisk) -> Vec<Text> {
    let compressed = storage.compressed.map(|file| {
        tr("It is compressed on the disk: {bytes} instead of {plain}.")
            .with("bytes", shown::bytes(file.bytes))
            .with("plain", shown::bytes(file.plain))
    });
    let shared = storage.shared.then(|| match storage.sharing {
        Some(many) => count(
            many,
            "{n} entry has this content, which is stored only once.",
            "{n} entries have this content, which is stored only once.",
        ),
        None => tr("Other entries have the same content, which is stored only once."),
    });
    compressed.into_iter().chain(shared).collect()
}

#[cfg(test)]
mod tests;

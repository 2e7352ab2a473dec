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

#[derive(Serialize)]
struct InfoView<'a> {
    url: ShownUrl,
    is_secure: bool,
    kept: Option<StoredEntryView<'a>>,
    actions: EntryActionsView,
    parts: Option<SubResourcesView>,
    links: InfoLinks,
    referrers: Option<ReferrersView>,
    requests: RequestsView,
    #[serde(flatten)]
    action: View,
}

/// The actions that the page offers for the entry.
#[derive(Serialize)]
struct EntryActionsView {
    /// Value of the form field `parts` that fetches the sub-resources which the configuration
    /// selects.
    as_configured: &'static str,
    pinned: bool,
    /// Whether the URL alone identifies the entry. Otherwise no button could find it.
    is_named_by_url: bool,
    /// Whether the entry is the response to a form. Such a response cannot be fetched again.
    is_form_answer: bool,
}

/// The other pages about the URL.
#[derive(Serialize)]
struct InfoLinks {
    /// The URL, encoded as an argument of an address.
    argument: String,
    /// Address of the list of versions, without scheme and host.
    history: String,
    versions: u64,
    /// Address of this page, to which forms return.
    back: String,
}

/// The pages that refer to the URL.
#[derive(Serialize)]
struct ReferrersView {
    shown: Vec<ShownUrl>,
    more: u64,
}

/// The requests of the caller for the URL: the last one, and the next one.
#[derive(Serialize)]
struct RequestsView {
    last: Option<LastActionView>,
    would: Option<Text>,
    queued: bool,
}

#[derive(Serialize)]
struct LastActionView {
    at: ShownTime,
    method: String,
    answer: u16,
    status: String,
    words: Text,
}

#[derive(Serialize)]
struct SubResourcesView {
    complete: bool,
    kept: u64,
    missing: u64,
    /// Whether some of the missing sub-resources could be requested now.
    can_be_had: bool,
    cut: Option<Text>,
    groups: Vec<SubResourceGroup>,
}

/// The sub-resources in one state.
#[derive(Serialize)]
struct SubResourceGroup {
    title: Text,
    count: u64,
    parts: Vec<SubResourceView>,
    more: u64,
}

#[derive(Serialize)]
struct SubResourceView {
    url: ShownUrl,
    class: Text,
    from: Option<ShownUrl>,
    reason: Option<Text>,
}

#[derive(Serialize)]
struct StoredEntryView<'a> {
    entry: &'a StoredInfo,
    key: &'a str,
    owner: Text,
    /// Notes about the file and the body of the entry.
    notes: Vec<Text>,
    most_fields: usize,
}

/// Renders the page.
#[must_use]
pub fn page(shell: &Shell, info: &Info<Text>, more: &InfoExtras) -> RenderedPage {
    let url = ShownUrl::new(&info.url);
    let view = InfoView {
        links: InfoLinks {
            argument: url_encode_form_args(url.href.as_deref().unwrap_or_default().as_bytes()),
            history: links::history(&info.url),
            versions: more.versions.map_or(0, |many| u64::try_from(many).unwrap_or(u64::MAX)),
            back: links::info(&info.url),
        },
        referrers: more.referrers.as_deref().map(ReferrersView::new),
        requests: RequestsView {
            last: more.last.as_ref().map(|last| LastActionView::new(last, shell)),
            would: more.would.map(words::describe_prediction),
            queued: more.queued,
        },
        action: result_view(more.action, shell),
        actions: EntryActionsView {
            as_configured: AS_CONFIGURED,
            pinned: info.pinned,
            is_named_by_url: info.kept.as_ref().is_some_and(|copy| {
                lists::is_named_by_url(&info.url, copy.owner.as_deref(), &info.key)
            }),
            is_form_answer: CanonicalUrl::parse(&info.url, &LocalHost::default())
                .is_ok_and(|url| url.is_form_answer()),
        },
        is_secure: info.url.starts_with("https:"),
        kept: info.kept.as_ref().map(|copy| StoredEntryView::new(info, copy, shell)),
        parts: info.parts.as_ref().map(SubResourcesView::new),
        url,
    };
    shell.page("info.html", 200, &view)
}

impl ReferrersView {
    /// Creates a view of the first referring pages and the number of the others.
    fn new(all: &[String]) -> Self {
        let (mut shown, mut room) = (Vec::new(), ROOM_FOR_REFERRERS);
        for url in all.iter().take(SHOWN_REFERRERS) {
            let url = ShownUrl::new(url);
            let takes = url.text.len() + url.href.as_deref().map_or(0, str::len);
            let Some(left) = room.checked_sub(takes) else { break };
            room = left;
            shown.push(url);
        }
        let more = u64::try_from(all.len() - shown.len()).unwrap_or(u64::MAX);
        Self { shown, more }
    }
}

/// Renders the page about a request.
#[must_use]
pub fn request_page(shell: &Shell, request: &RequestComparison) -> RenderedPage {
    let view = view! { request, most_fields: SHOWN_FIELDS };
    shell.page("info-request.html", 200, &view)
}

impl LastActionView {
    fn new(last: &LastAction, shell: &Shell) -> Self {
        Self {
            at: ShownTime::new(timestamp(last.at), &shell.zone),
            method: shown::text(last.method.as_str()),
            answer: last.answer.as_u16(),
            status: last.status.to_string(),
            words: words::describe_status(last.status),
        }
    }
}

impl SubResourcesView {
    fn new(parts: &PageParts<Text>) -> Self {
        let counts = parts.counts;
        let groups = [
            (PartState::Absent, tr("Not saved"), counts.absent),
            (PartState::Failed, tr("Failed"), counts.failed),
            (PartState::Queued, tr("On the queue"), counts.queued),
            (PartState::LeftOut, tr("Left out"), counts.left_out),
            (PartState::Kept, tr("Saved"), counts.kept),
        ];
        let groups = groups.into_iter().filter(|(.., count)| *count > 0);
        let group = |(state, title, count): (PartState, Text, u64)| {
            let of_state = parts.list.iter().filter(|part| part.state == state);
            let shown: Vec<_> = of_state.take(SHOWN_PARTS).map(SubResourceView::new).collect();
            let listed = u64::try_from(shown.len()).unwrap_or(u64::MAX);
            SubResourceGroup { title, count, more: count.saturating_sub(listed), parts: shown }
        };
        Self {
            complete: parts.complete,
            kept: counts.kept,
            missing: counts.missing(),
            can_be_had: counts.absent.saturating_add(counts.failed) > 0,
            cut: parts.cut.clone(),
            groups: groups.map(group).collect(),
        }
    }
}

impl SubResourceView {
    fn new(part: &PartItem<Text>) -> Self {
        Self {
            url: ShownUrl::new(&part.url),
            class: words::describe_class(&part.class),
            from: part.from.as_deref().map(ShownUrl::new),
            reason: part.reason.clone(),
        }
    }
}

impl<'a> StoredEntryView<'a> {
    fn new(info: &'a Info<Text>, entry: &'a StoredInfo, shell: &Shell) -> Self {
        let owner = entry.owner.as_deref();
        Self {
            owner: owner.map_or(tr("for everyone"), |owner| shell.for_whom(owner)),
            key: &info.key,
            notes: notes(&entry.storage),
            most_fields: SHOWN_FIELDS,
            entry,
        }
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

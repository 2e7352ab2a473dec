//! The local pages of collections.

use jiff::tz::TimeZone;
use wwwoffle_url::url_encode_form_args;

use super::choose;
use super::schedule::{KEEP, NEVER};
use super::state::{COUNTED, CollectionState, MemberState, SHOWN};
use crate::base::escape::written;
use crate::base::shown::{self, ShownTime, ShownUrl};
use crate::base::text::{Text, tr};
use crate::page::fault::{self, FormFault};
use crate::page::links::{self, SEARCH};
use crate::page::{RenderedPage, Shell, View, view};
use crate::site::control::page::question::{self, DeletionTarget};
use crate::site::home::page::letter;
use crate::site::lists::page::room::{count_fitting, take_links};
use crate::site::monitor::preset::Preset;
use crate::site::monitor::schedule::in_words;
use crate::site::search::page::arguments_of;
use crate::storage::collections::edit::member_key;
use wwwoffle_api::{Collection, Colour, Member, MemberItem};

/// Maximum size of all members on a page after escaping, in bytes.
const ROOM: usize = 40_000;

/// Maximum size of all links of members without their texts, in bytes; further URLs are shown
/// without a link.
const MOST_LINKS: usize = 20_000;

/// Size of a member without its variable texts, in bytes.
const ROW: usize = 420;

/// Maximum size of the cards of all collections after escaping, in bytes.
const ROOM_FOR_CARDS: usize = 70_000;

/// Size of a card without its variable texts, in bytes.
const CARD: usize = 420;

/// Maximum length of a note on a card, in characters.
const NOTE_ON_CARD: usize = 140;

/// Maximum number of chosen members that the page of [`choose`](super::choose) names.
const NAMED: usize = 10;

/// The form of a collection.
#[derive(Clone, Debug)]
pub struct CollectionForm {
    /// The id, also of a collection that is not made yet.
    pub id: String,
    /// Whether the collection is not made yet.
    pub is_new: bool,
    /// The name.
    pub name: String,
    /// The note.
    pub note: String,
    /// The colour.
    pub colour: Colour,
    /// Whether everyone sees the collection.
    pub for_everyone: bool,
    /// Whether the caller may decide who sees it.
    pub can_share: bool,
}

/// A collection to show.
#[derive(Debug)]
pub struct ShownCollection<'a> {
    /// The collection.
    pub collection: &'a Collection,
    /// Number of members before the first one on the page.
    pub from: usize,
    /// The state of the members; `None` if the index is not available.
    pub states: Option<&'a CollectionState>,
    /// Whether the caller may change the collection.
    pub can_edit: bool,
    /// Whether the caller may monitor pages.
    pub can_schedule: bool,
    /// The name of a deletion of members that can be undone.
    pub removal: Option<&'a str>,
    /// Number of members that were just added.
    pub added: Option<usize>,
    /// Numbers of pages that were just queued, and that could not be queued.
    pub queued: Option<(usize, usize)>,
}

/// Members to be added, and the collections to which the caller may add them.
#[derive(Debug)]
pub struct MemberChoice {
    /// The members.
    pub members: Vec<Member>,
    /// The hidden fields that name the members.
    pub fields: Vec<(&'static str, String)>,
    /// The collections.
    pub collections: Vec<Collection>,
    /// The id of the chosen collection; empty for a new one.
    pub chosen: String,
    /// The name of a new collection.
    pub name: String,
    /// The id of a new collection.
    pub id: String,
}

/// Returns the address of a collection.
#[must_use]
pub fn address(id: &str) -> String {
    format!("/collections/show?id={id}")
}

const fn colour_name(colour: Colour) -> Text {
    match colour {
        Colour::Grey => tr("grey"),
        Colour::Red => tr("red"),
        Colour::Orange => tr("orange"),
        Colour::Green => tr("green"),
        Colour::Teal => tr("teal"),
        Colour::Blue => tr("blue"),
        Colour::Purple => tr("purple"),
    }
}

/// Returns the card of a collection, on the list and in the library.
pub(in crate::site) fn card(collection: &Collection, shell: &Shell) -> View {
    view! {
        path: address(&collection.id),
        name: shown::text(&collection.name),
        note: note_on_card(collection),
        colour: collection.colour.as_str(),
        letter: letter(&collection.name),
        members: collection.members.len(),
        changed: ShownTime::new(collection.changed, &shell.zone),
        for_everyone: collection.for_everyone,
        is_scheduled: collection.schedule.is_some(),
    }
}

fn note_on_card(collection: &Collection) -> String {
    let line = collection.note.lines().next().unwrap_or_default();
    shown::text(&line.chars().take(NOTE_ON_CARD).collect::<String>())
}

/// Renders the list of collections. `removal` is the name of a deletion that can be undone.
#[must_use]
pub fn list(shell: &Shell, all: &[Collection], removal: Option<&str>) -> RenderedPage {
    let cost =
        |one: &Collection| CARD + written(&shown::text(&one.name)) + written(&note_on_card(one));
    let fits = count_fitting(ROOM_FOR_CARDS, all.iter().map(cost));
    let cards = all.iter().take(fits).map(|one| card(one, shell)).collect::<Vec<_>>();
    let view = view! {
        collections: cards,
        more: all.len().saturating_sub(fits),
        removal,
    };
    shell.page("collections.html", 200, &view)
}

/// Renders the form of a collection.
#[must_use]
pub fn form(shell: &Shell, form: &CollectionForm, faults: &[FormFault]) -> RenderedPage {
    let colour = |colour: Colour| {
        view! {
            value: colour.as_str(),
            label: colour_name(colour),
            chosen: colour == form.colour,
        }
    };
    let view = view! {
        id: &form.id,
        is_new: form.is_new,
        name: shown::full_text(&form.name),
        note: note_lines(&form.note),
        colours: Colour::ALL.map(colour),
        for_everyone: form.for_everyone,
        can_share: form.can_share,
        back: if form.is_new { super::PATH.to_owned() } else { address(&form.id) },
        faults,
    };
    shell.page("collection-edit.html", fault::status(faults), &view)
}

/// Prepares a note for display. Its line ends stay.
fn note_lines(note: &str) -> String {
    note.lines().map(shown::full_text).collect::<Vec<_>>().join("\n")
}

/// Renders the confirmation page before a collection is deleted.
#[must_use]
pub fn question(shell: &Shell, collection: &Collection) -> RenderedPage {
    let (name, id) = (shown::text(&collection.name), collection.id.as_str());
    question::page(shell, &DeletionTarget::Collection { name: &name, id })
}

/// Renders a collection.
#[must_use]
pub fn one(shell: &Shell, shown: &ShownCollection<'_>) -> RenderedPage {
    let ShownCollection { collection, from, states, .. } = *shown;
    let rest = collection.members.get(from..).unwrap_or_default();
    let known = states.map(|states| states.members.as_slice()).unwrap_or_default();
    let costs = rest.iter().take(SHOWN).enumerate().map(|(at, item)| row_cost(item, known.get(at)));
    let fits = count_fitting(ROOM, costs).min(rest.len());
    let mut links = MOST_LINKS;
    let members = rest
        .iter()
        .take(fits)
        .enumerate()
        .map(|(at, item)| member_view(item, known.get(at), &mut links, &shell.zone));
    let members = members.collect::<Vec<_>>();
    let page_at = |from: usize| format!("{}&from={from}", address(&collection.id));
    let end = from + members.len();
    let schedule = collection.schedule.as_deref();
    let view = view! {
        id: &collection.id,
        path: address(&collection.id),
        // The command that exports the collection into a folder.
        command: format!("wwwoffle export --collection {} stick/", collection.id),
        name: shown::text(&collection.name),
        note: note_lines(&collection.note),
        colour: collection.colour.as_str(),
        letter: letter(&collection.name),
        for_everyone: collection.for_everyone,
        count: collection.members.len(),
        totals: states.map(totals),
        members,
        schedule: schedule.map(schedule_in_words),
        monitored: collection.monitored.len(),
        presets: presets(schedule),
        can_edit: shown.can_edit,
        can_schedule: shown.can_schedule && shown.can_edit,
        removal: shown.removal,
        added: shown.added,
        queued: shown.queued.map(|(queued, refused)| view! { queued, refused }),
        previous: (from > 0).then(|| page_at(from.saturating_sub(SHOWN))),
        next: (end < collection.members.len()).then(|| page_at(end)),
    };
    shell.page("collection.html", 200, &view)
}

fn totals(state: &CollectionState) -> View {
    view! {
        pages: state.pages,
        saved: state.saved,
        missing: state.missing,
        is_unknown: state.is_unknown,
        size: shown::bytes(state.bytes),
        is_all: state.is_all,
    }
}

/// Returns the choices of a schedule. One that has no name is the choice `keep`.
fn presets(schedule: Option<&str>) -> Vec<View> {
    let now = schedule.and_then(|line| line.parse().ok());
    let is_chosen = |preset: Preset| now.is_some() && preset.schedule() == now;
    let named = Preset::ALL.into_iter().filter(|preset| preset.schedule().is_some());
    let named = named.map(|preset| {
        view! { value: preset.as_str(), label: preset.label(), chosen: is_chosen(preset) }
    });
    let never = view! { value: NEVER, label: tr("only when you say so"), chosen: now.is_none() };
    let is_named = now.is_none() || Preset::ALL.into_iter().any(is_chosen);
    let unnamed = schedule.filter(|_| !is_named);
    let unnamed =
        unnamed.map(|line| view! { value: KEEP, label: schedule_in_words(line), chosen: true });
    std::iter::once(never).chain(named).chain(unnamed).collect()
}

fn schedule_in_words(line: &str) -> Text {
    in_words(line).unwrap_or_else(|| tr("{fact}").with("fact", shown::text(line)))
}

/// Returns the size of a member on a page, in bytes.
fn row_cost(item: &MemberItem, state: Option<&MemberState>) -> usize {
    let title = title(item, state).map_or(0, |title| written(&title));
    ROW + title
        + match &item.member {
            // The text, its key, and the link to the page about it.
            Member::Page { url } => 3 * written(&ShownUrl::new(url).text),
            Member::Site { site } => 3 * written(site),
            Member::Search(search) => 4 * written(&search.words) + 2 * written(&search.host),
        }
}

/// Returns the title of a member: that of the stored page, or the one with which it was added.
fn title(item: &MemberItem, state: Option<&MemberState>) -> Option<String> {
    let title = state.and_then(|state| state.title.as_deref()).or(item.title.as_deref());
    title.map(shown::text).filter(|title| !title.trim().is_empty())
}

fn member_view(
    item: &MemberItem,
    state: Option<&MemberState>,
    links: &mut usize,
    zone: &TimeZone,
) -> View {
    let (kind, url, name, about) = match &item.member {
        Member::Page { url } => {
            let mut link = ShownUrl::new(url);
            take_links(links, &mut link);
            let about = link.href.as_deref().map(links::info);
            ("page", Some(link.clone()), link.text, about)
        }
        Member::Site { site } => {
            let about = format!("/index/site/{}", url_encode_form_args(site.as_bytes()));
            ("site", None, shown::text(site), Some(about))
        }
        Member::Search(search) => {
            let about = format!("{SEARCH}?{}", arguments_of(search));
            ("search", None, shown::text(&search.words), Some(about))
        }
    };
    view! {
        kind,
        key: member_key(&item.member),
        url,
        name: &name,
        about,
        title: title(item, state),
        letter: letter(name.split_once("://").map_or(name.as_str(), |(_, rest)| rest)),
        icon: state.and_then(|state| state.icon.as_deref()),
        // Whether it is known what is saved.
        is_known: state.is_some(),
        entries: state.map_or(0, |state| state.entries),
        is_many: kind == "search" && state.is_some_and(|state| usize::try_from(state.entries).is_ok_and(|it| it >= COUNTED)),
        size: shown::bytes(state.map_or(0, |state| state.bytes)),
        stored: state.and_then(|state| state.stored).map(|time| ShownTime::new(time, zone)),
        missing: state.and_then(|state| state.missing),
    }
}

/// Renders the page that asks to which collection members are added.
#[must_use]
pub fn choose(shell: &Shell, choice: &MemberChoice, faults: &[FormFault]) -> RenderedPage {
    let named = choice.members.iter().take(NAMED).map(|member| match member {
        Member::Page { url } => ShownUrl::new(url).text,
        Member::Site { site } => shown::text(site),
        Member::Search(search) => shown::text(&search.words),
    });
    let collection = |one: &Collection| {
        view! {
            id: &one.id,
            name: shown::text(&one.name),
            colour: one.colour.as_str(),
            for_everyone: one.for_everyone,
            chosen: one.id == choice.chosen,
        }
    };
    // The chosen one is the first.
    let mut all: Vec<&Collection> = choice.collections.iter().collect();
    all.sort_by_key(|one| one.id != choice.chosen);
    let fits = count_fitting(ROOM, all.iter().map(|one| CARD + written(&shown::text(&one.name))));
    let is_new = !choice.collections.iter().any(|one| one.id == choice.chosen);
    let view = view! {
        named: named.collect::<Vec<_>>(),
        count: choice.members.len(),
        more: choice.members.len().saturating_sub(NAMED),
        fields: &choice.fields,
        collections: all.into_iter().take(fits).map(collection).collect::<Vec<_>>(),
        is_new: is_new && (choice.collections.is_empty() || !faults.is_empty()),
        name: shown::full_text(&choice.name),
        id: &choice.id,
        faults,
    };
    shell.page("collection-choose.html", fault::status(faults), &view)
}

/// Returns the hidden fields with a member.
pub(super) fn fields(member: &Member) -> Vec<(&'static str, String)> {
    match member {
        Member::Page { url } => vec![("url", url.clone())],
        Member::Site { site } => vec![("site", site.clone())],
        Member::Search(search) => {
            let fields = ["q", "host", "type", "since", "until"].into_iter();
            let fields =
                fields.map(|name| (name, search.value(name).unwrap_or_default().to_owned()));
            fields.filter(|(_, value)| !value.is_empty()).collect()
        }
    }
}

/// Returns the address of the page that adds a page to a collection.
pub(in crate::site) fn add_page(url: &str) -> Option<String> {
    ShownUrl::new(url).href.map(|href| choose::of_page(&href))
}

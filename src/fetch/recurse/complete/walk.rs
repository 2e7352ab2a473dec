//! Walks from a page through its sub-resources.

use crate::fetch::failure_reason;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, StatusCode};
use wwwoffle_spool::{Entry, Error, Place, RequestState};
use wwwoffle_url::{CanonicalUrl, Key};

use super::super::choose::{ChosenLink, LinkAction, MAX_NESTING, WantedClasses, choose, part};
use super::super::follow::browser;
use super::document::{Read, ReadBudget, read};
use super::rule::{SubResourceRule, of_class, of_cut, of_kind, rule};
use super::{Bounds, EntrySource, StoredPage};
use crate::base::owner::Places;
use crate::base::shown;
use crate::base::text::{Text, tr};
use crate::fetch::redirect::MAX_HOPS;
use crate::proxy::saver;
use wwwoffle_api::{PartItem, PartState};
use wwwoffle_html::references::{Class, Omission, References, Truncation, Viewport};
use wwwoffle_http::head::read_response;
use wwwoffle_http::redirect::location;

/// The result of the walk.
#[derive(Debug, Default)]
pub(super) struct WalkResult {
    /// The sub-resources without duplicates, in the order in which they were found.
    pub(super) list: Vec<PartItem<Text>>,
    /// The reason why there may be further, unknown sub-resources, if there may be any.
    pub(super) cut: Option<Text>,
}

/// A walk in progress.
pub(super) struct PageWalk<'a, S> {
    source: &'a S,
    page: &'a StoredPage<'a>,
    bounds: Bounds,
    room: ReadBudget,
    want: Viewport,
    way: WalkResult,
    /// The positions in the list of sub-resources, by key.
    known: HashMap<Key, usize>,
    todo: VecDeque<VisitedDocument>,
    documents: usize,
    is_full: bool,
}

/// A stored document to read.
struct VisitedDocument {
    place: Place,
    url: CanonicalUrl,
    /// The class of the reference to this document; `None` for the page.
    class: Option<Class>,
    /// The number of sub-resources between this document and its page.
    nesting: u8,
    /// The number of redirects that led to this document.
    hops: u8,
    /// The page that determines the wanted classes of sub-resources.
    page: CanonicalUrl,
}

/// A stored response with its parsed head.
struct ParsedCopy {
    entry: Entry,
    status: StatusCode,
    fields: HeaderMap,
}

impl ParsedCopy {
    fn read(entry: Entry) -> Option<Self> {
        let (status, fields) = read_response(entry.head()).ok()?;
        Some(Self { entry, status, fields })
    }

    /// Whether the document may have references, judged by its status and type. Images (except
    /// SVG), fonts, audio and video have none.
    fn may_refer(&self) -> bool {
        let kind = self.fields.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.unwrap_or_default().trim_start().to_ascii_lowercase();
        let is_plain =
            ["image/", "font/", "audio/", "video/"].iter().any(|it| kind.starts_with(it));
        self.status.is_redirection() || !is_plain || kind.starts_with("image/svg")
    }
}

impl<'a, S: EntrySource> PageWalk<'a, S> {
    pub(super) fn new(source: &'a S, page: &'a StoredPage<'a>, bounds: Bounds) -> Self {
        Self {
            source,
            page,
            bounds,
            room: ReadBudget { bytes: bounds.bytes, until: bounds.until },
            want: browser(page.config),
            way: WalkResult::default(),
            known: HashMap::new(),
            todo: VecDeque::new(),
            documents: 0,
            is_full: false,
        }
    }

    /// Walks the page and its sub-resources. `None` if the page cannot have sub-resources.
    ///
    /// # Errors
    ///
    /// If the disk fails.
    pub(super) fn walk_all(mut self) -> Result<Option<WalkResult>, Error> {
        let url = self.page.url.without_credentials();
        let first = VisitedDocument {
            place: self.page.entry.place().clone(),
            page: url.clone(),
            url,
            class: None,
            nesting: 0,
            hops: 0,
        };
        let Some(answer) = ParsedCopy::read(self.page.entry.clone()) else { return Ok(None) };
        if !self.document(&first, &answer)? {
            return Ok(None);
        }
        while let Some(next) = self.todo.pop_front() {
            if !self.may_go_on() {
                break;
            }
            // `todo` contains only documents that may have references. Their entries are looked up
            // again here, so that not all of them are in memory.
            let entry = self.source.newest(&next.place)?;
            if let Some(answer) = entry.and_then(ParsedCopy::read) {
                self.document(&next, &answer)?;
            }
        }
        Ok(Some(self.way))
    }

    /// Reads a document. `false` if it has no references because of its type or status.
    fn document(&mut self, document: &VisitedDocument, answer: &ParsedCopy) -> Result<bool, Error> {
        if let Some(target) = location(answer.entry.url(), answer.status, &answer.fields) {
            let class = document.class.unwrap_or(Class::Page);
            return self.follow_redirect(document, &target, class).map(|()| true);
        }
        if !answer.status.is_success() {
            return Ok(false);
        }
        self.documents += 1;
        let ParsedCopy { entry, status, fields } = answer;
        match read(entry, *status, fields, &self.want, &mut self.room)? {
            Read::References(found) => self.found(document, &found).map(|()| true),
            Read::Nothing => Ok(false),
            Read::Cut(why) => {
                self.cut(not_read(document, why));
                Ok(true)
            }
        }
    }

    fn found(&mut self, document: &VisitedDocument, found: &References) -> Result<(), Error> {
        // Browsers stop at malformed input too.
        if let Some(cut) = found.cut.filter(|cut| *cut != Truncation::Malformed) {
            self.cut(not_read(document, of_cut(cut)));
        }
        let wanted = WantedClasses::of(self.page.config, &document.page, &[]);
        for chosen in choose(found, &document.url, &wanted, self.page.local) {
            if !self.may_go_on() {
                return Ok(());
            }
            self.examine_link(document, &wanted, &chosen)?;
        }
        Ok(())
    }

    fn examine_link(
        &mut self,
        document: &VisitedDocument,
        wanted: &WantedClasses,
        chosen: &ChosenLink<'_>,
    ) -> Result<(), Error> {
        let class = chosen.link.class;
        let nesting = document.class.map_or(0, |_| document.nesting.saturating_add(1));
        match chosen.what {
            LinkAction::Page => Ok(()),
            LinkAction::ByKind(_) if part(class).is_none() => Ok(()),
            // Browsers load the implied icon of the page, but not that of a frame.
            LinkAction::ByKind(Omission::Implied) if document.class.is_some() => Ok(()),
            LinkAction::Onward => self.follow_redirect(document, &chosen.link.url, class),
            LinkAction::Part if nesting > MAX_NESTING => {
                let why = tr("it is nested in more than {most} files");
                self.leave_out(document, chosen, why.with("most", MAX_NESTING.to_string()))
            }
            LinkAction::Part
                if saver::leaves_out(
                    self.page.config,
                    part(chosen.link.class),
                    &chosen.url,
                    &document.page,
                ) =>
            {
                let why = tr("the data saver leaves it out ([data-saver])");
                self.leave_out(document, chosen, why)
            }
            LinkAction::Part => {
                let url = chosen.url.clone();
                let page = document.page.clone();
                let place = document.place.clone();
                let next =
                    VisitedDocument { place, url, class: Some(class), nesting, hops: 0, page };
                self.take(document, next, class)
            }
            LinkAction::LeftOut(_) => {
                self.leave_out(document, chosen, of_class(wanted, part(class)))
            }
            LinkAction::ByKind(why) => self.leave_out(document, chosen, of_kind(why)),
        }
    }

    /// Follows a redirect of a document: its sub-resources are those of the target.
    fn follow_redirect(
        &mut self,
        document: &VisitedDocument,
        target: &str,
        class: Class,
    ) -> Result<(), Error> {
        let Ok(url) = CanonicalUrl::parse(target, self.page.local) else { return Ok(()) };
        let url = url.without_credentials();
        if url.is_local() || document.hops >= MAX_HOPS {
            return Ok(());
        }
        // A redirect of a page leads to the new page. A redirect of a sub-resource leads to another
        // sub-resource of the same page.
        let page = document.class.map_or_else(|| url.clone(), |_| document.page.clone());
        let next = VisitedDocument {
            place: document.place.clone(),
            url,
            class: document.class,
            nesting: document.nesting,
            hops: document.hops.saturating_add(1),
            page,
        };
        self.take(document, next, class)
    }

    /// Lists a sub-resource with its state. If it is stored and may have references, it is read
    /// later.
    fn take(
        &mut self,
        from: &VisitedDocument,
        mut next: VisitedDocument,
        class: Class,
    ) -> Result<(), Error> {
        let (url, why) = self.resolve(from, next.url);
        next.url = url;
        let Some(index) = self.place_in_list(from, &next.url, class) else { return Ok(()) };
        if let Some(why) = why {
            self.set_state(index, PartState::LeftOut, Some(why));
            return Ok(());
        }
        let places = self.places(&next.url);
        let answer = self.newest(&places)?;
        let (state, reason) = self.judge(&places, answer.as_ref());
        self.set_state(index, state, reason);
        if let Some(answer) = answer.filter(|it| state == PartState::Kept && it.may_refer()) {
            next.place = answer.entry.place().clone();
            self.read_later(next);
        }
        Ok(())
    }

    /// Follows the aliases of a URL. Returns the target, and the reason if the configuration leaves
    /// it out.
    fn resolve(
        &self,
        from: &VisitedDocument,
        mut url: CanonicalUrl,
    ) -> (CanonicalUrl, Option<Text>) {
        let StoredPage { config, local, .. } = self.page;
        for _ in 0..MAX_HOPS {
            match rule(config, local, &from.url, &url) {
                SubResourceRule::Fetched => return (url, None),
                SubResourceRule::LeftOut(why) => return (url, Some(why)),
                SubResourceRule::Moved(to) => match CanonicalUrl::parse(&to, local) {
                    Ok(to) => url = to.without_credentials(),
                    Err(_) => break,
                },
            }
        }
        (url, Some(tr("its aliases form a loop ([alias])")))
    }

    /// Lists a sub-resource that is not fetched with the page. If it is stored anyway, it counts as
    /// stored.
    fn leave_out(
        &mut self,
        from: &VisitedDocument,
        chosen: &ChosenLink<'_>,
        why: Text,
    ) -> Result<(), Error> {
        if self.known.contains_key(&chosen.url.key()) {
            return Ok(());
        }
        let places = self.places(&chosen.url);
        let is_kept = self.newest(&places)?.is_some_and(|answer| answer.status.is_success());
        let Some(index) = self.place_in_list(from, &chosen.url, chosen.link.class) else {
            return Ok(());
        };
        let state = if is_kept { PartState::Kept } else { PartState::LeftOut };
        self.set_state(index, state, Some(why).filter(|_| !is_kept));
        Ok(())
    }

    fn judge(&self, places: &Places, answer: Option<&ParsedCopy>) -> (PartState, Option<Text>) {
        let is_error = |status: StatusCode| status.is_client_error() || status.is_server_error();
        if answer.is_some_and(|answer| !is_error(answer.status)) {
            return (PartState::Kept, None);
        }
        match self.source.queued(&places.queued.key()) {
            Some(RequestState::Waiting) => (PartState::Queued, None),
            Some(state) => {
                (PartState::Failed, failure_reason(&state).map(|(why, _)| reason_text(&why)))
            }
            None => match answer {
                Some(answer) => {
                    let why = tr("the site answered {status}");
                    (PartState::Failed, Some(why.with("status", answer.status.to_string())))
                }
                None => (PartState::Absent, None),
            },
        }
    }

    /// The personal entry, or else the shared one, as served offline. `None` if neither is stored.
    fn newest(&self, places: &Places) -> Result<Option<ParsedCopy>, Error> {
        let own = self.source.newest(&places.own)?;
        let own = own.filter(|entry| places.preference(entry.place()).is_some());
        let own = own.and_then(ParsedCopy::read);
        if own.is_some() {
            return Ok(own);
        }
        let public = self.source.newest(&places.public)?.and_then(ParsedCopy::read);
        Ok(public.filter(|answer| places.accepts_public(&answer.fields, false)))
    }

    /// The places of a sub-resource. The credentials of the page are used for the page's own origin
    /// only.
    fn places(&self, url: &CanonicalUrl) -> Places {
        let page = self.page.url;
        let is_same = url.protocol() == page.protocol() && url.host_port() == page.host_port();
        let url = match page.user() {
            Some(user) if is_same => url.with_credentials(&user, page.password().as_deref()),
            _ => url.clone(),
        };
        Places::of_url(&url, self.page.owner)
    }

    /// Adds a sub-resource to the list, unless the list is full. Returns its position if it is new,
    /// or was left out until now.
    fn place_in_list(
        &mut self,
        from: &VisitedDocument,
        url: &CanonicalUrl,
        class: Class,
    ) -> Option<usize> {
        if *url == self.page.url.without_credentials() {
            return None;
        }
        if let Some(&index) = self.known.get(&url.key()) {
            let known = self.way.list.get(index)?;
            return (known.state == PartState::LeftOut).then_some(index);
        }
        let index = self.way.list.len();
        if index >= self.bounds.parts {
            self.is_full = true;
            let most = self.bounds.parts;
            self.cut(tr("the page has more than {most} files").with("most", most.to_string()));
            return None;
        }
        self.known.insert(url.key(), index);
        self.way.list.push(PartItem {
            url: url.as_str().to_owned(),
            class: class.to_string(),
            from: (from.class.is_some() || from.hops > 0).then(|| from.url.as_str().to_owned()),
            state: PartState::Absent,
            reason: None,
        });
        Some(index)
    }

    fn set_state(&mut self, index: usize, state: PartState, reason: Option<Text>) {
        if let Some(part) = self.way.list.get_mut(index) {
            (part.state, part.reason) = (state, reason);
        }
    }

    fn read_later(&mut self, document: VisitedDocument) {
        if self.documents + self.todo.len() >= self.bounds.documents {
            let most = self.bounds.documents;
            let why = tr("at most {most} documents are read for one page");
            return self.cut(why.with("most", most.to_string()));
        }
        self.todo.push_back(document);
    }

    fn may_go_on(&mut self) -> bool {
        let is_in_time = Instant::now() < self.bounds.until;
        if !is_in_time {
            self.cut(tr("processing the page took too long"));
        }
        is_in_time && !self.is_full
    }

    /// Records why there may be unknown sub-resources; the first reason counts.
    fn cut(&mut self, why: Text) {
        self.way.cut.get_or_insert(why);
    }
}

/// The message that a document was not read to its end.
fn not_read(document: &VisitedDocument, why: Text) -> Text {
    let text = tr("{url} was not read completely: {why}");
    text.with("url", shown::text(document.url.as_str())).with("why", why)
}

/// The recorded reason of a failure, as a text that is the same in all languages.
fn reason_text(why: &str) -> Text {
    tr("{fact}").with("fact", shown::text(why))
}

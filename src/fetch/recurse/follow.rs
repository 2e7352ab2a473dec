//! The requests that follow from a stored response: its sub-resources, and for a recursive fetch
//! the pages it links to.
//!
//! This module decides which URLs are fetched; [`super::sub`] makes the requests.

use std::sync::Arc;

use hyper::http::request::Parts;
use jiff::Timestamp;
use tracing::debug;
use wwwoffle_config::Config;
use wwwoffle_spool::{Outgoing, RunMembership};
use wwwoffle_url::{CanonicalUrl, Key};

use super::choose::{ChosenLink, LinkAction, MAX_NESTING, WantedClasses, choose, part};
use super::complete::rule::of_cut;
use super::read::{Contents, read};
use super::robots;
use super::run::{LeftOut, Run, UrlOutcome, links_left};
use super::runs::{Runs, is_to_do};
use super::sub_resource::SubResource;
use crate::base::clock;
use crate::base::error_chain::error_chain;
use crate::base::mode::Mode;
use crate::base::owner::{Owner, is_personal};
use crate::fetch::attempt::{owner, request_url};
use crate::fetch::context::FetchContext;
use crate::net::upstream::Origin;
use crate::proxy::saver;
use crate::proxy::target::of_url;
use crate::storage::lookup::look_up;
use crate::storage::store::{StoredCopy, timestamp};
use wwwoffle_api::fetch_spec::FetchSpec;
use wwwoffle_html::references::{Class, References, Viewport};

/// A stored page or sub-resource whose references are to be followed.
pub(super) struct Document<'a> {
    pub(super) context: &'a FetchContext,
    /// All runs, including those that want the document.
    runs: &'a Runs,
    pub(super) outgoing: &'a Outgoing,
    /// The request for the document, with its secrets.
    pub(super) request: &'a Parts,
    pub(super) owner: Owner,
    /// Whether the requester is at this machine and the request has no fields that only its origin
    /// may see.
    is_plain: bool,
    pub(super) url: CanonicalUrl,
    pub(super) origin: Origin,
    pub(super) config: Arc<Config>,
    /// The runs that want the document. For each: how many links it follows from the document, and
    /// whether it respects `robots.txt`.
    wanting: Vec<RunTarget>,
    /// Entries that were checked since this time need no revalidation.
    since: Timestamp,
    now: Timestamp,
}

/// A run that wants a document.
struct RunTarget {
    member: RunMembership,
    spec: FetchSpec,
    heeds_robots: bool,
}

/// Returns the requests that follow from `copy`, the response to `outgoing`, within the limits of
/// the `runs` that want it. `request` is the original request.
///
/// # Errors
///
/// The reason why the references cannot be followed now, in words for the user: for example, the
/// spool cannot be read.
pub(in crate::fetch) async fn follow(
    context: &FetchContext,
    runs: &Runs,
    outgoing: &Outgoing,
    request: &Parts,
    copy: &Arc<StoredCopy>,
) -> Result<Vec<Outgoing>, String> {
    if !copy.status.is_success() {
        return Ok(Vec::new());
    }
    let document = Document::of(context, runs, outgoing, request)?;
    let Some(found) = document.read(copy).await else { return Ok(Vec::new()) };
    let specs: Vec<_> = document.wanting.iter().map(|wanting| &wanting.spec).collect();
    // Sub-resources named by a style sheet belong to the page that uses it.
    let page = outgoing.summary.page.as_deref().filter(|_| outgoing.summary.class.is_some());
    let page = page.and_then(|page| CanonicalUrl::parse(page, &context.base.local).ok());
    let wanted =
        WantedClasses::of(&document.config, page.as_ref().unwrap_or(&document.url), &specs);
    let mut next = Vec::new();
    for chosen in choose(&found, &document.url, &wanted, &context.base.local) {
        next.extend(document.examine_link(&found, &chosen).await?);
    }
    Ok(next)
}

/// The viewport for which image candidates are chosen.
pub(in crate::fetch) fn browser(config: &Config) -> Viewport {
    let options = &config.fetch_options;
    Viewport {
        width: u32::try_from(options.window_width.get()).unwrap_or(u32::MAX),
        density_percent: u32::try_from(options.pixel_density.get()).unwrap_or(u32::MAX),
        all_candidates: options.all_candidates,
        ..Viewport::default()
    }
}

impl<'a> Document<'a> {
    fn of(
        context: &'a FetchContext,
        runs: &'a Runs,
        outgoing: &'a Outgoing,
        request: &'a Parts,
    ) -> Result<Self, String> {
        let resource = of_url(request_url(outgoing), &context.base.local)
            .map_err(|error| error_chain(&error))?;
        let config = context.base.config();
        let mut since = outgoing.summary.queued;
        let mut wanting = Vec::new();
        for member in &outgoing.summary.runs {
            let known = runs.with_run(member.run, |run| (run.spec.clone(), run.begun));
            let Some((spec, begun)) = known else { continue };
            since = since.min(begun);
            let heeds_robots = robots::obeys_robots(&config, &resource.url, &spec);
            wanting.push(RunTarget { member: *member, spec, heeds_robots });
        }
        let owner = owner(outgoing)?;
        Ok(Self {
            context,
            runs,
            outgoing,
            request,
            is_plain: owner == Owner::Local && !is_personal(&request.headers),
            owner,
            url: resource.url.without_credentials(),
            origin: resource.origin,
            config,
            wanting,
            since,
            now: timestamp(clock::now()),
        })
    }

    /// Reads the references of the response. `None` if its type has none, or none can be read. A
    /// response that cannot be read to its end stays stored, and is reported to the runs.
    async fn read(&self, copy: &Arc<StoredCopy>) -> Option<References> {
        let (url, store) = (self.url.as_str(), &self.context.storage.store);
        let mut want = browser(&self.config);
        // The browser of the person may choose any size of a picture.
        want.all_candidates |= self.is_wanted_whole();
        let (found, why) = match read(store, copy, &want).await {
            Ok(None) => return None,
            Ok(Some(Contents { found, broken_off: None })) => {
                let why = found.cut.map(|cut| of_cut(cut).to_string());
                (Some(found), why)
            }
            Ok(Some(Contents { found, broken_off: Some(error) })) => {
                (Some(found), Some(error_chain(&error)))
            }
            Err(error) => (None, Some(error_chain(&error))),
        };
        if let Some(why) = why {
            debug!(url, why, "not read to its end");
            self.count_left_out(LeftOut::Unread, &self.url);
        }
        if let Some(refused) = found.as_ref().map(|found| found.refused).filter(|count| *count > 0)
        {
            for wanting in &self.wanting {
                self.runs.change(wanting.member.run, |run| run.count_invalid(refused, url));
            }
        }
        found
    }

    async fn examine_link(
        &self,
        found: &References,
        chosen: &ChosenLink<'_>,
    ) -> Result<Option<Outgoing>, String> {
        match chosen.what {
            LinkAction::LeftOut(why) => self.count_left_out(why, &chosen.url),
            // These references are not counted. The information page of the URL shows them.
            LinkAction::ByKind(_) => {}
            LinkAction::Part if self.nesting() > MAX_NESTING => {
                self.count_left_out(LeftOut::Depth, &chosen.url);
            }
            LinkAction::Part => return self.part(chosen).await,
            LinkAction::Onward => return self.redirect_request(chosen).await,
            LinkAction::Page => return Ok(self.page(found, chosen)),
        }
        Ok(None)
    }

    fn count_left_out(&self, why: LeftOut, url: &CanonicalUrl) {
        for wanting in &self.wanting {
            self.runs.change(wanting.member.run, |run| run.count_left_out(why, url.as_str()));
        }
    }

    /// The number of sub-resources between this document's references and the page.
    fn nesting(&self) -> u8 {
        self.outgoing.summary.class.as_ref().map_or(0, |_| self.outgoing.nesting.saturating_add(1))
    }

    async fn part(&self, chosen: &ChosenLink<'_>) -> Result<Option<Outgoing>, String> {
        // A frame is read like its page: its links have the same distance as the links of the page.
        let is_frame = matches!(chosen.link.class, Class::Frame | Class::IFrame);
        let depth = |wanting: &RunTarget| if is_frame { wanting.member.depth } else { 0 };
        let left = |wanting: &RunTarget| links_left(true, depth(wanting));
        let Some(key) = self.key(chosen).filter(|key| !self.is_known_to_all_runs(key, left)) else {
            return Ok(None);
        };
        let (url, Some(sub)) = (chosen.url.as_str(), self.sub(chosen)) else {
            return Ok(None);
        };
        let Some(mut next) = self.request_for(&sub, chosen) else { return Ok(None) };
        next.summary.runs = self.collect_members(|run, wanting| {
            let step = run.part(url, key, left(wanting), self.now);
            is_to_do(step).then_some(RunMembership { depth: depth(wanting), ..wanting.member })
        });
        if next.summary.runs.is_empty() && !self.wanting.is_empty() {
            return Ok(None);
        }
        let is_read = next.summary.runs.iter().any(|member| member.depth > 0);
        let is_new = |copy: StoredCopy| copy.entry.checked() >= self.since;
        if !is_read && self.stored_sub_resource(&sub).await?.is_some_and(is_new) {
            self.runs.record(&next, UrlOutcome::Kept, 0);
            return Ok(None);
        }
        next.summary.renew |= self.is_forced(&next.summary.runs);
        next.summary.class = Some(chosen.link.class.to_string());
        next.nesting = self.nesting();
        let page =
            self.outgoing.summary.page.as_ref().filter(|_| self.outgoing.summary.class.is_some());
        next.summary.page = page.cloned().or_else(|| Some(self.url.as_str().to_owned()));
        Ok(Some(next))
    }

    /// The request for the target of a page that redirects with `Refresh`, if it is needed. The
    /// target is fetched in place of the page, as after an HTTP redirect.
    async fn redirect_request(&self, chosen: &ChosenLink<'_>) -> Result<Option<Outgoing>, String> {
        let hops = self.outgoing.summary.hops.saturating_add(1);
        if hops > crate::fetch::redirect::MAX_HOPS {
            return Ok(None);
        }
        let Some(sub) = self.sub(chosen) else { return Ok(None) };
        let Some(mut next) = self.request_for(&sub, chosen) else { return Ok(None) };
        next.summary.runs = self.collect_members(|run, RunTarget { member, .. }| {
            run.record_redirect(&self.url, &chosen.url);
            is_to_do(run.page(&chosen.url, sub.key(), member.depth, self.now)).then_some(*member)
        });
        if next.summary.runs.is_empty() && !self.wanting.is_empty() {
            return Ok(None);
        }
        let is_renewed = self.outgoing.summary.renew;
        if self.wanting.is_empty() && !is_renewed && self.stored_sub_resource(&sub).await?.is_some()
        {
            return Ok(None);
        }
        next.summary.hops = hops;
        next.summary.class.clone_from(&self.outgoing.summary.class);
        next.nesting = self.outgoing.nesting;
        next.summary.page.clone_from(&self.outgoing.summary.page);
        next.summary.renew = is_renewed;
        Ok(Some(next))
    }

    /// The request for the target of a link, if a run wants it. A page may link to very many known
    /// pages, so all checks that do not need the new request come first.
    fn page(&self, found: &References, chosen: &ChosenLink<'_>) -> Option<Outgoing> {
        let url = &chosen.url;
        if self.wanting.is_empty() || chosen.link.class == Class::Refresh {
            return None;
        }
        let key = self.key(chosen)?;
        let is_unwelcome = found.nofollow || chosen.link.nofollow;
        let members = self.collect_members(|run, wanting| {
            let Some(depth) = wanting.member.depth.checked_sub(1) else {
                run.count_too_far(key, url.as_str());
                return None;
            };
            if wanting.heeds_robots && is_unwelcome {
                run.count_left_out(LeftOut::NoFollow, url.as_str());
                return None;
            }
            if run.knows(&key, depth) {
                return None;
            }
            if !run.is_in_scope(url) {
                run.count_left_out(LeftOut::Scope, url.as_str());
                return None;
            }
            Some(RunMembership { depth, ..wanting.member })
        });
        if members.is_empty() {
            return None;
        }
        let mut next = self.request_for(&self.sub(chosen)?, chosen)?;
        let takes = |member: &RunMembership| {
            let take = |run: &mut Run| run.page(url, key, member.depth, self.now);
            self.runs.change(member.run, take).is_some_and(is_to_do)
        };
        next.summary.runs = members.into_iter().filter(takes).collect();
        next.summary.renew |= self.is_forced(&next.summary.runs);
        next.summary.page = Some(self.url.as_str().to_owned());
        (!next.summary.runs.is_empty()).then_some(next)
    }

    /// The resource at `chosen`. If it cannot be fetched, counts it as left out and returns `None`.
    fn sub(&self, chosen: &ChosenLink<'_>) -> Option<SubResource> {
        let sub = SubResource::of(self, chosen);
        if sub.is_none() {
            self.count_left_out(LeftOut::Url, &chosen.url);
        }
        sub
    }

    /// The key of a request for the resource; `None` if the resource cannot be fetched. If no
    /// secrets are sent, the key follows from the URL.
    fn key(&self, chosen: &ChosenLink<'_>) -> Option<Key> {
        let is_plain =
            self.is_plain && chosen.url.user().is_none() && chosen.url.password().is_none();
        if is_plain { Some(chosen.key) } else { self.sub(chosen).map(|sub| sub.key()) }
    }

    /// Calls `take` for each run that wants this document, and returns the memberships of those
    /// that accept.
    fn collect_members(
        &self,
        take: impl Fn(&mut Run, &RunTarget) -> Option<RunMembership>,
    ) -> Vec<RunMembership> {
        let ask =
            |wanting: &RunTarget| self.runs.change(wanting.member.run, |run| take(run, wanting));
        self.wanting.iter().filter_map(ask).flatten().collect()
    }

    /// Whether any of these runs requires a request to the origin.
    fn is_forced(&self, members: &[RunMembership]) -> bool {
        let is_among =
            |wanting: &&RunTarget| members.iter().any(|member| member.run == wanting.member.run);
        self.wanting.iter().filter(is_among).any(|wanting| wanting.spec.force)
    }

    /// Whether all runs that want this document already know the sub-resource with this `key`.
    /// `left` returns the number of links that a run may follow from the sub-resource. `false` if
    /// no run wants the document.
    fn is_known_to_all_runs(&self, key: &Key, left: impl Fn(&RunTarget) -> Option<u16>) -> bool {
        let knows = |wanting: &RunTarget| {
            let knows = |run: &Run| run.ended.is_some() || run.knows_part(key, left(wanting));
            self.runs.with_run(wanting.member.run, knows).unwrap_or(true)
        };
        !self.wanting.is_empty() && self.wanting.iter().all(knows)
    }

    /// The request for a resource that this document refers to; `None` if the configuration leaves
    /// it out.
    fn request_for(&self, sub: &SubResource, chosen: &ChosenLink<'_>) -> Option<Outgoing> {
        if self.is_saved(chosen) {
            self.count_left_out(LeftOut::Saver, &chosen.url);
            return None;
        }
        let request = sub.request(self, chosen.link.class);
        if request.is_none() {
            self.count_left_out(LeftOut::Rule, &chosen.url);
        }
        request
    }

    /// Whether the data saver leaves the sub-resource out, whatever its length.
    fn is_saved(&self, chosen: &ChosenLink<'_>) -> bool {
        let page = self.page_of_parts();
        !self.is_wanted_whole()
            && saver::leaves_out(&self.config, part(chosen.link.class), &chosen.url, &page)
    }

    /// Whether a run wants what the data saver leaves out.
    fn is_wanted_whole(&self) -> bool {
        self.wanting.iter().any(|wanting| wanting.spec.whole)
    }

    /// The page that shows the sub-resources of this document.
    fn page_of_parts(&self) -> CanonicalUrl {
        let page = self.outgoing.summary.page.as_ref();
        let page = page.filter(|_| self.outgoing.summary.class.is_some());
        let page = page.and_then(|page| CanonicalUrl::parse(page, &self.context.base.local).ok());
        page.unwrap_or_else(|| self.url.clone())
    }

    /// The stored copy of the resource, as served offline; `None` if it is missing.
    async fn stored_sub_resource(&self, sub: &SubResource) -> Result<Option<StoredCopy>, String> {
        let found = look_up(&self.context.storage.store, &sub.places).await;
        Ok(found.map_err(|error| error_chain(&error))?.choose(Mode::Offline))
    }
}

//! What a kept answer leads to: its parts, and for a recursive fetch the pages that it links to.

use std::sync::Arc;

use hyper::header::{
    ACCEPT, ACCEPT_LANGUAGE, AUTHORIZATION, COOKIE, HeaderValue, REFERER, USER_AGENT,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request};
use jiff::Timestamp;
use tracing::debug;
use wwwoffle_config::{Config, UrlParts};
use wwwoffle_spool::{Outgoing, RequestKind, Wish};
use wwwoffle_url::CanonicalUrl;

use super::aim::Aim;
use super::choose::{Chosen, MAX_NESTING, Wanted, What, choose};
use super::read::read;
use super::robots;
use super::run::{LeftOut, Outcome, Step};
use crate::clock;
use crate::daemon::Daemon;
use crate::error_chain::error_chain;
use crate::fetch::attempt::{base, owner};
use crate::fetch::want;
use crate::links::{Class, Found, Want};
use crate::mode::Mode;
use crate::proxy::ask::Ask;
use crate::proxy::lookup::look_up;
use crate::proxy::owner::Owner;
use crate::proxy::rules::{Ruling, Standing};
use crate::proxy::target::of_url;
use crate::store::{Kept, timestamp};
use crate::upstream::{Origin, Scheme};

/// A page or a part that is kept, and what it is to be read for.
struct Document<'a> {
    outgoing: &'a Outgoing,
    /// The request for it, with its secrets.
    request: &'a Parts,
    owner: Owner,
    url: CanonicalUrl,
    origin: Origin,
    config: Arc<Config>,
    /// Those who want it, how many links they follow from it, and whether these ask to be heeded.
    wishes: Vec<Wanting>,
    /// What was checked since then need not be asked about again.
    since: Timestamp,
    now: Timestamp,
}

/// A run that wants a document.
struct Wanting {
    wish: Wish,
    aim: Aim,
    heeds_robots: bool,
}

/// The requests that the answer `kept` to `outgoing` leads to. `request` is it as it was recorded.
///
/// # Errors
///
/// Why that cannot be told, in words for a person; then it is to be asked again.
pub(in crate::fetch) async fn follow(
    daemon: &Arc<Daemon>,
    outgoing: &Outgoing,
    request: &Parts,
    kept: &Arc<Kept>,
) -> Result<Vec<Outgoing>, String> {
    if !kept.status.is_success() {
        return Ok(Vec::new());
    }
    let document = Document::of(daemon, outgoing, request)?;
    let found = match read(&daemon.store, kept, &browser(&document.config)).await {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(Vec::new()),
        Err(error) => {
            // The page is kept; it only tells nothing.
            debug!(url = document.url.as_str(), error = error_chain(&error), "not read");
            return Ok(Vec::new());
        }
    };
    let aims: Vec<_> = document.wishes.iter().map(|wanting| &wanting.aim).collect();
    // Which parts a page has is a matter of the page, also where a style sheet names them.
    let page = outgoing.page.as_deref().filter(|_| outgoing.class.is_some());
    let page = page.and_then(|page| CanonicalUrl::parse(page, &daemon.local).ok());
    let wanted = Wanted::of(&document.config, page.as_ref().unwrap_or(&document.url), &aims);
    let mut next = Vec::new();
    for chosen in choose(&found, &document.url, &wanted, &daemon.local) {
        if let Some(request) = document.consider(daemon, &found, &chosen).await? {
            next.push(request);
        }
    }
    for wanting in &document.wishes {
        super::runs::ended(daemon, wanting.wish.run);
    }
    Ok(next)
}

/// For which browser candidates are chosen.
pub(super) fn browser(config: &Config) -> Want {
    let options = &config.fetch_options;
    Want {
        width: u32::try_from(options.window_width.get()).unwrap_or(u32::MAX),
        density_percent: u32::try_from(options.pixel_density.get()).unwrap_or(u32::MAX),
        all_candidates: options.all_candidates,
        ..Want::default()
    }
}

impl<'a> Document<'a> {
    fn of(daemon: &Daemon, outgoing: &'a Outgoing, request: &'a Parts) -> Result<Self, String> {
        let resource =
            of_url(base(outgoing), &daemon.local).map_err(|error| error_chain(&error))?;
        let config = daemon.config();
        let mut since = outgoing.queued;
        let mut wishes = Vec::new();
        for wish in &outgoing.wishes {
            let known = daemon.fetcher.runs().look(wish.run, |run| (run.aim.clone(), run.begun));
            let Some((aim, begun)) = known else { continue };
            since = since.min(begun);
            let heeds_robots = robots::are_heeded(&config, &resource.url, &aim);
            wishes.push(Wanting { wish: *wish, aim, heeds_robots });
        }
        Ok(Self {
            outgoing,
            request,
            owner: owner(outgoing)?,
            url: resource.url.without_credentials(),
            origin: resource.origin,
            config,
            wishes,
            since,
            now: timestamp(clock::now()),
        })
    }

    async fn consider(
        &self,
        daemon: &Arc<Daemon>,
        found: &Found,
        chosen: &Chosen<'_>,
    ) -> Result<Option<Outgoing>, String> {
        match chosen.what {
            What::LeftOut(why) => self.leave_out(daemon, why, &chosen.url),
            // What a document itself says of a reference is told by looking at the page.
            What::ByKind(_) => {}
            What::Part if self.nesting() > MAX_NESTING => {
                self.leave_out(daemon, LeftOut::Depth, &chosen.url);
            }
            What::Part => return self.part(daemon, chosen).await,
            What::Onward => return self.onward(daemon, chosen).await,
            What::Page => return Ok(self.page(daemon, found, chosen)),
        }
        Ok(None)
    }

    fn leave_out(&self, daemon: &Daemon, why: LeftOut, url: &CanonicalUrl) {
        for wanting in &self.wishes {
            let run = wanting.wish.run;
            daemon.fetcher.runs().change(run, |run| run.leave_out(why, url.as_str()));
        }
    }

    /// How many parts lie between a part that this names and its page.
    fn nesting(&self) -> u8 {
        self.outgoing.class.as_ref().map_or(0, |_| self.outgoing.nesting.saturating_add(1))
    }

    async fn part(
        &self,
        daemon: &Arc<Daemon>,
        chosen: &Chosen<'_>,
    ) -> Result<Option<Outgoing>, String> {
        let Some(mut next) = self.request_for(daemon, chosen) else { return Ok(None) };
        let (key, url) = (next.outgoing.place.key(), chosen.url.as_str());
        let runs = daemon.fetcher.runs();
        next.outgoing.wishes.clear();
        for Wanting { wish, .. } in &self.wishes {
            let step = runs.change(wish.run, |run| run.part(url, key, self.now));
            if matches!(step, Some(Ok(Step::Fetch | Step::Follow))) {
                next.outgoing.wishes.push(Wish { depth: 0, ..*wish });
            }
        }
        if next.outgoing.wishes.is_empty() && !self.wishes.is_empty() {
            return Ok(None);
        }
        let kept = look_up(&daemon.store, &next.ask.places).await;
        let kept = kept.map_err(|error| error_chain(&error))?.choose(Mode::Offline);
        if kept.is_some_and(|kept| kept.entry.checked() >= self.since) {
            super::runs::came(daemon, &next.outgoing, Outcome::Kept, 0);
            return Ok(None);
        }
        next.outgoing.class = Some(chosen.link.class.name().to_owned());
        next.outgoing.nesting = self.nesting();
        let page = self.outgoing.page.as_ref().filter(|_| self.outgoing.class.is_some());
        next.outgoing.page = page.cloned().or_else(|| Some(self.url.as_str().to_owned()));
        Ok(Some(next.outgoing))
    }

    /// Where a page goes by itself: it is fetched in place of the page, as after a redirect.
    async fn onward(
        &self,
        daemon: &Arc<Daemon>,
        chosen: &Chosen<'_>,
    ) -> Result<Option<Outgoing>, String> {
        let hops = self.outgoing.hops.saturating_add(1);
        if hops > crate::fetch::redirect::MAX_HOPS {
            return Ok(None);
        }
        let Some(mut next) = self.request_for(daemon, chosen) else { return Ok(None) };
        let key = next.outgoing.place.key();
        next.outgoing.wishes.clear();
        for Wanting { wish, .. } in &self.wishes {
            let step = daemon.fetcher.runs().change(wish.run, |run| {
                run.moved(&self.url, &chosen.url);
                run.page(&chosen.url, key, wish.depth, self.now)
            });
            if matches!(step, Some(Ok(Step::Fetch | Step::Follow))) {
                next.outgoing.wishes.push(*wish);
            }
        }
        if next.outgoing.wishes.is_empty() && !self.wishes.is_empty() {
            return Ok(None);
        }
        let kept = look_up(&daemon.store, &next.ask.places).await;
        let kept = kept.map_err(|error| error_chain(&error))?.choose(Mode::Offline);
        if self.wishes.is_empty() && kept.is_some() && !self.outgoing.renew {
            return Ok(None);
        }
        next.outgoing.hops = hops;
        next.outgoing.class.clone_from(&self.outgoing.class);
        next.outgoing.nesting = self.outgoing.nesting;
        next.outgoing.page.clone_from(&self.outgoing.page);
        next.outgoing.renew = self.outgoing.renew;
        Ok(Some(next.outgoing))
    }

    fn page(&self, daemon: &Arc<Daemon>, found: &Found, chosen: &Chosen<'_>) -> Option<Outgoing> {
        if self.wishes.is_empty() || chosen.link.class == Class::Refresh {
            return None;
        }
        let mut next = self.request_for(daemon, chosen)?;
        let key = next.outgoing.place.key();
        next.outgoing.wishes.clear();
        let runs = daemon.fetcher.runs();
        for wanting in &self.wishes {
            let wish = &wanting.wish;
            let is_refused = wanting.heeds_robots && (found.nofollow || chosen.link.nofollow);
            let step = runs.change(wish.run, |run| {
                let Some(left) = wish.depth.checked_sub(1) else {
                    run.leave_out(LeftOut::Depth, chosen.url.as_str());
                    return Ok(Step::Nothing);
                };
                if is_refused {
                    run.leave_out(LeftOut::NoFollow, chosen.url.as_str());
                    return Ok(Step::Nothing);
                }
                run.page(&chosen.url, key, left, self.now)
            });
            if let (Some(Ok(Step::Fetch | Step::Follow)), Some(left)) =
                (step, wish.depth.checked_sub(1))
            {
                next.outgoing.wishes.push(Wish { depth: left, ..*wish });
            }
        }
        next.outgoing.page = Some(self.url.as_str().to_owned());
        (!next.outgoing.wishes.is_empty()).then_some(next.outgoing)
    }

    /// The request that this document leads to; `None` where the configuration has it left out.
    fn request_for(&self, daemon: &Daemon, chosen: &Chosen<'_>) -> Option<Sub> {
        let resource = of_url(&chosen.link.url, &daemon.local).ok()?;
        let parts = self.sub_request(&resource.origin, chosen.link.class);
        let (owner, mode) = (self.owner.clone(), daemon.mode.now());
        let ask = Ask::new(daemon, owner, resource, parts, None, mode, clock::now());
        let is_usual = ask.ruling == Ruling::Usual(Standing::Usual)
            || matches!(ask.ruling, Ruling::Moved { .. });
        let may = *self.config.dont_get.get_recursive.of(&UrlParts::of(&ask.bare));
        if !is_usual || !may {
            self.leave_out(daemon, LeftOut::Rule, &chosen.url);
            return None;
        }
        let outgoing = want::outgoing(daemon, &ask, self.kind());
        Some(Sub { ask, outgoing })
    }

    fn kind(&self) -> RequestKind {
        match self.outgoing.kind {
            RequestKind::Recursive => RequestKind::Recursive,
            RequestKind::Monitored => RequestKind::Monitored,
            RequestKind::Page | RequestKind::Part | RequestKind::Refresh | RequestKind::Post => {
                RequestKind::Part
            }
        }
    }

    /// The request as the browser that asked for the document would make it. Secrets go to the same
    /// origin and nowhere else.
    fn sub_request(&self, to: &Origin, class: Class) -> Parts {
        let mut request = Request::new(());
        *request.method_mut() = Method::GET;
        let fields: &mut HeaderMap = request.headers_mut();
        for name in [USER_AGENT, ACCEPT_LANGUAGE] {
            if let Some(value) = self.request.headers.get(&name) {
                fields.insert(name, value.clone());
            }
        }
        fields.insert(ACCEPT, HeaderValue::from_static(accepted(class)));
        let is_to_less = self.origin.scheme == Scheme::Https && to.scheme != Scheme::Https;
        if !is_to_less && let Ok(referrer) = HeaderValue::from_str(self.url.as_str()) {
            fields.insert(REFERER, referrer);
        }
        if *to == self.origin {
            for name in [COOKIE, AUTHORIZATION] {
                for value in self.request.headers.get_all(&name) {
                    fields.append(name.clone(), value.clone());
                }
            }
        }
        request.into_parts().0
    }
}

/// A request that a document leads to.
struct Sub {
    ask: Ask,
    outgoing: Outgoing,
}

/// What browsers say they take for a class of references.
fn accepted(class: Class) -> &'static str {
    match class {
        Class::Image | Class::Icon | Class::Preview => "image/avif,image/webp,image/*,*/*;q=0.8",
        Class::Stylesheet => "text/css,*/*;q=0.1",
        Class::Page | Class::Frame | Class::IFrame | Class::Refresh => {
            "text/html,application/xhtml+xml,*/*;q=0.8"
        }
        _ => "*/*",
    }
}

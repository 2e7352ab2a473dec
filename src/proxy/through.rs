//! Asking the origin and keeping its answer.

use std::sync::Arc;

use hyper::header::{AGE, SET_COOKIE};
use hyper::{Response, Version};
use tokio::sync::mpsc;
use tracing::debug;

use super::amend::Foreign;
use super::ask::Ask;
use super::body::{self, Body};
use super::choose::Found;
use super::conditional::{self, Conditions};
use super::download::{AnswerHead, Download, FeedReader, Headed, Job, Joined, run};
use super::fields::{CACHE_STATUS, add_via};
use super::freshen::Confirmed;
use super::status::{CacheStatus, NotStored};
use super::{Client, KeptFor, MAX_INTERIMS, how_kept};
use super::{kept, pass, reply};
use crate::daemon::Daemon;
use crate::store::Kept;
use crate::upstream::{Failure, Interim};

/// Asks the origin, joining whoever asks the same already, and answers with what comes.
pub(super) async fn fetch(
    daemon: &Arc<Daemon>,
    client: &Client,
    mut ask: Ask,
    found: &Found,
) -> Response<Body> {
    // The origin judges our copy, we judge the client's.
    let conditions = Conditions::of(&ask.fields);
    conditional::strip(&mut ask.fields);
    let (ask, conditions) = (&ask, &conditions);
    let turn = Turn { daemon, client, ask, found, conditions };
    let downloads = &daemon.downloads;
    let alone = || downloads.alone(&ask.place, &ask.fields, ask.now);
    if ask.post.is_some() {
        return turn.lead(alone()).await;
    }
    match downloads.join(&ask.place, &ask.fields, ask.now) {
        Joined::New(download) => turn.lead(download).await,
        Joined::Running(download) => match turn.follow(download).await {
            Some(response) => response,
            // What is on its way is not for this client: it gets its own.
            None => turn.lead(alone()).await,
        },
    }
}

/// One client's request for an answer that will be kept.
#[derive(Clone, Copy)]
struct Turn<'a> {
    daemon: &'a Arc<Daemon>,
    client: &'a Client,
    ask: &'a Ask,
    found: &'a Found,
    conditions: &'a Conditions,
}

impl Turn<'_> {
    /// Starts the download and answers with what it brings.
    async fn lead(self, download: Arc<Download>) -> Response<Body> {
        let reader = download.feed().read();
        let (interim, interims) = mpsc::channel(MAX_INTERIMS);
        // RFC 9110 §15.2: a client of HTTP/1.0 knows no interim answers.
        let job = self.job((self.ask.version > Version::HTTP_10).then_some(interim));
        let task = run(Arc::clone(self.daemon), job, Arc::clone(&download));
        self.daemon.tasks.spawn(task);
        match self.headed(&download, Some(interims)).await {
            Headed::Keeping(head) => self.keeping(&head, reader, false),
            Headed::Unchanged(confirmed) => self.unchanged(confirmed),
            Headed::Passing(reason) => self.passing(&download, NotStored::Answer(reason)),
            Headed::Unkeepable(_) => self.passing(&download, NotStored::Spool),
            Headed::Failed(failure) => self.failed(&failure),
        }
    }

    /// Waits for somebody else's download; `None` when its answer is not for this client.
    async fn follow(self, download: Arc<Download>) -> Option<Response<Body>> {
        let reader = download.feed().read()?;
        match self.headed(&download, None).await {
            // A cookie that is set is for one client: two of them must not share a session.
            Headed::Keeping(head)
                if download.serves(&self.ask.fields, &head.fields)
                    && !head.fields.contains_key(SET_COOKIE) =>
            {
                Some(self.keeping(&head, Some(reader), true))
            }
            Headed::Unchanged(confirmed)
                if download.serves(&self.ask.fields, &confirmed.fields)
                    && !confirmed.fields.contains_key(SET_COOKIE)
                    && self.takes(&confirmed.kept) =>
            {
                Some(self.unchanged(confirmed))
            }
            Headed::Failed(failure) => Some(self.failed(&failure)),
            Headed::Keeping(_)
            | Headed::Unchanged(_)
            | Headed::Passing(_)
            | Headed::Unkeepable(_) => None,
        }
    }

    fn job(self, interim: Option<mpsc::Sender<Interim>>) -> Job {
        // What a form brings about is new each time.
        let is_form = self.ask.post.is_some();
        let about = self.found.about(|kept| !is_form && self.takes(kept), self.ask.is_personal());
        Job {
            place: self.ask.place.clone(),
            origin: self.ask.resource.origin.clone(),
            head: self.ask.wire(&self.daemon.pseudonym),
            body: self.ask.post.clone(),
            kept: self.found.near().map(|kept| kept.status),
            about,
            unattended: self.ask.config.options.finish_downloads,
            interim,
        }
    }

    /// Whether the client can read what is kept. A copy that it cannot is not asked about: many servers
    /// have one tag for all codings of a page.
    fn takes(self, kept: &Kept) -> bool {
        how_kept(&self.ask.fields, Some(kept)) == KeptFor::Whole
    }

    /// Waits for the head, passing interim answers on meanwhile.
    async fn headed(
        self,
        download: &Download,
        interims: Option<mpsc::Receiver<Interim>>,
    ) -> Headed {
        let Some(mut interims) = interims else { return download.head().await };
        let mut headed = std::pin::pin!(download.head());
        loop {
            tokio::select! {
                biased;
                Some(interim) = interims.recv() => self.client.tell(interim),
                headed = &mut headed => return headed,
            }
        }
    }

    fn keeping(
        self,
        head: &AnswerHead,
        reader: Option<FeedReader>,
        collapsed: bool,
    ) -> Response<Body> {
        let Some(reader) = reader else { return self.failed(&Failure::Abandoned) };
        let mut fields = head.fields.clone();
        add_via(&mut fields, head.version, &self.daemon.pseudonym);
        let status = CacheStatus::Stored { replaces: self.found.own().is_some(), collapsed };
        fields.insert(CACHE_STATUS, status.value());
        let mut response;
        if self.conditions.are_met_by(head.status, &fields) {
            // The download goes on without this client: the page is kept.
            conditional::not_modified(&mut fields);
            response = Response::new(body::empty());
            *response.status_mut() = hyper::StatusCode::NOT_MODIFIED;
        } else {
            response = Response::new(body::download(reader));
            *response.status_mut() = head.status;
        }
        *response.headers_mut() = fields;
        response.extensions_mut().insert(Foreign);
        response
    }

    /// What is kept still holds: it is served with the newer fields (RFC 9111 §3.2, §4.3.4).
    fn unchanged(self, confirmed: Confirmed) -> Response<Body> {
        let Confirmed { kept, fields } = confirmed;
        // Checked just now: it has the age that the origin's answer had, if any.
        let age = fields.get(AGE).cloned();
        let status = CacheStatus::Validated;
        let mut response =
            kept::answer(self.daemon, self.ask, &kept, fields, self.conditions, status);
        match age {
            Some(age) => response.headers_mut().insert(AGE, age),
            None => response.headers_mut().remove(AGE),
        };
        response
    }

    fn passing(self, download: &Download, why: NotStored) -> Response<Body> {
        match download.take() {
            Some(answer) => pass::respond(self.daemon, answer, why),
            None => self.failed(&Failure::Abandoned),
        }
    }

    /// The origin could not be asked: what is kept is better than nothing (RFC 9111 §4.2.4).
    fn failed(self, failure: &Failure) -> Response<Body> {
        let url = self.ask.resource.url.as_str();
        debug!(url, failure = failure.chain(), "the origin gave no answer");
        match self.found.near() {
            Some(kept) if self.ask.post.is_none() => {
                let status = CacheStatus::Unreachable;
                let fields = kept.fields.clone();
                kept::answer(self.daemon, self.ask, kept, fields, self.conditions, status)
            }
            _ => reply::failed(self.daemon, self.ask, failure),
        }
    }
}

//! Asking the origin and keeping its answer.

use std::sync::Arc;

use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, DATE, HeaderName, SET_COOKIE};
use hyper::{HeaderMap, Response, StatusCode, Version};
use tokio::sync::mpsc;
use tracing::debug;

use super::amend::Foreign;
use super::ask::Ask;
use super::body::{self, Body};
use super::conditional::{self, Conditions};
use super::download::{AnswerHead, Download, FeedReader, Headed, Job, Joined, run};
use super::fields::{CACHE_STATUS, add_via};
use super::status::{CacheStatus, NotStored};
use super::{Client, MAX_INTERIMS};
use super::{kept, pass, recode, reply};
use crate::daemon::Daemon;
use crate::store::Kept;
use crate::upstream::{Failure, Interim};

/// Asks the origin, joining whoever asks the same already, and answers with what comes.
///
/// `may_hold` says that what is kept would do if the origin says that it still holds. A copy that
/// this client cannot read would not: many servers have one tag for all codings of a page.
pub(super) async fn fetch(
    daemon: &Arc<Daemon>,
    client: &Client,
    mut ask: Ask,
    kept: Option<Arc<Kept>>,
    may_hold: bool,
) -> Response<Body> {
    // The origin judges our copy, we judge the client's.
    let conditions = Conditions::of(&ask.fields);
    conditional::strip(&mut ask.fields);
    let (kept, conditions) = (kept.as_ref(), &conditions);
    let turn = Turn { daemon, client, ask: &ask, kept, may_hold, conditions };
    if let Some(response) = turn.answer().await {
        return response;
    }
    // It came in a coding that this client does not take, and that nobody may change.
    ask.codings.ask_as_the_client();
    let turn = Turn { daemon, client, ask: &ask, kept, may_hold: false, conditions };
    match turn.lead(turn.alone()).await {
        Some(response) => response,
        // Only what we asked for by ourselves is asked for anew.
        None => turn.failed(&Failure::Ours),
    }
}

/// One client's request for an answer that will be kept.
#[derive(Clone, Copy)]
struct Turn<'a> {
    daemon: &'a Arc<Daemon>,
    client: &'a Client,
    ask: &'a Ask,
    kept: Option<&'a Arc<Kept>>,
    may_hold: bool,
    conditions: &'a Conditions,
}

impl Turn<'_> {
    /// Joins or starts a download; `None` when what it brings is to be asked for anew as the client
    /// takes it.
    async fn answer(self) -> Option<Response<Body>> {
        let ask = self.ask;
        if ask.post.is_some() {
            return self.lead(self.alone()).await;
        }
        match self.daemon.downloads.join(&ask.place, &ask.fields, ask.now) {
            Joined::New(download) => self.lead(download).await,
            Joined::Running(download) => match self.follow(download).await {
                Some(response) => Some(response),
                // What is on its way is not for this client: it gets its own.
                None => self.lead(self.alone()).await,
            },
        }
    }

    /// A download that nobody can join.
    fn alone(self) -> Arc<Download> {
        self.daemon.downloads.alone(&self.ask.place, &self.ask.fields, self.ask.now)
    }

    /// Whether the client can read an answer, or nothing better is to be had: it asked for it itself.
    fn takes(self, status: StatusCode, fields: &HeaderMap) -> bool {
        let codings = &self.ask.codings;
        !codings.asks_ours() || codings.deliver(status, fields).is_readable()
    }

    /// Starts the download and answers with what it brings; `None` as for [`Turn::answer`].
    async fn lead(self, download: Arc<Download>) -> Option<Response<Body>> {
        let reader = download.feed().read();
        let (interim, interims) = mpsc::channel(MAX_INTERIMS);
        // RFC 9110 §15.2: a client of HTTP/1.0 knows no interim answers.
        let job = self.job((self.ask.version > Version::HTTP_10).then_some(interim));
        let task = run(Arc::clone(self.daemon), job, Arc::clone(&download));
        self.daemon.tasks.spawn(task);
        Some(match self.headed(&download, Some(interims)).await {
            Headed::Keeping(head) if !self.takes(head.status, &head.fields) => return None,
            Headed::Keeping(head) => self.keeping(&head, reader, false),
            Headed::Unchanged(fields) => match self.kept {
                Some(kept) => self.unchanged(kept, &fields),
                // Only what we have is asked about.
                None => self.failed(&Failure::Unsendable("a condition of nobody's was met")),
            },
            Headed::Passing(reason) => {
                return self.passing(&download, NotStored::Answer(reason));
            }
            Headed::Unkeepable(_) => return self.passing(&download, NotStored::Spool),
            Headed::Failed(failure) => self.failed(&failure),
        })
    }

    /// Waits for somebody else's download; `None` when its answer is not for this client.
    async fn follow(self, download: Arc<Download>) -> Option<Response<Body>> {
        let reader = download.feed().read()?;
        match self.headed(&download, None).await {
            // A cookie that is set is for one client: two of them must not share a session.
            Headed::Keeping(head)
                if download.serves(&self.ask.fields, &head.fields)
                    && self.ask.codings.deliver(head.status, &head.fields).is_readable()
                    && !head.fields.contains_key(SET_COOKIE) =>
            {
                Some(self.keeping(&head, Some(reader), true))
            }
            Headed::Unchanged(fields) => {
                let kept = self.kept.filter(|_| self.may_hold)?;
                download
                    .serves(&self.ask.fields, &kept.fields)
                    .then(|| self.unchanged(kept, &fields))
            }
            Headed::Failed(failure) => Some(self.failed(&failure)),
            Headed::Keeping(_) | Headed::Passing(_) | Headed::Unkeepable(_) => None,
        }
    }

    fn job(self, interim: Option<mpsc::Sender<Interim>>) -> Job {
        let mut head = self.ask.wire(&self.daemon.pseudonym);
        if let Some(kept) = self.kept
            && self.may_hold
        {
            conditional::add_ours(head.headers_mut(), &kept.fields, self.ask.is_personal());
        }
        Job {
            place: self.ask.place.clone(),
            origin: self.ask.resource.origin.clone(),
            head,
            body: self.ask.post.clone(),
            kept: self.kept.map(|kept| kept.status),
            unattended: self.ask.config.options.finish_downloads,
            interim,
        }
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
        let delivery = self.ask.codings.deliver(head.status, &fields);
        delivery.amend(&mut fields);
        add_via(&mut fields, head.version, &self.daemon.pseudonym);
        let status = CacheStatus::Stored { replaces: self.kept.is_some(), collapsed };
        fields.insert(CACHE_STATUS, status.value());
        let mut response;
        if self.conditions.are_met_by(head.status, &fields) {
            // The download goes on without this client: the page is kept.
            conditional::not_modified(&mut fields);
            response = Response::new(body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            response = Response::new(recode::body(delivery, body::download(reader)));
            *response.status_mut() = head.status;
        }
        *response.headers_mut() = fields;
        response.extensions_mut().insert(Foreign);
        response
    }

    /// What is kept still holds: it is served with the newer fields (RFC 9111 §3.2, §4.3.4).
    fn unchanged(self, kept: &Arc<Kept>, newer: &HeaderMap) -> Response<Body> {
        let mut fields = kept.fields.clone();
        // The client may have a newer one by now, or be somebody else.
        fields.remove(SET_COOKIE);
        // These tell of the body, and it is the kept one.
        let is_of_body = |name: &HeaderName| *name == CONTENT_LENGTH || *name == CONTENT_ENCODING;
        for name in newer.keys().filter(|name| !is_of_body(name)) {
            fields.remove(name);
            for value in newer.get_all(name) {
                fields.append(name.clone(), value.clone());
            }
        }
        let status = CacheStatus::Validated;
        let mut response =
            kept::answer(self.daemon, self.ask, kept, fields, self.conditions, status);
        if newer.contains_key(DATE) {
            // Checked just now: its age begins anew.
            response.headers_mut().remove(hyper::header::AGE);
        }
        response
    }

    fn passing(self, download: &Download, why: NotStored) -> Option<Response<Body>> {
        match download.take() {
            Some(answer) if !self.takes(answer.status(), answer.headers()) => None,
            Some(answer) => Some(pass::respond(self.daemon, self.ask, answer, why)),
            None => Some(self.failed(&Failure::Abandoned)),
        }
    }

    /// The origin could not be asked: what is kept is better than nothing (RFC 9111 §4.2.4).
    fn failed(self, failure: &Failure) -> Response<Body> {
        let url = self.ask.resource.url.as_str();
        debug!(url, failure = failure.chain(), "the origin gave no answer");
        match self.kept {
            Some(kept) if self.ask.post.is_none() => {
                let status = CacheStatus::Unreachable;
                let fields = kept.fields.clone();
                kept::answer(self.daemon, self.ask, kept, fields, self.conditions, status)
            }
            _ => reply::failed(self.daemon, self.ask, failure),
        }
    }
}

//! Queues the requests of an archive, and removes answered requests from the queue.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use wwwoffle_spool::{
    AddOutcome, FinishOutcome, Monitor, Outgoing, Place, RequestKind, RequesterLocation, Schedule,
    Secrets,
};
use wwwoffle_url::CanonicalUrl;

use super::Import;
use crate::detect::ArchiveKind;
use crate::error::{ItemFault, Result};
use crate::item::QueuedRequest;
use crate::refusal::Reason;

impl Import<'_> {
    /// Adds a request to the queue.
    pub(super) fn queue(&mut self, waiting: QueuedRequest) -> Result<(), ItemFault> {
        let outgoing = self.outgoing(waiting)?;
        if self.options.dry_run {
            self.report.requests.queued += 1;
            return Ok(());
        }
        match self.spool.queue().add(&outgoing).map_err(ItemFault::of_spool)? {
            AddOutcome::New | AddOutcome::Stronger => self.report.requests.queued += 1,
            AddOutcome::Already => self.report.same += 1,
        }
        Ok(())
    }

    /// Monitors a page, unless it is already monitored.
    pub(super) fn monitor(
        &mut self,
        waiting: QueuedRequest,
        schedule: Schedule,
        last_run: Option<Timestamp>,
    ) -> Result<(), ItemFault> {
        let mut request = self.outgoing(waiting)?;
        if request.summary.kind != RequestKind::Page {
            return Err(ItemFault::Refused("forms cannot be monitored".into()));
        }
        request.summary.kind = RequestKind::Monitored;
        request.summary.renew = true;
        let monitors = self.spool.monitors();
        if monitors.summary(&request.summary.place.key()).is_some() {
            self.report.same += 1;
            return Ok(());
        }
        if self.options.dry_run {
            self.report.requests.monitored += 1;
            return Ok(());
        }
        let monitor = Monitor {
            last_run: last_run.map(|last| last.min(self.options.now)),
            request,
            schedule,
            versions: 0,
            report: None,
            reported: None,
        };
        monitors.set(&monitor).map_err(ItemFault::of_spool)?;
        self.report.requests.monitored += 1;
        Ok(())
    }

    fn outgoing(&self, waiting: QueuedRequest) -> Result<Outgoing, Reason> {
        let QueuedRequest { url, head, body, when, page, recursion } = waiting;
        // A spool of 2.9 belongs to the user. A bundle may come from a stranger. So requests of a
        // bundle must not contain secrets, and must not reach addresses that only this machine can
        // reach.
        let is_own = self.kind == ArchiveKind::Classic;
        let (kind, key) = match head.method.as_str() {
            "GET" if body.is_empty() => (RequestKind::Page, url.clone()),
            // Only the person who filled in a form may send it.
            "POST" | "PUT" if !is_own => return Err("forms of an archive are not sent".into()),
            method @ ("POST" | "PUT")
                if url.protocol().starts_with("http")
                    || (method, url.protocol()) == ("PUT", "ftp") =>
            {
                (RequestKind::Post, url.with_form(method, &Sha256::digest(&body).into()))
            }
            _ => return Err("its method is not supported for this URL".into()),
        };
        let secrets = if is_own { secrets(&url, &head) } else { Vec::new() };
        let place = match key.user() {
            Some(user) => {
                let name = Place::login_name(&user);
                Place::queued_for_login(&key.without_credentials(), &name)
            }
            None => Place::of(&key),
        };
        let mut request = Outgoing::new(place, head.bytes(), kind, when.min(self.options.now));
        request.body = body;
        request.summary.page =
            page.filter(|page| CanonicalUrl::parse(page, &self.options.local).is_ok());
        request.summary.asked_from =
            if is_own { RequesterLocation::Here } else { RequesterLocation::Elsewhere };
        let options = recursion.map(|arguments| self.placing.recursion(&arguments)).transpose();
        request.options = options?;
        if !secrets.is_empty() {
            request.secrets = Secrets::Open(secrets);
        }
        Ok(request)
    }

    /// Removes a queued request for which the response was stored.
    pub(super) fn remove_answered(&mut self, url: &CanonicalUrl, when: Timestamp) -> Result<()> {
        let (queue, key) = (self.spool.queue(), Place::of(url).key());
        let Some(summary) = queue.summary(&key).filter(|summary| summary.queued <= when) else {
            return Ok(());
        };
        if self.options.dry_run || summary.renew && summary.kind == RequestKind::Monitored {
            return Ok(());
        }
        let Some(request) = queue.get(&key)? else { return Ok(()) };
        // A request with a cookie or password would have had another response, and options demand
        // more than the page, such as a copy from a web archive. Such a request stays in the queue.
        let is_answered = request.secrets == Secrets::None && request.options.is_none();
        if is_answered && queue.finish(&request)? == FinishOutcome::Gone {
            self.report.requests.answered += 1;
        }
        Ok(())
    }
}

/// The secret fields as lines, including a login in the URL.
fn secrets(url: &CanonicalUrl, head: &crate::head::RequestHead) -> Vec<u8> {
    let mut lines = Vec::new();
    for (name, field) in [("Cookie", "cookie"), ("Authorization", "authorization")] {
        for value in head.fields.all(field) {
            lines.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
    }
    if let Some(user) = url.user().filter(|_| !head.fields.has("authorization")) {
        let login = [&*user, b":", &*url.password().unwrap_or_default()].concat();
        let login = STANDARD.encode(login);
        lines.extend(format!("Authorization: Basic {login}\r\n").into_bytes());
    }
    lines
}

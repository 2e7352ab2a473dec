//! Requests of an archive: on the queue, and off it when they are answered.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use wwwoffle_spool::{
    Added, AskedFrom, Finished, Monitor, Outgoing, Place, RequestKind, Schedule, Secrets, Set,
};
use wwwoffle_url::CanonicalUrl;

use super::Import;
use crate::detect::Kind;
use crate::error::Result;
use crate::item::Waiting;
use crate::refusal::Reason;

impl Import<'_> {
    /// Puts a request on the queue.
    pub(super) fn queue(&mut self, waiting: Waiting) -> Result<Result<(), Reason>> {
        let outgoing = match self.outgoing(waiting) {
            Ok(outgoing) => outgoing,
            Err(reason) => return Ok(Err(reason)),
        };
        if self.options.dry_run {
            self.report.queued += 1;
            return Ok(Ok(()));
        }
        match self.spool.queue().add(&outgoing) {
            Ok(Added::New | Added::Stronger) => self.report.queued += 1,
            Ok(Added::Already) => self.report.same += 1,
            Err(error) if error.is_invalid() || error.is_too_large() || error.is_queue_full() => {
                return Ok(Err(error.to_string().into()));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Ok(()))
    }

    /// Monitors a page, unless it is monitored already.
    pub(super) fn monitor(
        &mut self,
        waiting: Waiting,
        schedule: Schedule,
    ) -> Result<Result<(), Reason>> {
        let mut request = match self.outgoing(waiting) {
            Ok(request) if request.kind == RequestKind::Page => request,
            Ok(_) => return Ok(Err("a form is not sent on a schedule".into())),
            Err(reason) => return Ok(Err(reason)),
        };
        request.kind = RequestKind::Monitored;
        request.renew = true;
        let monitors = self.spool.monitors();
        if monitors.summary(&request.place.key()).is_some() {
            self.report.same += 1;
            return Ok(Ok(()));
        }
        if self.options.dry_run {
            self.report.monitored += 1;
            return Ok(Ok(()));
        }
        // It was looked at then.
        let monitor = Monitor { last_run: Some(request.queued), request, schedule, versions: 0 };
        match monitors.set(&monitor) {
            Ok(Set::New | Set::Changed) => self.report.monitored += 1,
            Err(error)
                if error.is_invalid() || error.is_too_large() || error.is_monitors_full() =>
            {
                return Ok(Err(error.to_string().into()));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Ok(()))
    }

    fn outgoing(&self, waiting: Waiting) -> Result<Outgoing, Reason> {
        let Waiting { url, head, body, when, page, recursion } = waiting;
        // The spool of 2.9 is the user's own. A bundle comes from anybody: it may neither send secrets of its
        // own nor reach what this machine alone can.
        let is_own = self.kind == Kind::Classic;
        let (kind, key) = match head.method.as_str() {
            "GET" if body.is_empty() => (RequestKind::Page, url.clone()),
            // A form is sent by whoever has filled it in, and by nobody else in their name.
            "POST" if !is_own => return Err("forms do not travel".into()),
            "POST" => (RequestKind::Post, url.with_post(&Sha256::digest(&body).into())),
            _ => return Err("it is neither a GET nor a form".into()),
        };
        let secrets = if is_own { secrets(&url, &head) } else { Vec::new() };
        let mut request =
            Outgoing::new(Place::of(&key), head.bytes(), kind, when.min(self.options.now));
        request.body = body;
        request.page = page.filter(|page| CanonicalUrl::parse(page, &self.options.local).is_ok());
        request.asked_from = if is_own { AskedFrom::Here } else { AskedFrom::Elsewhere };
        let options = recursion.map(|arguments| self.placing.recursion(&arguments)).transpose();
        request.options = options?;
        if !secrets.is_empty() {
            request.secrets = Secrets::Open(secrets);
        }
        Ok(request)
    }

    /// Takes a request off the queue that an answer has come to since.
    pub(super) fn answers(&mut self, url: &CanonicalUrl, when: Timestamp) -> Result<()> {
        let (queue, key) = (self.spool.queue(), Place::of(url).key());
        let Some(summary) = queue.summary(&key).filter(|summary| summary.queued <= when) else {
            return Ok(());
        };
        if self.options.dry_run || summary.renew && summary.kind == RequestKind::Monitored {
            return Ok(());
        }
        let Some(request) = queue.get(&key)? else { return Ok(()) };
        // With a cookie or a password the answer would have been another.
        if request.secrets == Secrets::None && queue.finish(&request)? == Finished::Gone {
            self.report.answered += 1;
        }
        Ok(())
    }
}

/// The fields that only the origin may see, as lines; a login in the URL is one of them.
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

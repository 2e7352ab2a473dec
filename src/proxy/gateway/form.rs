//! Forms in the gateway: the form of a page, and its confirmation by the person.

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, ORIGIN};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};

use super::super::body::Body;
use super::super::small_body::read_whole;
use super::super::{ask, reply};
use super::{GatewayClient, GatewayRequest};
use crate::base::clock;
use crate::base::mode::Mode;
use crate::base::owner::Owner;
use crate::page::form::SubmittedForm;
use crate::page::gateway as pages;
use crate::page::gateway::Send;
use crate::page::guard::{
    ActionScope, Attempt, GuardVerdict, OtherSites, Token, Transport, guard, single_value,
};
use crate::page::message::Message;
use crate::page::token::Purpose;
use crate::proxy::opener::FETCH_SITE;

/// A form that the person has not confirmed yet.
#[derive(Debug)]
pub(crate) struct PendingForm {
    url: String,
    fields: HeaderMap,
    body: Bytes,
    owner: Owner,
}

impl GatewayClient {
    /// Handles a form that a gateway page sends. Returns the request to carry out, or else the
    /// response.
    ///
    /// Offline the form is handled like a form through the proxy: the person is asked before it is
    /// queued. A form to a host of the local network would go to its origin even offline, so
    /// [`super::question_first`] stops it. In the other modes the response is the page that asks
    /// for confirmation.
    pub(super) async fn posted(
        &self,
        wanted: GatewayRequest,
        parts: &Parts,
        incoming: Incoming,
    ) -> Result<GatewayRequest, Response<Body>> {
        let body = self.body(parts, incoming).await?;
        let GatewayRequest { url, method, mut fields, .. } = wanted;
        fields.insert(CONTENT_LENGTH, body.len().into());
        if self.reader.mode == Mode::Offline {
            return Ok(GatewayRequest { url, method, fields, form: Some(body), is_unasked: true });
        }
        Err(self.question(url, fields, body))
    }

    /// The page that asks whether to send a form.
    pub(super) fn question(&self, url: String, fields: HeaderMap, body: Bytes) -> Response<Body> {
        let context = &self.context;
        let content_type = fields.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.map(str::to_owned);
        let (shown_url, bytes) = (url.clone(), body.len());
        let owner = self.client.connection.owner();
        let posted = PendingForm { url, fields, body, owner: owner.clone() };
        let ticket = match context.confirmations.posted.issue(posted, owner, clock::now()) {
            Ok(ticket) => ticket,
            Err(error) => {
                tracing::error!(%error, "a ticket cannot be created");
                return self.message_page(&Message::Internal);
            }
        };
        let token = context.pages.tokens.confirm(&ticket);
        let send = Send {
            url: &shown_url,
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            content_type: content_type.as_deref(),
            ticket: &ticket,
            token: &token,
        };
        let page = pages::send(&self.shell, &send);
        reply::render(&self.shell, page)
    }

    /// Handles the confirmation of a form. Only a page of ours has the button that confirms.
    /// Returns the request to carry out, or else the response.
    pub(super) async fn confirmed(
        &self,
        parts: &Parts,
        incoming: Incoming,
    ) -> Result<GatewayRequest, Response<Body>> {
        if parts.method != Method::POST {
            return Err(
                self.message_page(&Message::MethodNotAllowed { method: parts.method.as_str() })
            );
        }
        let content_type = parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let body = self.body(parts, incoming).await?;
        let form = SubmittedForm::parse(content_type, &body)
            .map_err(|error| self.bad(&error.to_string()))?;
        let ticket = form.value("ticket").unwrap_or_default();
        let token = match form.value("token") {
            None | Some("") => Token::Absent,
            Some(token) if self.context.pages.tokens.check(Purpose::Confirm(ticket), token) => {
                Token::Right
            }
            Some(_) => Token::Wrong,
        };
        let asked = Attempt {
            over: Transport::Tcp,
            safe_method: false,
            host_is_ours: true,
            fetch_site: single_value(&parts.headers, &FETCH_SITE),
            other_sites: OtherSites::Refused,
            origin: single_value(&parts.headers, &ORIGIN),
            our_origin: self.shell.origin.as_str(),
            token,
            scope: ActionScope::General,
            // Every client that may use the proxy may confirm.
            lacks: None,
        };
        if let GuardVerdict::Refuse(refusal) = guard(&asked) {
            return Err(self.message_page(&Message::Forbidden(refusal)));
        }
        let posted = self.context.confirmations.posted.redeem(ticket, clock::now());
        let posted = posted.filter(|posted| posted.owner == self.client.connection.owner());
        let Some(PendingForm { url, fields, body, .. }) = posted else {
            let mut response = self.bad(GONE);
            *response.status_mut() = StatusCode::GONE;
            return Err(response);
        };
        Ok(GatewayRequest {
            url,
            method: Method::POST,
            fields,
            form: Some(body),
            is_unasked: false,
        })
    }

    async fn body(&self, parts: &Parts, incoming: Incoming) -> Result<Bytes, Response<Body>> {
        if !ask::has_small_body(&parts.headers) {
            return Err(reply::plain(413, "forms of up to 256 KiB are sent from here"));
        }
        let patience = self.context.base.config().options.socket_timeout;
        Box::pin(read_whole(incoming, patience)).await.map_err(|error| error.response())
    }
}

/// The message if the form to confirm is missing: it was sent already, or its ticket has expired.
const GONE: &str = "the form was sent already, or asked about too long ago: send it again";

//! An outgoing request, independent of the protocol version.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full};
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::uri::Scheme as UriScheme;
use hyper::{HeaderMap, Method, Request, StatusCode, Uri, ext};
use tokio::sync::mpsc;
use wwwoffle_http::fields::logs_connection_in;
use wwwoffle_http::head::is_secret;

use super::activity::{Activity, ProgressBody};
use super::{Failure, Interim, LinePosition, NewConnection, Origin, Outbound, RequestBody};
use crate::base::owner::Owner;

/// The fields that HTTP/2 forbids (RFC 9113 §8.2.2), except `TE`. Also `Host`, which becomes the
/// pseudo-field `:authority` (§8.3.1).
pub(super) const ONLY_HTTP1: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
    TRANSFER_ENCODING,
    UPGRADE,
    HOST,
];

/// An outgoing request. It may be tried on several connections until the origin answers.
#[derive(Debug)]
pub(super) struct OutgoingMessage {
    head: Request<()>,
    body: Content,
    activity: Activity,
    interim: Option<mpsc::Sender<Interim>>,
}

#[derive(Debug)]
enum Content {
    Empty,
    Whole(Bytes),
    /// A body that can be read once; `None` while a connection holds it.
    Stream(Option<RequestBody>),
}

/// The recipient of interim responses.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    activity: Activity,
    interim: Option<mpsc::Sender<Interim>>,
}

impl Listener {
    /// Forwards an interim response. Returns `false` if there were too many.
    pub(super) fn forward_interim(&self, status: StatusCode, fields: &HeaderMap) -> bool {
        if !self.activity.interim() {
            return false;
        }
        // hyper's server sends `100-continue` itself when the body is first read, so it is not
        // forwarded.
        if let Some(interim) = &self.interim
            && status != StatusCode::CONTINUE
        {
            // If the client does not read, the channel is full and the interim response is dropped.
            let _full = interim.try_send((status, fields.clone()));
        }
        true
    }
}

impl OutgoingMessage {
    pub(super) fn new(
        head: Request<()>,
        body: Outbound,
        interim: Option<mpsc::Sender<Interim>>,
    ) -> Self {
        let activity = Activity::new();
        let body = match body {
            Outbound::Empty => Content::Empty,
            Outbound::Whole(bytes) => Content::Whole(bytes),
            Outbound::Stream(incoming) => {
                Content::Stream(Some(ProgressBody::new(incoming, activity.clone()).boxed_unsync()))
            }
            Outbound::Stored(body) => {
                let sent = activity.clone();
                let body = body.map_frame(move |frame| {
                    sent.touch();
                    frame
                });
                Content::Stream(Some(body.boxed_unsync()))
            }
        };
        Self { head, body, activity, interim }
    }

    /// The head of the request.
    pub(super) fn head(&self) -> &Request<()> {
        &self.head
    }

    /// Addresses the request to the parent proxy of `origin`, if that receives whole requests.
    /// Otherwise the request gets the form for an origin.
    ///
    /// # Errors
    ///
    /// [`Failure::Unsendable`] if its host or path has no form for a proxy.
    pub(super) fn address(&mut self, origin: &Origin) -> Result<(), Failure> {
        if let Some(via) = origin.via.as_ref().filter(|via| via.takes_requests(origin.scheme)) {
            return via.address(origin, &mut self.head);
        }
        // An earlier attempt may have been addressed to a parent, with our login there.
        if self.head.uri().scheme().is_some() {
            let path = self.head.uri().path_and_query().cloned();
            *self.head.uri_mut() = path.map_or_else(Uri::default, Uri::from);
        }
        self.head.headers_mut().remove(PROXY_AUTHORIZATION);
        Ok(())
    }

    pub(super) fn activity(&self) -> &Activity {
        &self.activity
    }

    pub(super) fn listener(&self) -> Listener {
        Listener { activity: self.activity.clone(), interim: self.interim.clone() }
    }

    /// Whether the response may switch protocols, which HTTP/2 does not support.
    pub(super) fn may_switch(&self) -> bool {
        self.head.headers().contains_key(UPGRADE)
    }

    /// Whether the request needs a new connection of HTTP/1.1.
    pub(super) fn wants_new_connection(&self) -> bool {
        self.head.extensions().get::<NewConnection>().is_some()
    }

    /// The owner of the request, if it has one.
    pub(super) fn owner(&self) -> Option<&Owner> {
        self.head.extensions().get()
    }

    /// Whether the request logs in the connection that carries it. HTTP/2 has no such login,
    /// because requests of several people share a connection.
    pub(super) fn logs_in(&self) -> bool {
        logs_connection_in(self.head.headers())
    }

    /// The record of how far the request has come. `None` if the request has no such record.
    pub(super) fn line_position(&self) -> Option<&LinePosition> {
        self.head.extensions().get()
    }

    /// Whether the request may be sent twice, because its method is safe (RFC 9110 §9.2.1) and it
    /// has no body.
    pub(super) fn is_harmless(&self) -> bool {
        self.head.method().is_safe() && matches!(self.body, Content::Empty)
    }

    /// Whether the body can be sent: it is not a stream that a connection has already taken.
    pub(super) fn is_whole(&self) -> bool {
        !matches!(self.body, Content::Stream(None))
    }

    /// The request for an HTTP/1.1 connection.
    ///
    /// # Errors
    ///
    /// [`Failure::Unprocessed`] if an earlier connection consumed its body.
    pub(super) fn for_http1(&mut self) -> Result<Request<RequestBody>, Failure> {
        let body = self.next_body()?;
        let streams = matches!(self.body, Content::Stream(_));
        let mut request = self.head.clone().map(|()| body);
        if streams && !request.headers().contains_key(CONTENT_LENGTH) {
            // hyper sends no body with a GET unless the framing is explicit.
            request.headers_mut().insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        let listener = self.listener();
        ext::on_informational(&mut request, move |answer| {
            listener.forward_interim(answer.status(), answer.headers());
        });
        Ok(request)
    }

    /// The request for a connection of HTTP/2 (RFC 9113 §8.3.1).
    ///
    /// # Errors
    ///
    /// [`Failure::Unsendable`] if its target is invalid in HTTP/2, [`Failure::Unprocessed`] if an
    /// earlier connection consumed its body.
    pub(super) fn for_http2(
        &mut self,
        origin: &Origin,
    ) -> Result<(Request<()>, RequestBody), Failure> {
        let mut head = self.head.clone();
        let authority = match head.headers().get(HOST) {
            Some(host) => host.as_bytes().to_vec(),
            None => origin.to_string().into_bytes(),
        };
        let path = head.uri().path_and_query().map_or("/", |path| path.as_str());
        *head.uri_mut() = Uri::builder()
            .scheme(UriScheme::HTTPS)
            .authority(&*authority)
            .path_and_query(path)
            .build()
            .map_err(|_| Failure::Unsendable("its host or path has no form in HTTP/2"))?;
        *head.version_mut() = hyper::Version::HTTP_2;
        let says_empty = matches!(*head.method(), Method::POST | Method::PUT | Method::PATCH);
        self.convert_fields(head.headers_mut(), says_empty);
        let body = self.next_body()?;
        Ok((head, body))
    }

    fn convert_fields(&self, fields: &mut HeaderMap, says_empty: bool) {
        let wants_trailers = fields.get_all(TE).iter().any(|value| {
            value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("trailers"))
        });
        for name in &ONLY_HTTP1 {
            fields.remove(name);
        }
        fields.remove(TE);
        if wants_trailers {
            fields.insert(TE, HeaderValue::from_static("trailers"));
        }
        match &self.body {
            Content::Empty if says_empty => {
                fields.insert(CONTENT_LENGTH, HeaderValue::from(0));
            }
            Content::Empty => {
                fields.remove(CONTENT_LENGTH);
            }
            Content::Whole(bytes) => {
                fields.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
            }
            Content::Stream(_) => {}
        }
        // RFC 7541 §7.1: requests of several people share one compression context. An attacker must
        // not be able to probe another person's secret through the compressed size.
        for (name, value) in fields.iter_mut() {
            if is_secret(name) {
                value.set_sensitive(true);
            }
        }
    }

    /// Takes the body for a connection, to which the caller gives the request.
    fn next_body(&mut self) -> Result<RequestBody, Failure> {
        if let Some(position) = self.line_position() {
            position.set_sent();
        }
        match &mut self.body {
            Content::Empty => Ok(Empty::new().map_err(|never| match never {}).boxed_unsync()),
            Content::Whole(bytes) => {
                Ok(Full::new(bytes.clone()).map_err(|never| match never {}).boxed_unsync())
            }
            Content::Stream(body) => body.take().ok_or(Failure::Unprocessed),
        }
    }

    /// Takes back a body that a connection has not read.
    pub(super) fn take_back(&mut self, body: RequestBody) {
        if let Content::Stream(place) = &mut self.body {
            *place = Some(body);
        }
    }
}

//! A connection that speaks HTTP/1.1, and one exchange on it.

use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::AlertDescription;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::debug;
use wwwoffle_http::fields::offers_login_of_connection;

use super::line::StreamProbe;
use super::message::OutgoingMessage;
use super::tls_error::{TlsFault, find_alert};
use super::{
    Failure, MAX_ANSWER_FIELDS, MAX_ANSWER_HEAD, ReceivedFrom, RequestBody, TlsDetails, answer,
};
use crate::base::owner::Owner;
use crate::base::tasks::Tasks;

/// The time within which a connection that ends must report its alert.
const ALERT_WITHIN: Duration = Duration::from_secs(1);

/// A connection of HTTP/1.1 and its TLS details.
#[derive(Debug)]
pub(super) struct Http1Connection {
    pub(super) sender: SendRequest<RequestBody>,
    pub(super) secured: Option<Arc<TlsDetails>>,
    pub(super) users: ConnectionUsers,
    /// The source behind the connection, for the archive tier.
    pub(super) source: Option<ReceivedFrom>,
    probe: StreamProbe,
}

/// The persons whose requests a connection may carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConnectionUsers {
    /// The requests of everyone.
    Everyone,
    /// The requests of one person, because the origin may have logged the connection in (RFC 4559
    /// §6).
    One(Owner),
    /// No requests: the connection may have been logged in for a request without an owner.
    Ended,
}

impl Http1Connection {
    /// Whether the connection can take another request: it is open and has no unread bytes, which
    /// would be taken for the response.
    pub(super) fn is_usable(&self) -> bool {
        self.sender.is_ready() && self.probe.is_quiet()
    }
}

/// The reason why an exchange got no response.
pub(super) enum Http1Refusal {
    /// No byte was written, and the request still has its body. The value is the alert that ended
    /// the connection, if any.
    Unsent(Option<AlertDescription>),
    Failed(Failure),
}

/// A new connection, before its first exchange.
pub(super) struct NewHttp1 {
    pub(super) link: Http1Connection,
    /// The TLS alert that ended the connection, if any. With TLS 1.3, an origin may refuse a client
    /// after the handshake is complete for the client, and before it receives the request.
    alert: oneshot::Receiver<AlertDescription>,
}

impl NewHttp1 {
    /// Starts HTTP/1.1 on a connection and runs it in a task.
    pub(super) async fn begin<S>(
        stream: S,
        secured: Option<Arc<TlsDetails>>,
        probe: StreamProbe,
        tasks: &Tasks,
    ) -> Result<Self, Failure>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (sender, connection) = http1::Builder::new()
            .title_case_headers(true)
            .max_headers(MAX_ANSWER_FIELDS)
            .max_header_size(MAX_ANSWER_HEAD)
            .handshake::<TokioIo<S>, RequestBody>(TokioIo::new(stream))
            .await
            .map_err(Failure::from_exchange)?;
        let (tell, alert) = oneshot::channel();
        tasks.spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                // If the connection was in use, its user got the error. This also logs the end of
                // an idle connection.
                debug!(%error, "connection to an origin ended");
                // The receiver exists only until the first request, so sending may fail.
                let _unheard = find_alert(&error).map(|alert| tell.send(alert));
            }
        });
        Ok(Self {
            link: Http1Connection {
                sender,
                secured,
                users: ConnectionUsers::Everyone,
                source: None,
                probe,
            },
            alert,
        })
    }

    /// The connection, with the source behind it.
    pub(super) fn with_source(mut self, source: Option<ReceivedFrom>) -> Self {
        self.link.source = source;
        self
    }

    /// Runs the first exchange.
    pub(super) async fn exchange(
        mut self,
        message: &mut OutgoingMessage,
        patience: Duration,
    ) -> Result<(Http1Connection, Response<Incoming>), Failure> {
        match self.link.exchange(message, patience).await {
            Ok(answer) => Ok((self.link, answer)),
            Err(Http1Refusal::Failed(failure)) => Err(failure),
            Err(Http1Refusal::Unsent(alert)) => {
                // The alert comes with the error of the exchange, or else from the task that runs
                // the connection.
                let alert = match alert {
                    Some(alert) => Some(alert),
                    None => timeout(ALERT_WITHIN, self.alert).await.ok().and_then(Result::ok),
                };
                Err(alert
                    .map_or(Failure::ClosedAtOnce, |alert| Failure::Alert(TlsFault::Alert(alert))))
            }
        }
    }
}

impl Http1Connection {
    /// Sends the request and waits for the response head. `patience` is the timeout without
    /// progress.
    pub(super) async fn exchange(
        &mut self,
        message: &mut OutgoingMessage,
        patience: Duration,
    ) -> Result<Response<Incoming>, Http1Refusal> {
        let may_switch = message.may_switch();
        let request = message.for_http1().map_err(Http1Refusal::Failed)?;
        let answered = self.sender.try_send_request(request);
        match message.activity().watch(patience, answered).await.map_err(Http1Refusal::Failed)? {
            Ok(mut answer) => {
                answer::check(&answer, may_switch).map_err(Http1Refusal::Failed)?;
                if message.logs_in() || offers_login_of_connection(answer.headers()) {
                    self.users = message
                        .owner()
                        .cloned()
                        .map_or(ConnectionUsers::Ended, ConnectionUsers::One);
                }
                answer::say_length_once(answer.headers_mut());
                Ok(answer)
            }
            Err(mut error) => Err(match error.take_message() {
                Some(request) => {
                    message.take_back(request.into_body());
                    Http1Refusal::Unsent(find_alert(error.error()))
                }
                None => Http1Refusal::Failed(Failure::from_exchange(error.into_error())),
            }),
        }
    }
}

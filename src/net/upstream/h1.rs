//! One connection that speaks HTTP/1.1, and one exchange on it.

use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::AlertDescription;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::debug;

use super::line::View;
use super::message::Message;
use super::tls_error::{TlsFault, alert_in};
use super::{Failure, MAX_ANSWER_FIELDS, MAX_ANSWER_HEAD, RequestBody, Secured, answer};
use crate::base::tasks::Tasks;

/// How long a connection that is ending may take to say why.
const ALERT_WITHIN: Duration = Duration::from_secs(1);

/// A connection of HTTP/1.1, and how it is secured if it is.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) sender: SendRequest<RequestBody>,
    pub(super) secured: Option<Arc<Secured>>,
    view: View,
}

impl Link {
    /// Whether another request may go on it: the connection stands, and nothing waits there that would
    /// be taken for the answer.
    pub(super) fn is_usable(&self) -> bool {
        self.sender.is_ready() && self.view.is_quiet()
    }
}

/// Why an exchange gave no answer.
pub(super) enum Refusal {
    /// Not a byte was written, and the request has its body back. With the alert that ended the
    /// connection.
    Unsent(Option<AlertDescription>),
    Failed(Failure),
}

/// A connection that has just begun.
pub(super) struct Greeted {
    pub(super) link: Link,
    /// The TLS alert it ended with, if it did: an origin of TLS 1.3 refuses a client when the
    /// handshake is over for the client, and that may be before the request is given to it.
    alert: oneshot::Receiver<AlertDescription>,
}

impl Greeted {
    /// Begins HTTP/1.1 on a connection, and runs it in a task of its own.
    pub(super) async fn begin<S>(
        stream: S,
        secured: Option<Arc<Secured>>,
        view: View,
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
                // Whoever used the connection has been told; this is the idle end of it.
                debug!(%error, "connection to an origin ended");
                // Not wanted unless the connection ended before its first request.
                let _unheard = alert_in(&error).map(|alert| tell.send(alert));
            }
        });
        Ok(Self { link: Link { sender, secured, view }, alert })
    }

    /// The first exchange on it.
    pub(super) async fn exchange(
        mut self,
        message: &mut Message,
        patience: Duration,
    ) -> Result<(Link, Response<Incoming>), Failure> {
        match self.link.exchange(message, patience).await {
            Ok(answer) => Ok((self.link, answer)),
            Err(Refusal::Failed(failure)) => Err(failure),
            Err(Refusal::Unsent(told)) => {
                // The connection tells whoever has come to it meanwhile, else its own task.
                let told = match told {
                    Some(told) => Some(told),
                    None => timeout(ALERT_WITHIN, self.alert).await.ok().and_then(Result::ok),
                };
                Err(told
                    .map_or(Failure::ClosedAtOnce, |alert| Failure::Alert(TlsFault::Alert(alert))))
            }
        }
    }
}

impl Link {
    /// Sends the request and waits for the head of its answer, `patience` from each move to the next.
    pub(super) async fn exchange(
        &mut self,
        message: &mut Message,
        patience: Duration,
    ) -> Result<Response<Incoming>, Refusal> {
        let may_switch = message.may_switch();
        let request = message.for_http1().map_err(Refusal::Failed)?;
        let answered = self.sender.try_send_request(request);
        match message.activity().watch(patience, answered).await.map_err(Refusal::Failed)? {
            Ok(mut answer) => {
                answer::check(&answer, may_switch).map_err(Refusal::Failed)?;
                answer::say_length_once(answer.headers_mut());
                Ok(answer)
            }
            Err(mut error) => Err(match error.take_message() {
                Some(request) => {
                    message.take_back(request.into_body());
                    Refusal::Unsent(alert_in(error.error()))
                }
                None => Refusal::Failed(Failure::from_exchange(error.into_error())),
            }),
        }
    }
}

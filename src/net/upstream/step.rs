//! One attempt to get a response: the connection it uses, and its result.

use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Response, StatusCode};

use super::answer::{Answer, AnswerBody, Lease};
use super::h1::{self, ConnectionUsers, Http1Connection, NewHttp1};
use super::line::probed;
use super::message::OutgoingMessage;
use super::multiplexed::{self, SharedConnection};
use super::pool::Permit;
use super::registry::{DialTurn, OriginRoute};
use super::tls::{HTTP_2, Offer};
use super::{Failure, Origin, PersonalConnection, Scheme, TlsDetails, Upstream};

/// An established connection.
pub(super) enum OriginConnection {
    Http1(NewHttp1),
    Http2(SharedConnection),
}

/// The result of one attempt.
#[expect(clippy::large_enum_variant, reason = "created and matched once; a box costs more")]
pub(super) enum AttemptOutcome {
    Answered(Answer),
    /// The request was not processed. It may use another connection if its body can still be sent.
    Again(Failure),
    /// The connection was already closed, and the request may safely be sent on a new one.
    Harmless(Failure),
}

/// The attempts of a request.
#[derive(Debug, Default)]
pub(super) struct Tries {
    pub(super) count: usize,
    /// Whether a reused connection was already closed by the origin when the request was sent. If
    /// so, the request is sent once more.
    pub(super) is_repeated: bool,
}

impl Tries {
    /// The outcome of a `failure` on a connection. If the connection was `in_use` before this
    /// request, it may have ended before the request was sent. In this case, a harmless request may
    /// be sent once more.
    fn after_use(
        &self,
        failure: Failure,
        in_use: bool,
        message: &OutgoingMessage,
    ) -> Result<AttemptOutcome, Failure> {
        let has_ended =
            matches!(failure, Failure::CutShort(_) | Failure::Alert(_) | Failure::Silent);
        if has_ended && in_use && !self.is_repeated && message.is_harmless() {
            Ok(AttemptOutcome::Harmless(failure))
        } else {
            Err(failure)
        }
    }
}

impl Upstream {
    /// Whether the request cannot use a connection of HTTP/2: it switches protocols or logs its
    /// connection in, or its owner has a connection that was logged in.
    pub(super) fn needs_http1(&self, origin: &Origin, message: &OutgoingMessage) -> bool {
        message.may_switch()
            || message.logs_in()
            || message.owner().is_some_and(|owner| self.pool.has_own(origin, owner))
    }

    pub(super) async fn route(
        &self,
        origin: &Origin,
        needs_http1: bool,
    ) -> Result<OriginRoute<'_>, Failure> {
        if origin.scheme != Scheme::Https || needs_http1 {
            return Ok(OriginRoute::Dial(Offer::Http1, None));
        }
        self.registry.route(origin, self.limits.get().head_timeout).await
    }

    /// Runs one exchange on an established connection of HTTP/2.
    pub(super) async fn share(
        &self,
        origin: &Origin,
        shared: &SharedConnection,
        message: &mut OutgoingMessage,
        tries: &Tries,
    ) -> Result<AttemptOutcome, Failure> {
        let Self { dialer, tasks, limits, contention, .. } = self;
        let (line, limits) = ((contention, origin), limits.get());
        let exchange = shared.exchange(line, message, dialer, tasks, &limits);
        let failure = match exchange.await {
            Ok((answer, _))
                if answer.status() == StatusCode::MISDIRECTED_REQUEST
                    && shared.origin() != origin
                    && message.is_whole() =>
            {
                self.registry.require_own_connection(origin);
                return Ok(AttemptOutcome::Again(Failure::Unprocessed));
            }
            Ok((mut answer, slot)) => {
                answer.extensions_mut().insert(Arc::clone(shared.secured()));
                if let Some(source) = dialer.source_of(shared.origin(), Some(shared.peer().ip())) {
                    answer.extensions_mut().insert(source);
                }
                let patience = self.limits.get().socket_timeout;
                let answer = answer.map(|frames| AnswerBody::over_http2(frames, slot, patience));
                return Ok(AttemptOutcome::Answered(answer));
            }
            Err(multiplexed::StreamRefusal::Unsent) => {
                return Ok(AttemptOutcome::Again(shared.unsent_reason()));
            }
            Err(multiplexed::StreamRefusal::Unprocessed) => {
                return Ok(AttemptOutcome::Again(Failure::Unprocessed));
            }
            Err(multiplexed::StreamRefusal::NeedsHttp1) => {
                self.registry.refuses_http2(origin);
                return Ok(AttemptOutcome::Again(Failure::Unprocessed));
            }
            Err(multiplexed::StreamRefusal::Failed(failure)) => failure,
        };
        tries.after_use(failure, shared.has_answered(), message)
    }

    /// Runs one exchange on a persistent connection of HTTP/1.1 or on a new connection.
    pub(super) async fn use_or_dial(
        self: &Arc<Self>,
        origin: &Origin,
        offer: Offer,
        turn: Option<DialTurn<'_>>,
        message: &mut OutgoingMessage,
        tries: &Tries,
    ) -> Result<AttemptOutcome, Failure> {
        let patience = self.limits.get().head_timeout;
        let permit = self.pool.permit(origin, patience);
        let permit = self.contention.wait(origin, message.line_position(), permit).await?;
        // The wait may be long, so the mode is checked again. The mode also applies to existing
        // connections.
        self.dialer.allow(origin)?;
        if message.wants_new_connection() {
            // The new connection replaces an idle one, so that the limit of the origin is not
            // exceeded.
            drop(self.pool.take(origin, message.owner()));
        } else if turn.is_none()
            // The holder of the turn must dial, to find out which protocol the origin speaks.
            && !tries.is_repeated
            && let Some(mut link) = self.pool.take(origin, message.owner())
        {
            return match link.exchange(message, patience).await {
                Ok(answer) => Ok(self.finish_exchange(origin, link, permit, answer)),
                Err(h1::Http1Refusal::Unsent(_)) => {
                    Ok(AttemptOutcome::Harmless(Failure::ClosedAtOnce))
                }
                Err(h1::Http1Refusal::Failed(failure)) => tries.after_use(failure, true, message),
            };
        }
        match self.connect(origin, offer, turn).await? {
            OriginConnection::Http1(new) => {
                let (link, answer) = new.exchange(message, patience).await?;
                Ok(self.finish_exchange(origin, link, permit, answer))
            }
            OriginConnection::Http2(shared) => {
                drop(permit);
                match self.share(origin, &shared, message, tries).await? {
                    // A new connection that closes at once is not replaced by another new one.
                    AttemptOutcome::Again(
                        failure @ (Failure::ClosedAtOnce | Failure::Alert(_)),
                    ) => Err(failure),
                    step => Ok(step),
                }
            }
        }
    }

    pub(super) async fn connect(
        &self,
        origin: &Origin,
        offer: Offer,
        turn: Option<DialTurn<'_>>,
    ) -> Result<OriginConnection, Failure> {
        let connected = self.connect_now(origin, offer, turn.is_some()).await;
        match (&connected, turn) {
            (Ok(OriginConnection::Http1(_)), Some(turn)) => turn.record_http1(),
            (Err(_), Some(turn)) => turn.failed(),
            (Ok(OriginConnection::Http2(_)), _) | (_, None) => {}
        }
        connected
    }

    async fn connect_now(
        &self,
        origin: &Origin,
        offer: Offer,
        may_coalesce: bool,
    ) -> Result<OriginConnection, Failure> {
        let is_wanted = || self.keeps_connections();
        let addresses = self.dialer.addresses(origin).await?;
        if may_coalesce
            && origin.via.is_none()
            && let Some(shared) = self.registry.coalesce(origin, &addresses)
        {
            return Ok(OriginConnection::Http2(self.registry.share(origin, shared, is_wanted)));
        }
        let stream = self.dialer.connect(origin, addresses).await?;
        let peer = stream.peer_addr();
        let source =
            self.dialer.source_of(origin, peer.as_ref().ok().map(std::net::SocketAddr::ip));
        let (stream, probe) = probed(stream);
        if origin.scheme != Scheme::Https {
            let new = NewHttp1::begin(stream, None, probe, &self.tasks).await?;
            return Ok(OriginConnection::Http1(new.with_source(source)));
        }
        let allowed = self.tls.allowed(origin);
        let wrap = self.tls.wrap(stream, origin, offer, &allowed);
        let stream = self.dialer.run_if_allowed(origin, wrap).await?;
        let session = stream.get_ref().1;
        let secured =
            TlsDetails::of(session).map(|secured| Arc::new(secured.where_allowed(&allowed)));
        let speaks_http2 = session.alpn_protocol() == Some(HTTP_2);
        let (true, Ok(peer), Some(secured)) = (speaks_http2, peer, secured.clone()) else {
            let new = NewHttp1::begin(stream, secured, probe, &self.tasks).await?;
            return Ok(OriginConnection::Http1(new.with_source(source)));
        };
        let shared =
            SharedConnection::begin(stream, origin.clone(), peer, secured, &self.tasks).await?;
        Ok(OriginConnection::Http2(self.registry.share(origin, shared, is_wanted)))
    }

    fn finish_exchange(
        self: &Arc<Self>,
        origin: &Origin,
        link: Http1Connection,
        permit: Permit,
        mut answer: Response<Incoming>,
    ) -> AttemptOutcome {
        if let Some(secured) = &link.secured {
            answer.extensions_mut().insert(Arc::clone(secured));
        }
        if let Some(source) = link.source {
            answer.extensions_mut().insert(source);
        }
        if link.users != ConnectionUsers::Everyone {
            answer.extensions_mut().insert(PersonalConnection);
        }
        let lease = Lease::new(Arc::clone(self), origin.clone(), link, permit);
        let patience = self.limits.get().socket_timeout;
        AttemptOutcome::Answered(answer.map(|body| AnswerBody::over_http1(body, lease, patience)))
    }
}

//! A request that tests the link. It uses a separate connection. The mode auto permits it even
//! while other requests are refused.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Request, Response};

use super::h1::NewHttp1;
use super::line::probed;
use super::message::OutgoingMessage;
use super::tls::Offer;
use super::{Failure, Origin, Outbound, Scheme, TlsDetails, Upstream};

/// The maximum number of bytes of a response body that are read.
const MAX_BODY: usize = 64 * 1024;

impl Upstream {
    /// Sends a request without a body and returns the response with the first 64 KiB of its body.
    /// Dropping the future, or the choice of another mode than auto, closes the connection.
    ///
    /// # Errors
    ///
    /// [`Failure::Offline`] if another mode than auto is chosen. Otherwise an error of
    /// [`Dialer::probe`](super::Dialer::probe) or of the exchange.
    pub async fn probe(
        &self,
        origin: &Origin,
        head: Request<()>,
    ) -> Result<Response<Bytes>, Failure> {
        let mut message = OutgoingMessage::new(head, Outbound::Empty, None);
        let mut failed = Failure::Unprocessed;
        for way in self.dialer().parents().ways(origin) {
            match self.probe_by(&way, &mut message).await {
                Err(failure) if failure.may_try_next_parent() => failed = failure,
                probed => return probed,
            }
        }
        Err(failed)
    }

    async fn probe_by(
        &self,
        origin: &Origin,
        message: &mut OutgoingMessage,
    ) -> Result<Response<Bytes>, Failure> {
        message.address(origin)?;
        let (stream, probe) = probed(self.dialer().probe(origin).await?);
        let exchange = async {
            let new = if origin.scheme == Scheme::Http {
                NewHttp1::begin(stream, None, probe, &self.tasks).await?
            } else {
                let allowed = self.tls.allowed(origin);
                let stream = self.tls.wrap(stream, origin, Offer::Http1, &allowed).await?;
                let secured = TlsDetails::of(stream.get_ref().1).map(std::sync::Arc::new);
                NewHttp1::begin(stream, secured, probe, &self.tasks).await?
            };
            let patience = self.limits.get().head_timeout;
            // Dropping the link closes the connection.
            let (_link, answer) = new.exchange(message, patience).await?;
            let (parts, mut incoming) = answer.into_parts();
            let mut body = Vec::new();
            while let Some(frame) = incoming.frame().await {
                let data = frame.map_err(Failure::from_exchange)?.into_data().unwrap_or_default();
                let room = MAX_BODY.saturating_sub(body.len()).min(data.len());
                body.extend_from_slice(data.get(..room).unwrap_or_default());
                if body.len() >= MAX_BODY {
                    break;
                }
            }
            Ok(Response::from_parts(parts, Bytes::from(body)))
        };
        self.dialer().run_as_probe(exchange).await
    }
}

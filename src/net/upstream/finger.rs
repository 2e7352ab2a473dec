//! Finger (RFC 1288): `finger://host/user` sends one line, and the answer is a text.

use std::sync::Arc;

use bytes::Bytes;
use hyper::body::Frame;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::answer::{Answer, AnswerBody};
use super::pool::Permit;
use super::{Failure, Origin, Upstream};

/// The size of a piece of an answer, in bytes.
const PIECE: usize = 16 * 1024;

/// The number of pieces that wait for their reader.
const MAX_PIECES: usize = 4;

impl Upstream {
    /// Sends a query to a finger server, and returns its answer as a response of HTTP. Dropping the
    /// body closes the connection.
    pub(super) async fn ask_finger(
        self: &Arc<Self>,
        origin: &Origin,
        head: &Request<()>,
    ) -> Result<Answer, Failure> {
        let limits = self.limits.get();
        let (pieces, frames) = mpsc::channel(MAX_PIECES);
        let mut answer = Response::new(AnswerBody::piped(frames, limits.socket_timeout));
        let is_get = head.method() == Method::GET;
        if !is_get && head.method() != Method::HEAD {
            *answer.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Ok(answer);
        }
        let query = query_of(head.uri().path_and_query().map_or("/", |path| path.as_str()))?;
        let permit = self.pool.permit(origin, limits.head_timeout).await?;
        let mut stream = self.dialer.dial(origin).await?;
        stream.write_all(&query).await.map_err(|error| Failure::CutShort(error.into()))?;
        let text = HeaderValue::from_static("text/plain; charset=utf-8");
        answer.headers_mut().insert(CONTENT_TYPE, text);
        if is_get {
            self.tasks.spawn(pass_on(stream, pieces, permit));
        }
        Ok(answer)
    }
}

/// The line for a path: the user, or nothing to list all users.
fn query_of(path: &str) -> Result<Vec<u8>, Failure> {
    let mut query: Vec<u8> = percent_decode_str(path.strip_prefix('/').unwrap_or(path)).collect();
    if query.iter().any(u8::is_ascii_control) {
        return Err(Failure::Unsendable("the name of the user contains a control character"));
    }
    query.extend_from_slice(b"\r\n");
    Ok(query)
}

/// Sends the answer of the server to `pieces`, without control characters (RFC 1288 §3.3).
async fn pass_on(
    mut stream: TcpStream,
    pieces: mpsc::Sender<Result<Frame<Bytes>, Failure>>,
    permit: Permit,
) {
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let read = tokio::select! {
            biased;
            () = pieces.closed() => break,
            read = stream.read_buf(&mut piece) => read,
        };
        let piece = match read {
            Ok(0) => break,
            Ok(_) => {
                piece.retain(|byte| !byte.is_ascii_control() || b"\t\n".contains(byte));
                Ok(Frame::data(piece.into()))
            }
            Err(error) => Err(Failure::CutShort(error.into())),
        };
        let is_over = piece.is_err();
        if pieces.send(piece).await.is_err() || is_over {
            break;
        }
    }
    drop(permit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_one_line() {
        for (path, want) in [
            ("/", Some("\r\n")),
            ("/ada", Some("ada\r\n")),
            ("//W%20ada", Some("/W ada\r\n")),
            ("/ada@other.example", Some("ada@other.example\r\n")),
            ("/ada%0d%0aroot", None),
            ("/%1b[2J", None),
        ] {
            let query = query_of(path).ok().map(|query| String::from_utf8(query).unwrap());
            assert_eq!(query.as_deref(), want, "{path}");
        }
    }
}

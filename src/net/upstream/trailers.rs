//! Removes forbidden trailer fields: connection fields, and fields for framing or routing (RFC 9110
//! §6.5.1). HTTP/2 forbids connection fields in trailers too (RFC 9113 §8.2.2). Without this, a
//! message could fail at its end, after its body was forwarded.

use bytes::Bytes;
use hyper::body::Frame;
use hyper::header::{CONTENT_LENGTH, TE};

use super::message::ONLY_HTTP1;

/// Returns `frame`, without forbidden fields if it contains trailers.
pub(super) fn cleaned(mut frame: Frame<Bytes>) -> Frame<Bytes> {
    if let Some(fields) = frame.trailers_mut() {
        for name in ONLY_HTTP1.iter().chain([&CONTENT_LENGTH, &TE]) {
            fields.remove(name);
        }
    }
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::HeaderMap;

    #[test]
    fn hop_by_hop_trailers_are_removed() {
        let mut fields = HeaderMap::new();
        for name in ["connection", "content-length", "host", "te", "transfer-encoding", "x-sum"] {
            fields.append(name.parse::<hyper::header::HeaderName>().unwrap(), 1.into());
        }
        let left = cleaned(Frame::trailers(fields)).into_trailers().unwrap();
        assert_eq!(left.keys().collect::<Vec<_>>(), ["x-sum"]);
        assert_eq!(cleaned(Frame::data("body".into())).into_data().unwrap(), "body");
    }
}

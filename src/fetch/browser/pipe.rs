//! The pipe that controls a browser: JSON texts that each end with a zero byte. Pure.

use memchr::memchr;
use serde_json::Value;

/// The longest message that is read, in bytes. Longer messages are dropped: they describe images in
/// data URLs, which are not needed.
pub(super) const MAX_MESSAGE: usize = 1 << 20;

/// Splits the output of the pipe into messages. Holds at most [`MAX_MESSAGE`] bytes.
#[derive(Debug, Default)]
pub(super) struct MessageSplitter {
    kept: Vec<u8>,
    /// Whether the bytes up to the next zero belong to a message that is too long.
    is_too_long: bool,
}

impl MessageSplitter {
    /// Takes a piece and gives each complete message to `each`. Invalid JSON is dropped.
    pub(super) fn split_messages(&mut self, mut piece: &[u8], mut each: impl FnMut(Value)) {
        while let Some(end) = memchr(0, piece) {
            let (last, rest) = piece.split_at(end);
            self.buffer_bytes(last);
            if !std::mem::take(&mut self.is_too_long)
                && let Ok(message) = serde_json::from_slice(&self.kept)
            {
                each(message);
            }
            self.kept.clear();
            piece = rest.get(1..).unwrap_or_default();
        }
        self.buffer_bytes(piece);
    }

    fn buffer_bytes(&mut self, bytes: &[u8]) {
        if self.kept.len().saturating_add(bytes.len()) > MAX_MESSAGE {
            self.is_too_long = true;
            self.kept = Vec::new();
        }
        if !self.is_too_long {
            self.kept.extend_from_slice(bytes);
        }
    }
}

/// A message as written to the pipe. JSON contains no zero byte, because strings escape it.
pub(super) fn framed(message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    bytes.push(0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn messages(framing: &mut MessageSplitter, pieces: &[&[u8]]) -> Vec<Value> {
        let mut messages = Vec::new();
        for piece in pieces {
            framing.split_messages(piece, |message| messages.push(message));
        }
        messages
    }

    #[test]
    fn messages_are_equal_in_any_pieces() {
        let whole = [framed(&json!({"id": 1, "text": "a\0b"})), framed(&json!({"id": 2}))].concat();
        let want = [json!({"id": 1, "text": "a\0b"}), json!({"id": 2})];
        for size in 1..=whole.len() {
            let pieces: Vec<_> = whole.chunks(size).collect();
            assert_eq!(messages(&mut MessageSplitter::default(), &pieces), want, "{size}");
        }
    }

    #[test]
    fn invalid_messages_are_skipped() {
        let deep = "[".repeat(100_000);
        for bad in ["", "{", "\u{fffd}", "{}{}", "NaN", &deep] {
            let bytes = [bad.as_bytes(), b"\0{\"id\":3}\0"].concat();
            assert_eq!(
                messages(&mut MessageSplitter::default(), &[&bytes]),
                [json!({"id": 3})],
                "{bad:.9}"
            );
        }
        let bytes = [&[0xff, 0xfe, 0, 0, 0][..], b"7\0"].concat();
        assert_eq!(messages(&mut MessageSplitter::default(), &[&bytes]), [json!(7)]);
    }

    #[test]
    fn an_endless_message_takes_bounded_memory() {
        let mut framing = MessageSplitter::default();
        let piece = vec![b'"'; 64 << 10];
        for _ in 0..100 {
            assert!(messages(&mut framing, &[&piece]).is_empty());
            assert!(framing.kept.capacity() <= 2 * MAX_MESSAGE);
        }
        assert_eq!(messages(&mut framing, &[b"\0{}\0"]), [json!({})], "the next one is read");
        let longest = format!("\"{}\"", "a".repeat(MAX_MESSAGE - 2));
        assert_eq!(messages(&mut framing, &[longest.as_bytes(), b"\0"]).len(), 1);
        let longer = format!("\"{}\"", "a".repeat(MAX_MESSAGE - 1));
        assert_eq!(messages(&mut framing, &[longer.as_bytes(), b"\0"]).len(), 0);
    }
}

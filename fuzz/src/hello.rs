//! Any bytes as the start of a client's data after CONNECT: all bytes that were read are available
//! for forwarding, and a `ClientHello` is parsed the same in however many pieces it arrives.

use std::io;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use wwwoffle::tls::hello::{Opening, name, read, speaks_http};

use super::input::Input;

/// Checks one input; see the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let piece = 1 + usize::from(input.byte());
    let bytes = input.rest();
    let (whole, pieces) = (opening(bytes, bytes.len().max(1)), opening(bytes, piece));
    let (whole_told, pieces_told) = (told(&whole), told(&pieces));
    assert!(bytes.starts_with(&whole.bytes) && bytes.starts_with(&pieces.bytes));
    // With larger pieces, more bytes after the ClientHello have been read.
    if whole_told.is_some() {
        assert_eq!(whole_told, pieces_told);
        assert!(whole.bytes.starts_with(&pieces.bytes));
    }
}

/// The requested name, and whether the client would use HTTP.
fn told(opening: &Opening) -> Option<(Option<String>, bool)> {
    let hello = opening.hello.as_ref()?;
    let name = name(hello);
    if let Some(name) = &name {
        assert!(!name.is_empty() && name.len() < 256 && name.is_ascii(), "{name:?}");
        assert!(!name.bytes().any(|byte| byte.is_ascii_uppercase() || byte <= b' '), "{name:?}");
    }
    Some((name, speaks_http(hello)))
}

fn opening(bytes: &[u8], piece: usize) -> Opening {
    /// The clock is enabled but no timeout is reached, since at the end of its bytes the client
    /// closes.
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        Builder::new_current_thread().enable_time().build().expect("the system lets it")
    });
    let mut client = Client { left: bytes, piece };
    RUNTIME.block_on(read(&mut client)).expect("it never fails")
}

/// A client that sends this many bytes at a time.
struct Client<'a> {
    left: &'a [u8],
    piece: usize,
}

impl AsyncRead for Client<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = self.piece.min(self.left.len()).min(buffer.remaining());
        let (now, later) = self.left.split_at(count);
        buffer.put_slice(now);
        self.left = later;
        Poll::Ready(Ok(()))
    }
}

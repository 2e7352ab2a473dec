//! Any bytes as what a client sends after CONNECT: all that was read is there for whoever passes it on,
//! and in however many pieces a `ClientHello` comes, it is the same.

use std::io;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::runtime::{Builder, Runtime};
use wwwoffle::tls::hello::{Opening, name, read, speaks_http};

use super::input::Input;

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let piece = 1 + usize::from(input.byte());
    let bytes = input.rest();
    let (whole, pieces) = (opening(bytes, bytes.len().max(1)), opening(bytes, piece));
    let (whole_told, pieces_told) = (told(&whole), told(&pieces));
    assert!(bytes.starts_with(&whole.bytes) && bytes.starts_with(&pieces.bytes));
    // What came behind it in the same piece goes with it.
    if whole_told.is_some() {
        assert_eq!(whole_told, pieces_told);
        assert!(whole.bytes.starts_with(&pieces.bytes));
    }
}

/// The name it asks for, and whether HTTP would be spoken.
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
    /// The clock is there, and nothing waits for it: at the end the client is gone.
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        Builder::new_current_thread().enable_time().build().expect("the system lets it")
    });
    let mut client = Client { left: bytes, piece };
    RUNTIME.block_on(read(&mut client)).expect("it never fails")
}

/// Sends so much at once.
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

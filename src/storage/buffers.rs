//! Buffers that are reused after their content was sent.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// The maximum number of free buffers of one body.
const MAX_FREE: usize = 16;

/// A pool of buffers of one size, for one body.
#[derive(Debug)]
pub(super) struct Buffers {
    size: usize,
    free: Arc<Mutex<Vec<Box<[u8]>>>>,
}

/// A buffer, returned to its pool when dropped.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Box<[u8]>,
    /// The number of bytes in use.
    len: usize,
    home: Arc<Mutex<Vec<Box<[u8]>>>>,
}

impl Buffers {
    /// A pool for buffers of `size` bytes. It allocates no buffer yet.
    pub(super) fn new(size: usize) -> Self {
        Self { size, free: Arc::default() }
    }

    /// Returns a free buffer, or a new one.
    pub(super) fn take(&self) -> Buffer {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let bytes = free.unwrap_or_else(|| vec![0; self.size].into_boxed_slice());
        Buffer { bytes, len: 0, home: Arc::clone(&self.free) }
    }
}

impl Buffer {
    /// The whole buffer, to be written to.
    pub(super) fn space(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The first `len` bytes. The buffer is free again when they are dropped.
    pub(super) fn filled(mut self, len: usize) -> Bytes {
        self.len = len.min(self.bytes.len());
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let mut free = self.home.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < MAX_FREE {
            free.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_reused_after_its_bytes_are_dropped() {
        let buffers = Buffers::new(4);
        let mut one = buffers.take();
        one.space().copy_from_slice(b"abcd");
        let (bytes, other) = (one.filled(3), buffers.take());
        assert_eq!((&*bytes, bytes.clone().as_ref()), (&b"abc"[..], &b"abc"[..]));
        let first = bytes.as_ptr();
        drop((bytes, other));
        let again = [buffers.take(), buffers.take(), buffers.take()];
        assert!(again.iter().any(|buffer| buffer.bytes.as_ptr() == first));
        let all: Vec<_> = (0..100).map(|_| buffers.take()).collect();
        drop((again, all));
        assert_eq!(buffers.free.lock().unwrap().len(), MAX_FREE);
    }
}

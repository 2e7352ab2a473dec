//! A value that the configuration can change while it is in use.

use std::sync::{PoisonError, RwLock};

/// A value that is read often and set seldom. Whoever has read it keeps what it was.
#[derive(Debug)]
pub(super) struct Adjustable<T>(RwLock<T>);

impl<T: Copy> Adjustable<T> {
    pub(super) fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    pub(super) fn get(&self) -> T {
        // It is set as a whole, so nothing is half changed.
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

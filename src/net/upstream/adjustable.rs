//! A value that the configuration can change while it is in use.

use std::sync::{PoisonError, RwLock};

/// A value that is read often and set rarely. A reader keeps the value that it has read.
#[derive(Debug)]
pub(super) struct Adjustable<T>(RwLock<T>);

impl<T: Copy> Adjustable<T> {
    pub(super) fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    pub(super) fn get(&self) -> T {
        // The value is set as a whole, so a panic cannot leave half of it.
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

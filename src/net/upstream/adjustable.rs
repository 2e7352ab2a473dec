//! A value that the configuration can change while it is in use.

use std::sync::{PoisonError, RwLock};

/// A value that is read often and set rarely. A reader can continue to use an old value.
#[derive(Debug)]
pub(super) struct Adjustable<T>(RwLock<T>);

impl<T: Copy> Adjustable<T> {
    pub(super) fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    pub(super) fn get(&self) -> T {
        // The value is replaced in one step, so a panic cannot leave a half-written value.
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

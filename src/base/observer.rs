//! A function that is called at once with each event.

use std::fmt;
use std::sync::OnceLock;

type Observe<T> = Box<dyn Fn(&T) + Send + Sync>;

/// A callback that runs for each event, before the call that caused the event returns.
///
/// A lower layer reports events through an observer. The daemon sets the callback, which may call
/// higher layers.
pub struct Observer<T>(OnceLock<Observe<T>>);

impl<T> Default for Observer<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> fmt::Debug for Observer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.get().is_some()).finish()
    }
}

impl<T> Observer<T> {
    /// Sets the function. Only the first call has an effect.
    pub fn set(&self, observe: impl Fn(&T) + Send + Sync + 'static) {
        let _first_or_not = self.0.set(Box::new(observe));
    }

    /// Calls the function, if it is set.
    pub fn notify(&self, news: &T) {
        if let Some(observe) = self.0.get() {
            observe(news);
        }
    }
}

//! A function that is called at once with each piece of news.

use std::fmt;
use std::sync::OnceLock;

type Observe<T> = Box<dyn Fn(&T) + Send + Sync>;

/// The one function that learns of each piece of news before the call that caused it returns.
///
/// A lower room tells its news by an observer; the daemon sets it to what the rooms above do then.
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
    pub fn tell(&self, news: &T) {
        if let Some(observe) = self.0.get() {
            observe(news);
        }
    }
}

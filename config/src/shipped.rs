//! Lists that come with the program, and what a user adds to them.

use std::path::Path;
use std::sync::Arc;

use crate::specset::UrlSpecSet;

/// A list of URL-SPECIFICATIONs that is compiled in.
pub(crate) struct Shipped {
    /// The name it goes by.
    pub(crate) name: &'static str,
    /// Its text: one specification to a line, with comments.
    pub(crate) text: &'static str,
}

impl Shipped {
    /// The user's list, and after it this one, if it is `used`: so that a `!` in the user's excepts
    /// from it.
    ///
    /// What cannot be read of it is left out here, and fails a test.
    pub(crate) fn after(&self, users: &UrlSpecSet, used: bool) -> UrlSpecSet {
        let mut set = users.clone();
        if used {
            let file: Arc<Path> = Path::new(self.name).into();
            let mut shipped = UrlSpecSet::default();
            shipped.add_lines(self.text, &file, |_, _| ());
            set.add_all(&shipped);
        }
        set
    }
}

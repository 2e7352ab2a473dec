//! The index of all shared bodies.

use crate::durability::Root;
use std::collections::HashMap;

use crate::entry::holder::{BODIES, SharedBody, name_of, short};
use crate::entry::place::EXTENSION;
use crate::error::{Error, Result};
use crate::tree::walk::texts;
use wwwoffle_url::Key;

/// The shared bodies, with their sizes.
#[derive(Debug, Default)]
pub struct SharedBodies(HashMap<u64, u64>);

impl SharedBodies {
    /// The number of shared bodies.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no body is shared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The shared body with this SHA-256, for entries without an owner. `None` if the body is not
    /// shared. An entry with this digest may still have a body of its own.
    #[must_use]
    pub fn of(&self, digest: [u8; 32]) -> Option<SharedBody> {
        let name = short(name_of(digest, None));
        self.0.get(&name).map(|size| SharedBody { name, size: *size })
    }

    /// Reads the directory of holders.
    pub(crate) fn read(root: &Root) -> Result<SharedBodies> {
        let (disk, directory) = (&*root.disk, root.join(BODIES));
        let mut bodies = SharedBodies::default();
        for group in texts(disk, &directory)? {
            let directory = directory.join(group);
            for file in texts(disk, &directory)? {
                let stem = file.strip_suffix(EXTENSION).and_then(|stem| stem.parse::<Key>().ok());
                let Some(name) = stem else { continue };
                let path = directory.join(&file);
                let about =
                    disk.about(&path).map_err(|error| Error::disk("look at", &path, error))?;
                bodies.0.extend(about.map(|about| (short(name), about.len)));
            }
        }
        Ok(bodies)
    }
}

//! The bodies that several entries share, all at once.

use crate::durability::Root;
use std::collections::HashMap;

use crate::entry::holder::{BODIES, Held, name_of, short};
use crate::entry::place::EXTENSION;
use crate::error::{Error, Result};
use crate::tree::walk::texts;
use wwwoffle_url::Key;

/// The bodies that there are files of.
#[derive(Debug, Default)]
pub struct Bodies(HashMap<u64, u64>);

impl Bodies {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// That with this SHA-256, of what is everyone's; `None` where no such body is shared. An entry with that digest
    /// may still have its body in its own file.
    #[must_use]
    pub fn of(&self, digest: [u8; 32]) -> Option<Held> {
        let name = short(name_of(digest, None));
        self.0.get(&name).map(|size| Held { name, size: *size })
    }

    /// Reads the directory of holders.
    pub(crate) fn read(root: &Root) -> Result<Bodies> {
        let (disk, directory) = (&*root.disk, root.join(BODIES));
        let mut bodies = Bodies::default();
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

//! The file of a response that is being received.

use bytes::Bytes;
use wwwoffle_spool::{Error, NewEntry, Place, Tail, Writer};

use crate::storage::store::Store;

/// The file of a response.
#[derive(Default)]
#[expect(clippy::large_enum_variant, reason = "moved a few times for each response")]
pub(super) enum ResponseFile {
    /// The file is not created yet.
    New(NewFile),
    Begun(Writer),
    /// The disk has failed, or the body is too large.
    #[default]
    None,
}

/// The parts of an entry that are known before its body.
pub(super) struct NewFile {
    pub(super) place: Place,
    pub(super) new: NewEntry,
    /// The validator with which a segment of the body can be completed later.
    pub(super) validator: Option<Vec<u8>>,
    /// The length of the body in bytes, if it is known.
    pub(super) length: Option<u64>,
}

impl NewFile {
    /// Creates the file. Returns its writer, and a reader that follows the writer.
    ///
    /// # Errors
    ///
    /// Those of [`Store::begin`].
    pub(super) async fn begin(self, store: &Store) -> Result<(Writer, Tail), Error> {
        store.begin(&self.place, self.new, self.validator, self.length).await
    }
}

impl ResponseFile {
    pub(super) fn is_none(&self) -> bool {
        matches!(self, ResponseFile::None)
    }

    /// The place of the entry.
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            ResponseFile::New(new) => Some(&new.place),
            ResponseFile::Begun(writer) => Some(writer.place()),
            ResponseFile::None => None,
        }
    }

    /// Appends `last`, the end of the body, and completes the entry.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full.
    pub(super) async fn finish(
        self,
        store: &Store,
        last: Vec<Bytes>,
        trailers: Option<Vec<u8>>,
    ) -> Result<(), Error> {
        match self {
            ResponseFile::New(new) => store.store_whole(new.place, new.new, last, trailers).await,
            ResponseFile::Begun(writer) => store.finish(writer, last, trailers).await,
            ResponseFile::None => Ok(()),
        }
    }
}

//! The reason why an item is refused, and the distinction between bad archives and disk errors.

use std::borrow::Cow;
use std::io;

/// The reason why an item is refused: a few words that follow its name in a report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// The text of the reason.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&'static str> for Reason {
    fn from(words: &'static str) -> Self {
        Self(Cow::Borrowed(words))
    }
}

impl From<String> for Reason {
    fn from(words: String) -> Self {
        Self(Cow::Owned(words))
    }
}

/// Converts a refusal to the only error type that `Read` can return.
impl From<Reason> for io::Error {
    fn from(reason: Reason) -> Self {
        Self::new(io::ErrorKind::InvalidData, reason)
    }
}

/// A disk error while an archive was being read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DiskFailed(pub(crate) io::Error);

/// The cause of a failed `read`.
#[derive(Debug)]
pub(crate) enum ReadFault {
    /// The disk failed. The archive may be valid.
    Disk(io::Error),
    /// The archive is invalid.
    Archive(Reason),
}

impl From<Reason> for ReadFault {
    fn from(reason: Reason) -> Self {
        Self::Archive(reason)
    }
}

impl From<&'static str> for ReadFault {
    fn from(reason: &'static str) -> Self {
        Self::Archive(reason.into())
    }
}

/// Distinguishes disk errors from bad archives. An error of a decoder is attributed to the archive.
pub(crate) fn classify_error(error: io::Error) -> ReadFault {
    if let Some(inner) = error.get_ref() {
        if let Some(reason) = inner.downcast_ref::<Reason>() {
            return ReadFault::Archive(reason.clone());
        }
        if inner.is::<DiskFailed>() {
            let kind = error.kind();
            let failed = error.into_inner().and_then(|inner| inner.downcast::<DiskFailed>().ok());
            return ReadFault::Disk(failed.map_or_else(|| kind.into(), |failed| failed.0));
        }
    }
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return ReadFault::Archive("the archive ends in the middle of this item".into());
    }
    ReadFault::Archive(format!("its compressed data is damaged ({error})").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_error_is_not_a_refusal() {
        let disk = io::Error::other(DiskFailed(io::Error::from_raw_os_error(5)));
        assert!(
            matches!(classify_error(disk), ReadFault::Disk(error) if error.raw_os_error() == Some(5))
        );
        let reason_of = |error| match classify_error(error) {
            ReadFault::Archive(reason) => reason.to_string(),
            ReadFault::Disk(error) => panic!("{error}"),
        };
        assert_eq!(reason_of(Reason::from("is none").into()), "is none");
        assert!(reason_of(io::ErrorKind::UnexpectedEof.into()).contains("ends in the middle"));
        assert!(reason_of(io::Error::other("corrupt")).contains("corrupt"));
    }
}

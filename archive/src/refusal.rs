//! Why something of an archive is not taken, and how that is told from a disk that fails.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// Why something of an archive is not taken: a few words that follow what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// The words.
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

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Reason {}

/// A refusal inside a `Read`, which knows of nothing but `io::Error`.
impl From<Reason> for io::Error {
    fn from(reason: Reason) -> Self {
        Self::new(io::ErrorKind::InvalidData, reason)
    }
}

/// The disk failed while an archive was read.
#[derive(Debug)]
pub(crate) struct DiskFailed(pub(crate) io::Error);

impl fmt::Display for DiskFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for DiskFailed {}

/// What a failed `read` was.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The disk: nothing is known of the archive.
    Disk(io::Error),
    /// The archive.
    Archive(Reason),
}

/// Tells a disk that fails from an archive that is none. Whatever a decoder says is about the archive.
pub(crate) fn judge(error: io::Error) -> Trouble {
    if let Some(inner) = error.get_ref() {
        if let Some(reason) = inner.downcast_ref::<Reason>() {
            return Trouble::Archive(reason.clone());
        }
        if inner.is::<DiskFailed>() {
            let kind = error.kind();
            let failed = error.into_inner().and_then(|inner| inner.downcast::<DiskFailed>().ok());
            return Trouble::Disk(failed.map_or_else(|| kind.into(), |failed| failed.0));
        }
    }
    if error.kind() == io::ErrorKind::UnexpectedEof {
        return Trouble::Archive("the archive ends in the middle of it".into());
    }
    Trouble::Archive(format!("its compressed data is damaged ({error})").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_fails_is_no_refusal() {
        let disk = io::Error::other(DiskFailed(io::Error::from_raw_os_error(5)));
        assert!(matches!(judge(disk), Trouble::Disk(error) if error.raw_os_error() == Some(5)));
        let told = |error| match judge(error) {
            Trouble::Archive(reason) => reason.to_string(),
            Trouble::Disk(error) => panic!("{error}"),
        };
        assert_eq!(told(Reason::from("is none").into()), "is none");
        assert!(told(io::ErrorKind::UnexpectedEof.into()).contains("ends in the middle"));
        assert!(told(io::Error::other("corrupt")).contains("corrupt"));
    }
}

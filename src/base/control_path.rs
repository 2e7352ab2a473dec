//! The address of the control socket, `<spool>/control`, for the daemon and its clients.
//!
//! If the spool is on a read-only file system, the socket is in the [`run_directory`].

use std::{
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};
use wwwoffle_spool::fs::is_read_only;

use super::run_directory;

/// The name of the socket in the spool.
const NAME: &str = "control";

/// The maximum length in bytes of a socket path that the kernel accepts: `sun_path` without its
/// final zero (unix(7)).
const LONGEST: usize = 107;

/// A path to the socket that is short enough to bind or connect to.
///
/// The path of a spool may be longer than a socket address allows. In this case the path leads
/// through a descriptor of the spool directory. Keep this value until `bind` or `connect` has
/// returned, because the descriptor must stay open.
#[derive(Debug)]
pub struct ControlPath {
    path: PathBuf,
    _directory: Option<OwnedFd>,
}

impl ControlPath {
    /// Returns the path for the spool at `spool`.
    ///
    /// # Errors
    ///
    /// If the path is too long and the directory cannot be opened. `NotFound` if the spool is on a
    /// read-only file system and no daemon has run there.
    pub fn of(spool: &Path) -> io::Result<Self> {
        if is_read_only(spool) {
            let path = run_directory::find(spool)?.join(NAME);
            return Ok(Self { path, _directory: None });
        }
        let path = spool.join(NAME);
        if path.as_os_str().as_bytes().len() <= LONGEST {
            return Ok(Self { path, _directory: None });
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = rustix::fs::open(spool, flags, Mode::empty())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{NAME}", directory.as_raw_fd()));
        Ok(Self { path, _directory: Some(directory) })
    }

    /// The path to bind or to connect to.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        os::unix::net::{UnixListener, UnixStream},
    };

    use super::{ControlPath, LONGEST};

    #[test]
    fn a_short_and_a_long_spool_both_bind_and_connect() {
        let root = tempfile::tempdir().unwrap();
        let long = root.path().join("d".repeat(100)).join("e".repeat(100));
        std::fs::DirBuilder::new().recursive(true).create(&long).unwrap();
        for spool in [root.path(), &long] {
            let listener = UnixListener::bind(ControlPath::of(spool).unwrap().as_path()).unwrap();
            let path = ControlPath::of(spool).unwrap();
            assert!(path.as_path().as_os_str().len() <= LONGEST);
            let mut client = UnixStream::connect(path.as_path()).unwrap();
            client.write_all(b"x").unwrap();
            let mut byte = [0];
            listener.accept().unwrap().0.read_exact(&mut byte).unwrap();
            assert_eq!(&byte, b"x");
            assert!(spool.join("control").exists());
        }
    }

    #[test]
    fn a_long_missing_path_is_an_error() {
        let error = ControlPath::of(&std::path::Path::new("/nowhere").join("d".repeat(120)));
        assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::NotFound);
    }
}

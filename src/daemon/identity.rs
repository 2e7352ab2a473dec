//! The user and group of the daemon: `run-uid` and `run-gid`.
//!
//! Binding a port below 1024 needs root, but root should not communicate with clients and origins.
//! So the daemon binds its ports first, then changes its user, and only then opens the spool or
//! reads from a client.

use std::ffi::CString;
use std::path::Path;

use nix::errno::Errno;
use nix::unistd::{
    Gid, Group, Uid, User, getegid, geteuid, getgid, getuid, initgroups, setgid, setgroups, setuid,
};
use wwwoffle_config::Startup;
use wwwoffle_spool::fs::make_root_for;

/// A user and a group of the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    user: Uid,
    group: Gid,
    /// The user name, by which the supplementary groups are looked up. `None` means no supplementary
    /// groups: the user has no name, or only `run-gid` is set.
    name: Option<CString>,
}

/// The reason why the daemon cannot run as the configured user.
#[derive(Debug, thiserror::Error)]
pub enum BadIdentity {
    /// The configured user does not exist.
    #[error("run-uid: there is no user {0:?} on this system")]
    NoUser(String),
    /// The configured group does not exist.
    #[error("run-gid: there is no group {0:?} on this system")]
    NoGroup(String),
    /// The user is a number without a name, so its group is unknown.
    #[error("run-uid: user {0} has no name here, and so no group; say which with run-gid")]
    GroupMissing(Uid),
    /// The user database could not be read.
    #[error("the users of this system cannot be looked up")]
    Unknown(#[source] Errno),
    /// This process does not run as root, and only root may change the user of a process.
    #[error(
        "run-uid and run-gid: only root may become {0}; start the daemon as root, or as that user, or take \
         the options out"
    )]
    NotRoot(String),
    /// The system refused the change.
    #[error("the daemon cannot become {0}")]
    Refused(String, #[source] Errno),
    /// After the change, the process could still return to root, which must be impossible.
    #[error("the daemon could become root again")]
    NotForGood,
}

impl Identity {
    /// The configured identity, if any.
    ///
    /// # Errors
    ///
    /// [`BadIdentity`] if the user or group does not exist, the group of the user is unknown, or
    /// the user database cannot be read.
    pub fn of(startup: &Startup) -> Result<Option<Self>, BadIdentity> {
        let (user, group) = (startup.run_uid.name(), startup.run_gid.name());
        if user.is_none() && group.is_none() {
            return Ok(None);
        }
        let group = group.map(group_of).transpose()?;
        let Some(user) = user else {
            return Ok(group.map(|group| Self { user: geteuid(), group, name: None }));
        };
        let (user, of_user, name) = user_of(user)?;
        let group = group.or(of_user).ok_or(BadIdentity::GroupMissing(user))?;
        Ok(Some(Self { user, group, name }))
    }

    /// The identity of the owner of a file.
    ///
    /// # Errors
    ///
    /// [`BadIdentity::Unknown`] if the user database cannot be read.
    pub fn of_files(user: u32, group: u32) -> Result<Self, BadIdentity> {
        let user = Uid::from_raw(user);
        let found = User::from_uid(user).map_err(BadIdentity::Unknown)?;
        let name = found.and_then(|user| CString::new(user.name).ok());
        Ok(Self { user, group: Gid::from_raw(group), name })
    }

    /// Whether this process already runs as this user.
    #[must_use]
    pub fn is_our_user(&self) -> bool {
        geteuid() == self.user
    }

    /// The user as an argument of `sudo -u`.
    #[must_use]
    pub fn user(&self) -> String {
        match &self.name {
            Some(name) => name.to_string_lossy().into_owned(),
            None => format!("'#{}'", self.user),
        }
    }

    /// Checks that this process has the identity, or may assume it.
    ///
    /// # Errors
    ///
    /// [`BadIdentity::NotRoot`].
    pub fn may_be_assumed(&self) -> Result<(), BadIdentity> {
        if self.is_ours() || geteuid().is_root() {
            Ok(())
        } else {
            Err(BadIdentity::NotRoot(self.to_string()))
        }
    }

    /// Creates the directory of the spool for this identity, if it is missing.
    ///
    /// # Errors
    ///
    /// The error of the system.
    pub fn own(&self, spool: &Path, mode: u32) -> std::io::Result<()> {
        make_root_for(spool, mode, self.user.as_raw(), self.group.as_raw())
    }

    /// Assumes the identity in all threads, irrevocably.
    ///
    /// # Errors
    ///
    /// [`BadIdentity`]. The daemon must then exit, because the change may be incomplete.
    pub fn assume(&self) -> Result<(), BadIdentity> {
        if self.is_ours() {
            return Ok(());
        }
        self.may_be_assumed()?;
        let refused = |errno| BadIdentity::Refused(self.to_string(), errno);
        // The order matters: after the user has changed, the process may change neither its
        // supplementary groups nor its group.
        match &self.name {
            Some(name) => initgroups(name, self.group),
            None => setgroups(&[self.group]),
        }
        .map_err(refused)?;
        setgid(self.group).map_err(refused)?;
        setuid(self.user).map_err(refused)?;
        if !self.is_ours() {
            return Err(BadIdentity::Refused(self.to_string(), Errno::EPERM));
        }
        if !self.user.is_root() && setuid(Uid::from_raw(0)).is_ok() {
            return Err(BadIdentity::NotForGood);
        }
        Ok(())
    }

    fn is_ours(&self) -> bool {
        [getuid(), geteuid()] == [self.user; 2] && [getgid(), getegid()] == [self.group; 2]
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "user {} of group {}", self.user, self.group)
    }
}

fn user_of(text: &str) -> Result<(Uid, Option<Gid>, Option<CString>), BadIdentity> {
    let number = text.parse().ok().map(Uid::from_raw);
    let found = match number {
        Some(number) => User::from_uid(number),
        None => User::from_name(text),
    };
    match (found.map_err(BadIdentity::Unknown)?, number) {
        (Some(user), _) => Ok((user.uid, Some(user.gid), CString::new(user.name).ok())),
        (None, Some(number)) => Ok((number, None, None)),
        (None, None) => Err(BadIdentity::NoUser(text.to_owned())),
    }
}

fn group_of(text: &str) -> Result<Gid, BadIdentity> {
    if let Ok(number) = text.parse() {
        return Ok(Gid::from_raw(number));
    }
    let found = Group::from_name(text).map_err(BadIdentity::Unknown)?;
    found.map(|group| group.gid).ok_or_else(|| BadIdentity::NoGroup(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wwwoffle_config::Config;

    fn identity(lines: &str) -> Result<Option<Identity>, BadIdentity> {
        let config = Config::parse(&format!("[startup]\n{lines}\n"), Path::new("t")).unwrap();
        Identity::of(&config.startup)
    }

    #[test]
    fn users_and_groups_are_found_by_name_and_number() {
        assert_eq!(identity("").unwrap(), None);
        let root = identity("run-uid = \"root\"").unwrap().unwrap();
        assert_eq!((root.user.as_raw(), root.group.as_raw()), (0, 0));
        assert_eq!(identity("run-uid = \"0\"").unwrap().unwrap(), root);
        let both = identity("run-uid = \"54321\"\nrun-gid = \"54322\"").unwrap().unwrap();
        assert_eq!((both.user.as_raw(), both.group.as_raw(), both.name), (54_321, 54_322, None));
        let group = identity("run-gid = \"54322\"").unwrap().unwrap();
        assert_eq!((group.user, group.group.as_raw()), (geteuid(), 54_322));
    }

    #[test]
    fn a_missing_user_or_group_is_reported() {
        for (lines, want) in [
            (
                "run-uid = \"no-such-user\"",
                "run-uid: there is no user \"no-such-user\" on this system",
            ),
            (
                "run-gid = \"no-such-group\"",
                "run-gid: there is no group \"no-such-group\" on this system",
            ),
            (
                "run-uid = \"54321\"",
                "run-uid: user 54321 has no name here, and so no group; say which with run-gid",
            ),
        ] {
            assert_eq!(identity(lines).unwrap_err().to_string(), want);
        }
    }
}

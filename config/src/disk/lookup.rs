//! The locations of the configuration and the spool, derived from the environment.
//!
//! The environment is passed as a value: the program reads it once, and tests construct their own.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The name of our directory in each shared base directory.
const OUR_DIRECTORY: &str = "wwwoffle";

/// The name of the configuration file in our directory.
const FILE_NAME: &str = "wwwoffle.conf";

/// The configuration file of the whole machine.
pub(crate) const SYSTEM_FILE: &str = "/etc/wwwoffle/wwwoffle.conf";

/// Environment variables, unchanged. `None` means unset. An empty variable counts as unset, and so
/// does a relative path in an XDG variable (XDG Base Directory Specification, section Basics).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `WWWOFFLE_CONFIG`: the configuration file.
    pub wwwoffle_config: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`: configurations of this user; `.config` in the home directory if unset.
    pub xdg_config_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`: data of this user; `.local/share` in the home directory if unset.
    pub xdg_data_home: Option<PathBuf>,
    /// `XDG_STATE_HOME`: state of programs for this user; `.local/state` in the home directory if
    /// unset.
    pub xdg_state_home: Option<PathBuf>,
    /// `HOME`: the home directory.
    pub home: Option<PathBuf>,
    /// `PATH`: the directories of programs.
    pub path: Option<OsString>,
    /// `DISPLAY` (X11): the screen for windows.
    pub display: Option<OsString>,
    /// `WAYLAND_DISPLAY`: the screen on a Wayland desktop.
    pub wayland_display: Option<OsString>,
    /// The variables that a service manager sets.
    pub service: ServiceVariables,
    /// `JAVA_TOOL_OPTIONS`: options of every Java program.
    pub java_tool_options: Option<OsString>,
    /// The parent proxies.
    pub proxies: ProxyVariables,
}

/// The variables that name parent proxies, as given. `Debug` does not show them, because they may contain passwords.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxyVariables {
    /// `http_proxy`. The form in upper case is not read: a request can set it for CGI programs.
    pub http: Option<OsString>,
    /// `https_proxy` or `HTTPS_PROXY`.
    pub https: Option<OsString>,
    /// `ftp_proxy` or `FTP_PROXY`.
    pub ftp: Option<OsString>,
    /// `all_proxy` or `ALL_PROXY`.
    pub all: Option<OsString>,
    /// `no_proxy` or `NO_PROXY`.
    pub exceptions: Option<OsString>,
}

impl fmt::Debug for ProxyVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyVariables(…)")
    }
}

/// The variables that a service manager sets for a service, and that its children inherit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceVariables {
    /// `NOTIFY_SOCKET`: the socket on which the service manager receives the state of the daemon.
    pub notify_socket: Option<OsString>,
    /// `WATCHDOG_USEC`: the time within which the service manager expects a sign of life.
    pub watchdog_usec: Option<OsString>,
    /// `WATCHDOG_PID`: the process that gives the signs of life.
    pub watchdog_pid: Option<OsString>,
    /// `LISTEN_PID`: the process for which the service manager has opened sockets.
    pub listen_pid: Option<OsString>,
}

impl ServiceVariables {
    /// Whether the service manager has opened sockets for this process.
    #[must_use]
    pub fn has_sockets_for(&self, process: u32) -> bool {
        self.listen_pid.as_deref().is_some_and(|given| is_process(given, process))
    }

    /// Whether the service manager expects signs of life of this process.
    #[must_use]
    pub fn watches(&self, process: u32) -> bool {
        self.watchdog_pid.as_deref().is_none_or(|given| is_process(given, process))
    }
}

fn is_process(given: &OsStr, process: u32) -> bool {
    given.to_str().and_then(|text| text.parse().ok()) == Some(process)
}

/// The search for the configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigLookup {
    /// A file that was named explicitly and must exist.
    Named(PathBuf),
    /// The first of these files that exists. If none exists, all options have their defaults.
    FirstOf(Vec<PathBuf>),
}

/// The error if the environment names no directory for the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no directory for the spool is known: give --spool DIR, set \"spool-dir\" in [startup], \
     or set XDG_DATA_HOME or HOME to an absolute path"
)]
pub struct NoDirectory;

impl ConfigLookup {
    /// The search order: `--config`, then `$WWWOFFLE_CONFIG`, then the file of this user, then that
    /// of the machine.
    ///
    /// ```
    /// use std::path::{Path, PathBuf};
    /// use wwwoffle_config::{Environment, ConfigLookup};
    ///
    /// let environment = Environment { home: Some("/home/ada".into()), ..Environment::default() };
    /// assert_eq!(
    ///     ConfigLookup::new(Some(Path::new("my.conf")), &environment),
    ///     ConfigLookup::Named("my.conf".into()),
    /// );
    /// assert_eq!(
    ///     ConfigLookup::new(None, &environment),
    ///     ConfigLookup::FirstOf(vec![
    ///         "/home/ada/.config/wwwoffle/wwwoffle.conf".into(),
    ///         "/etc/wwwoffle/wwwoffle.conf".into(),
    ///     ]),
    /// );
    /// ```
    #[must_use]
    pub fn new(named: Option<&Path>, environment: &Environment) -> Self {
        let named = named.or_else(|| set(environment.wwwoffle_config.as_ref()));
        if let Some(path) = named {
            return Self::Named(path.to_owned());
        }
        let user = user_directory(environment.xdg_config_home.as_ref(), environment, ".config");
        let user = user.map(|base| base.join(OUR_DIRECTORY).join(FILE_NAME));
        Self::FirstOf(user.into_iter().chain([PathBuf::from(SYSTEM_FILE)]).collect())
    }
}

impl Environment {
    /// The default directory of the spool.
    pub(crate) fn default_spool(&self) -> Result<PathBuf, NoDirectory> {
        user_directory(self.xdg_data_home.as_ref(), self, ".local/share")
            .map(|base| base.join(OUR_DIRECTORY))
            .ok_or(NoDirectory)
    }

    /// The directory for state that is neither configuration nor data, such as the profile of a
    /// browser. `None` if neither `XDG_STATE_HOME` nor `HOME` is usable.
    #[must_use]
    pub fn state_directory(&self) -> Option<PathBuf> {
        user_directory(self.xdg_state_home.as_ref(), self, ".local/state")
            .map(|base| base.join(OUR_DIRECTORY))
    }

    /// The directory for configurations of this user. `None` if neither `XDG_CONFIG_HOME` nor `HOME`
    /// is usable.
    #[must_use]
    pub fn config_home(&self) -> Option<PathBuf> {
        user_directory(self.xdg_config_home.as_ref(), self, ".config")
    }

    /// The directory for data of this user. `None` if neither `XDG_DATA_HOME` nor `HOME` is usable.
    #[must_use]
    pub fn data_home(&self) -> Option<PathBuf> {
        user_directory(self.xdg_data_home.as_ref(), self, ".local/share")
    }

    /// The home directory. `None` if `HOME` is unset or not absolute.
    #[must_use]
    pub fn home_directory(&self) -> Option<&Path> {
        set(self.home.as_ref()).filter(|home| home.is_absolute())
    }
}

/// A base directory of the XDG specification: the variable, or its default in the home directory.
fn user_directory(
    variable: Option<&PathBuf>,
    environment: &Environment,
    at_home: &str,
) -> Option<PathBuf> {
    let absolute = |path: &&Path| path.is_absolute();
    let home = || set(environment.home.as_ref()).filter(absolute);
    let given = set(variable).filter(absolute).map(Path::to_owned);
    given.or_else(|| home().map(|home| home.join(at_home)))
}

fn set(variable: Option<&PathBuf>) -> Option<&Path> {
    variable.map(PathBuf::as_path).filter(|path| !path.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::{ConfigLookup, Environment, NoDirectory};
    use std::path::{Path, PathBuf};

    fn environment(config: &str, config_home: &str, data_home: &str, home: &str) -> Environment {
        let set = |text: &str| (text != "-").then(|| PathBuf::from(text));
        Environment {
            wwwoffle_config: set(config),
            xdg_config_home: set(config_home),
            xdg_data_home: set(data_home),
            home: set(home),
            ..Environment::default()
        }
    }

    #[test]
    fn a_named_file_precedes_the_default_files() {
        let user = "/h/.config/wwwoffle/wwwoffle.conf";
        let xdg = "/x/wwwoffle/wwwoffle.conf";
        let system = "/etc/wwwoffle/wwwoffle.conf";
        for (option, variable, config_home, home, want) in [
            (Some("a"), "b", "/x", "/h", ["a"].as_slice()),
            (None, "b", "/x", "/h", &["b"]),
            (None, "", "/x", "/h", &[xdg, system]),
            (None, "-", "-", "/h", &[user, system]),
            (None, "-", "", "/h", &[user, system]),
            (None, "-", "relative", "/h", &[user, system]),
            (None, "-", "-", "-", &[system]),
            (None, "-", "-", "relative", &[system]),
        ] {
            let environment = environment(variable, config_home, "-", home);
            let got = match ConfigLookup::new(option.map(Path::new), &environment) {
                ConfigLookup::Named(path) => vec![path],
                ConfigLookup::FirstOf(paths) => paths,
            };
            let want: Vec<_> = want.iter().map(PathBuf::from).collect();
            assert_eq!(got, want, "{option:?} {environment:?}");
        }
    }

    #[test]
    fn the_spool_is_in_the_data_directory() {
        for (data_home, home, want) in [
            ("/d", "/h", Ok("/d/wwwoffle")),
            ("-", "/h", Ok("/h/.local/share/wwwoffle")),
            ("d", "/h", Ok("/h/.local/share/wwwoffle")),
            ("-", "", Err(NoDirectory)),
            ("-", "-", Err(NoDirectory)),
        ] {
            let got = environment("-", "-", data_home, home).default_spool();
            assert_eq!(got, want.map(PathBuf::from), "{data_home} {home}");
        }
    }

    #[test]
    fn the_other_directories_of_a_user_follow_the_home_directory() {
        let mut environment = environment("-", "-", "-", "/h");
        assert_eq!(environment.state_directory(), Some("/h/.local/state/wwwoffle".into()));
        assert_eq!(environment.data_home(), Some("/h/.local/share".into()));
        assert_eq!(environment.home_directory(), Some(Path::new("/h")));
        environment.xdg_state_home = Some("/s".into());
        assert_eq!(environment.state_directory(), Some("/s/wwwoffle".into()));
        environment.home = Some("relative".into());
        assert_eq!((environment.data_home(), environment.home_directory()), (None, None));
    }
}

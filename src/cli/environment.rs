//! Reads the environment, once and only here.

use std::{env, ffi::OsString};

pub use wwwoffle_config::Environment;
use wwwoffle_config::{ProxyVariables, ServiceVariables};

use crate::base::tier_secrets::TierSecrets;

/// Reads the environment of this process.
#[must_use]
pub fn read() -> Environment {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads it")]
    let variable = |name: &str| -> Option<OsString> { env::var_os(name) };
    Environment {
        wwwoffle_config: variable("WWWOFFLE_CONFIG").map(Into::into),
        xdg_config_home: variable("XDG_CONFIG_HOME").map(Into::into),
        xdg_data_home: variable("XDG_DATA_HOME").map(Into::into),
        xdg_state_home: variable("XDG_STATE_HOME").map(Into::into),
        home: variable("HOME").map(Into::into),
        path: variable("PATH"),
        display: variable("DISPLAY"),
        wayland_display: variable("WAYLAND_DISPLAY"),
        service: ServiceVariables {
            notify_socket: variable("NOTIFY_SOCKET"),
            watchdog_usec: variable("WATCHDOG_USEC"),
            watchdog_pid: variable("WATCHDOG_PID"),
            listen_pid: variable("LISTEN_PID"),
        },
        java_tool_options: variable("JAVA_TOOL_OPTIONS"),
        proxies: ProxyVariables {
            http: variable("http_proxy"),
            https: variable("https_proxy").or_else(|| variable("HTTPS_PROXY")),
            ftp: variable("ftp_proxy").or_else(|| variable("FTP_PROXY")),
            all: variable("all_proxy").or_else(|| variable("ALL_PROXY")),
            exceptions: variable("no_proxy").or_else(|| variable("NO_PROXY")),
        },
    }
}

/// Reads the credentials for the archive tier from the environment of this process. Text that is
/// not UTF-8 counts as missing.
#[must_use]
pub fn tier_secrets() -> TierSecrets {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads it")]
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    TierSecrets {
        access_key: variable("AWS_ACCESS_KEY_ID"),
        secret_key: variable("AWS_SECRET_ACCESS_KEY"),
        catalogue_password: variable("PGPASSWORD"),
    }
}

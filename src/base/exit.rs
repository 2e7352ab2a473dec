//! The exit statuses of the program, in one table.

use std::process::ExitCode;

/// The exit status of a `wwwoffle` command. Scripts rely on the numbers, which never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// The command succeeded.
    Done,
    /// The command failed; standard error says why.
    Failed,
    /// The command line is invalid.
    Usage,
    /// The requests are in the queue, and are fetched when the mode allows.
    Queued,
    /// The spool was damaged and was repaired.
    Repaired,
    /// The spool is damaged.
    Unsound,
    /// The configuration is invalid (`EX_USAGE` of sysexits.h).
    BadConfig,
    /// No daemon runs on the spool (`EX_UNAVAILABLE`).
    NoDaemon,
    /// The spool cannot be used (`EX_CANTCREAT`).
    BadSpool,
    /// The port or the spool is in use by another program (`EX_TEMPFAIL`).
    Taken,
}

impl ExitStatus {
    /// All statuses, ordered by number.
    pub const ALL: [Self; 10] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Queued,
        Self::Repaired,
        Self::Unsound,
        Self::BadConfig,
        Self::NoDaemon,
        Self::BadSpool,
        Self::Taken,
    ];

    /// The number that the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Queued => 10,
            Self::Repaired => 11,
            Self::Unsound => 12,
            Self::BadConfig => 64,
            Self::NoDaemon => 69,
            Self::BadSpool => 73,
            Self::Taken => 75,
        }
    }

    /// One line for the help text.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed; standard error says why",
            Self::Usage => "bad usage",
            Self::Queued => "queued, will be fetched when online",
            Self::Repaired => "the spool was damaged, and is repaired",
            Self::Unsound => "the spool is damaged",
            Self::BadConfig => "bad configuration",
            Self::NoDaemon => "no daemon is running on this spool",
            Self::BadSpool => "the spool cannot be used",
            Self::Taken => "in use: another program uses the port or the spool",
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}

#[cfg(test)]
mod tests {
    use super::ExitStatus;

    #[test]
    fn exit_statuses_have_the_documented_numbers() {
        let codes = ExitStatus::ALL.map(ExitStatus::code);
        assert_eq!(codes, [0, 1, 2, 10, 11, 12, 64, 69, 73, 75]);
    }
}

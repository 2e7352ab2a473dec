//! The exit statuses of the program, in one table.

use std::process::ExitCode;

/// How a run of `wwwoffle` ended. The numbers are promised to scripts and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// Everything asked for was done.
    Done,
    /// Something failed; standard error says what.
    Failed,
    /// The command line could not be understood.
    Usage,
    /// What was asked for is on the outgoing queue, and is fetched when the mode allows.
    Queued,
    /// The spool was not sound; it has been repaired, and is now.
    Repaired,
    /// The spool is not sound.
    Unsound,
    /// The configuration was refused (`EX_USAGE` of sysexits.h).
    BadConfig,
    /// No daemon runs on the spool (`EX_UNAVAILABLE`).
    NoDaemon,
    /// The spool cannot be used (`EX_CANTCREAT`).
    BadSpool,
    /// The port or the spool is in use by another program (`EX_TEMPFAIL`).
    Taken,
}

impl ExitStatus {
    /// All of them, in the order of their numbers.
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

    /// The number the shell sees.
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
            Self::Failed => "something failed, said on standard error",
            Self::Usage => "bad usage",
            Self::Queued => "queued, will be fetched when online",
            Self::Repaired => "the spool was not sound, and is now",
            Self::Unsound => "the spool is not sound",
            Self::BadConfig => "bad configuration",
            Self::NoDaemon => "no daemon runs on this spool",
            Self::BadSpool => "the spool cannot be used",
            Self::Taken => "taken: the port, or the spool, is in use by another program",
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
    fn numbers_are_the_promised_ones() {
        let codes = ExitStatus::ALL.map(ExitStatus::code);
        assert_eq!(codes, [0, 1, 2, 10, 11, 12, 64, 69, 73, 75]);
    }
}

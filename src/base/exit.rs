//! The exit statuses of the program, in one table.

wwwoffle_url::named! {
    /// The exit status of a `wwwoffle` command. Scripts rely on the numbers, which never change.
    /// The names are for the help text.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ExitStatus {
        /// The command succeeded.
        Done = "done",
        /// The command failed; standard error says why.
        Failed = "failed; standard error says why",
        /// The command line is invalid.
        Usage = "bad usage",
        /// The certificate authority has expired, as `wwwoffle-checkcert` of 2.9 reports it.
        Expired = "`ca show`: the certificate authority has expired",
        /// The requests are in the queue, and are fetched when the mode allows.
        Queued = "queued, will be fetched when online",
        /// The spool was damaged and was repaired.
        Repaired = "the spool was damaged, and is repaired",
        /// The spool is damaged.
        Unsound = "the spool is damaged",
        /// The configuration is invalid (`EX_USAGE` of sysexits.h).
        BadConfig = "bad configuration",
        /// No daemon runs on the spool (`EX_UNAVAILABLE`).
        NoDaemon = "no daemon is running on this spool",
        /// The spool cannot be used (`EX_CANTCREAT`).
        BadSpool = "the spool cannot be used",
        /// The port or the spool is in use by another program (`EX_TEMPFAIL`).
        Taken = "in use: another program uses the port or the spool",
    }
}

impl ExitStatus {
    /// The number that the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage | Self::Expired => 2,
            Self::Queued => 10,
            Self::Repaired => 11,
            Self::Unsound => 12,
            Self::BadConfig => 64,
            Self::NoDaemon => 69,
            Self::BadSpool => 73,
            Self::Taken => 75,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ExitStatus;

    #[test]
    fn exit_statuses_have_the_documented_numbers() {
        let codes = ExitStatus::ALL.map(ExitStatus::code);
        assert_eq!(codes, [0, 1, 2, 2, 10, 11, 12, 64, 69, 73, 75]);
    }
}

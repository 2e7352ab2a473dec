//! Formats an error with its causes, for a log line, a page or standard error.

use std::error::Error;

/// Formats an error and all its causes in one line. Each error must describe only its own level.
///
/// ```
/// # use wwwoffle::base::error_chain::error_chain;
/// let error = "rubbish".parse::<wwwoffle::base::mode::ModeSetting>().unwrap_err();
/// assert_eq!(error_chain(&error), error.to_string());
/// ```
#[must_use]
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::net::upstream::Failure;

    #[test]
    fn each_level_of_an_error_is_shown_once_from_the_outermost() {
        let source = io::Error::other("no route");
        let failure = Failure::Unreachable { authority: "h.example:80".to_owned(), source };
        assert_eq!(error_chain(&failure), "h.example:80 cannot be reached: no route");
    }
}

//! Whether a request to our own pages and API may pass.
//!
//! Four things are kept out: a page of another origin that makes the browser send a form here
//! (cross-site request forgery), a foreign name that was made to resolve to our address (DNS
//! rebinding), a link or image that changes something by being loaded, and a page of another site
//! that loads a page of ours to learn from the outcome.

/// What decides, taken from the request by the caller.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// How it reached us.
    pub over: Over,
    /// Whether the method promises to change nothing: GET, HEAD or OPTIONS.
    pub safe_method: bool,
    /// Whether `Host` is one of the local names with one of our ports.
    pub host_is_ours: bool,
    /// `Sec-Fetch-Site`, where the browser says who made it send the request.
    pub fetch_site: Option<&'a str>,
    /// Whether another site may make a browser send it.
    pub other_sites: OtherSites,
    /// `Origin`.
    pub origin: Option<&'a str>,
    /// Our origin under the name the client used, `http://127.0.0.1:8080`.
    pub our_origin: &'a str,
    /// What the token is worth.
    pub token: Token,
    /// What the request would do.
    pub scope: Scope,
    /// Why the caller may not do it, whatever page sent it here. `None` if it may.
    pub lacks: Option<Refusal>,
}

/// How a request reached us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The Unix socket in the spool: whoever may open it may command.
    UnixSocket,
    /// The proxy port, which any page in a browser can address.
    Tcp,
}

/// Whether a page of another site may make a browser send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherSites {
    /// It may: to open a page of ours in a window, or to load a public file.
    Allowed,
    /// It may not.
    Refused,
}

/// What the form field `token`, or the field `X-Wwwoffle-Token`, is worth for the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// There is none.
    Absent,
    /// It was made for something else, by another daemon, or by nobody.
    Wrong,
    /// It is the one for this scope.
    Right,
}

/// What the request would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Anything: it must come from a page of ours, with the general token.
    General,
    /// One thing, named by its token: undo one request, confirm one, fetch one page. It comes from a
    /// message page, which appears under the name of a foreign origin, so where it comes from
    /// says nothing; the token is all there is.
    OnePurpose,
}

/// What the guard says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may pass.
    Allow,
    /// It may not.
    Refuse(Refusal),
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// `Host` is not a name of ours.
    #[error("the address used is not one of this proxy's own names")]
    ForeignHost,
    /// The browser says that another site made it send this.
    #[error("another site asked the browser to send this request")]
    CrossSite,
    /// `Origin` is not ours.
    #[error("the form was sent by a page of another origin")]
    ForeignOrigin,
    /// It needs the control password, and came without.
    #[error("the request needs the control password")]
    NoPassword,
    /// It changes what all share, and came from another machine, without a control password.
    #[error("other machines may only read and request pages, because there is no control password")]
    OtherMachine,
    /// It takes the Unix socket or the control password, and there is no control password.
    #[error("this needs the control password, and none is set")]
    NotAdministrator,
    /// There is no token.
    #[error("the request carries no token")]
    NoToken,
    /// The token is not the one for this.
    #[error("the token is not valid, or from before the last start of the proxy")]
    WrongToken,
}

/// Decides whether a request may pass.
///
/// A request with a safe method passes if its `Host` is ours and no other site makes the browser load
/// it unseen: it changes nothing.
#[must_use]
pub fn guard(asked: &Asked<'_>) -> Verdict {
    match refusal(asked) {
        Some(refusal) => Verdict::Refuse(refusal),
        None => Verdict::Allow,
    }
}

fn refusal(asked: &Asked<'_>) -> Option<Refusal> {
    if asked.over == Over::UnixSocket {
        return None;
    }
    if !asked.host_is_ours {
        return Some(Refusal::ForeignHost);
    }
    let is_foreign = |site: &str| !matches!(site, "same-origin" | "none");
    if asked.other_sites == OtherSites::Refused && asked.fetch_site.is_some_and(is_foreign) {
        return Some(Refusal::CrossSite);
    }
    if asked.safe_method {
        return None;
    }
    if asked.scope == Scope::General {
        // "none" is a person typing the address, which no form can be sent by; only a browser
        // sends the field, so its absence is a program, or a browser that relies on `Origin`.
        if asked.fetch_site.is_some_and(|site| site != "same-origin") {
            return Some(Refusal::CrossSite);
        }
        // "null" is what a sandboxed frame or a page without referrer says: not ours either.
        if asked.origin.is_some_and(|origin| !origin.eq_ignore_ascii_case(asked.our_origin)) {
            return Some(Refusal::ForeignOrigin);
        }
        // After what a browser can be made to send: else a foreign page could have it ask for the
        // password.
        if asked.lacks.is_some() {
            return asked.lacks;
        }
    }
    match asked.token {
        Token::Right => None,
        Token::Absent => Some(Refusal::NoToken),
        Token::Wrong => Some(Refusal::WrongToken),
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, OtherSites, Over, Refusal, Scope, Token, Verdict, guard};

    const OURS: &str = "http://localhost:8080";

    /// A form of ours, sent by a browser from a page of ours.
    const FORM: Asked<'static> = Asked {
        over: Over::Tcp,
        safe_method: false,
        host_is_ours: true,
        fetch_site: Some("same-origin"),
        other_sites: OtherSites::Refused,
        origin: Some(OURS),
        our_origin: OURS,
        token: Token::Right,
        scope: Scope::General,
        lacks: None,
    };

    /// The undo button of a message page under a foreign name.
    const UNDO: Asked<'static> = Asked {
        fetch_site: Some("cross-site"),
        other_sites: OtherSites::Allowed,
        origin: Some("null"),
        scope: Scope::OnePurpose,
        ..FORM
    };

    #[test]
    fn who_may_do_what() {
        use Refusal::{
            CrossSite, ForeignHost, ForeignOrigin, NoPassword, NoToken, OtherMachine, WrongToken,
        };
        let hostile = Asked {
            host_is_ours: false,
            fetch_site: Some("cross-site"),
            origin: Some("http://evil.example"),
            token: Token::Absent,
            ..FORM
        };
        let table: &[(&str, Asked<'_>, Option<Refusal>)] = &[
            ("our form", FORM, None),
            ("a program with the token", Asked { fetch_site: None, origin: None, ..FORM }, None),
            ("an old browser", Asked { fetch_site: None, ..FORM }, None),
            ("origin in capitals", Asked { origin: Some("HTTP://LOCALHOST:8080"), ..FORM }, None),
            ("rebinding", Asked { host_is_ours: false, ..FORM }, Some(ForeignHost)),
            (
                "rebinding that only reads",
                Asked { host_is_ours: false, safe_method: true, ..FORM },
                Some(ForeignHost),
            ),
            ("a link from elsewhere", Asked { safe_method: true, ..UNDO }, None),
            (
                "an image from elsewhere",
                Asked { safe_method: true, other_sites: OtherSites::Refused, ..UNDO },
                Some(CrossSite),
            ),
            (
                "an image from another port",
                Asked { safe_method: true, fetch_site: Some("same-site"), ..FORM },
                Some(CrossSite),
            ),
            (
                "an image from nobody knows where",
                Asked { safe_method: true, fetch_site: Some(""), ..FORM },
                Some(CrossSite),
            ),
            ("typing", Asked { safe_method: true, fetch_site: Some("none"), ..FORM }, None),
            (
                "undo by a script",
                Asked { other_sites: OtherSites::Refused, ..UNDO },
                Some(CrossSite),
            ),
            ("reading", Asked { safe_method: true, token: Token::Absent, ..FORM }, None),
            ("cross-site", Asked { fetch_site: Some("cross-site"), ..FORM }, Some(CrossSite)),
            ("another port", Asked { fetch_site: Some("same-site"), ..FORM }, Some(CrossSite)),
            ("typed", Asked { fetch_site: Some("none"), ..FORM }, Some(CrossSite)),
            ("odd site", Asked { fetch_site: Some(""), ..FORM }, Some(CrossSite)),
            (
                "foreign origin",
                Asked { fetch_site: None, origin: Some("http://evil.example"), ..FORM },
                Some(ForeignOrigin),
            ),
            (
                "another port's origin",
                Asked { fetch_site: None, origin: Some("http://localhost:80"), ..FORM },
                Some(ForeignOrigin),
            ),
            (
                "sandboxed frame",
                Asked { fetch_site: None, origin: Some("null"), ..FORM },
                Some(ForeignOrigin),
            ),
            ("no token", Asked { token: Token::Absent, ..FORM }, Some(NoToken)),
            ("old token", Asked { token: Token::Wrong, ..FORM }, Some(WrongToken)),
            ("from elsewhere", Asked { lacks: Some(OtherMachine), ..FORM }, Some(OtherMachine)),
            ("no password", Asked { lacks: Some(NoPassword), ..FORM }, Some(NoPassword)),
            (
                "neither password nor token",
                Asked { lacks: Some(NoPassword), token: Token::Absent, ..FORM },
                Some(NoPassword),
            ),
            (
                "cross-site without password",
                Asked { lacks: Some(NoPassword), fetch_site: Some("cross-site"), ..FORM },
                Some(CrossSite),
            ),
            (
                "reading without password",
                Asked { lacks: Some(NoPassword), safe_method: true, ..FORM },
                None,
            ),
            ("undo without password", Asked { lacks: Some(NoPassword), ..UNDO }, None),
            ("undo", UNDO, None),
            ("undo without token", Asked { token: Token::Absent, ..UNDO }, Some(NoToken)),
            ("undo of another", Asked { token: Token::Wrong, ..UNDO }, Some(WrongToken)),
            ("undo by rebinding", Asked { host_is_ours: false, ..UNDO }, Some(ForeignHost)),
            ("the socket", Asked { over: Over::UnixSocket, ..hostile }, None),
            ("all at once", hostile, Some(ForeignHost)),
        ];
        for (what, asked, want) in table {
            let want = want.map_or(Verdict::Allow, Verdict::Refuse);
            assert_eq!(guard(asked), want, "{what}");
        }
    }

    /// Over TCP nothing that changes something passes without its token, whatever else is right.
    #[test]
    fn nothing_changes_without_its_token() {
        for scope in [Scope::General, Scope::OnePurpose] {
            for fetch_site in [None, Some("same-origin"), Some("cross-site"), Some("none")] {
                for origin in [None, Some(OURS), Some("null"), Some("http://evil.example")] {
                    for token in [Token::Absent, Token::Wrong] {
                        let asked = Asked { fetch_site, origin, token, scope, ..FORM };
                        assert_ne!(guard(&asked), Verdict::Allow, "{asked:?}");
                    }
                }
            }
        }
    }
}

//! The guard of our own pages and API, which decides whether a request may pass.
//!
//! It prevents four attacks: a page of another origin that makes the browser send a form to us
//! (cross-site request forgery), a foreign name that resolves to our address (DNS rebinding), a
//! link or image that causes a change when it is loaded, and a page of another site that loads a
//! page of ours to learn from the result.

use hyper::HeaderMap;
use hyper::header::HeaderName;

/// The input of the decision, which the caller takes from the request.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// How the request reached us.
    pub over: Transport,
    /// Whether the method promises to change nothing: GET, HEAD or OPTIONS.
    pub safe_method: bool,
    /// Whether `Host` is one of the local names with one of our ports.
    pub host_is_ours: bool,
    /// `Sec-Fetch-Site`, in which the browser names the kind of site that caused the request.
    pub fetch_site: Option<&'a str>,
    /// Whether another site may make a browser send this request.
    pub other_sites: OtherSites,
    /// The field `Origin`.
    pub origin: Option<&'a str>,
    /// Our origin under the name the client used, such as `http://127.0.0.1:8080`.
    pub our_origin: &'a str,
    /// The validity of the token.
    pub token: Token,
    /// The scope of the action.
    pub scope: ActionScope,
    /// The reason why the caller may not make the request, regardless of the page that sent it.
    /// `None` if the caller may.
    pub lacks: Option<GuardRefusal>,
}

/// Returns the value of a field; `None` if it is missing. If the field is repeated or not text,
/// returns an empty text, so that the field is present but has no expected value.
#[must_use]
pub fn single_value<'fields>(
    fields: &'fields HeaderMap,
    name: &HeaderName,
) -> Option<&'fields str> {
    let mut values = fields.get_all(name).iter();
    let first = values.next()?;
    let text = first.to_str().ok().filter(|_| values.next().is_none());
    Some(text.unwrap_or_default())
}

/// How a request reached us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The Unix socket in the spool. Any user who may open it may send commands.
    UnixSocket,
    /// The proxy port, which any page in a browser can address.
    Tcp,
}

/// Whether a page of another site may make a browser send a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherSites {
    /// The other site may cause the request: it opens a page of ours in a window, or loads a public
    /// file.
    Allowed,
    /// The other site may not cause the request.
    Refused,
}

/// The validity of the form field `token`, or of the header field `X-Wwwoffle-Token`, for the scope
/// of the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    /// The request has no token.
    Absent,
    /// The token is for another purpose, of another daemon, or forged.
    Wrong,
    /// The token is correct for this scope.
    Right,
}

/// The scope of the action that the request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionScope {
    /// Any action: it must come from a page of ours, with the general token.
    General,
    /// The one action that the token names, for example to undo one request or to fetch one page.
    /// The form is on a message page, which appears under the name of a foreign origin. So the
    /// origin of the request proves nothing, and only the token does.
    OnePurpose,
}

/// The decision of the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardVerdict {
    /// The request may pass.
    Allow,
    /// The request is refused.
    Refuse(GuardRefusal),
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardRefusal {
    /// `Host` is not a name of ours.
    #[error("the address used is not one of this proxy's own names")]
    ForeignHost,
    /// The browser reports that another site made it send this request.
    #[error("another site asked the browser to send this request")]
    CrossSite,
    /// A page of another site may have opened an address whose response may be a file or a page.
    #[error("another site may have opened this address")]
    OpenedElsewhere,
    /// `Origin` is not ours.
    #[error("the form was sent by a page of another origin")]
    ForeignOrigin,
    /// The request needs the control password, and has none.
    #[error("the request needs the control password")]
    NoPassword,
    /// The request changes shared state and comes from another machine, without a control password.
    #[error("other machines may only read and request pages, because there is no control password")]
    OtherMachine,
    /// The request requires the Unix socket or the control password, and no control password is
    /// set.
    #[error("this needs the control password, and none is set")]
    NotAdministrator,
    /// The request has no token.
    #[error("the request carries no token")]
    NoToken,
    /// The token is not valid for this action.
    #[error("the token is not valid, or from before the last start of the proxy")]
    WrongToken,
}

/// Decides whether a request may pass. Every request over the Unix socket may pass.
///
/// A request with a safe method changes nothing. It passes if its `Host` is ours and no other site
/// makes the browser load it in the background.
#[must_use]
pub fn guard(asked: &Attempt<'_>) -> GuardVerdict {
    match refusal(asked) {
        Some(refusal) => GuardVerdict::Refuse(refusal),
        None => GuardVerdict::Allow,
    }
}

fn refusal(asked: &Attempt<'_>) -> Option<GuardRefusal> {
    if asked.over == Transport::UnixSocket {
        return None;
    }
    if !asked.host_is_ours {
        return Some(GuardRefusal::ForeignHost);
    }
    let is_foreign = |site: &str| !matches!(site, "same-origin" | "none");
    if asked.other_sites == OtherSites::Refused && asked.fetch_site.is_some_and(is_foreign) {
        return Some(GuardRefusal::CrossSite);
    }
    if asked.safe_method {
        return None;
    }
    if asked.scope == ActionScope::General {
        // Only browsers send `Sec-Fetch-Site`. Its value "none" means that a user has typed the
        // address, and a typed address cannot send a form. A client without this field is a
        // program, or a browser that relies on `Origin`.
        if asked.fetch_site.is_some_and(|site| site != "same-origin") {
            return Some(GuardRefusal::CrossSite);
        }
        // A sandboxed frame or a page without referrer sends "null", which is not ours either.
        if asked.origin.is_some_and(|origin| !origin.eq_ignore_ascii_case(asked.our_origin)) {
            return Some(GuardRefusal::ForeignOrigin);
        }
        // Checked after the properties that a foreign page controls. Otherwise that page could make
        // the browser ask for the password.
        if asked.lacks.is_some() {
            return asked.lacks;
        }
    }
    match asked.token {
        Token::Right => None,
        Token::Absent => Some(GuardRefusal::NoToken),
        Token::Wrong => Some(GuardRefusal::WrongToken),
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{HeaderValue, ORIGIN};

    use super::{
        ActionScope, Attempt, GuardRefusal, GuardVerdict, OtherSites, Token, Transport, guard,
        single_value,
    };

    const OURS: &str = "http://localhost:8080";

    /// A form of ours, sent by a browser from a page of ours.
    const FORM: Attempt<'static> = Attempt {
        over: Transport::Tcp,
        safe_method: false,
        host_is_ours: true,
        fetch_site: Some("same-origin"),
        other_sites: OtherSites::Refused,
        origin: Some(OURS),
        our_origin: OURS,
        token: Token::Right,
        scope: ActionScope::General,
        lacks: None,
    };

    /// The undo button of a message page under a foreign name.
    const UNDO: Attempt<'static> = Attempt {
        fetch_site: Some("cross-site"),
        other_sites: OtherSites::Allowed,
        origin: Some("null"),
        scope: ActionScope::OnePurpose,
        ..FORM
    };

    #[test]
    fn the_guard_allows_requests_as_the_table_says() {
        use GuardRefusal::{
            CrossSite, ForeignHost, ForeignOrigin, NoPassword, NoToken, OtherMachine, WrongToken,
        };
        let hostile = Attempt {
            host_is_ours: false,
            fetch_site: Some("cross-site"),
            origin: Some("http://evil.example"),
            token: Token::Absent,
            ..FORM
        };
        let table: &[(&str, Attempt<'_>, Option<GuardRefusal>)] = &[
            ("our form", FORM, None),
            ("a program with the token", Attempt { fetch_site: None, origin: None, ..FORM }, None),
            ("an old browser", Attempt { fetch_site: None, ..FORM }, None),
            ("origin in capitals", Attempt { origin: Some("HTTP://LOCALHOST:8080"), ..FORM }, None),
            ("rebinding", Attempt { host_is_ours: false, ..FORM }, Some(ForeignHost)),
            (
                "rebinding that only reads",
                Attempt { host_is_ours: false, safe_method: true, ..FORM },
                Some(ForeignHost),
            ),
            ("a link from elsewhere", Attempt { safe_method: true, ..UNDO }, None),
            (
                "an image from elsewhere",
                Attempt { safe_method: true, other_sites: OtherSites::Refused, ..UNDO },
                Some(CrossSite),
            ),
            (
                "an image from another port",
                Attempt { safe_method: true, fetch_site: Some("same-site"), ..FORM },
                Some(CrossSite),
            ),
            (
                "an image from nobody knows where",
                Attempt { safe_method: true, fetch_site: Some(""), ..FORM },
                Some(CrossSite),
            ),
            ("typing", Attempt { safe_method: true, fetch_site: Some("none"), ..FORM }, None),
            (
                "undo by a script",
                Attempt { other_sites: OtherSites::Refused, ..UNDO },
                Some(CrossSite),
            ),
            ("reading", Attempt { safe_method: true, token: Token::Absent, ..FORM }, None),
            ("cross-site", Attempt { fetch_site: Some("cross-site"), ..FORM }, Some(CrossSite)),
            ("another port", Attempt { fetch_site: Some("same-site"), ..FORM }, Some(CrossSite)),
            ("typed", Attempt { fetch_site: Some("none"), ..FORM }, Some(CrossSite)),
            ("odd site", Attempt { fetch_site: Some(""), ..FORM }, Some(CrossSite)),
            (
                "foreign origin",
                Attempt { fetch_site: None, origin: Some("http://evil.example"), ..FORM },
                Some(ForeignOrigin),
            ),
            (
                "another port's origin",
                Attempt { fetch_site: None, origin: Some("http://localhost:80"), ..FORM },
                Some(ForeignOrigin),
            ),
            (
                "sandboxed frame",
                Attempt { fetch_site: None, origin: Some("null"), ..FORM },
                Some(ForeignOrigin),
            ),
            ("no token", Attempt { token: Token::Absent, ..FORM }, Some(NoToken)),
            ("old token", Attempt { token: Token::Wrong, ..FORM }, Some(WrongToken)),
            ("from elsewhere", Attempt { lacks: Some(OtherMachine), ..FORM }, Some(OtherMachine)),
            ("no password", Attempt { lacks: Some(NoPassword), ..FORM }, Some(NoPassword)),
            (
                "neither password nor token",
                Attempt { lacks: Some(NoPassword), token: Token::Absent, ..FORM },
                Some(NoPassword),
            ),
            (
                "cross-site without password",
                Attempt { lacks: Some(NoPassword), fetch_site: Some("cross-site"), ..FORM },
                Some(CrossSite),
            ),
            (
                "reading without password",
                Attempt { lacks: Some(NoPassword), safe_method: true, ..FORM },
                None,
            ),
            ("undo without password", Attempt { lacks: Some(NoPassword), ..UNDO }, None),
            ("undo", UNDO, None),
            ("undo without token", Attempt { token: Token::Absent, ..UNDO }, Some(NoToken)),
            ("undo of another", Attempt { token: Token::Wrong, ..UNDO }, Some(WrongToken)),
            ("undo by rebinding", Attempt { host_is_ours: false, ..UNDO }, Some(ForeignHost)),
            ("the socket", Attempt { over: Transport::UnixSocket, ..hostile }, None),
            ("all at once", hostile, Some(ForeignHost)),
        ];
        for (what, asked, want) in table {
            let want = want.map_or(GuardVerdict::Allow, GuardVerdict::Refuse);
            assert_eq!(guard(asked), want, "{what}");
        }
    }

    /// Over TCP no change passes without its token, even if all else is correct.
    #[test]
    fn a_change_without_its_token_is_refused() {
        for scope in [ActionScope::General, ActionScope::OnePurpose] {
            for fetch_site in [None, Some("same-origin"), Some("cross-site"), Some("none")] {
                for origin in [None, Some(OURS), Some("null"), Some("http://evil.example")] {
                    for token in [Token::Absent, Token::Wrong] {
                        let asked = Attempt { fetch_site, origin, token, scope, ..FORM };
                        assert_ne!(guard(&asked), GuardVerdict::Allow, "{asked:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn an_ambiguous_field_matches_nothing() {
        for (values, want) in [
            (&[][..], None),
            (&[&b"http://a"[..]], Some("http://a")),
            (&[b"http://a", b"http://b"], Some("")),
            (&[b"\xff"], Some("")),
        ] {
            let mut fields = HeaderMap::new();
            for value in values {
                fields.append(ORIGIN, HeaderValue::from_bytes(value).unwrap());
            }
            assert_eq!(single_value(&fields, &ORIGIN), want, "{values:?}");
        }
    }
}

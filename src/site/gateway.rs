//! The form that leads to addresses of the gateway.

use hyper::Response;
use wwwoffle_url::{BrowserError, BrowserUrl};

use super::caller::Caller;
use crate::page::form::SubmittedForm;
use crate::page::gateway;
use crate::page::message::Message;
use crate::proxy::body::Body;
use wwwoffle_html::rewrite::gateway::address;

/// Rejected input of the form.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum GatewayAddressError {
    /// Not a valid URL.
    #[error("expected an address, as www.example.org: {0}")]
    Url(#[from] BrowserError),
    /// The gateway does not serve this kind of URL.
    #[error("expected an address of http, https, ftp or finger, without a user")]
    Scheme,
}

/// Shows the form. If it was sent with an address, redirects to the gateway's address of that page.
pub(super) fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let (context, shell) = (&caller.context, &caller.shell);
    if !context.base.config().pages.gateway {
        return caller.message(&Message::NotFound { path: gateway::PATH });
    }
    let form = match SubmittedForm::of_arguments(arguments) {
        Ok(form) => form,
        Err(error) => return caller.bad_address(&error.to_string()),
    };
    let Some(typed) = form.value("url").map(str::trim).filter(|typed| !typed.is_empty()) else {
        return caller.page(gateway::page(shell, None));
    };
    match typed_address(typed) {
        Ok(address) => caller.see_other(&address),
        Err(error) => {
            let refused = Some((typed, error.to_string()));
            let refused = refused.as_ref().map(|(typed, why)| (*typed, why.as_str()));
            caller.page(gateway::page(shell, refused))
        }
    }
}

/// Parses a typed address, which may lack the scheme.
fn typed_address(typed: &str) -> Result<String, GatewayAddressError> {
    let url = match BrowserUrl::parse(typed, None) {
        // `localhost:8080` is parsed as a URL with the scheme `localhost` and without a host.
        Ok(url) if url.host().is_some() => url,
        Err(error) if typed.contains("://") => return Err(error.into()),
        _ => BrowserUrl::parse(&format!("http://{typed}"), None)?,
    };
    address(&url).ok_or(GatewayAddressError::Scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_text_becomes_an_address() {
        for (typed, want) in [
            ("www.example.org", Some("/http/www.example.org/")),
            ("Example.org:81/a b?c#d", Some("/http/example.org:81/a%20b?c#d")),
            ("https://example.org", Some("/https/example.org/")),
            ("//example.org/x", Some("/http/example.org/x")),
            ("localhost:8080/control", Some("/http/localhost:8080/control")),
            ("ftp://example.org/pub/", Some("/ftp/example.org/pub/")),
            ("gopher://example.org/", None),
            ("http://u:p@example.org/", None),
            ("http://[", None),
            ("javascript:alert(1)", None),
        ] {
            assert_eq!(typed_address(typed).ok().as_deref(), want, "{typed}");
        }
    }
}

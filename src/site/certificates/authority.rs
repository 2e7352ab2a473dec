//! Our certificate authority: its page and files.

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};
use hyper::{Response, StatusCode};
use jiff::Timestamp;

use super::page::{self, AuthorityStatus};
use crate::base::clock;
use crate::page::LocalOrigin;
use crate::proxy::body::{self, Body};
use crate::site::caller::Caller;
use crate::site::status;
use crate::tls::ca::RENEW_BEFORE;

/// Content type by which browsers and phones recognize a certificate authority to import.
const CERTIFICATE: &str = "application/x-x509-ca-cert";

/// Responds with the certificate of our authority in PEM.
pub(in crate::site) fn pem(caller: &Caller) -> Response<Body> {
    let pem = body::from_bytes(caller.context.proxy.clients.tls.authority.pem());
    caller.other(StatusCode::OK, Some(CERTIFICATE), pem)
}

/// Responds with the certificate of our authority in DER.
pub(in crate::site) fn der(caller: &Caller) -> Response<Body> {
    let der = body::from_bytes(caller.context.proxy.clients.tls.authority.der().to_vec());
    caller.other(StatusCode::OK, Some(CERTIFICATE), der)
}

/// Responds with a style sheet that a browser loads only if it trusts our authority.
pub(in crate::site) fn test(caller: &Caller) -> Response<Body> {
    caller.page(page::test())
}

/// Shows the page about our certificate authority and how to trust it.
pub(in crate::site) fn show(caller: &Caller) -> Response<Body> {
    let (context, shell) = (&caller.context, &caller.shell);
    let config = context.base.config();
    let (authority, used) = (&context.proxy.clients.tls.authority, &shell.origin);
    let secure = secured(used).unwrap_or_else(|| used.clone());
    let timestamp = |time| Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH);
    let names = config.local_host.names.as_slice();
    let phone = page::for_phones(used, names, &context.base.listening);
    let trust = AuthorityStatus {
        name: authority.name(),
        fingerprint: &authority.fingerprint(),
        from: timestamp(authority.valid_from()),
        until: timestamp(authority.valid_until()),
        ends_soon: clock::now() + RENEW_BEFORE >= authority.valid_until(),
        intercept: config.https.intercept,
        secure: &secure,
        phone: phone.as_deref(),
        rejected: &status::rejections(caller),
    };
    let mut response = caller.page(page::page(shell, &trust));
    // Only this page loads anything from another origin: the style sheet of its test.
    if let Ok(policy) = HeaderValue::from_str(&shell.policy(&format!(" {secure}"))) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns our origin over TLS. TLS is on the same port as plain HTTP.
pub(in crate::site) fn secured(used: &LocalOrigin) -> Option<LocalOrigin> {
    let host_port = used.host_port();
    let has_port = host_port.len() > used.host().len();
    let port = if has_port || used.as_str().starts_with("https:") { "" } else { ":80" };
    LocalOrigin::parse("https", &format!("{host_port}{port}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_on_the_same_port() {
        for (scheme, used, want) in [
            ("http", "localhost:8080", "https://localhost:8080"),
            ("http", "[::1]:8080", "https://[::1]:8080"),
            ("http", "ship", "https://ship:80"),
            ("https", "ship", "https://ship"),
        ] {
            let used = LocalOrigin::parse(scheme, used).unwrap();
            assert_eq!(secured(&used).unwrap().as_str(), want);
        }
    }
}

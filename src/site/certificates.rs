//! The page about a certificate that an origin presented and that we rejected, with a form that
//! allows it.
//!
//! Only a certificate that an origin has presented to this program can be allowed, and only the
//! certificate that the person saw: the fingerprint in the form must be that of the certificate
//! rejected last.

pub(super) mod authority;
pub mod code;
pub mod page;

use crate::page::links;
use hyper::Response;
use tracing::info;
use wwwoffle_config::AllowedCertificate;
use wwwoffle_config::edit::Edit;
use wwwoffle_url::CanonicalUrl;

use super::caller::Caller;
use super::forms::FormError;
use crate::base::live::Change;
use crate::net::upstream::{Origin, Scheme};
use crate::page::certificates::{self, CertificatePage, CertificateState};
use crate::page::form::SubmittedForm;
use crate::proxy::body::Body;

/// Shows the page for the arguments `site`, a host and port, and `url`, the page to continue with.
pub(super) fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let context = &caller.context;
    let form = match SubmittedForm::of_arguments(arguments) {
        Ok(form) => form,
        Err(error) => return caller.bad_address(&error.to_string()),
    };
    let Some(origin) = form.value("site").and_then(origin) else {
        let detail = "expected the host of a certificate, such as site=old.example:8443";
        return caller.bad_address(detail);
    };
    let site = origin.to_string();
    let url = form.value("url").and_then(|url| at(&origin, url, caller));
    let refused = context.net.upstream.refused_certificates().of(&origin);
    let sha256 = refused.as_ref().and_then(|refused| refused.sha256);
    let fault = refused.as_ref().map(|refused| refused.fault.to_string());
    let config = context.base.config();
    let mut allowed = config.https.allowed_certificates.at(&origin.host, origin.port);
    let standing = match (&refused, &fault, sha256) {
        (_, _, Some(sha256)) if allowed.any(|one| *one == sha256) => CertificateState::Allowed,
        (Some(refused), Some(fault), Some(_)) => {
            CertificateState::Refused { fault, differs: refused.differs }
        }
        _ => CertificateState::Unknown,
    };
    let file = context.base.live.file();
    let file = file.path();
    let page = certificates::page(
        &caller.shell,
        &CertificatePage {
            site: &site,
            url: url.as_ref().map(CanonicalUrl::as_str),
            standing,
            chain: refused.as_ref().map(|refused| &refused.chain),
            sha256: &sha256.map(hex::encode).unwrap_or_default(),
            file: file.to_str().filter(|file| !file.is_empty()),
            has_button: caller.is_administrator() || config.startup.password.hash().is_some(),
        },
    );
    caller.page(page)
}

/// Adds the certificate in `form` to the configuration, applies the change, and redirects to the
/// page of the certificate.
pub(super) async fn allow(
    caller: &Caller,
    form: &SubmittedForm,
) -> Result<Response<Body>, FormError> {
    let context = &caller.context;
    let bad = |why: &str| FormError::Bad(why.to_owned());
    let origin = form.value("site").and_then(origin);
    let origin = origin.ok_or_else(|| bad("expected the host of a certificate"))?;
    let refused = context.net.upstream.refused_certificates().of(&origin);
    let seen = refused.and_then(|refused| refused.sha256).map(hex::encode);
    let Some(sha256) = seen.filter(|seen| form.value("sha256") == Some(seen)) else {
        return Err(bad(
            "this is not the certificate that the host showed last: load the page again, and look \
             at what it shows now",
        ));
    };
    let site = origin.to_string();
    let allowed = AllowedCertificate::parse(&site, &sha256).map_err(bad)?;
    let edit = Edit::Add {
        section: "https".to_owned(),
        key: "allowed-certificates".to_owned(),
        item: allowed.to_string(),
        before: None,
    };
    let config = context.base.config();
    let mut allowed = config.https.allowed_certificates.at(&origin.host, origin.port);
    if !allowed.any(|one| hex::encode(one) == sha256) {
        let changed =
            context.base.change_config(Change::Edit(edit), None, caller.permission.reach()).await;
        changed.map_err(FormError::Config)?;
        info!(site, sha256, "a certificate is allowed");
    }
    let url = form.value("url").and_then(|url| at(&origin, url, caller));
    let url = url.as_ref().map_or("", CanonicalUrl::as_str);
    Ok(caller.see_other(&links::certificate(&site, url)))
}

/// Parses a host and port into an origin, in the form in which requests name it.
pub(super) fn origin(site: &str) -> Option<Origin> {
    // Parsed in the same way as in the configuration, so that the allowed certificate is the one
    // that was shown.
    let read = AllowedCertificate::parse(site, &"0".repeat(64)).ok()?;
    Some(Origin {
        scheme: Scheme::Https,
        host: read.host().to_owned(),
        port: read.port(),
        via: None,
        reach: crate::net::upstream::Reach::Outward,
    })
}

/// Parses the URL. `None` if it belongs to an origin other than `origin`, because our page must not
/// link elsewhere.
fn at(origin: &Origin, url: &str, caller: &Caller) -> Option<CanonicalUrl> {
    let url = CanonicalUrl::parse(url, &caller.context.base.local).ok()?;
    let is_there = matches!(url.protocol(), "https" | "ftp")
        && url.host() == origin.host
        && url.port_or_default() == Some(origin.port);
    (is_there && !url.is_local()).then(|| url.without_credentials())
}

#[cfg(test)]
mod tests {
    use super::origin;

    #[test]
    fn a_site_is_a_host_and_its_port() {
        for (site, want) in [
            ("old.example", Some("old.example:443")),
            ("OLD.example:8443", Some("old.example:8443")),
            ("[::1]:8443", Some("[::1]:8443")),
            ("https://old.example", None),
            ("old.example/x", None),
            ("", None),
        ] {
            assert_eq!(origin(site).map(|origin| origin.to_string()).as_deref(), want, "{site}");
        }
    }
}

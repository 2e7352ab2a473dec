//! The places of imported responses.

use std::sync::{Mutex, PoisonError};

use hyper::HeaderMap;
use hyper::http::uri::PathAndQuery;
use wwwoffle_archive::{Placement, Reason};
use wwwoffle_spool::Place;
use wwwoffle_url::CanonicalUrl;

use crate::base::basic::Login;
use crate::base::site_login::SiteLogin;
use crate::base::spelling::Spelling;
use crate::proxy::freshen;
use wwwoffle_api::fetch_spec::RecursiveRequest;
use wwwoffle_http::head::{LOGIN, read_request, read_response, with_field};

/// Places imported responses where the proxy would have stored them.
#[derive(Debug, Default)]
pub struct Placer {
    /// The last login and its record. All pages of a login have one record.
    last_login: Mutex<Option<([u8; 32], String)>>,
}

impl Placement for Placer {
    fn place(
        &self,
        url: &CanonicalUrl,
        owner: Option<&str>,
        request: &[u8],
        answer: &[u8],
    ) -> Place {
        let place = Place::of(&url.without_credentials()).owned_by(owner.unwrap_or_default());
        let login = url.user().filter(|_| owner.is_some()).map(|user| Place::login_name(&user));
        let with_login = |variant: String| match &login {
            Some(name) => Place::for_login(name, &variant),
            None => variant,
        };
        let fields = read_response(answer).map(|(_, fields)| fields).unwrap_or_default();
        let Ok(asked) = read_request(request, b"") else {
            let variant = freshen::variant(&fields, &HeaderMap::new());
            return place.with_variant(&with_login(variant));
        };
        let target = asked.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let varies = freshen::variant(&fields, &asked.headers);
        // The URL of a response to a form is not the target of any request, so it has no other
        // spelling.
        let spelling =
            if url.is_form_answer() { Spelling::default() } else { Spelling::of(target, url) };
        place.with_variant(&with_login(spelling.variant(&varies)))
    }

    fn add_login(&self, url: &CanonicalUrl, request: Vec<u8>) -> Vec<u8> {
        let Some(user) = url.user() else { return request };
        let password = url.password().unwrap_or_default().into_owned();
        let login = SiteLogin::Basic(Login { user: user.into_owned(), password });
        let session = login.session(url.host_port());
        let mut last = self.last_login.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(known, _)| *known != session) {
            *last = login.record(url.host_port(), None).map(|record| (session, record));
        }
        match &*last {
            Some((_, record)) => with_field(&request, &LOGIN, record),
            None => request,
        }
    }

    fn recursion(&self, arguments: &[(String, String)]) -> Result<String, Reason> {
        let pairs = arguments.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let asked = RecursiveRequest::read(pairs).map_err(|error| error.to_string())?;
        serde_json::to_string(&asked.spec).map_err(|error| error.to_string().into())
    }
}

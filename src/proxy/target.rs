//! Parses the request line: the requested resource, and its form for the origin.

use hyper::header::{HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{HeaderMap, Method, Uri, Version};
use wwwoffle_url::{CanonicalUrl, LocalHost, ParseError};

use super::site::Door;
use crate::net::upstream::{Origin, Reach, Scheme as Spoken};

/// The target of a request.
#[derive(Debug)]
pub enum Target {
    /// One of our own pages or calls.
    Own(CanonicalUrl),
    /// `CONNECT host:port`.
    Tunnel(Origin),
    /// A resource of an origin.
    Resource(Resource),
    /// `OPTIONS *` for the proxy itself (RFC 9110 §9.3.7).
    Everything,
}

/// A resource: its canonical URL, which is the key, and the form of the request for the origin.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The key. Of this URL, only the host and a login are sent to the origin.
    pub url: CanonicalUrl,
    /// The origin to ask.
    pub origin: Origin,
    /// The `Host` field for the origin: the canonical host, and the port unless it is the default.
    /// The client's spelling is not used, because it is not part of the key of the response.
    pub host: HeaderValue,
    /// The request target for the origin, in the client's spelling.
    pub path: PathAndQuery,
}

/// A request line that cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum BadTarget {
    /// No `Host` field, which HTTP/1.1 requires (RFC 9112 §3.2).
    #[error("the request has no Host field")]
    NoHost,
    /// More than one `Host` field (RFC 9112 §3.2).
    #[error("the request has more than one Host field")]
    ManyHosts,
    /// An invalid `Host` field (RFC 9110 §7.2).
    #[error("the Host field {0:?} is not a valid host")]
    BadHost(String),
    /// Neither a path nor a URL.
    #[error("the request target {0:?} is neither a path nor a URL")]
    Form(String),
    /// An invalid port, or a missing one for CONNECT.
    #[error("{0:?} has no valid port")]
    Port(String),
    /// One of our own pages, where a page of an origin is expected.
    #[error("it is a page of this proxy itself, which is never stored: open it in a browser")]
    Own,
    /// A protocol this proxy does not speak.
    #[error("this proxy does not fetch the protocol {0:?}")]
    Protocol(String),
    /// `Host` and `:authority` name different hosts (RFC 9113 §8.3.1).
    #[error("the request names the host {authority:?}, but {host:?} in its Host field")]
    TwoHosts {
        /// The host of the target.
        authority: String,
        /// The host of the field.
        host: String,
    },
    /// User or password before the host (RFC 9113 §8.3.1). The message does not show them.
    #[error("the host of the request is preceded by a user or a password")]
    Credentials,
    /// Inside a connection to one host, a request for another (RFC 9110 §7.4).
    #[error("this connection was opened for another host than {0:?}")]
    Misdirected(String),
    /// A request for a proxy at a port for intercepted connections.
    #[error("this port serves intercepted connections; it takes no requests for a proxy")]
    ForProxy,
    /// CONNECT inside a connection that CONNECT opened.
    #[error("a connection inside a connection is not possible")]
    Nested,
    /// The URL is not valid.
    #[error("the URL is invalid")]
    Url(#[source] ParseError),
}

/// Parses the request line and `Host`.
///
/// The host in the target takes precedence over the `Host` field (RFC 9112 §3.2.2); with HTTP/2
/// they must agree. Inside a connection that was opened for one site, every request is HTTPS and
/// for that site. On our port over TLS, a target without a host is for one of our own names. On an
/// intercepted connection, the `Host` field names the origin; only without it, the address does.
///
/// # Errors
///
/// [`BadTarget`] describes the fault; the response is `400 (Bad Request)`, `501 (Not Implemented)`
/// for [`BadTarget::Protocol`], or `421 (Misdirected Request)` for [`BadTarget::Misdirected`].
pub fn read(request: &Parts, local: &LocalHost, door: &Door) -> Result<Target, BadTarget> {
    let host = match request.version {
        Version::HTTP_2 => authority_or_host(request)?,
        version => host_field(&request.headers, version)?,
    };
    let site = match door {
        Door::Site(site) => Some(site),
        Door::Plain | Door::Secured | Door::Redirected(_) => None,
    };
    // The client believes that it talks to the origin. Any other request would be from a program
    // that has found this port.
    if matches!(door, Door::Redirected(_))
        && (request.method == Method::CONNECT || request.uri.authority().is_some())
    {
        return Err(BadTarget::ForProxy);
    }
    if request.method == Method::CONNECT {
        if site.is_some() {
            return Err(BadTarget::Nested);
        }
        let authority = request.uri.authority().ok_or_else(|| form(&request.uri))?;
        if request.uri.scheme().is_some() {
            // RFC 9112 §3.2.3: only host and port.
            return Err(form(&request.uri));
        }
        return tunnel(authority).map(Target::Tunnel);
    }
    let is_plain = matches!(door, Door::Plain | Door::Redirected(_));
    let scheme = if is_plain { Scheme::HTTP } else { Scheme::HTTPS };
    // HTTP/1.0 does not require `Host`; without it, the connection determines the host. On our own
    // port, that is this proxy. Browsers always send the field, so no page of another site can leave
    // it out.
    let ours;
    let host = match (host, site) {
        (None, Some(site)) => Some(site.url().host_port()),
        (None, None) if let Door::Redirected(destination) = door => {
            ours = destination.to_string();
            Some(ours.as_str())
        }
        (None, None) if request.version < Version::HTTP_11 => {
            ours = format!("{}:{}", local.name(), local.http_port());
            Some(ours.as_str())
        }
        (host, _) => host,
    };
    let is_whole = request.uri.authority().is_some();
    let (text, spelled) = match (request.uri.scheme(), request.uri.authority(), host) {
        // In HTTP/2 every target has a host and a scheme, even `*` (RFC 9113 §8.3.1).
        _ if request.uri.path() == "*" && request.method == Method::OPTIONS => {
            return Ok(Target::Everything);
        }
        _ if request.uri.path() == "*" => return Err(form(&request.uri)),
        (Some(scheme), Some(authority), _) => {
            // hyper has removed the fragment. The remaining text is in the client's own spelling.
            let path = request.uri.path_and_query().map_or("/", PathAndQuery::as_str);
            (format!("{}://{authority}{path}", scheme.as_str()), without_user(authority))
        }
        (None, None, Some(host)) if request.uri.path().starts_with('/') => {
            (format!("{scheme}://{host}{}", request.uri), host)
        }
        (None, None, None) => return Err(BadTarget::NoHost),
        _ => return Err(form(&request.uri)),
    };
    let url = CanonicalUrl::parse(&text, local).map_err(BadTarget::Url)?;
    let misdirected = match door {
        Door::Plain => false,
        Door::Secured => !is_whole && !url.is_local(),
        Door::Redirected(_) => url.is_local(),
        Door::Site(site) => url.is_local() || !site.has(&url),
    };
    if misdirected {
        return Err(BadTarget::Misdirected(spelled.to_owned()));
    }
    if url.is_local() {
        return Ok(Target::Own(url));
    }
    resource(url, &request.uri).map(Target::Resource)
}

/// The `Host` of an HTTP/2 request; `None` if the target has a host. If both `:authority` and
/// `Host` are present, they must be the same (RFC 9113 §8.3.1). Neither may contain a user.
fn authority_or_host(request: &Parts) -> Result<Option<&str>, BadTarget> {
    let authority = request.uri.authority().map(Authority::as_str);
    let host = match host_field(&request.headers, request.version) {
        Err(BadTarget::NoHost) if authority.is_some() => return checked(authority).map(|_| None),
        host => host?,
    };
    match (checked(authority)?, host) {
        (Some(authority), Some(host)) if !host.eq_ignore_ascii_case(authority) => {
            let (authority, host) = (authority.to_owned(), host.to_owned());
            Err(BadTarget::TwoHosts { authority, host })
        }
        (Some(_), _) => Ok(None),
        (None, host) => Ok(host),
    }
}

/// Returns `authority`, unless it has a user or a password, which HTTP/2 forbids there.
fn checked(authority: Option<&str>) -> Result<Option<&str>, BadTarget> {
    match authority {
        Some(named) if named.contains('@') => Err(BadTarget::Credentials),
        authority => Ok(authority),
    }
}

/// The resource of a URL, for requests of our own.
///
/// # Errors
///
/// [`BadTarget`] as in [`read`], for a URL that is invalid or not absolute, is one of our own
/// pages, or has a protocol we do not fetch.
pub fn of_url(text: &str, local: &LocalHost) -> Result<Resource, BadTarget> {
    let url = CanonicalUrl::parse(text, local).map_err(BadTarget::Url)?;
    if url.is_local() {
        return Err(BadTarget::Own);
    }
    // Without this check, an unknown scheme would be parsed as a host.
    if let Some((protocol, _)) = text.split_once("://")
        && !protocol.contains(['/', '?', '#'])
        && !protocol.eq_ignore_ascii_case(url.protocol())
    {
        return Err(BadTarget::Protocol(protocol.to_owned()));
    }
    let bare = text.split('#').next().unwrap_or_default();
    let uri: Uri = bare
        .parse()
        .or_else(|_| url.as_str().parse())
        .map_err(|_| BadTarget::Form(url.as_str().to_owned()))?;
    if uri.authority().is_none() {
        return Err(form(&uri));
    }
    resource(url, &uri)
}

fn resource(url: CanonicalUrl, uri: &Uri) -> Result<Resource, BadTarget> {
    let Some(scheme) = Spoken::of(url.protocol()) else {
        return Err(BadTarget::Protocol(url.protocol().to_owned()));
    };
    let host = url.host_port();
    let port = url.port_or_default().ok_or_else(|| BadTarget::Port(host.to_owned()))?;
    Ok(Resource {
        origin: origin(scheme, url.host(), port),
        host: HeaderValue::from_str(host).map_err(|_| form(uri))?,
        path: uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/")),
        url,
    })
}

/// An origin whose parent proxy is not known yet. The reach of the client may be wider.
fn origin(scheme: Spoken, host: &str, port: u16) -> Origin {
    Origin { scheme, host: host.to_owned(), port, via: None, reach: Reach::Outward }
}

fn host_field(fields: &HeaderMap, version: Version) -> Result<Option<&str>, BadTarget> {
    let mut hosts = fields.get_all(HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (None, _) if version < Version::HTTP_11 => return Ok(None),
        (None, _) => return Err(BadTarget::NoHost),
        (Some(_), Some(_)) => return Err(BadTarget::ManyHosts),
        (Some(host), None) => host,
    };
    let bad = || BadTarget::BadHost(String::from_utf8_lossy(host.as_bytes()).into_owned());
    let host = host.to_str().map_err(|_| bad())?;
    match host.parse::<Authority>() {
        Ok(_) if host.contains('@') => Err(BadTarget::Credentials),
        Ok(_) => Ok(Some(host)),
        // If the target has a host, the field may be empty.
        Err(_) if host.is_empty() => Ok(Some(host)),
        // A path in the field would make our key differ from the resource of the origin.
        Err(_) => Err(bad()),
    }
}

fn tunnel(authority: &Authority) -> Result<Origin, BadTarget> {
    match authority.port_u16() {
        Some(port) if port > 0 && !authority.as_str().contains('@') => {
            // The protocol inside the tunnel is unknown; only host and port are used.
            Ok(origin(Spoken::Https, authority.host(), port))
        }
        _ => Err(BadTarget::Port(authority.to_string())),
    }
}

/// The authority without user and password, which are not for the `Host` field (RFC 9110 §7.2).
fn without_user(authority: &Authority) -> &str {
    authority.as_str().rsplit_once('@').map_or(authority.as_str(), |(_, host)| host)
}

fn form(uri: &Uri) -> BadTarget {
    BadTarget::Form(uri.to_string())
}

#[cfg(test)]
mod tests;

//! Request lines, and the targets that they name.

use super::*;
use crate::proxy::site::HttpsSite;
use hyper::Request;

fn parts(line: &str, hosts: &[&str]) -> Parts {
    let (method, uri) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(uri);
    for host in hosts {
        request = request.header(HOST, *host);
    }
    request.body(()).unwrap().into_parts().0
}

fn shown(line: &str, hosts: &[&str]) -> String {
    match read(&parts(line, hosts), &LocalHost::default(), &Door::Plain) {
        Ok(Target::Own(url)) => format!("own {}", url.path()),
        Ok(Target::Tunnel(origin)) => format!("tunnel {origin}"),
        Ok(Target::Everything) => "everything".to_owned(),
        Ok(Target::Resource(resource)) => format!(
            "{} | {} | {} | {}",
            resource.url.as_str(),
            resource.origin,
            resource.host.to_str().unwrap(),
            resource.path
        ),
        Err(error) => format!("! {error}"),
    }
}

#[test]
fn request_lines_name_their_target() {
    for (line, hosts, want) in [
        // The key and the host are canonical, the spelling of the rest is the client's.
        (
            "GET http://Example.ORG:80/a/../%7eb?x=%2f&amp;y",
            &["other.example"][..],
            "http://example.org/~b?x=/&y | example.org:80 | example.org \
             | /a/../%7eb?x=%2f&amp;y",
        ),
        ("GET http://u:p@h.example", &["h"], "http://h.example/ | h.example:80 | h.example | /"),
        // The default port of the scheme is not part of the key.
        (
            "GET https://Example.ORG/a?b",
            &["example.org"],
            "https://example.org/a?b | example.org:443 | example.org | /a?b",
        ),
        (
            "GET https://u:p@h.example:443/",
            &["h.example"],
            "https://h.example/ | h.example:443 | h.example | /",
        ),
        (
            "GET http://H.example:0081/",
            &["h"],
            "http://h.example:81/ | h.example:81 | h.example:81 | /",
        ),
        ("GET http://h.example:/", &["h"], "http://h.example/ | h.example:80 | h.example | /"),
        ("GET http://h.example:0080/", &["h"], "http://h.example/ | h.example:80 | h.example | /"),
        ("GET /", &["H.example:080"], "http://h.example/ | h.example:80 | h.example | /"),
        (
            "GET https://[2001:db8::1]:8443/",
            &["x"],
            "https://[2001:db8::1]:8443/ | [2001:db8::1]:8443 | [2001:db8::1]:8443 | /",
        ),
        (
            "GET /x?y",
            &["h.example:81"],
            "http://h.example:81/x?y | h.example:81 | h.example:81 | /x?y",
        ),
        ("GET /queue/", &["localhost:8080"], "own /queue/"),
        ("GET http://127.0.0.1:8080/", &["x"], "own /"),
        ("CONNECT h.example:443", &["h.example:443"], "tunnel h.example:443"),
        (
            "CONNECT http://h.example:443/",
            &["h"],
            "! the request target \"http://h.example:443/\" is neither a path nor a URL",
        ),
        ("OPTIONS *", &["localhost:8080"], "everything"),
        ("GET *", &["h"], "! the request target \"*\" is neither a path nor a URL"),
        ("GET /x", &[], "! the request has no Host field"),
        ("GET http://h.example/", &[], "! the request has no Host field"),
        ("GET /x", &["a", "b"], "! the request has more than one Host field"),
        ("CONNECT h.example", &["h"], "! \"h.example\" has no valid port"),
        ("CONNECT h.example:0", &["h"], "! \"h.example:0\" has no valid port"),
        ("GET ws://h.example/x", &["h"], "! this proxy does not fetch the protocol \"ws\""),
        (
            "GET ftp://u:p@h.example/a%20b;type=i",
            &["h"],
            "ftp://h.example/a%20b;type=i | h.example:21 | h.example | /a%20b;type=i",
        ),
        (
            "GET finger://h.example/ada",
            &["h"],
            "finger://h.example/ada | h.example:79 | h.example | /ada",
        ),
    ] {
        assert_eq!(shown(line, hosts), want, "{line} {hosts:?}");
    }
}

#[test]
fn requests_inside_a_connection_belong_to_its_site() {
    let site = HttpsSite::of("H.example", 8443, &LocalHost::default()).unwrap();
    let door = Door::Site(site.into());
    let shown = |line: &str, hosts: &[&str]| {
        let mut request = parts(line, hosts);
        if hosts.is_empty() {
            request.version = Version::HTTP_10;
        }
        match read(&request, &LocalHost::default(), &door) {
            Ok(Target::Resource(resource)) => {
                format!("{} {}", resource.url.as_str(), resource.host.to_str().unwrap())
            }
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("! {error}"),
        }
    };
    let misdirected = |host| format!("! this connection was opened for another host than {host:?}");
    for (line, hosts, want) in [
        ("GET /x", &["H.example:8443"][..], "https://h.example:8443/x h.example:8443"),
        ("GET https://h.example:8443/x", &["z"], "https://h.example:8443/x h.example:8443"),
        ("GET /x", &[], "https://h.example:8443/x h.example:8443"),
        ("GET /x", &["h.example"], &misdirected("h.example")),
        ("GET /x", &["i.example:8443"], &misdirected("i.example:8443")),
        ("GET /x", &["localhost:8080"], &misdirected("localhost:8080")),
        ("GET http://h.example:8443/x", &["z"], &misdirected("h.example:8443")),
        (
            "CONNECT h.example:8443",
            &["h.example:8443"],
            "! a connection inside a connection is not possible",
        ),
    ] {
        assert_eq!(shown(line, hosts), want, "{line} {hosts:?}");
    }
}

#[test]
fn requests_on_an_intercepted_connection_are_for_the_host_that_they_name() {
    let door = Door::Redirected("192.0.2.1:8000".parse().unwrap());
    let shown = |line: &str, hosts: &[&str], version| {
        let mut request = parts(line, hosts);
        request.version = version;
        match read(&request, &LocalHost::default(), &door) {
            Ok(Target::Resource(resource)) => resource.url.as_str().to_owned(),
            Ok(other) => format!("{other:?}"),
            Err(error) => format!("! {error}"),
        }
    };
    let for_proxy = "! this port serves intercepted connections; it takes no requests for a proxy";
    for (line, hosts, version, want) in [
        ("GET /x", &["H.example"][..], Version::HTTP_11, "http://h.example/x"),
        ("GET /x", &["h.example:8000"], Version::HTTP_11, "http://h.example:8000/x"),
        ("GET /x", &[], Version::HTTP_10, "http://192.0.2.1:8000/x"),
        ("GET /x", &[], Version::HTTP_11, "! the request has no Host field"),
        ("GET http://h.example/x", &["h.example"], Version::HTTP_11, for_proxy),
        ("CONNECT h.example:443", &["h.example:443"], Version::HTTP_11, for_proxy),
        (
            "GET /queue/",
            &["localhost:8080"],
            Version::HTTP_11,
            "! this connection was opened for another host than \"localhost:8080\"",
        ),
    ] {
        assert_eq!(shown(line, hosts, version), want, "{line} {hosts:?}");
    }
}

#[test]
fn with_http_2_host_and_authority_agree() {
    let site = HttpsSite::of("H.example", 8443, &LocalHost::default()).unwrap();
    let inside = Door::Site(site.into());
    let shown = |line: &str, hosts: &[&str], door: &Door| {
        let mut request = parts(line, hosts);
        request.version = Version::HTTP_2;
        match read(&request, &LocalHost::default(), door) {
            Ok(Target::Own(url)) => format!("own {}", url.as_str()),
            Ok(Target::Tunnel(origin)) => format!("tunnel {origin}"),
            Ok(Target::Everything) => "everything".to_owned(),
            Ok(Target::Resource(resource)) => {
                format!("{} {}", resource.url.as_str(), resource.host.to_str().unwrap())
            }
            Err(error) => format!("! {error}"),
        }
    };
    let differs = "! the request names the host \"h.example:8443\", but \"i.example\" in its \
                   Host field";
    let user = "! the host of the request is preceded by a user or a password";
    let other = "! this connection was opened for another host than \"i.example:8443\"";
    for (line, hosts, want) in [
        ("GET https://h.example:8443/x", &[][..], "https://h.example:8443/x h.example:8443"),
        (
            "GET https://H.example:8443/",
            &["h.EXAMPLE:8443"],
            "https://h.example:8443/ h.example:8443",
        ),
        ("GET /x", &["h.example:8443"], "https://h.example:8443/x h.example:8443"),
        ("GET https://h.example:8443/", &["i.example"], differs),
        // The key would have a path that the origin does not get.
        (
            "GET /x",
            &["h.example:8443/y"],
            "! the Host field \"h.example:8443/y\" is not a valid host",
        ),
        ("GET https://h.example:8443/", &["a", "b"], "! the request has more than one Host field"),
        ("GET https://u:p@h.example:8443/", &[], user),
        ("GET https://i.example:8443/", &[], other),
        (
            "GET http://h.example:8443/",
            &[],
            "! this connection was opened for another host than \"h.example:8443\"",
        ),
        ("GET /x", &[], "! the request has no Host field"),
        ("OPTIONS https://h.example:8443/*", &[], "https://h.example:8443/* h.example:8443"),
        ("CONNECT h.example:8443", &[], "! a connection inside a connection is not possible"),
    ] {
        assert_eq!(shown(line, hosts, &inside), want, "{line} {hosts:?}");
    }
    for (line, hosts, want) in [
        ("GET https://localhost:8080/queue/", &[][..], "own https://localhost:8080/queue/"),
        ("GET http://localhost:8080/", &[], "own http://localhost:8080/"),
        ("GET /queue/", &["localhost:8080"], "own https://localhost:8080/queue/"),
        ("GET /x", &["i.example/y"], "! the Host field \"i.example/y\" is not a valid host"),
        ("GET /x", &["i.example?y"], "! the Host field \"i.example?y\" is not a valid host"),
        ("GET /x", &["i.example#"], "! the Host field \"i.example#\" is not a valid host"),
        ("GET /x", &["i.example y"], "! the Host field \"i.example y\" is not a valid host"),
        ("GET /x", &["u@i.example"], user),
        ("GET /queue/", &["i.example:8443"], other),
        ("GET http://i.example/", &[], "http://i.example/ i.example"),
        ("CONNECT i.example:443", &[], "tunnel i.example:443"),
    ] {
        assert_eq!(shown(line, hosts, &Door::Secured), want, "{line} {hosts:?}");
    }
}

#[test]
fn urls_of_our_own_requests_keep_their_spelling() {
    let found = of_url("http://H.example/%7Ea?b#c", &LocalHost::default()).unwrap();
    assert_eq!(found.path, "/%7Ea?b");
    assert_eq!(found.host, "h.example");
    assert_eq!(found.origin.scheme, Spoken::Http);
    let secure = of_url("https://h.example/", &LocalHost::default()).unwrap();
    assert_eq!((secure.origin.scheme, secure.origin.port), (Spoken::Https, 443));
    assert!(of_url("ws://h.example/", &LocalHost::default()).is_err());
    assert!(of_url("http://localhost:8080/queue/", &LocalHost::default()).is_err());
    assert!(of_url("/queue/", &LocalHost::default()).is_err());
}

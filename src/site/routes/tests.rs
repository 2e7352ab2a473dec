use std::collections::BTreeSet;
use std::fmt::Write as _;

use hyper::Method;

use super::{Guard, Handler, Paths, Permission, ROUTES, Route};
use crate::site::api;
use crate::site::route::PathRoutes;

/// Paths for the rows with a pattern.
const EXAMPLES: [&str; 9] = [
    "/style-0.css",
    "/configuration/options",
    "/configuration/options/connect-timeout",
    "/configuration/Options/log-level",
    "/search/htdig/htsearch",
    "/index/",
    "/index/all",
    "/local/",
    "/local/none",
];

/// Returns each route with its paths, or with examples of them.
fn examples() -> Vec<(&'static Route, Vec<&'static str>)> {
    let first = |path: &str, reads| {
        ROUTES.iter().position(|route| route.reads() == reads && route.has(path))
    };
    let paths = |(number, route): (usize, &'static Route)| {
        let is_first = |path: &&str| first(path, route.reads()) == Some(number);
        let paths = match route.paths {
            Paths::These(paths) => paths.to_vec(),
            Paths::Like(_) => EXAMPLES.into_iter().filter(is_first).collect(),
        };
        assert!(paths.iter().all(is_first), "an earlier route has one of {paths:?}");
        assert!(!paths.is_empty(), "{route:?} cannot be reached, or has no example");
        (route, paths)
    };
    ROUTES.iter().enumerate().map(paths).collect()
}

fn method(route: &Route) -> Method {
    if route.reads() { Method::GET } else { Method::POST }
}

fn word(guard: Guard) -> &'static str {
    match guard {
        Guard::Public => "public",
        Guard::Open => "open",
        Guard::Sandboxed => "sandboxed",
        Guard::Reader => "reader",
        Guard::Download => "download",
        Guard::Owner => "owner",
        Guard::Button(_) => "button",
        Guard::OurPage(Permission::Read) => "read",
        Guard::OurPage(Permission::Request) => "request",
        Guard::OurPage(Permission::Change) => "change",
        Guard::OurPage(Permission::Administer) => "administer",
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "UPDATE=1 writes the list")]
fn the_end_to_end_tests_know_the_table() {
    let mut table = String::from(
        "# The routes of our own site: method, guard and path. Made from src/site/routes.rs by\n\
         # UPDATE=1 cargo test -p wwwoffle --lib site::routes\n\n",
    );
    for (route, paths) in examples() {
        for path in paths {
            writeln!(table, "{} {} {path}", method(route), word(route.guard)).unwrap();
        }
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/security/routes.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(file, &table).unwrap();
    }
    assert!(std::fs::read_to_string(file).unwrap() == table, "UPDATE=1 writes {file}");
}

#[test]
fn each_route_is_reachable_and_unique() {
    let mut seen = BTreeSet::new();
    for (route, paths) in examples() {
        for path in paths {
            assert!(seen.insert((path, route.reads())), "{path} is listed twice");
        }
    }
}

#[test]
fn each_handler_has_a_guard_of_its_kind() {
    for (route, paths) in examples() {
        for path in paths {
            let is_call = matches!(route.handler, Handler::Call(_));
            assert_eq!(is_call, api::has(path), "{path}");
            match route.handler {
                Handler::Page(_) | Handler::Moved(_) => assert!(route.reads(), "{path}"),
                Handler::Form(_) => assert!(!route.reads(), "{path}"),
                Handler::Call(_) => {
                    assert!(matches!(route.guard, Guard::Reader | Guard::OurPage(_)), "{path}");
                }
            }
            // A change needs more than the permission to read.
            assert!(!matches!(route.guard, Guard::OurPage(Permission::Read)), "{path}");
        }
    }
}

/// The page that lists the features of WWWOFFLE 2.9.
const FEATURES: &str = include_str!("../../../docs/guide/from-2.9.md");

#[test]
fn each_feature_of_2_9_names_existing_addresses() {
    let mut count = 0;
    for row in FEATURES.lines().filter(|line| line.starts_with("| B")) {
        let now = row.split(" | ").nth(2).expect("each row has a place");
        for address in now.split('`').skip(1).step_by(2).filter(|code| code.starts_with('/')) {
            count += 1;
            let path = address.split('?').next().unwrap();
            assert!(PathRoutes::at(path).allowed().is_some(), "there is no {address}: {row}");
        }
    }
    assert!(count > 40, "{count} addresses");
}

#[test]
fn an_unlisted_path_has_no_route() {
    for path in [
        "",
        "/control/delete/",
        "/control/Online",
        "/control/queue/never",
        "/api/",
        "/api/status/",
        "/api/Status",
        "/status",
        "/faq.html",
        "/locals",
        "/configuration/Nothing",
    ] {
        assert_eq!(PathRoutes::at(path).allowed(), None, "{path}");
    }
}

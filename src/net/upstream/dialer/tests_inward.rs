//! Addresses that clients of other machines must not reach.

use super::tests::{dialer, listening};
use super::*;
use crate::base::mode::Mode;
use crate::net::upstream::{ParentRoute, Via};
use wwwoffle_config::ParentProtocol;

/// Clients of other machines reach an inward address neither by number nor by name, unless `inside`
/// allows the host. Clients of this machine may reach all addresses.
#[tokio::test]
async fn remote_clients_cannot_dial_inward_addresses() {
    let (_listener, port) = listening().await;
    let config = |hosts: &str| {
        let text = format!("[allowed-connect-hosts]\ninside = [{hosts}]\n");
        let config = Config::parse(&text, std::path::Path::new("w.conf")).unwrap();
        Arc::new(ArcSwap::from_pointee(config))
    };
    let via = || {
        let (host, pseudonym, login) = ("127.0.0.1".to_owned(), "p".to_owned(), None);
        let (protocol, route) = (ParentProtocol::Http, ParentRoute::default());
        Some(Arc::new(Via { protocol, host, port, login, pseudonym, route }))
    };
    for (host, via, inside, want) in [
        ("127.0.0.1", None, "", false),
        ("127.1.2.3", None, "", false),
        ("0.0.0.0", None, "", false),
        ("[::ffff:127.0.0.1]", None, "", false),
        ("[::ffff:7f00:1]", None, "", false),
        ("localhost", None, "", false),
        ("h.test", None, "", false),
        ("h.test", None, "\"other.test\"", false),
        ("h.test", None, "\"*.test\"", true),
        ("H.test", None, "\"h.test\"", true),
        ("127.0.0.1", None, "\"127.0.0.0/8\"", true),
        ("127.0.0.1", via(), "", false),
        ("localhost", via(), "", false),
        // The configuration names the parent proxy, so its address is allowed. The parent looks up
        // the name of the origin.
        ("h.test", via(), "", true),
    ] {
        let dialer = dialer(Mode::Online).following(config(inside)).with_inward_guard(Vec::new());
        let host = host.to_owned();
        let reach = Reach::Outward;
        let origin = Origin { scheme: Scheme::Http, host, port, via, reach };
        let dialled = dialer.dial(&origin).await;
        let is_refused = matches!(dialled, Err(Failure::Inward { .. }));
        assert_eq!((dialled.is_ok(), is_refused), (want, !want), "{origin:?}: {dialled:?}");
        let here = Origin { reach: Reach::All, ..origin };
        assert!(!matches!(dialer.dial(&here).await, Err(Failure::Inward { .. })), "{here:?}");
    }
}

/// A client of another machine would have the rights of this machine at a port of the daemon. So
/// the configuration cannot allow these ports to such a client.
#[tokio::test]
async fn remote_clients_cannot_dial_our_own_ports() {
    let (_listener, port) = listening().await;
    let hosts = "\"*.test\", \"localhost\", \"127.0.0.0/8\", \"0.0.0.0\"";
    let text = format!("[allowed-connect-hosts]\ninside = [{hosts}]\n");
    let config = Config::parse(&text, std::path::Path::new("w.conf")).unwrap();
    let config = Arc::new(ArcSwap::from_pointee(config));
    for (at, own_port) in [("0.0.0.0", port), ("[::]", port), ("127.0.0.1", port), ("0.0.0.0", 1)] {
        let listening = vec![format!("{at}:{own_port}").parse().unwrap()];
        let dialer =
            dialer(Mode::Online).following(Arc::clone(&config)).with_inward_guard(listening);
        for host in ["h.test", "localhost", "127.0.0.1", "127.1.2.3", "0.0.0.0"] {
            let (host, reach) = (host.to_owned(), Reach::Outward);
            let origin = Origin { scheme: Scheme::Https, host, port, via: None, reach };
            let dialled = dialer.dial(&origin).await;
            let is_refused = matches!(dialled, Err(Failure::Inward { .. }));
            assert_eq!(is_refused, port == own_port, "{at}: {origin:?}: {dialled:?}");
        }
    }
}

//! Dialling, by name and by address.

use super::resolver::MAX_LOOKUPS;
use super::*;
use crate::base::mode::Mode;
use crate::net::upstream::Scheme;

/// The address of a host under `.test`, or `None` for other hosts. No name server knows names under
/// `.test` (RFC 6761 §6.2).
pub(super) fn known(host: &str) -> Option<IpAddr> {
    match host.strip_suffix(".test")? {
        "elsewhere" => Some(IpAddr::from([127, 0, 0, 2])),
        _ => Some(IpAddr::from([127, 0, 0, 1])),
    }
}

/// The name of an address of this machine, which need not be true. No name server answers for
/// 127.0.0.5.
pub(super) fn known_name(address: IpAddr) -> Result<Option<String>, Failure> {
    let host = address.to_string();
    match host.as_str() {
        "127.0.0.2" | "127.0.0.3" => Ok(Some("Elsewhere.test.".to_owned())),
        "127.0.0.5" => Err(Failure::LookupTimeout { host }),
        _ => Ok(None),
    }
}

pub(super) fn dialer(choice: impl Into<ModeSetting>) -> Dialer {
    let patience = Duration::from_secs(10);
    Dialer::new(ModeSwitch::new(choice), patience, patience)
}

/// A listener and its port.
pub(super) async fn listening() -> (tokio::net::TcpListener, u16) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// A port on which no program listens.
pub(super) fn closed_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test]
async fn offline_no_connection_is_opened_and_refusals_are_counted() {
    let (_listener, port) = listening().await;
    let origin = Origin::here(Scheme::Http, "127.0.0.1", port);
    let offline = dialer(Mode::Offline);
    assert!(matches!(offline.dial(&origin).await, Err(Failure::Offline)));
    assert_eq!(offline.refused_count(), 1);
    assert!(dialer(Mode::Online).dial(&origin).await.is_ok());
    assert!(dialer(Mode::Autodial).dial(&origin).await.is_ok());
}

#[tokio::test]
async fn a_closed_port_is_refused_by_name() {
    let port = closed_port();
    let origin = Origin::here(Scheme::Http, "127.0.0.1", port);
    let failure = dialer(Mode::Online).dial(&origin).await.unwrap_err();
    assert_eq!(failure.to_string(), format!("127.0.0.1:{port} refuses the connection"));
    assert!(failure.may_pass());
}

#[tokio::test(start_paused = true)]
async fn lookups_of_names_are_limited_and_addresses_need_none() {
    let (_listener, port) = listening().await;
    let dialer = dialer(Mode::Online);
    let turns = u32::try_from(MAX_LOOKUPS).unwrap();
    let all = dialer.resolver.lookups.clone().acquire_many_owned(turns).await.unwrap();
    let name = Origin::here(Scheme::Http, "localhost", port);
    assert!(matches!(
        dialer.resolver.addresses_of(&name).await,
        Err(Failure::LookupTimeout { .. })
    ));
    for host in ["127.0.0.1", "[::1]"] {
        let address = Origin::here(Scheme::Http, host, port);
        assert_eq!(dialer.resolver.addresses_of(&address).await.unwrap().len(), 1, "{host}");
    }
    drop(all);
    assert!(!dialer.resolver.addresses_of(&name).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_fails() {
    let (_listener, port) = listening().await;
    let good = SocketAddr::from(([127, 0, 0, 1], port));
    let bad = SocketAddr::from(([127, 0, 0, 1], closed_port()));
    assert!(connect_any(vec![bad, good]).await.is_ok());
    assert!(connect_any(vec![]).await.is_err());
}

//! Dialling, by name and by address.

use super::*;
use crate::mode::Mode;
use crate::upstream::Scheme;

/// Where the names of tests lead, which no name server knows (RFC 6761 §6.2).
pub(super) fn known(host: &str) -> Option<IpAddr> {
    match host.strip_suffix(".test")? {
        "elsewhere" => Some(IpAddr::from([127, 0, 0, 2])),
        _ => Some(IpAddr::from([127, 0, 0, 1])),
    }
}

fn dialer(mode: Mode) -> Dialer {
    let patience = Duration::from_secs(10);
    Dialer::new(ModeSwitch::new(mode), patience, patience)
}

#[tokio::test]
async fn offline_opens_nothing_and_counts() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let origin = Origin {
        scheme: Scheme::Http,
        host: "127.0.0.1".to_owned(),
        port,
        via: None,
        reach: Reach::All,
    };
    let offline = dialer(Mode::Offline);
    assert!(matches!(offline.dial(&origin).await, Err(Failure::Offline)));
    assert_eq!(offline.refused(), 1);
    assert!(dialer(Mode::Online).dial(&origin).await.is_ok());
    assert!(dialer(Mode::Autodial).dial(&origin).await.is_ok());
}

#[tokio::test]
async fn a_closed_port_is_refused_by_name() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let origin = Origin {
        scheme: Scheme::Http,
        host: "127.0.0.1".to_owned(),
        port,
        via: None,
        reach: Reach::All,
    };
    let failure = dialer(Mode::Online).dial(&origin).await.unwrap_err();
    assert_eq!(failure.to_string(), format!("127.0.0.1:{port} refuses the connection"));
    assert!(failure.may_pass());
}

#[tokio::test(start_paused = true)]
async fn names_wait_for_their_turn_and_addresses_need_none() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let dialer = dialer(Mode::Online);
    let turns = u32::try_from(MAX_LOOKUPS).unwrap();
    let all = dialer.lookups.clone().acquire_many_owned(turns).await.unwrap();
    let name = Origin {
        scheme: Scheme::Http,
        host: "localhost".to_owned(),
        port,
        via: None,
        reach: Reach::All,
    };
    assert!(matches!(dialer.look_up(&name).await, Err(Failure::LookupTimeout { .. })));
    for host in ["127.0.0.1", "[::1]"] {
        let address = Origin {
            scheme: Scheme::Http,
            host: host.to_owned(),
            port,
            via: None,
            reach: Reach::All,
        };
        assert_eq!(dialer.look_up(&address).await.unwrap().len(), 1, "{host}");
    }
    drop(all);
    assert!(!dialer.look_up(&name).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_next_address_is_tried_when_one_fails() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let good = listener.local_addr().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let bad = closed.local_addr().unwrap();
    drop(closed);
    assert!(connect_any(vec![bad, good]).await.is_ok());
    assert!(connect_any(vec![]).await.is_err());
}

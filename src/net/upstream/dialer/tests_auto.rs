//! The dialer in the mode auto: probes, captive portals, and reports.

use std::pin::pin;

use super::tests::{closed_port, dialer, listening};
use super::*;
use crate::base::mode::Mode;

#[tokio::test]
async fn only_the_mode_auto_permits_to_probe() {
    let (_listener, port) = listening().await;
    let origin = Origin::here(Scheme::Http, "127.0.0.1", port);
    for mode in [Mode::Offline, Mode::Online, Mode::Autodial] {
        let dialer = dialer(mode);
        assert!(matches!(dialer.probe(&origin).await, Err(Failure::Offline)), "{mode}");
        assert_eq!((dialer.refused_count(), dialer.probes()), (1, 0), "{mode}");
    }
    let auto = dialer(ModeSetting::Auto);
    assert!(matches!(auto.dial(&origin).await, Err(Failure::Offline)));
    assert!(auto.probe(&origin).await.is_ok());
    assert_eq!((auto.refused_count(), auto.probes()), (1, 1));
    // If another mode is chosen, the running probe ends.
    let mut probing = pin!(auto.run_as_probe(std::future::pending::<Result<(), _>>()));
    tokio::select! {
        biased;
        _ = &mut probing => panic!("it has ended"),
        () = tokio::task::yield_now() => {}
    }
    auto.mode.set(Mode::Offline);
    assert!(matches!(probing.await, Err(Failure::Offline)));
}

#[tokio::test]
async fn a_portal_is_reachable_until_offline_is_chosen() {
    let (_listener, port) = listening().await;
    let origin = Origin::here(Scheme::Http, "127.0.0.1", port);
    let dialer = dialer(ModeSetting::Auto);
    dialer.mode.apply_link_state(Mode::Offline, &["127.0.0.1".to_owned()]);
    assert!(dialer.dial(&origin).await.is_ok());
    let step = std::future::pending::<Result<(), _>>();
    let mut talking = pin!(dialer.run_if_allowed(&origin, step));
    tokio::select! {
        biased;
        _ = &mut talking => panic!("it has ended"),
        () = tokio::task::yield_now() => {}
    }
    dialer.mode.set(Mode::Offline);
    assert!(matches!(talking.await, Err(Failure::Offline)));
    assert!(matches!(dialer.dial(&origin).await, Err(Failure::Offline)));
}

#[tokio::test]
async fn origin_results_are_reported_only_in_mode_auto() {
    let port = closed_port();
    let at = |host: &str| Origin::here(Scheme::Http, host, port);
    for (choice, host, want) in [
        (ModeSetting::Auto, "a.test", true),
        (ModeSetting::Auto, "127.0.0.1", false),
        (ModeSetting::Online, "a.test", false),
    ] {
        let (tell, mut reports) = mpsc::channel(1);
        let dialer = dialer(choice).with_reports(tell);
        dialer.mode.apply_link_state(Mode::Online, &[]);
        for _ in 0..2 {
            assert!(dialer.dial(&at(host)).await.is_err());
        }
        let report = OriginReport { origin: at(host), answered: false };
        assert_eq!(reports.try_recv().ok(), want.then_some(report), "{choice} {host}");
        assert!(reports.try_recv().is_err(), "what finds no room is left out");
    }
    for (host, want) in [
        ("localhost", true),
        ("a.LOCALHOST", true),
        ("[::1]", true),
        ("[::ffff:127.0.0.1]", true),
        ("127.1.2.3", true),
        ("localhost.example", false),
        ("10.0.0.1", false),
    ] {
        assert_eq!(is_here(&at(host)), want, "{host}");
    }
}

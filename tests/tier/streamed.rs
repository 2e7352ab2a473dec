//! A long body from the tier is sent while it arrives, and looks complete only if it is right.

use std::sync::Arc;

use super::shared::{connected, pushed};
use crate::harness::engines::Engines;
use crate::harness::origin::Seen;
use crate::harness::{After, Answer, Daemon, Gate, Origin, Response};

const URL: &str = "http://h.example/film";

/// The number of bytes of the object that the store sends before it waits.
const FIRST: usize = 600_000;

/// A node that is offline, and whose store sends the object of a page in two parts, the second one
/// when the gate opens. `change` changes the object.
fn slow_store(change: impl FnOnce(&mut Vec<u8>)) -> (Engines, Origin, Daemon, Arc<Gate>) {
    let (mut engines, origin) = (Engines::start(), Origin::start());
    origin.say(URL, Answer::new(200, "video/mp4", film()).field("ETag", "\"1\""));
    let mut a = engines.node("a", origin.addr, "");
    a.up();
    a.get(URL);
    pushed(&a, &engines, 1);
    let mut object = std::fs::read(&engines.objects()[0]).unwrap();
    change(&mut object);
    let (store, gate) = (Origin::start(), Gate::new());
    let second = Arc::clone(&gate);
    store.on("*", move |exchange| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", object.len());
        exchange.send(head)?;
        exchange.send(&object[..FIRST])?;
        second.wait();
        exchange.send(&object[FIRST..])?;
        Ok(After::Keep)
    });
    engines.objects = store.addr;
    let mut b = engines.node("b", origin.addr, "");
    b.up();
    b.ok(&["offline"]);
    connected(&b);
    (engines, store, b, gate)
}

fn film() -> Vec<u8> {
    (0..1_500_000_u32).map(|number| number.to_le_bytes()[0] ^ number.to_le_bytes()[1]).collect()
}

/// Requests the page, and opens the gate when a part of its body has arrived.
fn read(node: &Daemon, gate: &Gate) -> (Response, Vec<u8>) {
    let (mut client, mut body) = (node.client(), Vec::new());
    client.ask(URL, "");
    let response = client.try_stream("GET", |piece| {
        body.extend_from_slice(piece);
        if body.len() > 400_000 {
            gate.open();
        }
    });
    (response.unwrap(), body)
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_long_body_is_sent_while_it_arrives() {
    let (_engines, store, b, gate) = slow_store(|_| {});
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (response, body) = read(&b, &gate);
                assert_eq!((response.status, response.field("etag")), (200, "\"1\""));
                assert_eq!(response.field("content-length"), "1500000");
                assert!(response.whole.is_ok() && body == film(), "{} bytes", body.len());
            });
        }
    });
    let part = b.client().get_with(URL, "Range: bytes=1000000-1000003\r\n").whole();
    assert_eq!((part.status, &*part.body), (206, &film()[1_000_000..1_000_004]));
    let reads = |one: &Seen| one.method == "GET" && one.target.contains(".warc");
    assert_eq!(store.seen().iter().filter(|one| reads(one)).count(), 1, "it is read once");
}

#[test]
#[ignore = "needs postgresql and s3rver"]
fn a_wrong_body_never_looks_complete() {
    let (_engines, _store, b, gate) = slow_store(|object| {
        let last = object.len() - 5;
        object[last] ^= 1;
    });
    let (response, body) = read(&b, &gate);
    assert_eq!(response.status, 200);
    assert!(response.whole.is_err() && body.len() < 1_500_000, "{} bytes", body.len());
    b.tells("an object of the archive tier is not used: its bytes do not match its digest");
    assert_eq!(b.get(URL).status, 504);
}

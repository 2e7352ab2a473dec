//! A SOCKS 5 server (RFC 1928) of the tests, on loopback. It looks up every name as 127.0.0.1, so
//! that names which no name server knows are reached only if the client leaves the lookup to it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The server. Its thread ends with the test.
pub(crate) struct Socks {
    pub(crate) addr: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Socks {
    /// Starts a server without a login.
    pub(crate) fn start() -> Self {
        Self::start_at("127.0.0.1:0", None)
    }

    /// Starts a server that accepts only this user and password.
    pub(crate) fn with_login(user: &'static str, password: &'static str) -> Self {
        Self::start_at("127.0.0.1:0", Some((user, password)))
    }

    pub(crate) fn start_at(addr: &str, login: Option<(&'static str, &'static str)>) -> Self {
        let listener = TcpListener::bind(addr).unwrap();
        let addr = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let record = Arc::clone(&record);
                // The client sees a failure as a closed connection.
                std::thread::spawn(move || drop(serve(&stream, login, &record)));
            }
        });
        Self { addr, asked }
    }

    /// Starts a server that answers every connection with `answer` and keeps it open.
    pub(crate) fn hostile(answer: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let _left = stream.write_all(answer);
                open.push(stream);
            }
        });
        addr
    }

    /// The requested hosts and ports, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(
    mut client: &TcpStream,
    login: Option<(&str, &str)>,
    record: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let [version, count] = read(client)?;
    let methods = read_many(client, count)?;
    assert_eq!(version, 5);
    if let Some((user, password)) = login {
        if !methods.contains(&2) {
            return client.write_all(&[5, 0xff]);
        }
        client.write_all(&[5, 2])?;
        let [_, length] = read(client)?;
        let given_user = read_many(client, length)?;
        let [length] = read(client)?;
        let given_password = read_many(client, length)?;
        let is_right = given_user == user.as_bytes() && given_password == password.as_bytes();
        client.write_all(&[1, u8::from(!is_right)])?;
        if !is_right {
            return Ok(());
        }
    } else {
        client.write_all(&[5, 0])?;
    }
    let [_, command, _, kind] = read(client)?;
    assert_eq!(command, 1);
    let host = match kind {
        1 => std::net::Ipv4Addr::from(read::<4>(client)?).to_string(),
        4 => format!("[{}]", std::net::Ipv6Addr::from(read::<16>(client)?)),
        _ => {
            let [length] = read(client)?;
            String::from_utf8(read_many(client, length)?).unwrap()
        }
    };
    let port = u16::from_be_bytes(read(client)?);
    record.lock().unwrap().push(format!("{host}:{port}"));
    let Ok(origin) = TcpStream::connect(("127.0.0.1", port)) else {
        return client.write_all(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]);
    };
    client.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80])?;
    let (from, to) = (client.try_clone()?, origin.try_clone()?);
    let upward = std::thread::spawn(move || pump(&from, &to));
    let done = pump(&origin, client);
    let _ = upward.join();
    done
}

fn read<const LENGTH: usize>(mut client: &TcpStream) -> io::Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_many(mut client: &TcpStream, length: u8) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::from(length)];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn pump(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)
}

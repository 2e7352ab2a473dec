//! The client side of SOCKS 5 (RFC 1928), with a user and password (RFC 1929). The server looks up
//! names, so none is looked up here.

use std::net::IpAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Origin, ParentFault};
use crate::base::basic::Login;

/// The version of the protocol.
const VERSION: u8 = 5;

/// The version of the login with user and password (RFC 1929 §2).
const LOGIN_VERSION: u8 = 1;

/// The method without a login.
const NO_LOGIN: u8 = 0;

/// The method with user and password.
const PASSWORD: u8 = 2;

/// The answer to methods of which the server accepts none.
const NO_METHOD: u8 = 0xff;

/// The command that opens a connection.
const CONNECT: u8 = 1;

/// The types of addresses.
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Makes the SOCKS server at the other end of `stream` open a connection to `origin`. Reads exactly
/// the messages of the server, because the following bytes come from the origin. The largest message
/// has 262 bytes.
pub(super) async fn open(
    stream: &mut TcpStream,
    origin: &Origin,
    login: Option<&Login>,
) -> Result<(), ParentFault> {
    // The messages are built first, so that a server sees nothing of a request that cannot be sent.
    let (login, request) = (login.map(login_message).transpose()?, request(origin)?);
    let greeting: &[u8] = match login {
        Some(_) => &[VERSION, 2, NO_LOGIN, PASSWORD],
        None => &[VERSION, 1, NO_LOGIN],
    };
    write(stream, greeting).await?;
    match (read(stream).await?, login) {
        ([VERSION, NO_LOGIN], _) => {}
        ([VERSION, PASSWORD], Some(login)) => {
            write(stream, &login).await?;
            match read(stream).await? {
                [LOGIN_VERSION, 0] => {}
                [LOGIN_VERSION, _] => return Err(ParentFault::Login),
                _ => return Err(ParentFault::NotSocks),
            }
        }
        ([VERSION, NO_METHOD | PASSWORD], _) => return Err(ParentFault::Login),
        _ => return Err(ParentFault::NotSocks),
    }
    write(stream, &request).await?;
    read_reply(stream).await
}

/// The message with user and password (RFC 1929 §2).
fn login_message(login: &Login) -> Result<Vec<u8>, ParentFault> {
    let mut message = vec![LOGIN_VERSION];
    for (what, text) in [("the user name", &login.user), ("the password", &login.password)] {
        message.push(u8::try_from(text.len()).map_err(|_| ParentFault::TooLong(what))?);
        message.extend_from_slice(text);
    }
    Ok(message)
}

/// The request to connect to `origin` (RFC 1928 §4).
fn request(origin: &Origin) -> Result<Vec<u8>, ParentFault> {
    let mut message = vec![VERSION, CONNECT, 0];
    let host = origin.host.trim_start_matches('[').trim_end_matches(']');
    match host.parse() {
        Ok(IpAddr::V4(address)) => {
            message.push(IPV4);
            message.extend_from_slice(&address.octets());
        }
        Ok(IpAddr::V6(address)) => {
            message.push(IPV6);
            message.extend_from_slice(&address.octets());
        }
        Err(_) => {
            let length = u8::try_from(host.len());
            message.extend([NAME, length.map_err(|_| ParentFault::TooLong("the host"))?]);
            message.extend_from_slice(host.as_bytes());
        }
    }
    message.extend_from_slice(&origin.port.to_be_bytes());
    Ok(message)
}

/// Reads the reply to a request (RFC 1928 §6). Its address is read and not used.
async fn read_reply(stream: &mut TcpStream) -> Result<(), ParentFault> {
    let [version, reply, _, kind] = read(stream).await?;
    if version != VERSION {
        return Err(ParentFault::NotSocks);
    }
    if reply != 0 {
        return Err(ParentFault::Socks(meaning(reply)));
    }
    let length = match kind {
        IPV4 => 4,
        IPV6 => 16,
        NAME => {
            let [length] = read(stream).await?;
            usize::from(length)
        }
        _ => return Err(ParentFault::NotSocks),
    };
    let mut rest = vec![0; length + size_of::<u16>()];
    stream.read_exact(&mut rest).await.map_err(ParentFault::CutShort)?;
    Ok(())
}

/// The meaning of a refusal.
fn meaning(reply: u8) -> &'static str {
    match reply {
        2 => "its rules do not allow the connection",
        3 => "the network is unreachable",
        4 => "the host is unreachable",
        5 => "the connection is refused",
        6 => "the host is too far away",
        7 => "it does not support the command",
        8 => "it does not support the type of the address",
        _ => "it has failed",
    }
}

async fn write(stream: &mut TcpStream, message: &[u8]) -> Result<(), ParentFault> {
    stream.write_all(message).await.map_err(ParentFault::CutShort)
}

async fn read<const LENGTH: usize>(stream: &mut TcpStream) -> Result<[u8; LENGTH], ParentFault> {
    let mut message = [0; LENGTH];
    stream.read_exact(&mut message).await.map_err(ParentFault::CutShort)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::upstream::Scheme;
    use tokio::net::TcpListener;

    /// Opens a connection through a server that sends `answer`. Returns the result, the bytes that
    /// the server received, and the bytes that follow the reply.
    async fn opened(host: &str, login: Option<Login>, answer: &[u8]) -> (String, Vec<u8>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        server.write_all(answer).await.unwrap();
        server.shutdown().await.unwrap();
        let origin = Origin::here(Scheme::Https, host, 443);
        let result = match open(&mut client, &origin, login.as_ref()).await {
            Ok(()) => "open".to_owned(),
            Err(fault) => format!("{fault:?}"),
        };
        let (mut rest, mut sent) = (Vec::new(), Vec::new());
        if result == "open" {
            client.read_to_end(&mut rest).await.unwrap();
        }
        drop(client);
        // After a reset, the bytes before it are enough.
        let _reset = server.read_to_end(&mut sent).await;
        (result, sent, rest)
    }

    #[tokio::test]
    async fn a_connection_is_opened_as_rfc_1928_says() {
        let name = b"\x05\x01\x00\x05\x01\x00\x03\x06o.test\x01\xbb";
        let answer = b"\x05\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50SSH";
        assert_eq!(
            opened("o.test", None, answer).await,
            ("open".into(), name.into(), b"SSH".into())
        );
        let address = b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x02\x01\xbb";
        let answer = b"\x05\x00\x05\x00\x00\x03\x03abc\x00\x50";
        assert_eq!(
            opened("127.0.0.2", None, answer).await,
            ("open".into(), address.into(), vec![])
        );
        let address =
            [b"\x05\x01\x00\x05\x01\x00\x04".as_slice(), &[0; 15], b"\x01\x01\xbb"].concat();
        let answer = [b"\x05\x00\x05\x00\x00\x04".as_slice(), &[7; 18]].concat();
        assert_eq!(opened("[::1]", None, &answer).await, ("open".into(), address, vec![]));
    }

    #[tokio::test]
    async fn the_login_follows_rfc_1929() {
        let login = || Some(Login { user: b"ada".to_vec(), password: b"secret".to_vec() });
        let answer = b"\x05\x02\x01\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50";
        let (result, sent, _) = opened("o.test", login(), answer).await;
        assert_eq!(result, "open");
        assert!(
            sent.starts_with(b"\x05\x02\x00\x02\x01\x03ada\x06secret\x05\x01\x00\x03"),
            "{sent:?}"
        );
        let (result, sent, _) = opened("o.test", login(), b"\x05\x02\x01\x01").await;
        assert_eq!(result, "Login");
        assert!(sent.ends_with(b"secret"), "{sent:?}");
        // The server asks for no login, so it does not get one.
        let answer = b"\x05\x00\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50";
        let (result, sent, _) = opened("o.test", login(), answer).await;
        assert_eq!(
            (result.as_str(), sent.get(4..8)),
            ("open", Some(b"\x05\x01\x00\x03".as_slice()))
        );
    }

    #[tokio::test]
    async fn a_hostile_server_is_refused() {
        for (answer, want) in [
            (b"HTTP/1.1 400 Bad\r\n\r\n".as_slice(), "NotSocks"),
            (b"\x04\x00", "NotSocks"),
            (b"\x05\x02", "Login"),
            (b"\x05\xff", "Login"),
            (b"\x05\x07", "NotSocks"),
            (b"\x05", "CutShort"),
            (b"", "CutShort"),
            (b"\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00", "Socks(\"its rules"),
            (b"\x05\x00\x05\xfe\x00\x01", "Socks(\"it has failed"),
            (b"\x05\x00\x05\x00\x00\x09\x00\x00", "NotSocks"),
            (b"\x05\x00\x04\x00\x00\x01\x00\x00", "NotSocks"),
            (b"\x05\x00\x05\x00\x00\x03\xffabc", "CutShort"),
        ] {
            let (result, ..) = opened("o.test", None, answer).await;
            assert!(result.starts_with(want), "{answer:?}: {result}");
        }
        let (result, sent, _) = opened(&"a".repeat(256), None, b"\x05\x00").await;
        assert_eq!((result.as_str(), sent.as_slice()), ("TooLong(\"the host\")", b"".as_slice()));
        let login = Login { user: vec![b'u'; 256], password: Vec::new() };
        let (result, sent, _) = opened("o.test", Some(login), b"\x05\x02").await;
        assert_eq!(
            (result.as_str(), sent.as_slice()),
            ("TooLong(\"the user name\")", b"".as_slice())
        );
    }
}

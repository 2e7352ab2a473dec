//! A control connection to an FTP server: TLS, login, and the data connections.
//!
//! `suppaftp` speaks the protocol. Each connection comes from our dialer. A data connection goes to
//! the address of the control connection, whatever the server says, so a server cannot make us
//! connect to another machine.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rustls::ClientConfig;
use suppaftp::tokio::{AsyncRustlsFtpStream, AsyncRustlsStream, AsyncTlsConnector, TransferStream};
use suppaftp::types::{FileType, Response};
use suppaftp::{Encoding, FtpError, FtpResult, Mode, Status};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use wwwoffle_config::FtpTls;

use super::super::{Failure, Origin, ReceivedFrom, TlsDetails, Upstream};
use crate::base::basic::Login;

/// The lowest port of a data connection. Lower ports belong to services, which a hostile server
/// could make us talk to.
const MIN_DATA_PORT: u16 = 1024;

/// A data connection.
pub(super) type DataStream = TransferStream<AsyncRustlsStream>;

/// A negative reply of the server.
#[derive(Debug)]
pub(super) struct Reply {
    /// The three digits.
    pub(super) code: u32,
    /// The whole reply.
    pub(super) text: String,
}

impl Reply {
    /// Whether the same command cannot succeed later (RFC 959 §4.2).
    pub(super) fn is_permanent(&self) -> bool {
        self.code >= 500
    }
}

/// The reason why a command has no result.
#[derive(Debug)]
pub(super) enum FtpRefusal {
    /// The server refuses the command.
    Reply(Reply),
    /// There is no usable reply.
    Failed(Failure),
}

impl From<Failure> for FtpRefusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// File names as bytes: each character of a text is one byte. So a name in any encoding is sent as
/// it arrived.
#[derive(Debug)]
struct Bytewise;

impl Encoding for Bytewise {
    fn decode(&self, bytes: &[u8]) -> String {
        text_of(bytes)
    }

    fn encode(&self, text: &str) -> io::Result<Vec<u8>> {
        bytes_of(text).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

/// The text whose characters are these bytes.
pub(super) fn text_of(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The bytes of a text of [`text_of`]. `None` for any other text.
pub(super) fn bytes_of(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(c).ok()).collect()
}

/// Details that do not fit into the errors and results of `suppaftp`.
#[derive(Clone, Debug, Default)]
struct Notes(Arc<Mutex<NotedDetails>>);

#[derive(Debug, Default)]
struct NotedDetails {
    failure: Option<Failure>,
    secured: Option<Arc<TlsDetails>>,
    source: Option<ReceivedFrom>,
}

impl Notes {
    fn with<T>(&self, act: impl FnOnce(&mut NotedDetails) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes the failure of a connection, and returns an error in its place.
    fn failed(&self, failure: Failure) -> FtpError {
        self.with(|noted| noted.failure = Some(failure));
        FtpError::ConnectionError(io::ErrorKind::NotConnected.into())
    }

    fn refusal(&self, error: FtpError) -> FtpRefusal {
        if let Some(failure) = self.with(|noted| noted.failure.take()) {
            return FtpRefusal::Failed(failure);
        }
        FtpRefusal::Failed(match error {
            FtpError::UnexpectedResponse(Response { status, body }) => {
                let text = String::from_utf8_lossy(&body).trim().to_owned();
                // `Status` lacks some codes.
                let code = text.get(..3).and_then(|code| code.parse().ok());
                let code = code.unwrap_or_else(|| status.code());
                return FtpRefusal::Reply(Reply { code, text });
            }
            FtpError::ConnectionError(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Failure::Unsendable("a name or password contains a line break")
            }
            FtpError::ConnectionError(error) => Failure::CutShort(error.into()),
            _ => Failure::Wrong("it is not a reply of an FTP server"),
        })
    }
}

/// Runs the TLS handshakes of a session. All use one configuration, because servers require that a
/// data connection resumes the TLS session of the control connection.
#[derive(Debug)]
struct Connector {
    upstream: Arc<Upstream>,
    origin: Origin,
    config: Arc<ClientConfig>,
    notes: Notes,
}

#[async_trait]
impl AsyncTlsConnector for Connector {
    type Stream = AsyncRustlsStream;

    async fn connect(&self, _: &str, stream: TcpStream) -> FtpResult<AsyncRustlsStream> {
        let Self { upstream, origin, config, notes } = self;
        let wrap = upstream.tls.wrap_with(stream, origin, config);
        let stream = upstream.dialer.run_if_allowed(origin, wrap).await;
        let stream = stream.map_err(|failure| notes.failed(failure))?;
        let secured = TlsDetails::of(stream.get_ref().1).map(Arc::new);
        notes.with(|noted| noted.secured = noted.secured.take().or(secured));
        Ok(stream.into())
    }
}

/// A session with an FTP server.
pub(super) struct FtpSession {
    ftp: AsyncRustlsFtpStream,
    /// The names of the features of the server (RFC 2389), in upper case.
    features: Vec<String>,
    notes: Notes,
}

impl fmt::Debug for FtpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FtpSession").field("features", &self.features).finish_non_exhaustive()
    }
}

impl FtpSession {
    /// Connects to a server and logs in. With [`FtpTls::Offered`], a login without a secret is sent
    /// in clear text if TLS fails.
    pub(super) async fn open(
        upstream: &Arc<Upstream>,
        origin: &Origin,
        login: &Login,
        (tls, is_secret): (FtpTls, bool),
    ) -> Result<Self, FtpRefusal> {
        let mut session = Self::greet(upstream, origin).await?;
        if tls == FtpTls::Required || (tls == FtpTls::Offered && session.has("AUTH")) {
            session = match session.secure(upstream, origin).await {
                Err(refusal) if tls == FtpTls::Offered && may_go_on(&refusal, is_secret) => {
                    Self::greet(upstream, origin).await?
                }
                Err(FtpRefusal::Reply(_)) => {
                    return Err(
                        Failure::Wrong("it refuses TLS, which [ftp-options] requires").into()
                    );
                }
                secured => secured?,
            };
        }
        session.ftp.set_encoding(Bytewise).await;
        let (user, password) = (text_of(&login.user), text_of(&login.password));
        let logged_in = session.ftp.login(user, password).await;
        session.done(logged_in)?;
        if session.features.is_empty() {
            // Some servers name their features only after the login.
            session.learn_features().await?;
        }
        if session.has("UTF8") {
            // RFC 2640 requires no such command, but some servers do.
            match session.command("OPTS UTF8 ON").await {
                Err(failed @ FtpRefusal::Failed(_)) => return Err(failed),
                Ok(()) | Err(FtpRefusal::Reply(_)) => {}
            }
        }
        // Without EPSV (RFC 2428) only IPv4 is possible.
        let is_ipv6 = session.ftp.get_ref().await.peer_addr().is_ok_and(|peer| peer.is_ipv6());
        if is_ipv6 || session.has("EPSV") {
            session.ftp.set_mode(Mode::ExtendedPassive);
        }
        let binary = session.ftp.transfer_type(FileType::Image).await;
        session.done(binary)?;
        Ok(session)
    }

    /// Connects, and reads the greeting and the features.
    async fn greet(upstream: &Arc<Upstream>, origin: &Origin) -> Result<Self, FtpRefusal> {
        let stream = upstream.dialer.dial(origin).await?;
        let peer = stream.peer_addr().map_err(|error| Failure::CutShort(error.into()))?.ip();
        let notes = Notes::default();
        notes.with(|noted| noted.source = upstream.dialer.source_of(origin, Some(peer)));
        let greeted = AsyncRustlsFtpStream::connect_with_stream(stream).await;
        let ftp = greeted.map_err(|error| notes.refusal(error))?;
        let (dials, origin, noting) = (Arc::clone(upstream), origin.clone(), notes.clone());
        let ftp = ftp.passive_stream_builder(move |claimed| {
            let (tell, told) = oneshot::channel();
            let (upstream, origin, notes) = (Arc::clone(&dials), origin.clone(), noting.clone());
            let tasks = dials.tasks.clone();
            tasks.spawn(async move {
                // The receiver may have given up.
                let _unheard = tell.send(dial_data(&upstream, origin, peer, claimed.port()).await);
            });
            Box::pin(async move {
                let dialled = told.await.unwrap_or(Err(Failure::Ours));
                dialled.map_err(|failure| notes.failed(failure))
            })
        });
        let mut session = Self { ftp, features: Vec::new(), notes };
        session.learn_features().await?;
        Ok(session)
    }

    async fn learn_features(&mut self) -> Result<(), FtpRefusal> {
        match self.ftp.feat().await {
            Ok(features) => {
                self.features = features.keys().map(|name| name.to_ascii_uppercase()).collect();
                Ok(())
            }
            // The server has no features, or names them only after the login.
            Err(FtpError::UnexpectedResponse(_) | FtpError::BadResponse) => Ok(()),
            Err(error) => Err(self.notes.refusal(error)),
        }
    }

    /// Whether the server has a feature.
    pub(super) fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|name| name == feature)
    }

    /// Switches to TLS (RFC 4217), also for the data connections.
    async fn secure(self, upstream: &Arc<Upstream>, origin: &Origin) -> Result<Self, FtpRefusal> {
        let Self { ftp, features, notes } = self;
        let connector = Connector {
            upstream: Arc::clone(upstream),
            origin: origin.clone(),
            config: upstream.tls.config_for_ftp(origin),
            notes: notes.clone(),
        };
        let secured = ftp.into_secure(connector, &origin.host).await;
        let ftp = secured.map_err(|error| notes.refusal(error))?;
        Ok(Self { ftp, features, notes })
    }

    /// The details of the TLS connection, if there is one.
    pub(super) fn secured(&self) -> Option<Arc<TlsDetails>> {
        self.notes.with(|noted| noted.secured.clone())
    }

    /// The source behind the connection, for the archive tier.
    pub(super) fn source(&self) -> Option<ReceivedFrom> {
        self.notes.with(|noted| noted.source)
    }

    /// Sends a command that must succeed.
    pub(super) async fn command(&mut self, command: &str) -> Result<(), FtpRefusal> {
        let done = self.ftp.custom_command(command, &[Status::CommandOk]).await;
        self.done(done.map(drop))
    }

    /// Changes the directory.
    pub(super) async fn enter(&mut self, directory: &str) -> Result<(), FtpRefusal> {
        let entered = self.ftp.cwd(directory).await;
        self.done(entered)
    }

    /// The length of a file in bytes.
    pub(super) async fn size(&mut self, file: &str) -> Result<u64, FtpRefusal> {
        let size = self.ftp.size(file).await;
        let size = self.done(size)?;
        u64::try_from(size).map_err(|_| Failure::Wrong("its file has an impossible length").into())
    }

    /// The time of the last change of a file, in seconds since 1970.
    pub(super) async fn modified(&mut self, file: &str) -> Result<i64, FtpRefusal> {
        let modified = self.ftp.mdtm(file).await;
        Ok(self.done(modified)?.and_utc().timestamp())
    }

    /// Starts to receive the data of a command, from byte `from`.
    pub(super) async fn receive(
        &mut self,
        command: &str,
        from: usize,
    ) -> Result<DataStream, FtpRefusal> {
        let resumed = self.ftp.resume_transfer(from).await;
        self.done(resumed)?;
        let opened = [Status::AboutToSend, Status::AlreadyOpen];
        let data = self.ftp.custom_data_command(command, &opened).await;
        self.done(data).map(|(_, data)| data)
    }

    /// Starts to send a file.
    pub(super) async fn send(&mut self, file: &str) -> Result<DataStream, FtpRefusal> {
        let data = self.ftp.put_with_stream(file).await;
        self.done(data)
    }

    /// Ends a transfer: reads the reply that says whether it was complete.
    pub(super) async fn finish(&mut self, data: DataStream) -> Result<(), FtpRefusal> {
        let finished = data.finish().await;
        self.done(finished)
    }

    /// Says goodbye.
    pub(super) async fn quit(&mut self) -> Result<(), FtpRefusal> {
        let quit = self.ftp.quit().await;
        self.done(quit)
    }

    fn done<T>(&self, result: FtpResult<T>) -> Result<T, FtpRefusal> {
        result.map_err(|error| self.notes.refusal(error))
    }
}

/// Whether a session without TLS may replace the one whose TLS failed: the server refuses TLS, or
/// no secret is sent.
fn may_go_on(refusal: &FtpRefusal, is_secret: bool) -> bool {
    match refusal {
        FtpRefusal::Reply(_) => true,
        FtpRefusal::Failed(failure) => {
            let is_of_tls = matches!(
                failure,
                Failure::Certificate { .. }
                    | Failure::Tls { .. }
                    | Failure::HandshakeTimeout { .. }
            );
            is_of_tls && !is_secret
        }
    }
}

/// Opens a data connection to the address of the control connection, or by its parent proxy.
async fn dial_data(
    upstream: &Upstream,
    origin: Origin,
    peer: IpAddr,
    port: u16,
) -> Result<TcpStream, Failure> {
    if port < MIN_DATA_PORT {
        return Err(Failure::Wrong("its data connection leads to the port of another service"));
    }
    let origin = Origin { port, ..origin };
    if origin.via.is_some() {
        // The peer is the parent proxy, which looks up the name once more.
        return upstream.dialer.dial(&origin).await;
    }
    upstream.dialer.connect(&origin, vec![SocketAddr::new(peer, port)]).await
}

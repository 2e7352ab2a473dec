//! Real servers: vsftpd and pyftpdlib for FTP, and fingerd.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tempfile::TempDir;

use super::read;
use crate::harness::client::request;
use crate::harness::tools::{plain, program, python_with};
use crate::harness::{Authority, Daemon, heavy};

/// A server that is started for each connection, as by inetd. Dropping it stops the server and all
/// sessions.
struct Inetd {
    addr: SocketAddr,
    sessions: Arc<Mutex<Vec<Child>>>,
    is_stopping: Arc<AtomicBool>,
    listener: Option<JoinHandle<()>>,
}

impl Inetd {
    /// `session` makes the command for a connection, which is its input and output.
    fn start(session: impl Fn() -> Command + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let sessions = Arc::<Mutex<Vec<Child>>>::default();
        let is_stopping = Arc::<AtomicBool>::default();
        let (started, stops) = (Arc::clone(&sessions), Arc::clone(&is_stopping));
        let accept = move || {
            for stream in listener.incoming().flatten() {
                if stops.load(Ordering::Relaxed) {
                    break;
                }
                let copy =
                    |stream: &TcpStream| Stdio::from(OwnedFd::from(stream.try_clone().unwrap()));
                let mut command = plain(session());
                command.stdin(copy(&stream)).stdout(copy(&stream)).stderr(Stdio::null());
                started.lock().unwrap().push(command.spawn().unwrap());
            }
        };
        let listener = Some(std::thread::spawn(accept));
        Self { addr, sessions, is_stopping, listener }
    }

    /// Ends all sessions at once, also those that transfer a file.
    fn kill_sessions(&self) {
        for session in self.sessions.lock().unwrap().iter_mut() {
            drop((session.kill(), session.wait()));
        }
    }
}

impl Drop for Inetd {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        // The connection wakes the listener, which then ends.
        drop(TcpStream::connect(self.addr));
        drop(self.listener.take().map(JoinHandle::join));
        self.kill_sessions();
    }
}

/// vsftpd.
struct Vsftpd(Inetd);

impl Vsftpd {
    /// Serves `home/files` with further options.
    fn start(home: &Path, options: &str) -> Self {
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let config = format!(
            "listen=NO\nrun_as_launching_user=YES\nanonymous_enable=YES\nlocal_enable=NO\n\
             seccomp_sandbox=NO\nftp_username={}\nanon_root={}\n{options}",
            String::from_utf8(user).unwrap().trim(),
            home.join("files").display()
        );
        let file = home.join("vsftpd.conf");
        std::fs::write(&file, config).unwrap();
        let vsftpd = program(&["vsftpd"]);
        Self(Inetd::start(move || {
            let mut command = Command::new(&vsftpd);
            command.arg(&file);
            command
        }))
    }

    fn url(&self, path: &str) -> String {
        format!("ftp://{}{path}", self.0.addr)
    }

    fn count(&self) -> usize {
        self.0.sessions.lock().unwrap().len()
    }
}

/// pyftpdlib. Dropping it stops the server.
pub(super) struct Pyftpdlib {
    home: TempDir,
    child: Child,
    port: String,
}

impl Pyftpdlib {
    /// Serves the files of [`home`].
    #[track_caller]
    pub(super) fn start() -> Self {
        let home = home();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts/ftpd.py");
        let mut command = python_with("pyftpdlib");
        command.arg(script).arg(home.path().join("files"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { home, child, port: port.trim().to_owned() }
    }

    /// Adds a file.
    pub(super) fn file(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.home.path().join("files").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(super) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("ftp://{}{path}", self.host())
    }
}

impl Drop for Pyftpdlib {
    fn drop(&mut self) {
        drop((self.child.kill(), self.child.wait()));
    }
}

fn home() -> TempDir {
    let home = TempDir::with_prefix("wwwoffle-ftp-").unwrap();
    std::fs::create_dir_all(home.path().join("files/pub/deep")).unwrap();
    std::fs::write(home.path().join("files/pub/a file.txt"), "from a server").unwrap();
    std::fs::write(home.path().join("files/pub/deep/x.html"), "<p>deep").unwrap();
    home
}

/// Reads the tree through a daemon, online and then offline.
fn read_tree(daemon: &Daemon, at: &dyn Fn(&str) -> String) {
    let run = daemon.run(&["get", "-r", "3", "--within", "directory", &at("/pub/")]);
    assert_eq!(run.status, 0, "{run:?}");
    daemon.ok(&["offline"]);
    let list = daemon.get(&at("/pub/")).text();
    assert!(list.contains("href=\"a%20file.txt\">a file.txt<"), "{list}");
    assert!(list.contains("href=\"deep/\">deep/<"), "{list}");
    assert_eq!(daemon.get(&at("/pub/a%20file.txt")).text(), "from a server");
    let page = daemon.get(&at("/pub/deep/x.html"));
    assert_eq!((page.text().as_str(), page.field("Content-Type")), ("<p>deep", "text/html"));
    assert!(!page.field("Last-Modified").is_empty() && !page.field("ETag").is_empty());
    daemon.ok(&["online"]);
    assert_eq!(daemon.get(&at("/pub/none")).status, 404);
    assert_eq!(daemon.get(&at("/pub/deep")).status, 301);
}

#[test]
#[ignore = "needs vsftpd"]
fn vsftpd_is_read_and_a_broken_download_resumes() {
    let _alone = heavy();
    let home = home();
    let server = Vsftpd::start(home.path(), "");
    let daemon = Daemon::configured("[fetch-options]\nresume-delay = \"1ms\"\n");
    read_tree(&daemon, &|path| server.url(path));

    let content: Vec<u8> = (0..50 * 1024 * 1024_u32).flat_map(u32::to_le_bytes).collect();
    std::fs::write(home.path().join("files/pub/big.bin"), &content).unwrap();
    let before = server.count();
    let mut client = daemon.client();
    client.ask(&server.url("/pub/big.bin"), "");
    let mut got = 0;
    let seen = client.try_stream("GET", |piece| {
        if got == 0 {
            server.0.kill_sessions();
        }
        assert!(content[got..].starts_with(piece), "after byte {got}");
        got += piece.len();
    });
    assert!(seen.unwrap().whole.is_ok() && got == content.len(), "{got} bytes");
    assert!(server.count() >= before + 2, "the download did not break off");
}

#[test]
#[ignore = "needs vsftpd"]
fn vsftpd_is_read_over_tls_and_its_certificate_is_checked() {
    let home = home();
    let authority = Authority::new();
    let files = authority.identity(&["127.0.0.1"]).write(home.path());
    let options = format!(
        "ssl_enable=YES\nallow_anon_ssl=YES\nforce_anon_logins_ssl=YES\nforce_anon_data_ssl=YES\n\
         require_ssl_reuse=YES\nrsa_cert_file={}\nrsa_private_key_file={}\n",
        files.0.display(),
        files.1.display()
    );
    let server = Vsftpd::start(home.path(), &options);
    read_tree(&authority.daemon("[ftp-options]\ntls = \"required\"\n"), &|path| server.url(path));
    read_tree(&authority.daemon(""), &|path| server.url(path));
    // Its certificate is not trusted, and this server refuses anonymous logins without TLS.
    let daemon = Daemon::start();
    assert_ne!(daemon.get(&server.url("/pub/deep/x.html")).status, 200);
    let strict = Daemon::configured("[ftp-options]\ntls = \"required\"\n");
    let refused = strict.browse(&server.url("/pub/deep/x.html"));
    assert_eq!(refused.status, 502);
    assert!(refused.text().contains("certificate"), "{}", refused.text());
}

#[test]
#[ignore = "needs pyftpdlib"]
fn pyftpdlib_is_read_and_written() {
    let server = Pyftpdlib::start();
    let at = |path: &str| server.url(path);
    let daemon = Daemon::configured("[ftp-options]\nupload = true\n");
    read_tree(&daemon, &at);
    let own = at("/pub/new.txt").replace("ftp://", "ftp://ada:p%3A%40ss@");
    let mut client = daemon.client();
    client.send(format!("PUT {own} HTTP/1.1\r\nHost: h.example\r\nContent-Length: 4\r\n\r\nsent"));
    assert_eq!(client.receive("PUT").whole().status, 201);
    assert_eq!(std::fs::read(server.home.path().join("files/pub/new.txt")).unwrap(), b"sent");
    // An anonymous login may not write.
    let mut client = daemon.client();
    client.send(request("PUT", &at("/pub/more.txt"), "Content-Length: 4\r\n") + "sent");
    assert_eq!(client.receive("PUT").whole().status, 403);
}

#[test]
#[ignore = "needs fingerd and finger"]
fn fingerd_is_read_online_and_then_offline_without_it() {
    // The daemon starts this program, which is in another package.
    program(&["finger"]);
    let fingerd = program(&["in.fingerd"]);
    let server = Inetd::start(move || Command::new(&fingerd));
    let addr = server.addr;
    let daemon = Daemon::configured(&format!("[dont-get]\nallowed-ports = [{}]\n", addr.port()));
    let url = |user: &str| format!("finger://{addr}/{user}");
    let seen = daemon.get(&url("root"));
    assert_eq!(seen.status, 200, "{}", seen.text());
    assert!(seen.text().contains("Login: root") && !seen.text().contains('\r'), "{}", seen.text());
    let all = daemon.get(&url(""));
    assert_eq!(all.status, 200, "the users that are logged on: {}", all.text());
    // A request that is made offline waits for the daemon.
    daemon.ok(&["offline"]);
    assert_eq!(daemon.get(&url("/W%20root")).status, 504);
    daemon.ok(&["online"]);
    daemon.ok(&["fetch", "--wait"]);
    drop(server);

    daemon.ok(&["offline"]);
    for (user, want) in [("root", seen.text()), ("", all.text())] {
        let stored = daemon.get(&url(user));
        assert_eq!((stored.status, stored.text()), (200, want), "{user:?}");
    }
    let long = daemon.get(&url("/W%20root")).text();
    assert!(long.contains("Directory: /root"), "{long}");
    let shown = read(&daemon, &format!("/finger/{addr}/root"));
    assert!(shown.text().contains("Login: root"), "{}", shown.text());
    daemon.ok(&["online"]);
    assert_eq!(daemon.get(&url("daemon")).status, 502, "it is stopped");
}

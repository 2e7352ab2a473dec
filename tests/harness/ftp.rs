//! An FTP server of the tests, on loopback. It serves files from memory, records every command, and
//! can misbehave.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The time of every file, as MDTM and MLSD write it, and as HTTP does. A test may change it.
pub(crate) const MODIFIED: (&str, &str) = ("20240102030405", "Tue, 02 Jan 2024 03:04:05 GMT");

/// The features of the server, unless a test changes them.
const FEATURES: [&str; 5] = ["EPSV", "MDTM", "MLST type*;size*;modify*;", "REST STREAM", "SIZE"];

/// The state that a test changes and reads.
#[derive(Default)]
pub(crate) struct FtpState {
    /// The contents of the files by path, without a slash at the beginning.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The commands, with the argument.
    pub(crate) commands: Vec<String>,
    pub(crate) connections: usize,
    /// The lines of FEAT.
    pub(crate) features: Vec<String>,
    /// The only valid login, or any.
    pub(crate) login: Option<(String, String)>,
    /// The time of every file.
    pub(crate) modified: String,
    /// Replies to commands by the start of the line, in place of the usual behaviour.
    pub(crate) replies: HashMap<String, String>,
    /// The greeting in place of the usual one.
    pub(crate) greeting: Option<Vec<u8>>,
    /// The listing in place of the usual one.
    pub(crate) listing: Option<Vec<u8>>,
    /// The numbers of bytes after which the next RETRs break off, the last one first.
    pub(crate) cut_after: Vec<usize>,
}

/// The server.
pub(crate) struct FtpServer {
    pub(crate) addr: SocketAddr,
    state: Arc<Mutex<FtpState>>,
}

impl FtpServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let features = FEATURES.map(str::to_owned).to_vec();
        let modified = MODIFIED.0.to_owned();
        let state = Arc::new(Mutex::new(FtpState { features, modified, ..FtpState::default() }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                state.lock().unwrap().connections += 1;
                // A client that leaves ends the session.
                std::thread::spawn(move || drop(Session::new(stream, state).run()));
            }
        });
        Self { addr, state }
    }

    /// Changes or reads the state.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut FtpState) -> T) -> T {
        act(&mut self.state.lock().unwrap())
    }

    /// Adds a file.
    pub(crate) fn file(&self, path: &str, content: impl Into<Vec<u8>>) {
        self.with(|state| state.files.insert(path.to_owned(), content.into()));
    }

    /// Sets the reply to commands that start with `command`.
    pub(crate) fn reply(&self, command: &str, reply: &str) {
        self.with(|state| state.replies.insert(command.to_owned(), reply.to_owned()));
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("ftp://{}{path}", self.addr)
    }

    /// The number of commands that start with `command`.
    pub(crate) fn count(&self, command: &str) -> usize {
        self.with(|state| state.commands.iter().filter(|sent| sent.starts_with(command)).count())
    }
}

struct Session {
    reader: BufReader<TcpStream>,
    state: Arc<Mutex<FtpState>>,
    directory: String,
    user: String,
    passive: Option<TcpListener>,
    rest: usize,
}

impl Session {
    fn new(stream: TcpStream, state: Arc<Mutex<FtpState>>) -> Self {
        let (directory, user, passive, rest) = (String::new(), String::new(), None, 0);
        Self { reader: BufReader::new(stream), state, directory, user, passive, rest }
    }

    fn say(&mut self, text: impl AsRef<[u8]>) -> io::Result<()> {
        self.reader.get_mut().write_all(text.as_ref())
    }

    fn run(mut self) -> io::Result<()> {
        let greeting = self.state.lock().unwrap().greeting.clone();
        self.say(greeting.unwrap_or_else(|| b"220 ready\r\n".to_vec()))?;
        loop {
            let mut line = Vec::new();
            if self.reader.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let scripted = {
                let mut state = self.state.lock().unwrap();
                state.commands.push(line.clone());
                let mut replies = state.replies.iter();
                replies.find(|(command, _)| line.starts_with(*command)).map(|(_, it)| it.clone())
            };
            if let Some(reply) = scripted {
                self.say(reply)?;
                continue;
            }
            let (command, argument) = line.split_once(' ').unwrap_or((&line, ""));
            self.obey(command, argument)?;
            if command == "QUIT" {
                return Ok(());
            }
        }
    }

    fn obey(&mut self, command: &str, argument: &str) -> io::Result<()> {
        let path = match argument.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None => format!("{}{argument}", self.directory),
        };
        let content = self.state.lock().unwrap().files.get(&path).cloned();
        match command {
            "FEAT" => {
                let lines = self.state.lock().unwrap().features.clone();
                let lines: String = lines.iter().map(|line| format!(" {line}\r\n")).collect();
                self.say(format!("211-Features\r\n{lines}211 End\r\n"))
            }
            "USER" => {
                argument.clone_into(&mut self.user);
                self.say("331 password?\r\n")
            }
            "PASS" => {
                let login = self.state.lock().unwrap().login.clone();
                let given = (self.user.clone(), argument.to_owned());
                let is_right = login.is_none_or(|login| login == given);
                self.say(if is_right { "230 welcome\r\n" } else { "530 Login incorrect.\r\n" })
            }
            // This server has no TLS, so the handshake fails.
            "AUTH" => {
                self.say("234 go on\r\n")?;
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            "TYPE" | "OPTS" => self.say("200 ok\r\n"),
            "QUIT" => self.say("221 bye\r\n"),
            "SIZE" => match content {
                Some(content) => self.say(format!("213 {}\r\n", content.len())),
                None => self.say("550 no such file\r\n"),
            },
            "MDTM" if content.is_some() => {
                let modified = self.state.lock().unwrap().modified.clone();
                self.say(format!("213 {modified}\r\n"))
            }
            "MDTM" => self.say("550 no such file\r\n"),
            "CWD" => {
                let path = format!("{}/", path.trim_end_matches('/'));
                let is_there =
                    self.state.lock().unwrap().files.keys().any(|file| file.starts_with(&path));
                self.directory = path;
                self.say(if is_there { "250 ok\r\n" } else { "550 no such directory\r\n" })
            }
            "EPSV" | "PASV" => {
                let listener = TcpListener::bind("127.0.0.1:0")?;
                let port = listener.local_addr()?.port();
                self.passive = Some(listener);
                if command == "EPSV" {
                    return self.say(format!("229 passive (|||{port}|)\r\n"));
                }
                // The address is a lie: the client must use the address of this connection.
                self.say(format!("227 passive (192,0,2,1,{},{})\r\n", port / 256, port % 256))
            }
            "REST" => {
                self.rest = argument.parse().unwrap_or(0);
                self.say("350 ok\r\n")
            }
            "RETR" => match content {
                Some(content) => self.send(&content),
                None => self.say("550 no such file\r\n"),
            },
            "MLSD" | "LIST" => {
                let listing = self.state.lock().unwrap().listing.clone();
                let listing = listing.unwrap_or_else(|| self.listing(command == "MLSD"));
                self.send(&listing)
            }
            "STOR" => {
                let Some(listener) = self.passive.take() else { return self.say("425 no\r\n") };
                self.say("150 go on\r\n")?;
                let mut content = Vec::new();
                listener.accept()?.0.read_to_end(&mut content)?;
                self.state.lock().unwrap().files.insert(path, content);
                self.say("226 thanks\r\n")
            }
            _ => self.say("502 unknown\r\n"),
        }
    }

    fn listing(&self, has_facts: bool) -> Vec<u8> {
        let state = self.state.lock().unwrap();
        let mut rows = BTreeMap::new();
        for (path, content) in &state.files {
            let Some(name) = path.strip_prefix(&self.directory) else { continue };
            let (name, is_directory) = match name.split_once('/') {
                Some((directory, _)) => (directory, true),
                None => (name, false),
            };
            rows.insert(name.to_owned(), (is_directory, content.len()));
        }
        let mut listing = Vec::new();
        for (name, (is_directory, size)) in rows {
            let line = match (has_facts, is_directory) {
                (true, true) => format!("type=dir;modify={}; {name}\r\n", state.modified),
                (true, false) => {
                    format!("type=file;size={size};modify={}; {name}\r\n", state.modified)
                }
                (false, true) => format!("drwxr-xr-x 2 ftp ftp 4096 Jan 02 2024 {name}\r\n"),
                (false, false) => format!("-rw-r--r-- 1 ftp ftp {size} Jan 02 2024 {name}\r\n"),
            };
            listing.extend_from_slice(line.as_bytes());
        }
        listing
    }

    /// Sends data. If a test wants so, breaks off and closes both connections.
    fn send(&mut self, content: &[u8]) -> io::Result<()> {
        let Some(listener) = self.passive.take() else { return self.say("425 no\r\n") };
        let from = std::mem::take(&mut self.rest).min(content.len());
        let cut = self.state.lock().unwrap().cut_after.pop();
        let end = cut.map_or(content.len(), |cut| content.len().min(from + cut));
        self.say("150 here it comes\r\n")?;
        let (mut data, _) = listener.accept()?;
        data.write_all(&content[from..end])?;
        drop(data);
        if cut.is_some() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.say("226 done\r\n")
    }
}

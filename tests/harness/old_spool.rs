//! Writes a spool as WWWOFFLE 2.9 does: file names, heads, links and times. That program is not in
//! the archives of current systems, so a test cannot run it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use wwwoffle_url::{make_hash, url_encode_form_args};

/// The spool.
pub(crate) struct OldSpool {
    pub(crate) root: PathBuf,
}

/// How 2.9 stored a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// While a browser waited for it: with the fields of this connection, and without the length.
    Browsed,
    /// From the queue: with the version and the length that the origin sent. If the origin
    /// compressed the body, that is the length of the compressed body.
    Fetched,
    /// While a browser waited for it. Later a purge compressed the body.
    Purged,
}

/// A stored response.
#[derive(Clone, Debug)]
pub(crate) struct OldPage {
    /// The URL with its login, as 2.9 spells it.
    pub(crate) url: String,
    /// The status code and the reason phrase.
    pub(crate) status: (u16, &'static str),
    /// The fields that the origin sent. With `Transfer-Encoding`, the body is stored in chunks.
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) way: Way,
    /// When it was stored, in seconds.
    pub(crate) time: u64,
}

impl OldPage {
    pub(crate) fn new(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        let fields = vec![("Content-Type", "text/html".to_owned())];
        let (url, body) = (url.into(), body.into());
        Self { url, status: (200, "OK"), fields, body, way: Way::Browsed, time: 1_200_000_000 }
    }

    /// Adds a field.
    pub(crate) fn field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// The contents of the `D` file.
    fn bytes(&self) -> Vec<u8> {
        let (mut fields, mut body) = (self.fields.clone(), self.body.clone());
        if fields.iter().any(|(name, _)| *name == "Transfer-Encoding") {
            let size = format!("{:x}\r\n", body.len());
            body = [size.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
        }
        let version = if self.way == Way::Fetched { "1.1" } else { "1.0" };
        match self.way {
            Way::Fetched if fields.iter().any(|(name, _)| *name == "Content-Length") => {}
            Way::Fetched => fields.push(("Content-Length", body.len().to_string())),
            Way::Browsed | Way::Purged => {
                fields.retain(|(name, _)| *name != "Content-Length");
                fields.push(("Connection", "close".to_owned()));
                fields.push(("Proxy-Connection", "close".to_owned()));
            }
        }
        if self.way == Way::Purged {
            add(&mut fields, "Content-Encoding", "x-gzip");
            add(&mut fields, "Pragma", "wwwoffle-compressed");
            let mut coder = GzEncoder::new(Vec::new(), Compression::default());
            coder.write_all(&body).unwrap();
            body = coder.finish().unwrap();
        }
        let lines: String =
            fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let (status, reason) = self.status;
        let mut bytes = format!("HTTP/{version} {status} {reason}\r\n{lines}\r\n").into_bytes();
        bytes.append(&mut body);
        bytes
    }

    /// The directory: protocol and host. The login does not belong to the host.
    fn directory(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap();
        let host = rest.split('/').next().unwrap();
        format!("{scheme}/{}", host.rsplit('@').next().unwrap())
    }
}

/// Adds a value to a field, as 2.9 does: to the list of values that the field has.
fn add(fields: &mut Vec<(&'static str, String)>, name: &'static str, value: &str) {
    match fields.iter_mut().find(|(other, _)| *other == name) {
        Some((_, values)) => values.extend([",", value]),
        None => fields.push((name, value.to_owned())),
    }
}

impl OldSpool {
    /// An empty spool, with the directories that 2.9 makes.
    pub(crate) fn new(root: PathBuf) -> Self {
        for name in ["http", "https", "ftp", "finger", "outgoing", "monitor", "lasttime"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        Self { root }
    }

    /// Writes a file and the `U` file with its URL. Returns the path of the file.
    fn write(
        &self,
        directory: &str,
        letter: char,
        url: &str,
        content: &[u8],
        time: u64,
    ) -> PathBuf {
        let directory = self.root.join(directory);
        std::fs::create_dir_all(&directory).unwrap();
        let hash = make_hash(url.as_bytes());
        std::fs::write(directory.join(format!("U{hash}")), url).unwrap();
        let path = directory.join(format!("{letter}{hash}"));
        std::fs::write(&path, content).unwrap();
        set_time(&path, time);
        path
    }

    /// Stores a response. The stored one, if there is one, stays in the lists of sessions.
    pub(crate) fn store(&self, page: &OldPage) -> PathBuf {
        let path = self.path(page);
        let _none = std::fs::remove_file(&path);
        self.write(&page.directory(), 'D', &page.url, &page.bytes(), page.time)
    }

    /// Stores a message of 2.9 in place of a page, which becomes the backup.
    pub(crate) fn back_up(&self, page: &OldPage, message: &str) {
        for letter in ['D', 'U'] {
            let path = self.path(page).with_file_name(name(letter, &page.url));
            std::fs::rename(&path, backup(&path)).unwrap();
        }
        let text = format!("HTTP/1.0 503 WWWOFFLE {message}\r\nContent-type: text/html\r\n\r\n<p>");
        self.write(&page.directory(), 'D', &page.url, text.as_bytes(), page.time + 1);
    }

    /// The path of the file with the URL of the response in `file`.
    pub(crate) fn url_file(file: &Path) -> PathBuf {
        let name = file.file_name().unwrap().to_str().unwrap();
        file.with_file_name(name.replacen('D', "U", 1))
    }

    fn path(&self, page: &OldPage) -> PathBuf {
        self.root.join(page.directory()).join(name('D', &page.url))
    }

    /// Links a stored response into the list of an online session, which began at `start`.
    pub(crate) fn list(&self, session: &str, start: u64, page: &OldPage) {
        let directory = self.root.join(session);
        std::fs::create_dir_all(&directory).unwrap();
        for letter in ['D', 'U'] {
            let from = self.path(page).with_file_name(name(letter, &page.url));
            std::fs::hard_link(from, directory.join(name(letter, &page.url))).unwrap();
        }
        std::fs::write(directory.join(".timestamp"), "").unwrap();
        set_time(&directory.join(".timestamp"), start);
    }

    /// Links a request into the list of a fetch, which began at `start`. It was queued at `queued`.
    pub(crate) fn fetch(&self, list: &str, start: u64, url: &str, queued: u64) {
        let path = self.write(list, 'O', url, b"GET / HTTP/1.0\r\n\r\n", queued);
        let stamp = path.with_file_name(".timestamp");
        std::fs::write(&stamp, "").unwrap();
        set_time(&stamp, start);
    }

    /// Queues a request: `url` names it, `request` is its head and its body.
    pub(crate) fn queue(&self, url: &str, request: &str) {
        self.write("outgoing", 'O', url, request.as_bytes(), 1_200_000_000);
    }

    /// Monitors a page. `mask` has a line each for months, days, days of the week and hours.
    pub(crate) fn monitor(&self, url: &str, mask: Option<&str>, asked: u64, checked: u64) {
        let (_, rest) = url.split_once("://").unwrap();
        let host = rest.split('/').next().unwrap();
        let request = format!("GET {url} HTTP/1.0\r\nHost: {host}\r\n\r\n");
        let path = self.write("monitor", 'O', url, request.as_bytes(), asked);
        if let Some(mask) = mask {
            let path = path.with_file_name(name('M', url));
            std::fs::write(&path, mask).unwrap();
            set_time(&path, checked);
        }
    }
}

/// The URL of 2.9 for a recursive fetch with these arguments.
pub(crate) fn recursive(url: &str, arguments: &str) -> String {
    let url = url_encode_form_args(url.as_bytes());
    format!("http://localhost:8080/refresh-recurse/?url={url};{arguments}")
}

/// The URL under which 2.9 stores the response to a form.
pub(crate) fn form(method: &str, url: &str, body: &str) -> String {
    let end = format!("!{method}:{}.5f0e8a11", make_hash(body.as_bytes()));
    match url.split_once('?') {
        Some((page, arguments)) => format!("{page}?!{arguments}{end}"),
        None => format!("{url}?{end}"),
    }
}

fn name(letter: char, url: &str) -> String {
    format!("{letter}{}", make_hash(url.as_bytes()))
}

fn backup(path: &Path) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push("~");
    path.into()
}

fn set_time(path: &Path, second: u64) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(second)).unwrap();
}

use std::path::Path;

use jiff::Timestamp;
use wwwoffle_spool::{NewEntry, Options, Outgoing, Place, RequestKind, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use crate::base::exit::ExitStatus;
use crate::base::owner::Owner;
use crate::cli::files::places;
use crate::cli::tests::wwwoffle;
use crate::cli::{Environment, Terminal, run};

fn place(url: &str) -> Place {
    Place::of(&CanonicalUrl::parse(url, &LocalHost::default()).unwrap())
}

fn time() -> Timestamp {
    "2026-11-20T12:00:00Z".parse().unwrap()
}

fn store(spool: &Spool, url: &str, body: &[u8]) {
    store_coded(spool, url, "", body);
}

fn store_coded(spool: &Spool, url: &str, fields: &str, body: &[u8]) {
    let new = NewEntry {
        asked: time(),
        when: time(),
        head: format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{fields}\r\n").into_bytes(),
        request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        connection: None,
    };
    let places = places(url, &Owner::Local, &LocalHost::default()).unwrap();
    let own = places.own.clone().with_variant(&places.own_variant(""));
    let place = if places.credentials { &own } else { &places.public };
    let mut writer = spool.begin(place, new).unwrap();
    writer.write(body).unwrap();
    writer.finish(None).unwrap();
}

/// Fills a spool with a small, a large and a private entry, and a queued request.
fn filled(root: &Path) {
    let (spool, _) = Spool::open(root, &Options::default()).unwrap();
    store(&spool, "http://a.example/small", b"\0small\xff\r\n");
    store(&spool, "https://b.example/large", &large());
    store(&spool, "http://me:pw@a.example/private", b"private");
    let head = b"GET /later HTTP/1.1\r\nHost: a.example\r\n\r\n".to_vec();
    let later = Outgoing::new(place("http://a.example/later"), head, RequestKind::Page, time());
    spool.queue().add(&later).unwrap();
    spool.flush().unwrap();
}

fn large() -> Vec<u8> {
    (0..300_000_u32).flat_map(u32::to_le_bytes).collect()
}

/// Runs a command line on `spool`, and returns its output as bytes.
fn on(spool: &Path, line: &[&str]) -> (ExitStatus, Vec<u8>, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let terminal = Terminal {
        stdin: &mut &b""[..],
        stdout: &mut out,
        stderr: &mut err,
        live: false,
        typed: false,
    };
    let spool = spool.to_str().unwrap();
    let args =
        ["wwwoffle", "--spool", spool].into_iter().chain(line.iter().copied()).map(Into::into);
    let status = run(args, &Environment::default(), terminal, |_, _| ExitStatus::Done);
    let status = ExitStatus::ALL.into_iter().find(|one| one.code() == status).unwrap();
    (status, out, String::from_utf8(err).unwrap())
}

#[test]
fn cat_prints_every_byte() {
    let root = tempfile::tempdir().unwrap();
    filled(root.path());
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
    let small = b"\0small\xff\r\n";
    let table: [(&[&str], Vec<u8>); 4] = [
        (&["cat", "http://a.example/small"], small.to_vec()),
        (&["cat", "--headers", "HTTP://A.example:80/small"], [&head[..], small].concat()),
        (&["cat", "https://b.example/large"], large()),
        (&["cat", "http://me:pw@a.example/private"], b"private".to_vec()),
    ];
    for (line, want) in table {
        let (status, out, err) = on(root.path(), line);
        assert_eq!((status, err.as_str()), (ExitStatus::Done, ""), "{line:?}");
        assert!(out == want, "{line:?}: {} bytes, not {}", out.len(), want.len());
    }
}

#[test]
fn cat_decodes_unless_raw_is_given() {
    let root = tempfile::tempdir().unwrap();
    let (spool, _) = Spool::open(root.path(), &Options::default()).unwrap();
    let fields = "Content-Encoding: zstd\r\nContent-Length: 9\r\nCache-Control: no-transform\r\n";
    let coded = |body: &[u8]| zstd::stream::encode_all(body, 1).unwrap();
    let (small, big) = (coded(b"small"), coded(&noise()));
    store_coded(&spool, "http://a/small", fields, &small);
    store_coded(&spool, "http://a/big", fields, &big);
    store_coded(&spool, "http://a/cut", fields, &small[..small.len() - 1]);
    store_coded(&spool, "http://a/other", "Content-Encoding: compress\r\n", b"other");
    spool.flush().unwrap();
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nCache-Control: no-transform\r\n\
                 Vary: Accept-Encoding\r\nAccept-Ranges: none\r\n\r\nsmall";
    let table: [(&[&str], &[u8]); 5] = [
        (&["cat", "http://a/small"], b"small"),
        (&["cat", "--raw", "http://a/small"], &small),
        (&["cat", "http://a/big"], &noise()),
        (&["cat", "--raw", "http://a/big"], &big),
        (&["cat", "http://a/other"], b"other"),
    ];
    for (line, want) in table {
        let (status, out, err) = on(root.path(), line);
        assert_eq!((status, err.as_str()), (ExitStatus::Done, ""), "{line:?}");
        assert!(out == want, "{line:?}: {} bytes, not {}", out.len(), want.len());
    }
    let lines = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let (_, out, _) = on(root.path(), &["cat", "--headers", "http://a/small"]);
    assert_eq!(lines(&out), lines(head));
    let (_, raw, _) = on(root.path(), &["cat", "--raw", "--headers", "http://a/small"]);
    assert!(String::from_utf8_lossy(&raw).contains(fields), "{raw:?}");
    let (status, _, err) = on(root.path(), &["cat", "http://a/cut"]);
    assert_eq!(status, ExitStatus::Failed);
    assert_eq!(err, "wwwoffle: the zstd body ends too early: `--raw` prints it as stored\n");
}

/// Returns incompressible bytes, more than one piece.
fn noise() -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(1_500_000).collect()
}

#[test]
fn a_missing_entry_is_reported_without_the_password() {
    let root = tempfile::tempdir().unwrap();
    filled(root.path());
    for (url, want) in [
        ("http://me:pw@a.example/", "wwwoffle: not in the spool: http://a.example/: "),
        ("http://x:pw@a.example/private", "wwwoffle: not in the spool: http://a.example/private: "),
        ("http://me:pw@a:99999/", "wwwoffle: invalid URL http://a:99999/: "),
    ] {
        let (status, out, err) = on(root.path(), &["cat", url]);
        assert_eq!((status, out.len()), (ExitStatus::Failed, 0));
        assert!(err.starts_with(want) && !err.contains("pw"), "{err}");
    }
}

#[test]
fn a_damaged_body_never_looks_complete() {
    let root = tempfile::tempdir().unwrap();
    filled(root.path());
    let path = root.path().join(place("https://b.example/large").relative_path());
    #[expect(clippy::disallowed_methods, reason = "the damage a disk would do")]
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"damage", 600_000).unwrap();
    let (status, out, err) = on(root.path(), &["cat", "https://b.example/large"]);
    assert_eq!(status, ExitStatus::Failed);
    assert!(out.len() < large().len());
    assert!(err.contains("damaged"), "{err}");
}

#[test]
fn ls_lists_the_requested_entries() {
    let root = tempfile::tempdir().unwrap();
    filled(root.path());
    let table: [(&[&str], &[&str]); 6] = [
        (
            &["ls"],
            &["http://a.example/small", "http://me@a.example/private", "https://b.example/large"],
        ),
        (&["ls", "http"], &["http://a.example/small", "http://me@a.example/private"]),
        (&["ls", "https/b.example"], &["https://b.example/large"]),
        (&["ls", "http/c.example"], &[]),
        (&["ls", "ftp"], &[]),
        (&["ls", "outgoing"], &["http://a.example/later"]),
    ];
    for (line, want) in table {
        let (status, out, err) = on(root.path(), line);
        assert_eq!((status, err.as_str()), (ExitStatus::Done, ""), "{line:?}");
        let out = String::from_utf8(out).unwrap();
        let mut urls: Vec<_> = out.lines().filter_map(|line| line.split("  ").last()).collect();
        urls.sort_unstable();
        assert_eq!(urls, want, "{line:?}");
    }
    let (_, out, _) = on(root.path(), &["ls", "--json", "https"]);
    let item: wwwoffle_api::EntryItem = serde_json::from_slice(&out).unwrap();
    assert_eq!(item.url, "https://b.example/large");
    assert_eq!((item.status, item.bytes), (Some(200), 1_200_000));
    assert_eq!(item.content_type.as_deref(), Some("text/plain"));
    let (status, _, err) = on(root.path(), &["ls", "gopher"]);
    assert_eq!(status, ExitStatus::Usage);
    assert!(err.starts_with("wwwoffle: ls: use http, https, "), "{err}");
}

#[test]
fn a_missing_spool_is_reported_with_its_path() {
    for line in [&["cat", "http://a/"][..], &["ls"]] {
        let (status, _, err) = on(Path::new("/nowhere/spool"), line);
        assert_eq!(status, ExitStatus::BadSpool);
        assert!(err.contains("/nowhere/spool"), "{err}");
    }
}

#[test]
fn hash_prints_key_and_path_and_continues_after_an_error() {
    let ran = wwwoffle(&["hash", "http://a:99999/", "http://Example.ORG"], "", Path::new("/h"));
    assert_eq!(ran.status, ExitStatus::Failed);
    assert!(ran.err.starts_with("wwwoffle: invalid URL http://a:99999/: "), "{}", ran.err);
    let key = "781bc04ec9bd049cdfacaec4ae2026102118d13c79413246f0c88eeef6ebec4e";
    assert_eq!(ran.out, format!("{key} http/example.org/78/{key}.warc\n"));
}

//! Names of the directories of schemes and hosts.
//!
//! A host comes from the network. So the name of its directory is built from an allow-list, and is
//! always one plain name inside the spool. `a`–`z`, `0`–`9`, `.`, `-` and `_` are copied, except
//! `.` and `-` at the beginning. Every other byte becomes `%` and two lower-case hex digits. A
//! missing host is `%`. A name longer than [`MAX_NAME`] becomes `=` and the SHA-256 of the host. So
//! no two hosts have the same directory, even if the file system ignores case.
//!
//! A scheme that is not one of the four supported schemes gets the prefix `=`. Otherwise a scheme
//! could be called `tmp`, like another directory of the root.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

/// The longest name of a directory, in bytes. File systems allow 255 bytes; the difference is for
/// `=` and endings.
pub(crate) const MAX_NAME: usize = 240;

/// The schemes whose directories have no prefix.
pub(crate) const SCHEMES: [&str; 4] = ["http", "https", "ftp", "finger"];

/// The name of a scheme's directory.
pub(crate) fn scheme_directory(scheme: &str) -> Cow<'_, str> {
    if SCHEMES.contains(&scheme) {
        return Cow::Borrowed(scheme);
    }
    Cow::Owned(match host_directory(scheme) {
        hashed if hashed.starts_with('=') => hashed.into_owned(),
        plain => format!("={plain}"),
    })
}

/// The name of a host's directory.
pub(crate) fn host_directory(host: &str) -> Cow<'_, str> {
    if host.len() <= MAX_NAME && !host.is_empty() && host.bytes().enumerate().all(needs_no_escape) {
        return Cow::Borrowed(host);
    }
    if host.is_empty() {
        return Cow::Borrowed("%");
    }
    let mut name = String::with_capacity(host.len() + 8);
    for (index, byte) in host.bytes().enumerate() {
        if needs_no_escape((index, byte)) {
            name.push(char::from(byte));
        } else {
            name.push('%');
            name.push_str(&hex::encode([byte]));
        }
        if name.len() > MAX_NAME {
            return Cow::Owned(format!("={}", hex::encode(Sha256::digest(host))));
        }
    }
    Cow::Owned(name)
}

fn needs_no_escape((index, byte): (usize, u8)) -> bool {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'_' => true,
        b'.' | b'-' => index > 0,
        _ => false,
    }
}

/// The host of a directory. `None` if the name is hashed, or is not a name of the spool.
pub(crate) fn host_of(directory: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(directory.len());
    let mut rest = directory.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' && directory.len() > 1 {
            let digits = [rest.next()?, rest.next()?];
            bytes.extend(hex::decode(digits).ok()?);
        } else if byte != b'%' {
            bytes.push(byte);
        }
    }
    let host = String::from_utf8(bytes).ok()?;
    (host_directory(&host) == directory).then_some(host)
}

/// The scheme of a directory. `None` for other names in the root.
pub(crate) fn scheme_of(directory: &str) -> Option<String> {
    match directory.strip_prefix('=') {
        None => SCHEMES.contains(&directory).then(|| directory.to_owned()),
        Some(other) => host_of(other).filter(|scheme| scheme_directory(scheme) == directory),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::{Component, PathBuf};

    use super::*;

    #[test]
    fn hosts_and_their_directories() {
        for (host, directory_name) in [
            ("www.example.org", "www.example.org"),
            ("www.example.org:8080", "www.example.org%3a8080"),
            ("[2001:db8::1]", "%5b2001%3adb8%3a%3a1%5d"),
            ("a_b-c", "a_b-c"),
            ("Example", "%45xample"),
            ("..", "%2e."),
            (".", "%2e"),
            ("...", "%2e.."),
            ("", "%"),
            ("%", "%25"),
            ("%2e", "%252e"),
            ("-rf", "%2drf"),
            ("../../etc", "%2e.%2f..%2fetc"),
            ("a\0b", "a%00b"),
            ("a\nb", "a%0ab"),
            ("a\\b", "a%5cb"),
            ("é", "%c3%a9"),
            ("=x", "%3dx"),
        ] {
            assert_eq!(host_directory(host), directory_name, "{host:?}");
            assert_eq!(host_of(directory_name).as_deref(), Some(host), "{directory_name:?}");
        }
        assert_eq!(host_directory(&"a".repeat(240)), "a".repeat(240));
        assert_eq!(host_directory(&"a".repeat(241)).len(), 65);
        assert_eq!(host_directory(&"é".repeat(41)).len(), 65);
        for foreign in ["A", "..", "%zz", "%2", "=ab", "%41%", "a%41b%61"] {
            assert_eq!(host_of(foreign), None, "{foreign:?}");
        }
    }

    #[test]
    fn schemes_cannot_take_the_names_of_the_root() {
        for (scheme, name) in
            [("http", "http"), ("tmp", "=tmp"), ("..", "=%2e."), ("", "=%"), ("state", "=state")]
        {
            assert_eq!(scheme_directory(scheme), name);
            assert_eq!(scheme_of(name).as_deref(), Some(scheme));
        }
        assert!(scheme_directory(&"x".repeat(300)).len() < 255);
        for foreign in ["tmp", "damaged", "=http", "=", "..", "="] {
            assert_eq!(scheme_of(foreign), None, "{foreign:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_host_has_a_safe_directory_name(hosts in proptest::collection::vec(".*", 1..20)) {
            let mut names = HashSet::new();
            for host in hosts.iter().collect::<HashSet<_>>() {
                let name = host_directory(host).into_owned();
                let path = PathBuf::from(&name);
                let parts: Vec<_> = path.components().collect();
                assert!(matches!(parts.as_slice(), [Component::Normal(_)]), "{name:?}");
                assert!(name.len() <= 255 && name.is_ascii());
                assert!(names.insert(name.to_lowercase()), "{name:?} is given twice");
            }
        }
    }
}

//! Passwords, stored as hashes: the file never contains a readable password.

use crate::source::{
    RawValue, ValueSource,
    value::{STRINGS, Value, elements},
};
use argon2::{Algorithm, Argon2, Block, Params, PasswordHasher as _, Version, password_hash::phc};
use std::{fmt, sync::Arc};

/// The memory of our hashes, in KiB, and the number of passes over it. This is the minimum that the
/// OWASP Password Storage Cheat Sheet recommends. A small machine may check several passwords at
/// once, so we do not use more memory.
const MEMORY: u32 = 19 * 1024;
const PASSES: u32 = 2;

/// The limits for a hash of another program: memory in KiB, passes and lanes.
const MAX_MEMORY: u32 = 256 * 1024;
const MAX_PASSES: u32 = 16;
const MAX_LANES: u32 = 16;

/// The least memory that a check allocates, in KiB; only the memory that the hash needs is touched.
/// glibc returns an allocation of this size to the system when it is freed. A smaller allocation
/// stays in the arena of its thread (`M_MMAP_THRESHOLD` in `mallopt(3)`: the threshold grows to 32
/// MiB).
const ALLOCATED_MEMORY: usize = 33 * 1024;

/// The least memory of a hash, in KiB. With less, passwords are guessed too fast (RFC 9106 §4
/// recommends more).
const MIN_MEMORY: u32 = 7 * 1024;

/// The shortest accepted salt and hash, in bytes (RFC 9106 §3.1 recommends 16 for a salt).
const MIN_SALT: usize = 16;
const MIN_OUTPUT: usize = 16;

/// The longest user name and the longest password, in bytes.
const MAX_USER: usize = 256;
const MAX_PASSWORD: usize = 1024;

/// The argon2id hash of a password, in the PHC string format. It is never displayed.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(Box<str>);

/// The reason why a password was not hashed or a user was not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// The password is empty.
    #[error("the password is empty")]
    Empty,
    /// The password is too long.
    #[error("the password is longer than {MAX_PASSWORD} bytes")]
    TooLong,
    /// The password has control characters, which no login window sends.
    #[error("the password has control characters")]
    Control,
    /// The name cannot be sent in a login (RFC 7617 §2).
    #[error(
        "a user name has at least one character, at most {MAX_USER} bytes, no \":\" and no control characters"
    )]
    User,
    /// The system cannot provide random numbers.
    #[error("the system cannot provide random numbers")]
    NoRandomness,
}

impl PasswordHash {
    /// Hashes a password with a new salt. Takes time and memory, on purpose.
    ///
    /// # Errors
    ///
    /// [`PasswordError`] if the password cannot be sent in a login, or if there are no random
    /// numbers.
    #[expect(clippy::missing_panics_doc, reason = "the parameters are constants")]
    pub fn make(password: &str) -> Result<Self, PasswordError> {
        if password.is_empty() {
            return Err(PasswordError::Empty);
        }
        if password.len() > MAX_PASSWORD {
            return Err(PasswordError::TooLong);
        }
        if password.chars().any(char::is_control) {
            return Err(PasswordError::Control);
        }
        let params = Params::new(MEMORY, PASSES, 1, None).expect("they are within the bounds");
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let hash: phc::PasswordHash =
            argon.hash_password(password.as_bytes()).map_err(|_| PasswordError::NoRandomness)?;
        Ok(Self(hash.to_string().into()))
    }

    /// Parses a hash of this or another program.
    ///
    /// # Errors
    ///
    /// The reason why the text is not an acceptable hash.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const NO_HASH: &str = "it is not an argon2id hash; `wwwoffle passwd` makes one";
        if !text.starts_with("$argon2id$") {
            return Err(
                "the file contains the hash of a password, never the password: `wwwoffle passwd` asks for it and prints the line",
            );
        }
        let hash = phc::PasswordHash::new(text).map_err(|_| NO_HASH)?;
        let params = Params::try_from(&hash).map_err(|_| NO_HASH)?;
        let salt = hash.salt.ok_or(NO_HASH)?;
        let output = hash.hash.ok_or(NO_HASH)?;
        if hash.version != Some(Version::V0x13.into()) || params.m_cost() < MIN_MEMORY {
            return Err("it is a weak hash; `wwwoffle passwd` makes a better one");
        }
        if salt.as_ref().len() < MIN_SALT || output.as_bytes().len() < MIN_OUTPUT {
            return Err("its salt or hash is too short; `wwwoffle passwd` makes a better one");
        }
        if params.m_cost() > MAX_MEMORY
            || params.t_cost() > MAX_PASSES
            || params.p_cost() > MAX_LANES
        {
            return Err(
                "checking it takes too much memory or time; `wwwoffle passwd` makes a cheaper one",
            );
        }
        Ok(Self(text.into()))
    }

    /// Whether `password` has this hash. Takes time and memory, on purpose, and compares in
    /// constant time.
    #[must_use]
    pub fn verify(&self, password: &[u8]) -> bool {
        password.len() <= MAX_PASSWORD && self.matches(password).unwrap_or(false)
    }

    fn matches(&self, password: &[u8]) -> Option<bool> {
        let hash = phc::PasswordHash::new(&self.0).ok()?;
        let (salt, expected) = (hash.salt?, hash.hash?);
        let params = Params::try_from(&hash).ok()?;
        let mut memory = Vec::with_capacity(ALLOCATED_MEMORY.max(params.block_count()));
        memory.resize(params.block_count(), Block::new());
        let mut output = [0; phc::Output::MAX_LENGTH];
        let output = output.get_mut(..expected.len())?;
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into_with_memory(password, &salt, output, &mut memory)
            .ok()?;
        // `Output` compares in constant time.
        Some(phc::Output::new(output).ok()? == expected)
    }

    /// The hash in the notation of the file, for the file and for deriving keys. Never display it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// The control password, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPassword(Option<PasswordHash>);

impl ControlPassword {
    /// The hash of the password. `None` if there is no password.
    #[must_use]
    pub fn hash(&self) -> Option<&PasswordHash> {
        self.0.as_ref()
    }
}

impl Value for ControlPassword {
    const KIND: &'static str = "password";
    const MEANING: &'static str = "\
The argon2id hash of a password, `\"$argon2id$…\"`, as `wwwoffle passwd` prints it, or `\"\"`
for none. It is never displayed, neither in faults nor by a page or command.";
    const EXPECTED: &'static str = "the argon2id hash of a password, or \"\" for none";
    const IS_SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        PasswordHash::parse(text).map(|hash| Self(Some(hash)))
    }
}

/// A user of the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name of the user.
    pub name: Arc<str>,
    /// The hash of the user's password.
    pub hash: PasswordHash,
}

impl User {
    /// Creates a user with a new hash of a password.
    ///
    /// # Errors
    ///
    /// [`PasswordError`] if name or password cannot be sent in a login, or if there are no random
    /// numbers.
    pub fn make(name: &str, password: &str) -> Result<Self, PasswordError> {
        if !is_user_name(name) {
            return Err(PasswordError::User);
        }
        Ok(Self { name: name.into(), hash: PasswordHash::make(password)? })
    }

    fn parse(text: &str) -> Result<Self, &'static str> {
        let (name, hash) =
            text.split_once(':').ok_or("it is not a user and a hash with \":\" between them")?;
        if !is_user_name(name) {
            return Err("it does not begin with a user name");
        }
        Ok(Self { name: name.into(), hash: PasswordHash::parse(hash)? })
    }
}

/// Whether a name can be sent in a login (RFC 7617 §2).
fn is_user_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_USER
        && !name.chars().any(|character| character == ':' || character.is_control())
}

/// Writes the notation of the file.
impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.hash.as_str())
    }
}

/// The users of the proxy. If the list is empty, no login is required.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users(Vec<User>);

impl Users {
    /// Whether no login is required.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The user with this name, if there is one.
    #[must_use]
    pub fn named(&self, name: &[u8]) -> Option<&User> {
        self.0.iter().find(|user| user.name.as_bytes() == name)
    }

    /// All users, in the order of the file.
    #[must_use]
    pub fn as_slice(&self) -> &[User] {
        &self.0
    }
}

impl Value for Users {
    const KIND: &'static str = "users";
    const MEANING: &'static str = "\
An array of users, each with the argon2id hash of a password: `\"ada:$argon2id$…\"`, as
`wwwoffle passwd ada` prints it. A name has no `:` and occurs once. The hashes are never
displayed, neither in faults nor by a page or command.";
    const EXPECTED: &'static str = "an array of users, each \"NAME:$argon2id$…\"";
    const IS_SECRET: bool = true;
    const JSON: &'static str = STRINGS;

    fn read(given: &RawValue<'_>, source: &mut ValueSource<'_>) -> Option<Self> {
        let mut users: Vec<User> = Vec::new();
        elements(given, source, Self::EXPECTED, |one, source| {
            let expected = "users, each \"NAME:$argon2id$…\"";
            match one.value.as_str().map_or(Err(""), User::parse) {
                Ok(user) if users.iter().any(|known| known.name == user.name) => {
                    source.refuse(one, expected, "the name occurs twice")
                }
                Ok(user) => {
                    users.push(user);
                    Some(())
                }
                Err(because) => source.refuse(one, expected, because),
            }
        })?;
        Some(Self(users))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{PasswordError, PasswordHash, User};
    use crate::Config;
    use std::path::Path;

    /// A well-formed hash with cheap parameters. No known password matches it.
    pub(crate) const HASH: &str = "$argon2id$v=19$m=7168,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$\
                                   AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    #[test]
    fn new_hash_parses_and_verifies_its_password() {
        let hash = PasswordHash::make("pässword").unwrap();
        let read = PasswordHash::parse(hash.as_str()).unwrap();
        assert!(hash.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        assert!(read.verify("pässword".as_bytes()));
        for wrong in ["", "password", "pässwor", "pässword "] {
            assert!(!read.verify(wrong.as_bytes()), "{wrong}");
        }
        assert_ne!(PasswordHash::make("pässword").unwrap(), hash, "each has a salt of its own");
        let user = User::make("ada", "x").unwrap();
        assert_eq!(User::parse(&user.to_string()).unwrap(), user);
    }

    #[test]
    fn a_login_that_browsers_cannot_send_is_refused() {
        for (name, password, want) in [
            ("ada", "", PasswordError::Empty),
            ("ada", "a\nb", PasswordError::Control),
            ("ada", &"x".repeat(1025), PasswordError::TooLong),
            ("", "x", PasswordError::User),
            ("a:b", "x", PasswordError::User),
            ("a\tb", "x", PasswordError::User),
            (&"x".repeat(257), "x", PasswordError::User),
        ] {
            assert_eq!(User::make(name, password), Err(want), "{name} {password}");
        }
    }

    #[test]
    fn weak_or_expensive_hashes_are_refused() {
        let salt = "c2FsdHNhbHRzYWx0c2FsdA";
        let out = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        let of = |params: &str| format!("$argon2id$v=19${params}${salt}${out}");
        for (text, want) in [
            (of("m=19456,t=2,p=1"), true),
            (of("m=262144,t=16,p=4"), true),
            (of("m=7167,t=2,p=1"), false),
            (of("m=262145,t=2,p=1"), false),
            (of("m=4194304,t=2,p=1"), false),
            (of("m=19456,t=17,p=1"), false),
            (of("m=19456,t=2,p=17"), false),
            (of("m=99999999999,t=2,p=1"), false),
            (HASH.to_owned(), true),
            (HASH.replace("argon2id", "argon2i"), false),
            (HASH.replace("v=19", "v=16"), false),
            (HASH.replace(salt, "c2FsdHNhbHQ"), false),
            (HASH.replace(out, "AAAAAAAAAAAAAAAA"), false),
            (format!("$argon2id$v=19$m=19456,t=2,p=1${salt}"), false),
            ("secret".to_owned(), false),
            ("$argon2id$".to_owned(), false),
        ] {
            assert_eq!(PasswordHash::parse(&text).is_ok(), want, "{text}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let file = Path::new("test.conf");
        let config = Config::parse(
            &format!(
                "[startup]\npassword = \"{HASH}\"\n[allowed-connect-users]\nusers = [\"ada:{HASH}\"]"
            ),
            file,
        )
        .unwrap();
        assert!(!format!("{config:?}").contains("argon2id"));
        for text in [
            "[startup]\npassword = \"hunter2\"",
            "[startup]\npassword = [\"hunter2\"]",
            "[startup]\npassword = \"hunter2",
            "[startup]\npassword = \"$argon2id$hunter2\"",
            "[allowed-connect-users]\nusers = [\"ada:hunter2\", \"hunter2\", 7]",
            "[allowed-connect-users]\nusers = \"ada:hunter2\"",
            "[allowed-connect-users]\nusers = [\"ada:hunter2\"",
        ] {
            let message = Config::parse(text, file).unwrap_err().to_string();
            assert!(!message.contains("hunter2"), "{message}");
            assert!(
                message.starts_with("test.conf:2: ") || message.contains("a line with"),
                "{message}"
            );
        }
    }
}

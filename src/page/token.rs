//! Tokens that prove that a form came from a page of ours.
//!
//! A token is a keyed hash of its purpose under a secret that exists only while the daemon runs. So
//! the issued tokens need not be recorded, and a restart invalidates all tokens.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Length of the secret, in bytes: one block of SHA-256, which HMAC uses unchanged (RFC 2104 §3).
const SECRET_BYTES: usize = 64;

/// Number of hex digits of a token. In the token of a page, the digits of the owner follow.
const TOKEN_LEN: usize = 64;

/// The maker and checker of tokens.
#[derive(Clone)]
pub struct Tokens {
    secret: [u8; SECRET_BYTES],
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(…)")
    }
}

/// The purpose of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// Every action on the local pages. The token is only written into pages under one of the local
    /// names, where a page of another origin cannot read it.
    General,
    /// As [`Purpose::General`], in a page made for this owner.
    Page(&'a str),
    /// Removing the request with this key from the queue. The token is written into the message
    /// page for that request. That page appears under the name of a foreign origin, whose scripts
    /// may read the token.
    Undo(&'a str),
    /// Confirming the request under this ticket. Scripts may read the token, like that of
    /// [`Purpose::Undo`].
    Confirm(&'a str),
    /// Fetching the page of this URL with its sub-resources, and a few pages of its host that it
    /// links to. Scripts may read the token, like that of [`Purpose::Undo`].
    Fetch(&'a str),
    /// Setting the priority of the request with this key. Scripts may read the token, like that of
    /// [`Purpose::Undo`].
    Priority(&'a str),
}

impl Tokens {
    /// Creates tokens under a new random secret.
    ///
    /// # Errors
    ///
    /// If the system cannot provide random numbers.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret)?;
        Ok(Self { secret })
    }

    /// Returns the token in the forms of the local pages.
    #[must_use]
    pub fn general(&self) -> String {
        self.token(Purpose::General)
    }

    /// Returns the token of a page for one owner, whom [`Tokens::owner`] finds in the token. The
    /// token permits the same as [`Purpose::General`]. Nobody can change it into the token for
    /// another owner.
    #[must_use]
    pub fn of_page(&self, owner: &str) -> String {
        self.token(Purpose::Page(owner)) + &hex::encode(owner)
    }

    /// Returns the owner for whom the page with this token was made; `None` if the token names no
    /// owner or is not valid.
    #[must_use]
    pub fn owner(&self, presented: &str) -> Option<String> {
        let (token, owner) = presented.split_at_checked(TOKEN_LEN)?;
        let owner = hex::decode(owner).ok().and_then(|owner| String::from_utf8(owner).ok())?;
        let is_it = !owner.is_empty() && self.is_for(Purpose::Page(&owner), token);
        is_it.then_some(owner)
    }

    /// Returns the token that removes one request, and no other, from the queue.
    #[must_use]
    pub fn undo(&self, key: &str) -> String {
        self.token(Purpose::Undo(key))
    }

    /// Returns the token that confirms one request, and no other.
    #[must_use]
    pub fn confirm(&self, ticket: &str) -> String {
        self.token(Purpose::Confirm(ticket))
    }

    /// Returns the token that fetches one page, and no other.
    #[must_use]
    pub fn fetch(&self, url: &str) -> String {
        self.token(Purpose::Fetch(url))
    }

    /// Returns the token that sets the priority of one request, and no other.
    #[must_use]
    pub fn priority(&self, key: &str) -> String {
        self.token(Purpose::Priority(key))
    }

    /// Whether `presented` is a token for `purpose`. For [`Purpose::General`], the token of a page
    /// for any owner is valid, too. Tokens are compared in constant time.
    #[must_use]
    pub fn check(&self, purpose: Purpose<'_>, presented: &str) -> bool {
        let is_of_page = || purpose == Purpose::General && self.owner(presented).is_some();
        self.is_for(purpose, presented) || is_of_page()
    }

    fn is_for(&self, purpose: Purpose<'_>, presented: &str) -> bool {
        hex::decode(presented).is_ok_and(|token| self.keyed(purpose).verify_slice(&token).is_ok())
    }

    fn token(&self, purpose: Purpose<'_>) -> String {
        hex::encode(self.keyed(purpose).finalize().into_bytes())
    }

    fn keyed(&self, purpose: Purpose<'_>) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.secret.into());
        // The label is followed by a byte that no label contains, so two purposes never hash the
        // same bytes.
        let (label, subject) = match purpose {
            Purpose::General => ("general", ""),
            Purpose::Page(owner) => ("page", owner),
            Purpose::Undo(key) => ("undo", key),
            Purpose::Confirm(ticket) => ("confirm", ticket),
            Purpose::Fetch(url) => ("fetch", url),
            Purpose::Priority(key) => ("priority", key),
        };
        mac.update(label.as_bytes());
        mac.update(&[0]);
        mac.update(subject.as_bytes());
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::{Purpose, Tokens};

    #[test]
    fn a_token_serves_its_purpose_and_no_other() {
        let tokens = Tokens::new().unwrap();
        let purposes = [
            Purpose::General,
            Purpose::Page("a"),
            Purpose::Page("b"),
            Purpose::Undo("a"),
            Purpose::Undo("b"),
            Purpose::Undo(""),
            Purpose::Confirm("a"),
            Purpose::Fetch("a"),
            Purpose::Priority("a"),
        ];
        for made_for in purposes {
            let token = tokens.token(made_for);
            assert_eq!(token.len(), 64);
            for used_for in purposes {
                assert_eq!(tokens.check(used_for, &token), made_for == used_for, "{used_for:?}");
            }
        }
        assert_eq!(tokens.general(), tokens.token(Purpose::General));
        assert_eq!(tokens.undo("a"), tokens.token(Purpose::Undo("a")));
        assert_eq!(tokens.confirm("a"), tokens.token(Purpose::Confirm("a")));
        assert_eq!(tokens.fetch("a"), tokens.token(Purpose::Fetch("a")));
        assert_eq!(tokens.priority("a"), tokens.token(Purpose::Priority("a")));
    }

    #[test]
    fn a_page_token_names_its_owner_and_cannot_be_forged() {
        let tokens = Tokens::new().unwrap();
        for owner in ["local", "user:ada", "user:ä b", "client:::1"] {
            let token = tokens.of_page(owner);
            assert_eq!(tokens.owner(&token).as_deref(), Some(owner));
            assert!(
                tokens.check(Purpose::General, &token)
                    && !tokens.check(Purpose::Undo(owner), &token)
            );
        }
        let (ada, bob) = (tokens.of_page("user:ada"), tokens.of_page("user:bob"));
        assert!(ada != bob);
        let (keyed, name) = ada.split_at(64);
        for forged in [
            format!("{keyed}{}", hex::encode("user:bob")),
            format!("{}{}", tokens.general(), hex::encode("user:bob")),
            format!("{}{name}", tokens.undo("user:ada")),
            format!("{keyed}{name}00"),
            format!("{keyed}{}", &name[1..]),
            format!("{keyed}ff"),
            keyed.to_owned(),
            name.to_owned(),
            "ä".repeat(40),
        ] {
            assert_eq!(tokens.owner(&forged), None, "{forged}");
            assert!(!tokens.check(Purpose::General, &forged), "{forged}");
        }
        assert_eq!(tokens.owner(&tokens.general()), None);
        assert_eq!(Tokens::new().unwrap().owner(&ada), None);
    }

    #[test]
    fn an_invalid_token_is_refused() {
        let tokens = Tokens::new().unwrap();
        let token = tokens.general();
        let longer = format!("{token}00");
        for wrong in ["", "0", "zz", &token[..62], &longer, &"0".repeat(64), "ä", "\0"] {
            assert!(!tokens.check(Purpose::General, wrong), "{wrong:?}");
        }
    }

    #[test]
    fn tokens_differ_between_daemons_and_hide_their_secret() {
        let (one, other) = (Tokens::new().unwrap(), Tokens::new().unwrap());
        assert!(!other.check(Purpose::General, &one.general()));
        assert_eq!(format!("{one:?}"), "Tokens(…)");
    }
}

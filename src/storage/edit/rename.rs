//! Moves entries to other URLs.

use std::collections::HashSet;

use wwwoffle_spool::{Error, MoveOutcome, Place, Spool};
use wwwoffle_url::{CanonicalUrl, LocalHost, ParseError};

use crate::base::error_chain::error_chain;
use crate::base::owner::{Owner, Places};
use wwwoffle_api::{EntriesToMove, MovedUrl, MovedUrls, NotMoved};

/// The maximum number of URLs moved by one call. The next call continues with the rest.
const AT_ONCE: usize = 1_000;

/// A parsed request to move entries.
#[derive(Clone, Debug)]
pub struct Rename {
    what: RenameScope,
    is_forced: bool,
}

#[derive(Clone, Debug)]
enum RenameScope {
    /// The old and the new place of the person's own entry and of the shared entry.
    One(Box<[(Place, Place); 2]>),
    /// All entries below a URL that ends with a slash, and the replacement for that URL.
    Below { from: CanonicalUrl, to: String, owner: Owner },
}

/// The reason why a request to move entries is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRename {
    /// One of the two URLs is invalid.
    #[error("{0:?}")]
    Url(String, #[source] ParseError),
    /// The new URL is below the old one, so the moved entries would be moved again.
    #[error("{0:?} lies below {1:?}, so it cannot be moved there")]
    IntoItself(String, String),
    /// One of the URLs contains credentials.
    #[error("{0:?} has a login, which is not allowed when everything below a URL is moved")]
    Login(String),
}

impl Rename {
    /// Parses a request for the entries of `owner` and the shared entries.
    ///
    /// # Errors
    ///
    /// [`BadRename`] if the request is invalid, whatever the spool contains.
    pub fn read(
        wanted: &EntriesToMove,
        owner: &Owner,
        local: &LocalHost,
    ) -> Result<Self, BadRename> {
        let parse = |text: &str| {
            CanonicalUrl::parse(text, local).map_err(|error| BadRename::Url(text.to_owned(), error))
        };
        let (from, to) = (parse(&wanted.from)?, parse(&wanted.to)?);
        let is_forced = wanted.force;
        if !wanted.below {
            let from = Places::of_url(&from, owner);
            let to = Places::of_url(&to, owner);
            let both = [(from.own, to.own), (from.public, to.public)];
            return Ok(Self { what: RenameScope::One(Box::new(both)), is_forced });
        }
        for url in [&from, &to] {
            if url.user().is_some() || url.password().is_some() {
                return Err(BadRename::Login(url.without_credentials().as_str().to_owned()));
            }
        }
        let slashed = |url: &CanonicalUrl| {
            let text = url.as_str();
            if text.ends_with('/') { text.to_owned() } else { format!("{text}/") }
        };
        let (from, to) = (parse(&slashed(&from))?, slashed(&to));
        if to.starts_with(from.as_str()) {
            return Err(BadRename::IntoItself(to, from.as_str().to_owned()));
        }
        Ok(Self { what: RenameScope::Below { from, to, owner: owner.clone() }, is_forced })
    }

    /// Moves the entries, at most 1,000 in one call. The result says whether entries are left.
    ///
    /// # Errors
    ///
    /// If the disk fails or is full. Entries that were not moved keep their old URL.
    pub fn move_urls(&self, spool: &Spool, local: &LocalHost) -> Result<MovedUrls, Error> {
        let mut done = MovedUrls::default();
        match &self.what {
            RenameScope::One(both) => {
                for (from, to) in &**both {
                    self.rename_entry(spool, from, to, &mut done)?;
                }
                // The person's own entry and the shared entry have the same URL.
                done.moved.dedup();
                done.taken.dedup();
            }
            RenameScope::Below { from, to, owner } => {
                self.rename_below(spool, local, (from, to, owner), &mut done)?;
            }
        }
        Ok(done)
    }

    fn rename_entry(
        &self,
        spool: &Spool,
        from: &Place,
        to: &Place,
        done: &mut MovedUrls,
    ) -> Result<(), Error> {
        let (old, new) = (from.url().to_owned(), to.url().to_owned());
        match spool.move_to(from, to, self.is_forced) {
            Ok(MoveOutcome::Yes) => done.moved.push(MovedUrl { from: old, to: new }),
            Ok(MoveOutcome::Nothing) => {}
            Ok(MoveOutcome::Taken) => done.taken.push(new),
            Err(error) if error.is_too_large() || error.is_invalid() || error.is_damaged() => {
                done.failed.push(NotMoved { url: old, error: error_chain(&error) });
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn rename_below(
        &self,
        spool: &Spool,
        local: &LocalHost,
        (from, to, owner): (&CanonicalUrl, &str, &Owner),
        done: &mut MovedUrls,
    ) -> Result<(), Error> {
        let (mut keys, mut places) = (HashSet::new(), Vec::new());
        for summary in spool.list(Some(from.protocol()), Some(from.host_port()))? {
            let place = summary?.place;
            let is_meant = place.url().starts_with(from.as_str()) && owner.may_see(&place);
            if is_meant && keys.insert(place.key()) {
                places.push(place);
            }
            if places.len() == AT_ONCE {
                done.more = true;
                break;
            }
        }
        for place in places {
            let rest = place.url().get(from.as_str().len()..).unwrap_or_default();
            let error = match CanonicalUrl::parse(&format!("{to}{rest}"), local) {
                Ok(new) if place.follows_from_url() => {
                    let new = Place::of(&new).owned_by(place.owner().unwrap_or_default());
                    self.rename_entry(spool, &place, &new, done)?;
                    continue;
                }
                Ok(_) => "it is stored for a login that is unknown".to_owned(),
                Err(error) => error_chain(&error),
            };
            done.failed.push(NotMoved { url: place.url().to_owned(), error });
        }
        // An entry that could not be moved is found again by the next call. So a call that moved no
        // entry ends the series.
        done.more &= !done.moved.is_empty();
        Ok(())
    }
}

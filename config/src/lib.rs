//! The configuration of wwwoffle: what may be set, what is set, and which URLs a pattern means.
//!
//! This crate knows text and files, not HTTP. It turns `wwwoffle.conf` into a [`Config`] whose
//! values are types, or into [`Faults`]: all that is wrong with the file, each with its line. Who
//! acts on a value, and when, is for its caller.
//!
//! # One declaration per option
//!
//! [`schema`] declares each option once: key, type, default, whether a restart is needed, and one
//! sentence. The fields of [`Config`], the reader, `docs/options.md` and `wwwoffle.conf.example`
//! ([`describe`]) follow from it, so they cannot tell different stories; a test holds the two files
//! to it.
//!
//! # What always holds
//!
//! 1. A [`Config`] is whole: every option has a value of its type, given or default.
//! 2. A file with any fault gives no [`Config`] at all, and tells every fault it has.
//! 3. Nothing here reads the environment or the clock, and only the `file` module touches files.
//!
//! # Examples
//!
//! ```
//! use std::{path::Path, time::Duration};
//! use wwwoffle_config::Config;
//!
//! let config = Config::parse("[options]\nsocket-timeout = \"5m\"", Path::new("wwwoffle.conf"))?;
//! assert_eq!(config.options.socket_timeout, Duration::from_secs(300));
//! assert_eq!(config.options.connect_timeout, Duration::from_secs(30));
//!
//! let faults = Config::parse("[options]\nsoket-timeout = \"5m\"", Path::new("wwwoffle.conf"));
//! assert_eq!(
//!     faults.unwrap_err().to_string(),
//!     "wwwoffle.conf:2: [options] has no option \"soket-timeout\"; the nearest is \"socket-timeout\"",
//! );
//! # Ok::<(), wwwoffle_config::Faults>(())
//! ```

mod access;
mod asked;
mod blocklist;
mod certificates;
mod changes;
mod classic;
pub mod describe;
mod domains;
#[cfg(feature = "easylist")]
mod easylist;
pub mod edit;
mod error;
mod explain;
mod field;
mod file;
mod former;
mod index;
mod json;
mod list;
mod lookup;
mod nearest;
mod noise;
mod origin;
mod parts;
mod passed;
mod password;
mod place;
mod reader;
mod rule;
pub mod schema;
mod shipped;
mod source;
mod spec;
mod specset;
mod text;
mod value;
mod values;
mod wildcard;

pub use access::{ClientHosts, Names, OpenListener};
pub use asked::{Asked, Purpose, Site};
pub use blocklist::{BlockList, Decided, ListRule, Note};
pub use certificates::{AllowedCertificate, AllowedCertificates};
pub use changes::{OptionChange, changes};
pub use classic::{Imported, LeftOut};
pub use domains::Domains;
pub use edit::EditError;
pub use error::{Fault, Faults};
pub use explain::Explained;
pub use file::{
    ChangeError, Changed, ConfigFile, ConfigText, Loaded, NotAStamp, Reach, Stamp, VERSIONS,
    Version, Watch, load,
};
pub use former::{FORMER, Former, Now};
pub use lookup::{Environment, Lookup, NoDirectory};
pub use noise::Noise;
pub use parts::UrlParts;
pub use passed::Passed;
pub use password::{BadPassword, ControlPassword, PasswordHash, User, Users};
pub use place::Place;
pub use rule::Ruled;
pub use schema::{
    Alias, AllowedHosts, AllowedUsers, Caching, CensorHeader, Config, DontCache, DontCompress,
    DontGet, FetchOptions, Https, IndexOptions, Link, LocalNames, LocalNet, MimeTypes, ModifyHtml,
    OfflineOptions, OnlineOptions, Options, OwnPages, Protection, Proxy, Purge, Startup, Tunnel,
};
pub use spec::{ParseSpecError, UrlSpec};
pub use specset::{Listed, UrlSpecSet};
pub use value::{Durability, HostNames, Listen, LogLevel, LogTo, NoStore, SpoolDir};
pub use values::{
    aliases::{Alias as UrlAlias, Aliases},
    amounts::{
        Age, AgeLimit, AskAgain, NotASize, Percent, Permissions, RoomLimit, Size, SizeLimit,
        VersionCount,
    },
    arguments::ArgumentNames,
    authorities::ExtraAuthorities,
    censored::{Censor, CensoredFields},
    hosts::{HostList, HostSpec, ParseHostSpecError},
    links::{ExpectedStatus, Interfaces, Phrase, ProbeUrl},
    media::{Extensions, MediaType, MediaTypes, TypesByExtension},
    parent::{ParentProxy, Replacement},
    ports::{PortRange, PortRanges},
    texts::{Account, Markup, Program, Secret, UserName},
    times::{Pause, Window, Windows},
};

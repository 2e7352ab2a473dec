//! The configuration of wwwoffle: its options, their values, and patterns for URLs.
//!
//! This crate handles text and files, not HTTP. It turns `wwwoffle.conf` into a [`Config`] of typed
//! values, or into [`Faults`]: every fault of the file, each with its line. The caller decides how
//! and when to use a value.
//!
//! # One declaration per option
//!
//! [`schema`] declares each option once: key, type, default, whether a restart is needed, and one
//! sentence. The fields of [`Config`], the reader, the JSON schema ([`describe`]), `docs/options.md`
//! and `wwwoffle.conf.example` follow from it, so they cannot contradict each other. A test generates
//! both files from the schema and compares them.
//!
//! # Layers
//!
//! A module imports only modules below it in this table. `tests/layers.rs` reads the table and
//! checks every import.
//!
//! | module | task |
//! |---|---|
//! | `describe` | writes the JSON schema |
//! | `import` | converts a configuration of WWWOFFLE 2.9 |
//! | `file` | loads, replaces and undoes the configuration file; keeps its earlier versions |
//! | `edit` | edits a text and leaves every other byte unchanged; compares two texts |
//! | `config` | parses a whole [`Config`], explains it, and decides which clients it serves |
//! | `schema` | declares every option, by section |
//! | `values` | the types of values |
//! | `blocklist` | the value of `[dont-get]`: URL patterns and lists of browser rules |
//! | `source` | reads values, rules and lists from the texts of a configuration |
//! | `error` | faults and their locations |
//! | `pattern` | patterns for URLs and hosts, and indexed lists of them |
//! | `disk` | finds and reads files within bounds |
//! | `former` | the options of WWWOFFLE 2.9 and their successors |
//!
//! # Invariants
//!
//! 1. A [`Config`] is complete: every option has a value of its type, set or default.
//! 2. A file with a fault gives no [`Config`]. Its faults are reported together, up to a hundred.
//! 3. This crate reads neither the environment nor the time of day. Only `disk` and `file` touch
//!    files.
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

mod blocklist;
mod config;
pub mod describe;
mod disk;
pub mod edit;
mod error;
mod file;
mod former;
mod import;
mod pattern;
pub mod schema;
mod source;
mod values;

pub use blocklist::{
    BlockList, BlockVerdict, ListNote, ListRule,
    request::{BlockQuery, PageRelation, RequestPurpose},
};
pub use disk::{
    location::Location,
    lookup::{ConfigLookup, Environment, NoDirectory, ProxyVariables, ServiceVariables},
    watch::WatchedFiles,
};
pub use edit::{EditError, OptionChange, changes};
pub use error::{Fault, Faults, OpenListener};
pub use file::{
    AppliedChange, ChangeError, ChangeScope, ConfigFile, ConfigText, EarlierConfig, LoadedConfig,
    ParseStampError, TextStamp, VERSIONS, load,
};
pub use former::{FormerOption, Successor};
pub use import::{ImportedConfig, SkippedLine};
pub use pattern::{
    host::{HostSpec, ParseHostSpecError},
    parts::UrlParts,
    set::{ListedSpec, UrlSpecSet},
    spec::{ParseSpecError, UrlSpec},
};
pub use schema::{
    Alias, AllowedHosts, AllowedUsers, Caching, CensorHeader, Config, DataSaver, DontCache,
    DontCompress, DontGet, FetchOptions, FtpOptions, Https, IndexOptions, Link, LocalNames,
    LocalNet, MimeTypes, ModifyHtml, OfflineOptions, OnlineOptions, Options, OwnPages, Protection,
    Proxy, Purge, Startup, TierOptions, Tunnel, WebArchives,
};
pub use source::{explain::OptionExplanation, rule::UrlRules};
pub use values::{
    aliases::{Aliases, UrlAlias},
    amounts::{
        Age, AgeLimit, ParseSizeError, Percent, Permissions, RevalidationAge, Size, SizeLimit,
        SpaceLimit, VersionCount,
    },
    archives::TimeGates,
    arguments::ArgumentNames,
    authorities::ExtraAuthorities,
    censored::{CensoredFields, FieldAction},
    certificates::{AllowedCertificate, AllowedCertificates},
    clients::{ClientHosts, ResolvedNames},
    domains::Domains,
    environment::{EnvironmentParent, EnvironmentParents, VariableFault},
    header_names::HeaderNames,
    hosts::HostList,
    links::{ExpectedStatus, ExpectedText, Interfaces, ProbeUrl},
    media::{Extensions, MediaType, MediaTypes, TypesByExtension},
    parent::{ParentAddress, ParentProtocol, ParentProxy, ParentStep, Replacement},
    password::{ControlPassword, PasswordError, PasswordHash, User, Users},
    plain::{HostNames, InterceptListen, Listen, SpoolDir},
    ports::{PortRange, PortRanges},
    programs::{TextProgram, TextPrograms},
    quotas::{QuotaLimit, QuotaMeasure, QuotaPeriod, Quotas},
    texts::{AccessLogTo, LogTo, Markup, Program, Secret, SystemAccount, UserName},
    tier::{
        CatalogueAddress, CatalogueDatabase, CredentialsFile, ObjectBucket, ShortName,
        StoreEndpoint, TierRole,
    },
    times::{Pause, Window, Windows},
    words::{AccessLogFormat, Durability, FtpTls, LogLevel, NoStore},
};

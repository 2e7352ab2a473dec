//! Every option, declared once.
//!
//! To add one, add its lines to its section in a module below, and run `UPDATE=1 cargo test -p
//! wwwoffle-config` to write `docs/options.md` and `wwwoffle.conf.example` anew. A type that rules may
//! set is a [`Ruled`](crate::Ruled). A new type of value is an implementation of `Value`.

use crate::{
    explain::Explained, noise::Noise, origin::Origins, parts::UrlParts, passed::Passed,
    source::Source,
};

/// A group of options, `[name]` in the file.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// As the file writes it, without the brackets.
    pub name: &'static str,
    /// What its options are about.
    pub sentence: &'static str,
    /// In the order of the documents.
    pub options: &'static [OptionInfo],
}

/// What is known of one option before any file is read.
#[derive(Clone, Copy, Debug)]
pub struct OptionInfo {
    /// As the file writes it.
    pub key: &'static str,
    /// Its type, in the words of `docs/options.md`.
    pub kind: &'static str,
    /// Whether its value is shown to nobody, as that of a password is.
    pub is_secret: bool,
    /// How a value of that type is written.
    pub meaning: &'static str,
    /// What a JSON schema says of its type.
    pub json: fn() -> String,
    /// Its default, as the file would write it.
    pub default: &'static str,
    /// Whether rules may set it for some URLs.
    pub rules: bool,
    /// When a new value comes into force.
    pub effect: Effect,
    /// Who may change it.
    pub protection: Protection,
    /// What it does.
    pub sentence: &'static str,
}

/// When a new value comes into force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// When the daemon starts.
    Restart,
    /// With the first request after the file is read again.
    Live,
    /// In a later version: it is read and checked, and changes nothing yet.
    Later,
}

/// Who may change an option.
///
/// All but [`Ordinary`](Self::Ordinary) options are protected: they can be changed only through the
/// Unix socket of the daemon, with the control password, or in the file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Whoever may change the configuration at all.
    Ordinary,
    /// Names a program that the daemon runs.
    Program,
    /// Names a file or directory that the daemon reads or writes.
    Path,
    /// Decides who may use or control the proxy, and what they reach through it.
    Access,
    /// Decides what browsers receive in the name of other sites.
    Trust,
}

impl Protection {
    /// Whether changing the option takes the Unix socket or the control password.
    #[must_use]
    pub fn is_protected(self) -> bool {
        self != Self::Ordinary
    }

    /// The word for it in the schema.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Program => "program",
            Self::Path => "path",
            Self::Access => "access",
            Self::Trust => "trust",
        }
    }
}

/// What every section has.
pub(crate) trait Part: Sized {
    /// Its name and options.
    const SECTION: Section;
    /// Takes each option from the text, or its default. What is wrong is told to `source`.
    fn take(source: &mut Source<'_>) -> Self;
    /// Adds what each option is for a URL.
    fn explain(&self, url: &UrlParts<'_>, origins: &Origins, told: &mut Vec<Explained>);
    /// Adds the options whose values or rules differ from those of `other`.
    fn differences(&self, other: &Self, found: &mut Vec<(&'static str, &'static OptionInfo)>);
}

/// From one table: the type of a section, what is known of its options, and the taking of each.
macro_rules! section {
    (
        $(#[doc = $section_doc:literal])+
        $section:literal => $Section:ident {
            $(
                $(#[doc = $doc:literal])+
                $key:literal => $name:ident: $Type:ty = $default:literal, $effect:ident, $protection:ident;
            )+
        }
    ) => {
        $(#[doc = $section_doc])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $Section {
            $( $(#[doc = $doc])+ pub $name: $Type, )+
        }

        impl crate::schema::Part for $Section {
            const SECTION: crate::schema::Section = crate::schema::Section {
                name: $section,
                sentence: concat!($($section_doc),+),
                options: &[$(
                    crate::schema::OptionInfo {
                        key: $key,
                        kind: <$Type as crate::field::Field>::KIND,
                        is_secret: <$Type as crate::field::Field>::IS_SECRET,
                        meaning: <$Type as crate::field::Field>::MEANING,
                        json: <$Type as crate::field::Field>::json,
                        default: $default,
                        rules: <$Type as crate::field::Field>::RULES,
                        effect: crate::schema::Effect::$effect,
                        protection: crate::schema::Protection::$protection,
                        sentence: concat!($($doc),+),
                    },
                )+],
            };

            fn take(source: &mut crate::source::Source<'_>) -> Self {
                use crate::field::Field;
                source.begin(&Self::SECTION);
                Self { $( $name: Field::take(source, $section, $key, $default), )+ }
            }

            fn explain(
                &self,
                url: &crate::parts::UrlParts<'_>,
                origins: &crate::origin::Origins,
                told: &mut Vec<crate::explain::Explained>,
            ) {
                use crate::{explain::Explained, field::Field};
                let mut options = Self::SECTION.options.iter();
                $(
                    let found = Field::found(&self.$name, url);
                    told.extend(options.next().map(|option| {
                        Explained::of($section, option, found, origins)
                    }));
                )+
            }

            fn differences(
                &self,
                other: &Self,
                found: &mut Vec<(&'static str, &'static crate::schema::OptionInfo)>,
            ) {
                let mut options = Self::SECTION.options.iter();
                $(
                    let option = options.next().filter(|_| self.$name != other.$name);
                    found.extend(option.map(|option| ($section, option)));
                )+
            }
        }
    };
}

mod caching;
mod daemon;
mod fetching;
mod html;
mod link;
mod lists;
mod requests;
mod secure;

pub use caching::Caching;
pub use daemon::{AllowedHosts, AllowedUsers, LocalNames, LocalNet, Options, OwnPages, Startup};
pub use fetching::{FetchOptions, IndexOptions, MimeTypes, Purge};
pub use html::ModifyHtml;
pub use link::Link;
pub use lists::{Alias, CensorHeader, DontCache, DontCompress, DontGet, Proxy};
pub use requests::{OfflineOptions, OnlineOptions};
pub use secure::{Https, Tunnel};

/// From the list of sections: [`Config`] and [`SECTIONS`].
macro_rules! config {
    ($( $(#[doc = $doc:literal])+ $field:ident: $Section:ident, )+) => {
        /// The whole configuration: what the file gives, and the defaults for the rest.
        #[derive(Clone, Debug)]
        pub struct Config {
            $( $(#[doc = $doc])+ pub $field: $Section, )+
            pub(crate) origins: Origins,
            /// Follows from the offline options; made once, because every miss asks it.
            noise: Noise,
            /// Follows from the options of HTTPS; every CONNECT asks it.
            passed: Passed,
        }

        /// Every section with every option.
        pub const SECTIONS: &[Section] = &[$( <$Section as Part>::SECTION, )+];

        impl Config {
            /// Takes each option from the text, or its default. What is wrong is told to `source`.
            pub(crate) fn take(source: &mut Source<'_>) -> Self {
                let mut config = Self {
                    $( $field: $Section::take(source), )+
                    origins: std::mem::take(&mut source.origins),
                    noise: Noise::default(),
                    passed: Passed::default(),
                };
                config.noise = Noise::of(&config.offline_options);
                config.passed = Passed::of(&config.https);
                config
            }

            pub(crate) fn explain_all(&self, url: &UrlParts<'_>, told: &mut Vec<Explained>) {
                $( self.$field.explain(url, &self.origins, told); )+
            }

            /// The options whose values or rules differ from those of `other`, each with its section.
            #[must_use]
            pub fn differences(&self, other: &Self) -> Vec<(&'static str, &'static OptionInfo)> {
                let mut found = Vec::new();
                $( self.$field.differences(&other.$field, &mut found); )+
                found
            }
        }

        /// As the values are, wherever they were written.
        impl PartialEq for Config {
            fn eq(&self, other: &Self) -> bool {
                $( self.$field == other.$field )&&+
            }
        }
    };
}

config! {
    /// How the daemon starts.
    startup: Startup,
    /// What holds for every request.
    options: Options,
    /// The names of this proxy itself.
    local_host: LocalNames,
    /// The pages of this proxy itself.
    pages: OwnPages,
    /// The machines nearby.
    local_net: LocalNet,
    /// Which machines may use this proxy.
    allowed_hosts: AllowedHosts,
    /// Who may use this proxy.
    allowed_users: AllowedUsers,
    /// Whether there is a link.
    link: Link,
    /// Connections opened with CONNECT.
    tunnel: Tunnel,
    /// What is read and kept of HTTPS.
    https: Https,
    /// What happens to requests while online.
    online_options: OnlineOptions,
    /// What happens to requests while offline.
    offline_options: OfflineOptions,
    /// What is used again while online.
    caching: Caching,
    /// What is fetched, and how.
    fetch_options: FetchOptions,
    /// What is never got.
    dont_get: DontGet,
    /// What is never kept.
    dont_cache: DontCache,
    /// What is compressed already.
    dont_compress: DontCompress,
    /// What is removed or replaced in requests and answers.
    censor_header: CensorHeader,
    /// The proxy behind this one.
    proxy: Proxy,
    /// URLs that have become others.
    alias: Alias,
    /// What is listed.
    index_options: IndexOptions,
    /// What is changed in pages.
    modify_html: ModifyHtml,
    /// The types of files.
    mime_types: MimeTypes,
    /// How long what is kept stays.
    purge: Purge,
}

impl Eq for Config {}

impl Config {
    /// What browsers and systems ask for of their own accord, as the offline options have it. It
    /// follows the options as they were read: changing the field later does not change it.
    #[must_use]
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// The HTTPS that passes unread, as the options of HTTPS have it. It follows the options as they
    /// were read.
    #[must_use]
    pub fn passed(&self) -> &Passed {
        &self.passed
    }
}

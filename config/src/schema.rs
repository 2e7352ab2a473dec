//! Every option, declared once.
//!
//! To add an option, add its lines to its section in a module below. Then run `UPDATE=1 cargo test
//! -p wwwoffle-config` to regenerate `docs/options.md` and `wwwoffle.conf.example`. A type that
//! rules may set is a [`UrlRules`](crate::UrlRules). A new type of value is an implementation of
//! `Value`.

pub use crate::source::declaration::{Effect, OptionInfo, Protection, Section};

use crate::{
    pattern::{parts::UrlParts, set::UrlSpecSet},
    source::{ValueSource, explain::OptionExplanation, origin::Origins},
    values::shipped::{NOISE, TUNNELS},
};

/// The common interface of all sections.
pub(crate) trait SectionOptions: Sized {
    /// The name and the options of the section.
    const SECTION: Section;
    /// Reads each option from the text, or takes its default. Faults are recorded in `source`.
    fn take(source: &mut ValueSource<'_>) -> Self;
    /// Adds the value of each option for `url` to `explanations`.
    fn explain(
        &self,
        url: &UrlParts<'_>,
        origins: &Origins,
        explanations: &mut Vec<OptionExplanation>,
    );
    /// Adds to `found` the options whose values or rules differ from those of `other`.
    fn differences(&self, other: &Self, found: &mut Vec<(&'static str, &'static OptionInfo)>);
}

/// Generates the type of a section, the declarations of its options, and their parser from one
/// table.
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

        impl crate::schema::SectionOptions for $Section {
            const SECTION: crate::schema::Section = crate::schema::Section {
                name: $section,
                sentence: concat!($($section_doc),+),
                options: &[$(
                    crate::schema::OptionInfo {
                        key: $key,
                        kind: <$Type as crate::source::field::OptionType>::KIND,
                        is_secret: <$Type as crate::source::field::OptionType>::IS_SECRET,
                        meaning: <$Type as crate::source::field::OptionType>::MEANING,
                        json: <$Type as crate::source::field::OptionType>::JSON,
                        default: $default,
                        rules: <$Type as crate::source::field::OptionType>::RULES,
                        effect: crate::schema::Effect::$effect,
                        protection: crate::schema::Protection::$protection,
                        sentence: concat!($($doc),+),
                    },
                )+],
            };

            fn take(source: &mut crate::source::ValueSource<'_>) -> Self {
                use crate::source::field::OptionType;
                source.begin(&Self::SECTION);
                Self { $( $name: OptionType::take(source, $section, $key, $default), )+ }
            }

            fn explain(
                &self,
                url: &crate::pattern::parts::UrlParts<'_>,
                origins: &crate::source::origin::Origins,
                explanations: &mut Vec<crate::source::explain::OptionExplanation>,
            ) {
                use crate::source::{explain::OptionExplanation, field::OptionType};
                let mut options = Self::SECTION.options.iter();
                $(
                    let found = OptionType::value_for_url(&self.$name, url);
                    explanations.extend(options.next().map(|option| {
                        OptionExplanation::of($section, option, found, origins)
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
mod tier;

pub use caching::Caching;
pub use daemon::{
    AllowedHosts, AllowedUsers, LocalNames, LocalNet, Options, OwnPages, Startup, UsageOptions,
};
pub use fetching::{DataSaver, FetchOptions, IndexOptions, MimeTypes, Purge};
pub use html::ModifyHtml;
pub use link::Link;
pub use lists::{
    Alias, CensorHeader, DontCache, DontCompress, DontGet, FtpOptions, Proxy, WebArchives,
};
pub use requests::{OfflineOptions, OnlineOptions};
pub use secure::{Https, Tunnel};
pub use tier::TierOptions;

/// Generates [`Config`] and [`SECTIONS`] from the list of sections.
macro_rules! config {
    ($( $(#[doc = $doc:literal])+ $field:ident: $Section:ident, )+) => {
        /// The whole configuration: the settings of the file, and defaults for the rest.
        #[derive(Clone, Debug)]
        pub struct Config {
            $( $(#[doc = $doc])+ pub $field: $Section, )+
            pub(crate) origins: Origins,
            /// The noise list, derived from the offline options. It is computed once because every
            /// cache miss uses it.
            noise: UrlSpecSet,
            /// The tunnel list, derived from `[https]`. It is computed once because every CONNECT
            /// uses it.
            tunnels: UrlSpecSet,
        }

        /// Every section with every option.
        pub const SECTIONS: &[Section] = &[$( <$Section as SectionOptions>::SECTION, )+];

        impl Config {
            /// Reads each option from the text, or takes its default. Faults are recorded in `source`.
            pub(crate) fn take(source: &mut ValueSource<'_>) -> Self {
                let mut config = Self {
                    $( $field: $Section::take(source), )+
                    origins: std::mem::take(&mut source.origins),
                    noise: UrlSpecSet::default(),
                    tunnels: UrlSpecSet::default(),
                };
                let (offline, https) = (&config.offline_options, &config.https);
                config.noise = NOISE.after(&offline.noise, offline.shipped_noise);
                config.tunnels = TUNNELS.after(&https.tunnel, https.shipped_tunnel);
                config
            }

            pub(crate) fn explain_all(
                &self,
                url: &UrlParts<'_>,
                explanations: &mut Vec<OptionExplanation>,
            ) {
                $( self.$field.explain(url, &self.origins, explanations); )+
            }

            /// The options whose values or rules differ from those of `other`, each with its section.
            #[must_use]
            pub fn differences(&self, other: &Self) -> Vec<(&'static str, &'static OptionInfo)> {
                let mut found = Vec::new();
                $( self.$field.differences(&other.$field, &mut found); )+
                found
            }
        }

        /// Compares values and ignores where they were written.
        impl PartialEq for Config {
            fn eq(&self, other: &Self) -> bool {
                $( self.$field == other.$field )&&+
            }
        }
    };
}

config! {
    /// The start of the daemon.
    startup: Startup,
    /// Options for every request.
    options: Options,
    /// The names of this proxy.
    local_host: LocalNames,
    /// The local pages.
    pages: OwnPages,
    /// The machines nearby.
    local_net: LocalNet,
    /// The machines that may use this proxy.
    allowed_hosts: AllowedHosts,
    /// The users who may use this proxy.
    allowed_users: AllowedUsers,
    /// The usage of each user and client.
    usage: UsageOptions,
    /// Detection of the link.
    link: Link,
    /// Connections opened with CONNECT.
    tunnel: Tunnel,
    /// Interception of HTTPS.
    https: Https,
    /// Requests while online.
    online_options: OnlineOptions,
    /// Requests while offline.
    offline_options: OfflineOptions,
    /// Reuse of stored responses while online.
    caching: Caching,
    /// Fetching the queue.
    fetch_options: FetchOptions,
    /// Sub-resources that are left out.
    data_saver: DataSaver,
    /// Blocked URLs.
    dont_get: DontGet,
    /// URLs that are never stored.
    dont_cache: DontCache,
    /// Files that are compressed already.
    dont_compress: DontCompress,
    /// Header fields that are removed or replaced.
    censor_header: CensorHeader,
    /// The parent proxy.
    proxy: Proxy,
    /// Requests to FTP servers.
    ftp_options: FtpOptions,
    /// URLs that have moved.
    alias: Alias,
    /// Web archives.
    web_archives: WebArchives,
    /// The lists.
    index_options: IndexOptions,
    /// The archive tier.
    tier: TierOptions,
    /// Changes to pages.
    modify_html: ModifyHtml,
    /// The types of files.
    mime_types: MimeTypes,
    /// Purging.
    purge: Purge,
}

impl Eq for Config {}

impl Config {
    /// URLs that browsers and systems request without a person's action: `noise` of
    /// `[offline-options]`, then the shipped list if `shipped-noise` is set. The list is computed
    /// when the options are read; changing a field later does not change it.
    ///
    /// ```
    /// use wwwoffle_config::Config;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    ///
    /// let config = Config::default();
    /// let local = LocalHost::default();
    /// let check = CanonicalUrl::parse("http://detectportal.firefox.com/success.txt", &local)?;
    /// assert!(config.noise().matches(&check).is_some());
    /// let page = CanonicalUrl::parse("http://www.example.org/", &local)?;
    /// assert!(config.noise().matches(&page).is_none());
    /// # Ok::<(), wwwoffle_url::ParseError>(())
    /// ```
    #[must_use]
    pub fn noise(&self) -> &UrlSpecSet {
        &self.noise
    }

    /// HTTPS that passes through a tunnel: `tunnel` of `[https]`, then the shipped list if
    /// `shipped-tunnel` is set. Compare this list with the root URL of a host, because the requests
    /// inside the connection are still unknown.
    ///
    /// ```
    /// use wwwoffle_config::Config;
    /// use wwwoffle_url::{CanonicalUrl, LocalHost};
    ///
    /// let config = Config::default();
    /// let local = LocalHost::default();
    /// let bank = CanonicalUrl::parse("https://www.paypal.com/", &local)?;
    /// assert!(config.tunnels().matches(&bank).is_some());
    /// let page = CanonicalUrl::parse("https://www.example.org/", &local)?;
    /// assert!(config.tunnels().matches(&page).is_none());
    /// # Ok::<(), wwwoffle_url::ParseError>(())
    /// ```
    #[must_use]
    pub fn tunnels(&self) -> &UrlSpecSet {
        &self.tunnels
    }
}

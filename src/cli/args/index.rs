//! The arguments of `wwwoffle ls`, `search` and `reindex`.

use clap::{ArgAction, Args, Subcommand};

/// The verbs that use the index.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum IndexVerb {
    /// Find stored pages by their words.
    Search(Box<Search>),
    /// Rebuild the index of the spool, which lists and search use, from the files.
    Reindex {
        /// Only add changes that other programs made in the spool.
        #[arg(long)]
        changed: bool,
    },
}

/// The arguments of `ls`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ListArgs {
    /// Print JSON, one entry a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// Sort by name, stored, used, day, domain, type, size or random. Without an order, a filter or
    /// a list that needs the index, the entries are listed as they are found in the spool.
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<String>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// List at most this many.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Also list entries that [index-options] hides.
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) all: bool,
    /// http, https/www.example.org, outgoing, failed, monitored, hosts, hosts/http, sites,
    /// session/N (stored in the online session N back), asked/N (requested before it), or a URL with
    /// protocol and path; everything if omitted. The names of WWWOFFLE 2.9 are lasttime, prevtimeN, lastout, prevoutN and
    /// monitor.
    #[arg(value_name = "WHAT")]
    pub(crate) what: Option<String>,
}

/// The filters that `ls` and `search` share.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct FilterArgs {
    /// Only entries of this host, such as example.org or example.org:8080 (without the default
    /// port).
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Only entries of all hosts of this site, such as example.co.uk.
    #[arg(long, value_name = "SITE")]
    pub(crate) site: Option<String>,
    /// Only this type: page, text, document, image, media, style, script, font, data, archive or
    /// other.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Only this status: 404, 4xx or 400-499.
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Only entries with this text in the URL or the title.
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Only entries stored since this time: 2026-11-20 or 2026-11-20T13:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only entries stored until this time, or until the end of this day.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only pages, without sub-resources.
    #[arg(long)]
    pub(crate) pages: bool,
    /// Only entries of this collection: its name or its id.
    #[arg(long, value_name = "NAME")]
    pub(crate) collection: Option<String>,
    /// Only entries of this owner: local, user:NAME, client:ADDRESS, or all for public entries.
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<String>,
}

/// The arguments of `search`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Search {
    /// Print JSON, one page a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// List at most this many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u64,
    /// Words; "…" for a phrase, begin* for words with this beginning, OR between alternatives, -
    /// before a word to exclude (after -- if it comes first).
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
}

impl ListArgs {
    /// The URL whose entries are to be listed, if one is named. A URL without a path means its host.
    pub(crate) fn url(&self) -> Option<&str> {
        let what = self.what.as_deref().filter(|what| what.contains("://"))?;
        wwwoffle_api::ListKind::parse(what).is_err().then_some(what)
    }

    /// Whether the list can only be made from the index.
    pub(crate) fn needs_index(&self) -> bool {
        let what = self.what.as_deref().unwrap_or_default();
        self.sort.is_some()
            || self.limit.is_some()
            || self.all
            || !self.filter.arguments().is_empty()
            || self.url().is_none()
                && !what.is_empty()
                && wwwoffle_api::ListKind::parse(what).is_err()
    }

    /// Returns the options as arguments of a URL.
    pub(crate) fn arguments(&self) -> Vec<(&'static str, String)> {
        let mut arguments = self.filter.arguments();
        let given = [("what", &self.what), ("sort", &self.sort)];
        arguments
            .extend(given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        arguments.extend(self.all.then(|| ("all", "1".to_owned())));
        arguments
    }
}

impl FilterArgs {
    /// Returns the filters as arguments of a URL.
    pub(crate) fn arguments(&self) -> Vec<(&'static str, String)> {
        let given = [
            ("host", &self.host),
            ("site", &self.site),
            ("type", &self.kind),
            ("status", &self.status),
            ("text", &self.text),
            ("since", &self.since),
            ("until", &self.until),
            ("owner", &self.owner),
            ("collection", &self.collection),
        ];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        given.chain(self.pages.then(|| ("pages", "1".to_owned()))).collect()
    }
}

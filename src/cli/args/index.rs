//! What is typed for lists, for search and for the index.

use clap::{ArgAction, Args, Subcommand};

/// What goes by the index.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum IndexVerb {
    /// Find kept pages by their words.
    Search(Box<Search>),
    /// Make the index of the spool, which lists and search go by, anew from its files.
    Reindex {
        /// Only look for what others have changed in the spool.
        #[arg(long)]
        changed: bool,
    },
}

/// What to list, and how.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct List {
    /// As JSON, an entry a line.
    #[arg(long)]
    pub(crate) json: bool,
    /// In this order: name, stored, used, day, domain, type, size or random. Without an order, a filter
    /// or a list that only the index has, the spool itself is walked, in no order.
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<String>,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// At most so many.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Also what [index-options] keeps out of lists.
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) all: bool,
    /// http, https/www.example.org, outgoing, failed, monitored, hosts, hosts/http, sites, session/N
    /// (stored in the session N back), asked/N (asked for before it); without it everything that is kept.
    /// The names of WWWOFFLE 2.9 are lasttime, prevtimeN, lastout, prevoutN and monitor.
    #[arg(value_name = "WHAT")]
    pub(crate) what: Option<String>,
}

/// Which of it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Filter {
    /// Of this host, with its port if that is not the scheme's.
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Of all hosts of this site, as example.co.uk.
    #[arg(long, value_name = "SITE")]
    pub(crate) site: Option<String>,
    /// Of this sort: page, text, document, image, media, style, script, font, data, archive or other.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// With this status: 404, 4xx or 400-499.
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// With this text in the URL or the title.
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Stored since then: 2026-11-20 or 2026-11-20T13:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Stored until then; of a day, to its end.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// No parts of pages.
    #[arg(long)]
    pub(crate) pages: bool,
    /// Kept for this owner alone: local, user:NAME or client:ADDRESS; all: for everyone.
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<String>,
}

/// What to look for.
#[derive(Clone, Debug, Args)]
pub(crate) struct Search {
    /// As JSON, a page a line.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u64,
    /// Words; "…" for a row of them, begin* for what begins so, OR between two, - before what is not to
    /// be there (after -- if it is the first).
    #[arg(required = true, value_name = "WORDS")]
    pub(crate) words: Vec<String>,
}

impl List {
    /// Whether only the index can tell.
    pub(crate) fn needs_index(&self) -> bool {
        let what = self.what.as_deref().unwrap_or_default();
        self.sort.is_some()
            || self.limit.is_some()
            || self.all
            || !self.filter.arguments().is_empty()
            || crate::api::What::parse(what).is_err() && !what.is_empty()
    }

    /// As the arguments of a URL.
    pub(crate) fn arguments(&self) -> Vec<(&'static str, String)> {
        let mut arguments = self.filter.arguments();
        let given = [("what", &self.what), ("sort", &self.sort)];
        arguments
            .extend(given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        arguments.extend(self.all.then(|| ("all", "1".to_owned())));
        arguments
    }
}

impl Filter {
    /// As the arguments of a URL.
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
        ];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
        given.chain(self.pages.then(|| ("pages", "1".to_owned()))).collect()
    }
}

//! The verbs for what is kept, as a whole: checking it, renaming, writing by hand.

use clap::{Args, Subcommand};

use super::exchange::{Export, Import};
use crate::base::owner::Owner;

/// What to do with what is kept.
#[derive(Debug, Subcommand)]
pub(crate) enum KeptVerb {
    /// Check the spool: names, lengths, records, what belongs together, and who may read it.
    ///
    /// It tells what is wrong with each file, and changes nothing; a daemon may run. The status is 0 if all
    /// is sound, 12 if not. With --repair what can be mended is, and what is beyond repair goes to
    /// damaged/, with the reason beside it; then the status is 11, and no daemon may run.
    Fsck(Fsck),
    /// Give what is kept of a URL another one, with its older versions; or all that is below it.
    Mv(Mv),
    /// Keep standard input as the answer of a URL.
    Write(Write),
    /// Keep what there is of URLs compressed, with its older versions, where that saves enough of the disk.
    ///
    /// It is read and served as before. A purge does the same with what has reached `compress-age`.
    Gzip(Compress),
    /// Keep what there is of URLs no longer compressed.
    Gunzip(Compress),
    /// Take archives of others into the spool: WARC, WACZ, HAR, a spool of WWWOFFLE 2.9, mirrors.
    ///
    /// The newest answer of each URL wins, and what is older becomes its history where that is kept. What may
    /// be meant for one person is kept for you alone. An import that was interrupted goes on where it was.
    Import(Import),
    /// Write what is kept into an archive that others read: FILE.warc.gz, FILE.wacz or FOLDER/.
    ///
    /// What is kept for one person stays at home, unless its owner is named.
    Export(Export),
}

/// How to check.
#[derive(Debug, Args)]
pub(crate) struct Fsck {
    /// Mend what can be mended, and put out of the way what cannot.
    #[arg(long)]
    pub(crate) repair: bool,
    /// Read every body too, and compare it with its digest.
    #[arg(long)]
    pub(crate) deep: bool,
    /// As JSON: a finding a line, and the sums in the last.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to rename.
#[derive(Debug, Args)]
pub(crate) struct Mv {
    /// All that is kept below the first URL, which ends with a slash then or gets one.
    #[arg(long, short = 'r')]
    pub(crate) below: bool,
    /// Also where something is kept of the second one already, which is replaced then.
    #[arg(long)]
    pub(crate) force: bool,
    /// Whose answers, besides everyone's: local, user:NAME or client:ADDRESS.
    #[arg(long, default_value = "local", value_name = "OWNER")]
    pub(crate) owner: Owner,
    /// What it is kept as now, in any spelling.
    #[arg(value_name = "URL")]
    pub(crate) from: String,
    /// What it is to be kept as.
    #[arg(value_name = "NEW-URL")]
    pub(crate) to: String,
}

/// What to compress, or to expand.
#[derive(Debug, Args)]
pub(crate) struct Compress {
    /// All that is kept.
    #[arg(long)]
    pub(crate) all: bool,
    /// All that is kept of a host, with its port if that is not the usual one.
    #[arg(long, value_name = "HOST", conflicts_with = "all")]
    pub(crate) host: Option<String>,
    /// Whose answers to the URLs, besides everyone's: local, user:NAME or client:ADDRESS.
    #[arg(long, default_value = "local", value_name = "OWNER")]
    pub(crate) owner: Owner,
    /// What is kept of these, in any spelling.
    #[arg(
        value_name = "URL",
        required_unless_present_any = ["all", "host"],
        conflicts_with_all = ["all", "host"]
    )]
    pub(crate) urls: Vec<String>,
}

/// What to keep.
#[derive(Debug, Args)]
pub(crate) struct Write {
    /// Standard input begins with the head of the answer: status line, fields and an empty line.
    #[arg(long)]
    pub(crate) headers: bool,
    /// The content type, if the head does not come along; else as the name of the URL ends.
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "headers")]
    pub(crate) content_type: Option<String>,
    /// For whom alone it is kept: user:NAME or client:ADDRESS; without it for everyone.
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<Owner>,
    /// What it is the answer of, in any spelling.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::Arguments;

    #[test]
    fn what_is_understood_and_what_is_not() {
        for (line, is_right) in [
            ("fsck", true),
            ("fsck --repair --deep --json", true),
            ("fsck http://a/", false),
            ("mv http://a/ http://b/", true),
            ("mv -r --force --owner user:ada http://a/ http://b/", true),
            ("mv http://a/", false),
            ("write http://a/", true),
            ("write --headers --owner client:192.0.2.1 http://a/", true),
            ("write --type text/plain http://a/", true),
            ("write --headers --type text/plain http://a/", false),
            ("write", false),
            ("gzip http://a/ http://b/", true),
            ("gzip --host a", true),
            ("gunzip --all", true),
            ("gunzip --owner user:ada http://a/", true),
            ("gzip", false),
            ("gzip --all http://a/", false),
            ("gzip --all --host a", false),
            ("gunzip --host a http://a/", false),
            ("import a.warc.gz b.wacz", true),
            ("import --dry-run --json old-spool", true),
            ("import --replace --everyone --max-size 50M --scheme http mirror", true),
            ("import --owner user:ada a.har", true),
            ("import", false),
            ("import --everyone --owner local a", false),
            ("import --scheme gopher a", false),
            ("export a.warc.gz", true),
            ("export --host a --since 2026-11-01 --until 2026-11-20T10:00:00Z b.wacz", true),
            ("export --max-size 1M --url-spec *://a/* --owner local -", true),
            ("export --since yesterday a.wacz", false),
            ("export --queue a.warc.gz", true),
            ("export --queue --host a a.warc.gz", false),
            ("fetch --bundle a.warc.gz --json", true),
            ("fetch --bundle a.warc.gz --wait", false),
        ] {
            let typed = ["wwwoffle"].into_iter().chain(line.split(' '));
            assert_eq!(Arguments::try_parse_from(typed).is_ok(), is_right, "{line}");
        }
    }
}

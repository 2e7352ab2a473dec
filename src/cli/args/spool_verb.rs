//! The arguments of the verbs that change or check the stored entries.

use clap::{Args, Subcommand};

use super::exchange::{Export, ImportArgs};
use crate::base::owner::Owner;

/// The verbs that change or check the stored entries.
#[derive(Debug, Subcommand)]
pub(crate) enum SpoolVerb {
    /// Check the spool: names, lengths, records, which files belong together, and permissions.
    ///
    /// It reports the faults of each file and changes nothing; a daemon may be running. The status
    /// is 0 if the spool is sound, 12 if not. With --repair, faults are repaired where possible,
    /// and files beyond repair are moved to damaged/, with the reason beside them; then the status
    /// is 11, and no daemon may be running.
    Fsck(Fsck),
    /// Store an entry and its versions under another URL, or everything below a URL or of a host.
    Mv(Mv),
    /// Store standard input as the response of a URL.
    Write(Write),
    /// Compress the stored copies of URLs, and their older versions, where that saves enough space.
    ///
    /// They are read and served as before. A purge compresses entries that have reached
    /// `compress-age`.
    Gzip(Compress),
    /// Decompress the stored copies of URLs.
    Gunzip(Compress),
    /// Import archives into the spool: WARC, WACZ, HAR, a spool of WWWOFFLE 2.9, mirrors.
    ///
    /// The newest response of each URL is used; older ones are stored as older versions, if the
    /// option `keep-versions` allows any. Responses that may be meant for one person are stored for
    /// you alone. An interrupted import continues where it stopped.
    Import(ImportArgs),
    /// Export entries into an archive for other programs: FILE.warc.gz, FILE.wacz or FOLDER/.
    ///
    /// Personal entries are left out unless their owner is named.
    Export(Export),
}

/// The arguments of `fsck`.
#[derive(Debug, Args)]
pub(crate) struct Fsck {
    /// Repair the faults that can be repaired, and set aside the files that cannot be repaired.
    #[arg(long)]
    pub(crate) repair: bool,
    /// Also read every body, and compare it with its digest.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Print JSON: one finding a line, and the totals in the last line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `mv`.
#[derive(Debug, Args)]
pub(crate) struct Mv {
    /// Move everything below the first URL; a slash is added to its end if it has none.
    #[arg(long, short = 'r')]
    pub(crate) below: bool,
    /// Replace entries that are stored under the second URL already.
    #[arg(long)]
    pub(crate) force: bool,
    /// Move the public entries and those of this owner: local, user:NAME or client:ADDRESS.
    #[arg(long, default_value = "local", value_name = "OWNER")]
    pub(crate) owner: Owner,
    /// The current URL, in any spelling; or a host, such as http/www.example.org.
    #[arg(value_name = "URL")]
    pub(crate) from: String,
    /// The new URL or host.
    #[arg(value_name = "NEW-URL")]
    pub(crate) to: String,
}

/// The arguments of `gzip` and `gunzip`.
#[derive(Debug, Args)]
pub(crate) struct Compress {
    /// All entries of the spool.
    #[arg(long)]
    pub(crate) all: bool,
    /// All entries of a host, such as example.org or example.org:8080 (without the default port).
    #[arg(long, value_name = "HOST", conflicts_with = "all")]
    pub(crate) host: Option<String>,
    /// Include the public copies of the URLs and those of this owner: local, user:NAME or
    /// client:ADDRESS.
    #[arg(long, default_value = "local", value_name = "OWNER")]
    pub(crate) owner: Owner,
    /// The URLs, in any spelling.
    #[arg(
        value_name = "URL",
        required_unless_present_any = ["all", "host"],
        conflicts_with_all = ["all", "host"]
    )]
    pub(crate) urls: Vec<String>,
}

/// The arguments of `write`.
#[derive(Debug, Args)]
pub(crate) struct Write {
    /// Standard input begins with the head of the response: status line, fields and an empty line.
    #[arg(long)]
    pub(crate) headers: bool,
    /// The content type, if the input has no head [default: by the extension in the URL].
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "headers")]
    pub(crate) content_type: Option<String>,
    /// Store it for this owner alone: user:NAME or client:ADDRESS; for everyone if omitted.
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<Owner>,
    /// The URL of the response, in any spelling.
    #[arg(value_name = "URL")]
    pub(crate) url: String,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::super::Arguments;

    #[test]
    fn valid_and_invalid_command_lines() {
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

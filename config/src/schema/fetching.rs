//! The sections for fetching, lists, media types and purging.

use crate::{
    source::rule::UrlRules,
    values::{
        amounts::{AgeLimit, Percent, SizeLimit, SpaceLimit},
        media::{MediaType, TypesByExtension},
        programs::TextPrograms,
        texts::Program,
        times::{Pause, Windows},
    },
};
use std::{num::NonZeroUsize, time::Duration};

section! {
    /// How requests that were made offline are fetched when the connection is back.
    "fetch-options" => FetchOptions {
        /// How many requests to one host are sent at once.
        "per-host" => per_host: NonZeroUsize = "6", Live, Ordinary;
        /// How many requests to all hosts together are sent at once.
        "at-once" => at_once: NonZeroUsize = "32", Live, Ordinary;
        /// How many times a request is tried before it fails.
        "attempts" => attempts: NonZeroUsize = "5", Live, Ordinary;
        /// How long to wait before the second attempt; each further wait is longer.
        "retry-delay" => retry_delay: Duration = r#""2s""#, Live, Ordinary;
        /// How long to wait before one more attempt, after all `attempts` have failed; "none" means no further attempt.
        "last-try" => last_try: Pause = r#""none""#, Live, Ordinary;
        /// How long recursive fetches and scheduled fetches wait between two requests to one host. Requests that people make do not wait.
        "delay" => delay: UrlRules<Pause> = r#""none""#, Live, Ordinary;
        /// The times of the day at which the queue is processed.
        "windows" => windows: UrlRules<Windows> = r#""always""#, Live, Ordinary;
        /// The length above which a queued download waits until a person confirms it.
        "ask-above" => ask_above: UrlRules<SizeLimit> = r#""none""#, Live, Ordinary;
        /// How many bytes are fetched for the queue each time it is processed.
        "budget-fetch" => budget_fetch: SizeLimit = r#""none""#, Live, Ordinary;
        /// How many bytes of `budget-fetch` may come over a metered link. A link is metered if the default route uses one of `metered-interfaces` in `[link]`, or if `metered` is set.
        "budget-fetch-metered" => budget_fetch_metered: SizeLimit = r#""none""#, Live, Ordinary;
        /// How many bytes are fetched for the queue in a day.
        "budget-day" => budget_day: SizeLimit = r#""none""#, Live, Ordinary;
        /// How many bytes of `budget-day` may come over a metered link.
        "budget-day-metered" => budget_day_metered: SizeLimit = r#""none""#, Live, Ordinary;
        /// Whether every link counts as metered, whatever its interface.
        "metered" => metered: bool = "false", Live, Ordinary;
        /// How many attempts in a row to resume a broken download may transfer nothing before the download is abandoned.
        "resume-attempts" => resume_attempts: NonZeroUsize = "10", Live, Ordinary;
        /// How long to wait before the first attempt to resume a download; each further wait is longer.
        "resume-delay" => resume_delay: Duration = r#""1s""#, Live, Ordinary;
        /// Whether style sheets are fetched with a page.
        "stylesheets" => stylesheets: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether images are fetched with a page.
        "images" => images: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether images of a single pixel, which only count readers, are fetched too.
        "webbug-images" => webbug_images: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether the icons of a page are fetched with it.
        "icon-images" => icon_images: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether images are fetched only from the host of the page.
        "only-same-host-images" => only_same_host_images: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether the fonts that a page names are fetched with it.
        "fonts" => fonts: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether audio and video are fetched with a page.
        "media" => media: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether frames are fetched with a page.
        "frames" => frames: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether inline frames are fetched with a page.
        "iframes" => iframes: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether scripts are fetched with a page.
        "scripts" => scripts: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a fetch that follows links obeys `robots.txt` and `nofollow`.
        "robots" => robots: UrlRules<bool> = "true", Live, Ordinary;
        /// The width of the browser window for which an image is chosen if a page offers several sizes.
        "window-width" => window_width: NonZeroUsize = "1366", Live, Ordinary;
        /// The number of screen pixels in a row for 100 pixels of the page.
        "pixel-density" => pixel_density: NonZeroUsize = "100", Live, Ordinary;
        /// Whether all candidates are fetched if a page offers several images for one place.
        "all-candidates" => all_candidates: bool = "false", Live, Ordinary;
        /// Whether objects are fetched with a page.
        "objects" => objects: UrlRules<bool> = "false", Live, Ordinary;
        /// A browser of the Chromium family that opens the queued pages when they are fetched, so that files loaded by their scripts are stored too.
        "browser" => browser: UrlRules<Program> = r#""""#, Live, Program;
        /// How long a page may stay open in `browser` until it loads nothing more.
        "browser-time" => browser_time: Duration = r#""30s""#, Live, Ordinary;
        /// How many instances of `browser` run at once.
        "browsers-at-once" => browsers_at_once: NonZeroUsize = "1", Live, Ordinary;
    }
}

section! {
    /// The sub-resources that are left out or recompressed because the connection is slow or its volume is limited. A rule for the URL of a file decides, or else one for the page that shows it. Stored copies are served nevertheless. A person who opens a file itself, or fetches it on purpose, gets it.
    "data-saver" => DataSaver {
        /// The length above which a picture of a page is left out.
        "pictures-above" => pictures_above: UrlRules<SizeLimit> = r#""none""#, Live, Ordinary;
        /// Whether audio and video in pages are left out.
        "no-media" => no_media: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether all pictures, fonts, audio and video of pages are left out.
        "text-only" => text_only: UrlRules<bool> = "false", Live, Ordinary;
        /// The length above which JPEG and PNG pictures of pages are recompressed for the browser. The stored copy stays as it is.
        "recompress-above" => recompress_above: UrlRules<SizeLimit> = r#""none""#, Live, Ordinary;
        /// The quality of recompressed pictures.
        "picture-quality" => picture_quality: UrlRules<Percent> = r#""40%""#, Live, Ordinary;
    }
}

section! {
    /// The lists of stored, queued and monitored URLs.
    "index-options" => IndexOptions {
        /// Whether there are lists of the pages fetched in the last online sessions.
        "create-history-indexes" => create_history_indexes: bool = "true", Live, Ordinary;
        /// Whether a new list begins each day, and not with each online session.
        "cycle-indexes-daily" => cycle_indexes_daily: bool = "false", Live, Ordinary;
        /// Whether requests for these URLs appear in the list of the queue.
        "list-outgoing" => list_outgoing: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether these URLs appear in the lists of the last online sessions.
        "list-latest" => list_latest: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether these URLs appear in the list of monitored URLs.
        "list-monitor" => list_monitor: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether these URLs appear in the lists of their hosts.
        "list-host" => list_host: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether these URLs appear in any list.
        "list-any" => list_any: UrlRules<bool> = "true", Live, Ordinary;
        /// The programs that extract the text of documents, so that a search finds it. A document comes from a site, so the program must withstand hostile input. It gets at most 10 seconds and 1 GiB of memory for each document, and no shell.
        "text-programs" => text_programs: TextPrograms = "{}", Live, Program;
    }
}

section! {
    /// The media types of files that arrive without one.
    "mime-types" => MimeTypes {
        /// The type of a file whose name has no known extension.
        "default" => default: MediaType = r#""text/plain""#, Live, Ordinary;
        /// Types by file extension, in addition to the built-in ones.
        "types" => types: TypesByExtension = "{}", Live, Ordinary;
    }
}

section! {
    /// How long pages stay in the spool.
    "purge" => Purge {
        /// Whether the age of a page counts from the time it was stored, and not from its last use.
        "use-mtime" => use_mtime: bool = "false", Live, Ordinary;
        /// The age at which a purge removes a page: by `wwwoffle purge`, on its page, or by `every` and `min-free`.
        "age" => age: UrlRules<AgeLimit> = r#""4w""#, Live, Ordinary;
        /// The age at which a purge compresses the stored copy of a page. It is counted like `age`. A purge for `min-free` alone compresses nothing.
        "compress-age" => compress_age: UrlRules<AgeLimit> = r#""never""#, Live, Ordinary;
        /// The length from which a purge stores equal bodies once. Bodies below 16 KiB are never shared.
        "share-above" => share_above: SizeLimit = r#""64 kB""#, Live, Ordinary;
        /// The largest size of the spool. If it is larger, ages are scaled down until it fits. "auto" is half of the disk.
        "max-size" => max_size: SpaceLimit = r#""auto""#, Live, Ordinary;
        /// How much of the disk stays free. If less is free, ages are scaled down until it is enough, and the daemon purges on its own. "auto" is a fortieth of the disk, at most 500 MB.
        "min-free" => min_free: SpaceLimit = r#""auto""#, Live, Ordinary;
        /// How often the daemon purges on its own.
        "every" => every: AgeLimit = r#""never""#, Live, Ordinary;
        /// Whether a purge removes blocked URLs.
        "del-dontget" => del_dontget: bool = "true", Live, Ordinary;
        /// Whether a purge removes URLs that are never stored.
        "del-dontcache" => del_dontcache: bool = "true", Live, Ordinary;
    }
}

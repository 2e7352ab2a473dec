//! What is fetched of a page, what is listed, and how long it is kept.

use crate::{
    source::rule::UrlRules,
    values::{
        amounts::{AgeLimit, RoomLimit, SizeLimit},
        media::{MediaType, TypesByExtension},
        texts::Program,
        times::{Pause, Windows},
    },
};
use std::{num::NonZeroUsize, time::Duration};

section! {
    /// Fetching what was asked for offline, once the line is back.
    "fetch-options" => FetchOptions {
        /// How many requests to one host are under way at once.
        "per-host" => per_host: NonZeroUsize = "6", Live, Ordinary;
        /// How many requests are under way at once, over all hosts.
        "at-once" => at_once: NonZeroUsize = "32", Live, Ordinary;
        /// How often a request is tried before it counts as failed.
        "attempts" => attempts: NonZeroUsize = "5", Live, Ordinary;
        /// How long to wait before the second attempt; each further wait is longer.
        "retry-delay" => retry_delay: Duration = r#""2s""#, Live, Ordinary;
        /// How long to wait before one last attempt, after all of these; without it there is none.
        "last-try" => last_try: Pause = r#""none""#, Live, Ordinary;
        /// How long recursive fetches and schedules wait between two requests to one host. What people ask for waits for nobody.
        "delay" => delay: UrlRules<Pause> = r#""none""#, Live, Ordinary;
        /// At which times of the day the queue is worked off.
        "windows" => windows: UrlRules<Windows> = r#""always""#, Live, Ordinary;
        /// Above which length something on the queue is not fetched unasked: it waits for a person to say that it may come.
        "ask-above" => ask_above: UrlRules<SizeLimit> = r#""none""#, Live, Ordinary;
        /// How much is fetched for the queue each time that it is worked off.
        "budget-fetch" => budget_fetch: SizeLimit = r#""none""#, Live, Ordinary;
        /// How much of that over a metered link: while the way out is one of `metered-interfaces` in `[link]`, or `metered` is set.
        "budget-fetch-metered" => budget_fetch_metered: SizeLimit = r#""none""#, Live, Ordinary;
        /// How much is fetched for the queue in a day.
        "budget-day" => budget_day: SizeLimit = r#""none""#, Live, Ordinary;
        /// How much of that over a metered link.
        "budget-day-metered" => budget_day_metered: SizeLimit = r#""none""#, Live, Ordinary;
        /// Whether any link counts as metered, whatever its interface.
        "metered" => metered: bool = "false", Live, Ordinary;
        /// How often in a row the rest of a download that broke off is asked for without one more byte of it coming, before it is given up.
        "resume-attempts" => resume_attempts: NonZeroUsize = "10", Live, Ordinary;
        /// How long to wait before the first of these attempts; each further wait is longer.
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
        /// Whether sound and film are fetched with a page.
        "media" => media: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether frames are fetched with a page.
        "frames" => frames: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether inline frames are fetched with a page.
        "iframes" => iframes: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether scripts are fetched with a page.
        "scripts" => scripts: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether a fetch that follows links leaves alone what the site asks programs not to get: `robots.txt` and `nofollow`.
        "robots" => robots: UrlRules<bool> = "true", Live, Ordinary;
        /// How wide the window of the browser is for which images are chosen where a page has several.
        "window-width" => window_width: NonZeroUsize = "1366", Live, Ordinary;
        /// How many pixels of its screen there are for 100 of the page, in a row.
        "pixel-density" => pixel_density: NonZeroUsize = "100", Live, Ordinary;
        /// Whether all candidates are fetched where a page has several images for one place.
        "all-candidates" => all_candidates: bool = "false", Live, Ordinary;
        /// Whether objects are fetched with a page.
        "objects" => objects: UrlRules<bool> = "false", Live, Ordinary;
        /// A browser of the Chromium family, in which pages of the queue are opened when they are fetched, so that what their scripts load is kept, too.
        "browser" => browser: UrlRules<Program> = r#""""#, Live, Program;
        /// How long a page may take there until nothing more comes.
        "browser-time" => browser_time: Duration = r#""30s""#, Live, Ordinary;
        /// How many such browsers run at once.
        "browsers-at-once" => browsers_at_once: NonZeroUsize = "1", Live, Ordinary;
    }
}

section! {
    /// The lists of what is kept, queued and monitored.
    "index-options" => IndexOptions {
        /// Whether there are lists of what was fetched in the last times online.
        "create-history-indexes" => create_history_indexes: bool = "true", Live, Ordinary;
        /// Whether these lists are begun anew each day, and not each time online.
        "cycle-indexes-daily" => cycle_indexes_daily: bool = "false", Live, Ordinary;
        /// Whether requests for these URLs are in the list of the queue.
        "list-outgoing" => list_outgoing: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether these URLs are in the lists of the last times online.
        "list-latest" => list_latest: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether these URLs are in the list of what is monitored.
        "list-monitor" => list_monitor: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether these URLs are in the lists of their hosts.
        "list-host" => list_host: UrlRules<bool> = "true", Live, Ordinary;
        /// Whether these URLs are in any list.
        "list-any" => list_any: UrlRules<bool> = "true", Live, Ordinary;
    }
}

section! {
    /// The types of files that come without one.
    "mime-types" => MimeTypes {
        /// The type of a file whose name says nothing.
        "default" => default: MediaType = r#""text/plain""#, Live, Ordinary;
        /// The types by the ends of names, besides those that are known.
        "types" => types: TypesByExtension = "{}", Live, Ordinary;
    }
}

section! {
    /// How long what is kept stays.
    "purge" => Purge {
        /// Whether the age of a page counts from the time it was stored, and not from its last use.
        "use-mtime" => use_mtime: bool = "false", Live, Ordinary;
        /// The age at which a page is removed when it is purged: by `wwwoffle purge`, on its page, or as `every` and `min-free` say.
        "age" => age: UrlRules<AgeLimit> = r#""4w""#, Live, Ordinary;
        /// The age at which what is kept of a page is compressed, when it is purged, but not where that is for `min-free` alone. It is counted as `age` is.
        "compress-age" => compress_age: UrlRules<AgeLimit> = r#""never""#, Live, Ordinary;
        /// From which length on bodies that are the same are kept once, when it is purged. None of less than 16 KiB are.
        "share-above" => share_above: SizeLimit = r#""64 kB""#, Live, Ordinary;
        /// How much may be kept; above that, ages are scaled down until it fits. "auto" is half of the disk.
        "max-size" => max_size: RoomLimit = r#""auto""#, Live, Ordinary;
        /// How much of the disk stays free; below that, ages are scaled down until it is. Where less is free the daemon purges by itself. "auto" is a fortieth of the disk, at most 500 MB.
        "min-free" => min_free: RoomLimit = r#""auto""#, Live, Ordinary;
        /// How often the daemon purges by itself.
        "every" => every: AgeLimit = r#""never""#, Live, Ordinary;
        /// Whether URLs that are never got are removed.
        "del-dontget" => del_dontget: bool = "true", Live, Ordinary;
        /// Whether URLs that are never kept are removed.
        "del-dontcache" => del_dontcache: bool = "true", Live, Ordinary;
    }
}

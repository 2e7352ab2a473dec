//! What is changed in pages on their way to the browser.

use crate::{
    source::rule::UrlRules,
    values::{parent::Replacement, texts::Markup},
};

section! {
    /// What is changed in HTML pages on their way to the browser; what is kept stays as it came.
    "modify-html" => ModifyHtml {
        /// Whether pages are changed on their way to the browser; what is kept is not.
        "enable-modify-html" => enable_modify_html: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a page ends with a bar that says when it was kept, and has links to the forms that refresh and monitor it, to its versions and to what is known of it.
        "add-cache-info" => add_cache_info: UrlRules<bool> = "false", Live, Ordinary;
        /// What is put before the text of a link to a page that is kept.
        "anchor-cached-begin" => anchor_cached_begin: UrlRules<Markup> = r#""""#, Live, Trust;
        /// What is put after the text of a link to a page that is kept.
        "anchor-cached-end" => anchor_cached_end: UrlRules<Markup> = r#""""#, Live, Trust;
        /// What is put before the text of a link to a page that is queued.
        "anchor-requested-begin" => anchor_requested_begin: UrlRules<Markup> = r#""""#, Live, Trust;
        /// What is put after the text of a link to a page that is queued.
        "anchor-requested-end" => anchor_requested_end: UrlRules<Markup> = r#""""#, Live, Trust;
        /// What is put before the text of a link to a page that is neither kept nor queued.
        "anchor-not-cached-begin" => anchor_not_cached_begin: UrlRules<Markup> = r#""""#, Live, Trust;
        /// What is put after the text of a link to a page that is neither kept nor queued.
        "anchor-not-cached-end" => anchor_not_cached_end: UrlRules<Markup> = r#""""#, Live, Trust;
        /// Whether scripts are taken out.
        "disable-script" => disable_script: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether applets are taken out.
        "disable-applet" => disable_applet: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether style sheets are taken out.
        "disable-style" => disable_style: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether blinking text stands still.
        "disable-blink" => disable_blink: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether moving text stands still.
        "disable-marquee" => disable_marquee: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether Flash is taken out.
        "disable-flash" => disable_flash: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether inline frames are taken out.
        "disable-iframe" => disable_iframe: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a page may not send the browser elsewhere after a time.
        "disable-meta-refresh" => disable_meta_refresh: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a page may not load itself again after a time.
        "disable-meta-refresh-self" => disable_meta_refresh_self: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a page may not set cookies in its text.
        "disable-meta-set-cookie" => disable_meta_set_cookie: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether links to URLs that are never got are taken out.
        "disable-dontget-links" => disable_dontget_links: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether inline frames with URLs that are never got are taken out.
        "disable-dontget-iframes" => disable_dontget_iframes: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether images with URLs that are never got are replaced.
        "replace-dontget-images" => replace_dontget_images: UrlRules<bool> = "false", Live, Ordinary;
        /// The image in their place.
        "replacement-dontget-image" => replacement_dontget_image: UrlRules<Replacement> = r#""""#, Live, Trust;
        /// Whether images of a single pixel are replaced.
        "replace-webbug-images" => replace_webbug_images: UrlRules<bool> = "false", Live, Ordinary;
        /// The image in their place.
        "replacement-webbug-image" => replacement_webbug_image: UrlRules<Replacement> = r#""""#, Live, Trust;
        /// Whether characters that some programs write wrongly are mended.
        "demoronise-ms-chars" => demoronise_ms_chars: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether Cyrillic text in a mixture of character sets is mended.
        "fix-mixed-cyrillic" => fix_mixed_cyrillic: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether animated images (GIF) show their first picture alone.
        "disable-animated-gif" => disable_animated_gif: UrlRules<bool> = "false", Live, Ordinary;
    }
}

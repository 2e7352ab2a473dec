//! Changes to pages on their way to the browser.

use crate::{
    source::rule::UrlRules,
    values::{parent::Replacement, texts::Markup},
};

section! {
    /// Changes to HTML pages on their way to the browser. The stored copy stays as received.
    "modify-html" => ModifyHtml {
        /// Whether pages are changed on their way to the browser. The stored copy is not changed.
        "enable-modify-html" => enable_modify_html: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether a page ends with a bar that shows when it was stored, with links to the forms that refresh and monitor it, to its versions, and to its information page.
        "add-cache-info" => add_cache_info: UrlRules<bool> = "false", Live, Ordinary;
        /// Markup before the text of a link to a stored page.
        "anchor-cached-begin" => anchor_cached_begin: UrlRules<Markup> = r#""""#, Live, Trust;
        /// Markup after the text of a link to a stored page.
        "anchor-cached-end" => anchor_cached_end: UrlRules<Markup> = r#""""#, Live, Trust;
        /// Markup before the text of a link to a queued page.
        "anchor-requested-begin" => anchor_requested_begin: UrlRules<Markup> = r#""""#, Live, Trust;
        /// Markup after the text of a link to a queued page.
        "anchor-requested-end" => anchor_requested_end: UrlRules<Markup> = r#""""#, Live, Trust;
        /// Markup before the text of a link to a page that is neither stored nor queued.
        "anchor-not-cached-begin" => anchor_not_cached_begin: UrlRules<Markup> = r#""""#, Live, Trust;
        /// Markup after the text of a link to a page that is neither stored nor queued.
        "anchor-not-cached-end" => anchor_not_cached_end: UrlRules<Markup> = r#""""#, Live, Trust;
        /// Whether scripts are removed.
        "disable-script" => disable_script: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether applets are removed.
        "disable-applet" => disable_applet: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether style sheets are removed.
        "disable-style" => disable_style: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether blinking text is stopped.
        "disable-blink" => disable_blink: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether moving text is stopped.
        "disable-marquee" => disable_marquee: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether Flash is removed.
        "disable-flash" => disable_flash: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether inline frames are removed.
        "disable-iframe" => disable_iframe: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether pages are prevented from sending the browser to another page after a time.
        "disable-meta-refresh" => disable_meta_refresh: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether pages are prevented from reloading themselves after a time.
        "disable-meta-refresh-self" => disable_meta_refresh_self: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether pages are prevented from setting cookies in their text.
        "disable-meta-set-cookie" => disable_meta_set_cookie: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether links to blocked URLs are removed.
        "disable-dontget-links" => disable_dontget_links: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether inline frames with blocked URLs are removed.
        "disable-dontget-iframes" => disable_dontget_iframes: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether images with blocked URLs are replaced.
        "replace-dontget-images" => replace_dontget_images: UrlRules<bool> = "false", Live, Ordinary;
        /// The image that replaces images with blocked URLs.
        "replacement-dontget-image" => replacement_dontget_image: UrlRules<Replacement> = r#""""#, Live, Trust;
        /// Whether images of a single pixel are replaced.
        "replace-webbug-images" => replace_webbug_images: UrlRules<bool> = "false", Live, Ordinary;
        /// The image that replaces images of a single pixel.
        "replacement-webbug-image" => replacement_webbug_image: UrlRules<Replacement> = r#""""#, Live, Trust;
        /// Whether characters that some programs encode wrongly are corrected.
        "demoronise-ms-chars" => demoronise_ms_chars: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether Cyrillic text in a mixture of character sets is corrected.
        "fix-mixed-cyrillic" => fix_mixed_cyrillic: UrlRules<bool> = "false", Live, Ordinary;
        /// Whether animated images (GIF) show only their first frame.
        "disable-animated-gif" => disable_animated_gif: UrlRules<bool> = "false", Live, Ordinary;
    }
}

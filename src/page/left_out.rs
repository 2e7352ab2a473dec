//! The reasons why a recursive fetch leaves out a link, in words for the user, and the picture in
//! place of one that the data saver leaves out.

use crate::base::text::{Text, tr};
use crate::page::{RenderedPage, Shell, view};
use wwwoffle_api::report::LeftOut;

/// Returns why links are left out: the end of a sentence that begins with their number. For
/// [`LeftOut::Unread`], the number counts pages whose links are not all known.
#[must_use]
pub const fn left_out(reason: LeftOut) -> Text {
    match reason {
        LeftOut::Depth => tr("they are deeper than the link depth that you chose"),
        LeftOut::Scope => tr("they are outside the limit that you chose under “Stay on”"),
        LeftOut::Endless => tr("the site generates such pages without end"),
        LeftOut::Pages => tr("the page limit of the fetch is reached"),
        LeftOut::Bytes => tr("the size limit of the fetch is reached"),
        LeftOut::Time => tr("the time limit of the fetch is reached"),
        LeftOut::Robots => tr("the site asks programs not to fetch them (robots.txt)"),
        LeftOut::NoFollow => tr("the page asks programs not to follow the link (nofollow)"),
        LeftOut::Rule => tr("the configuration excludes them"),
        LeftOut::Saver => tr("the data saver leaves them out ([data-saver])"),
        LeftOut::Class => tr("this fetch does not include files of this kind"),
        LeftOut::Memory => tr("the fetch has found too many URLs"),
        LeftOut::Url => tr("their URLs are invalid or too long"),
        LeftOut::Unread => tr("these pages were not read completely; some links are unknown"),
    }
}

/// Renders the SVG picture in place of a picture of this length.
#[must_use]
pub fn picture(shell: &Shell, bytes: Option<u64>) -> RenderedPage {
    shell.page("left-out.html", 200, &view! { bytes })
}

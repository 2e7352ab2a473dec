//! The reasons why a recursive fetch leaves out a link, in words for the user.

use crate::base::text::{Text, say};
use wwwoffle_api::report::LeftOut;

/// Returns why links are left out: the end of a sentence that begins with their number. For
/// [`LeftOut::Unread`], the number counts pages whose links are not all known.
#[must_use]
pub const fn left_out(reason: LeftOut) -> Text {
    match reason {
        LeftOut::Depth => say("they are deeper than the link depth that you chose"),
        LeftOut::Scope => say("they are outside the limit that you chose under “Stay on”"),
        LeftOut::Endless => say("the site generates such pages without end"),
        LeftOut::Pages => say("the page limit of the fetch is reached"),
        LeftOut::Bytes => say("the size limit of the fetch is reached"),
        LeftOut::Time => say("the time limit of the fetch is reached"),
        LeftOut::Robots => say("the site asks programs not to fetch them (robots.txt)"),
        LeftOut::NoFollow => say("the page asks programs not to follow the link (nofollow)"),
        LeftOut::Rule => say("the configuration excludes them"),
        LeftOut::Class => say("this fetch does not include files of this kind"),
        LeftOut::Memory => say("the fetch has found too many URLs"),
        LeftOut::Url => say("their URLs are invalid or too long"),
        LeftOut::Unread => say("these pages were not read completely; some links are unknown"),
    }
}

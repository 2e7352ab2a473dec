//! Similar stored pages for a page that is not stored: `/missing/?URL`.

pub mod page;

use hyper::Response;
use wwwoffle_spool::Error;
use wwwoffle_url::CanonicalUrl;

use self::page::MissingPage;
use super::caller::Caller;
use crate::base::mode::Mode;
use crate::base::owner::Places;
use crate::proxy::body::Body;
use crate::proxy::like;
use crate::site::address::{AddressPage, url_in};
use crate::storage::lookup::look_up;

/// Shows the page for the URL in the arguments: `?URL`, or `?url=URL`.
pub(super) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let typed = url_in(arguments);
    let parsed = Some(typed.as_str()).filter(|url| !url.is_empty());
    let parsed = parsed.and_then(|url| CanonicalUrl::parse(url, &caller.context.base.local).ok());
    let Some(url) = parsed.filter(|url| !url.is_local()).map(|url| url.without_credentials())
    else {
        return caller.ask_for_address(AddressPage::Missing, &typed);
    };
    match show_similar_pages(caller, &url).await {
        Ok(response) => response,
        Err(error) => caller.spool_failed(&error),
    }
}

async fn show_similar_pages(caller: &Caller, url: &CanonicalUrl) -> Result<Response<Body>, Error> {
    let (context, owner) = (&caller.context, &caller.owner);
    let places = Places::of_url(url, owner);
    let copy = look_up(&context.storage.store, &places).await?.choose(Mode::Offline);
    let likes = like::all(&context.proxy, owner, url).await?;
    let page = MissingPage {
        url: url.as_str(),
        is_kept: copy.is_some(),
        has_versions: like::has_versions(&context.proxy, &places).await?,
        likes: &likes,
    };
    Ok(caller.page(page::page(&caller.shell, &page)))
}

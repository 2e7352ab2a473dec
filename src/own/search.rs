//! The page `/search/`.

use hyper::Response;
use wwwoffle_index::Class;
use wwwoffle_url::url_encode_form_args;

use super::api::index::{carry_out, wanted};
use super::caller::Caller;
use crate::error_chain::error_chain;
use crate::lists::found;
use crate::lists::query::Wanted;
use crate::pages::info;
use crate::pages::lists::untold;
use crate::pages::search::{self, Outcome, Typed};
use crate::proxy::body::Body;

/// Hits on a page.
const HITS: usize = 10;

/// Shows the form, and what was found if something is looked for.
pub(super) async fn show(caller: &Caller, arguments: Option<&str>) -> Response<Body> {
    let (typed, outcome) = match wanted(arguments) {
        // Whoever types an address wants to know of that.
        Ok(wanted) if is_address(&wanted.words) => {
            return caller.see_other(&info::path_of(wanted.words.trim()));
        }
        Err(why) => (Typed::default(), Outcome::Refused(why)),
        Ok(wanted) => {
            let typed = Typed {
                words: wanted.words.clone(),
                host: wanted.filter.host.clone().unwrap_or_default(),
                kind: wanted.filter.class,
            };
            let outcome = if typed.words.trim().is_empty() {
                Outcome::Nothing
            } else {
                look(caller, &typed, wanted).await
            };
            (typed, outcome)
        }
    };
    caller.page(search::page(&caller.daemon.templates, &caller.shell, &typed, outcome))
}

/// Whether these words are the address of a page, and nothing else.
fn is_address(words: &str) -> bool {
    let words = words.trim();
    let is_web = ["http://", "https://", "ftp://"].iter().any(|scheme| words.starts_with(scheme));
    is_web && !words.contains(char::is_whitespace)
}

async fn look(caller: &Caller, typed: &Typed, wanted: Wanted) -> Outcome {
    let wanted = Wanted { limit: HITS, ..wanted };
    match carry_out(caller, wanted, found::search).await {
        Ok(found) => {
            let next = found.next.as_deref().map(|next| arguments(typed, next));
            Outcome::Found(found, next)
        }
        Err(error) => Outcome::Refused(untold(&error_chain(&error))),
    }
}

/// The arguments for what follows.
fn arguments(typed: &Typed, after: &str) -> String {
    let kind = typed.kind.map(Class::name).unwrap_or_default();
    let pairs =
        [("q", typed.words.as_str()), ("host", &typed.host), ("type", kind), ("after", after)];
    let coded = |text: &str| url_encode_form_args(text.as_bytes());
    let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    pairs.map(|(name, value)| format!("{name}={}", coded(value))).collect::<Vec<_>>().join("&")
}

//! `POST /api/entries/compress`: compresses or expands stored entries.

use std::sync::Arc;

use hyper::StatusCode;
use wwwoffle_spool::Spool;

use crate::base::error_chain::error_chain;
use crate::proxy::body::Body;
use crate::site::api::fault::CallFault;
use crate::site::api::one_line;
use crate::site::caller::Caller;
use crate::site::entries;
use crate::storage::edit::compress::{CompressTarget, StoredForm, rewrite_entries};
use crate::storage::purge::room::min_free_at;
use wwwoffle_api::{CompressEvent, EntriesToCompress};

/// Starts the task. The response is one line, sent when the task ends. The task may take long.
pub(in crate::site) fn start(
    caller: &Caller,
    wanted: &EntriesToCompress,
) -> Result<Body, CallFault> {
    let form = if wanted.expand { StoredForm::Plain } else { StoredForm::Compressed };
    let which = parse_selection(caller, wanted)?;
    let context = Arc::clone(&caller.context);
    Ok(one_line(async move {
        let tasks = context.base.tasks.clone();
        let go_on = move || !tasks.is_stopping();
        let spare = min_free_at(&context.base.config(), context.storage.store.spool().root());
        let work = move |spool: &Spool| rewrite_entries(spool, &which, form, (spare, &go_on));
        match context.storage.store.run(work).await {
            Ok(Some(done)) => CompressEvent::Done(done),
            Ok(None) => CompressEvent::Failed("the daemon stops".to_owned()),
            Err(error) => CompressEvent::Failed(error_chain(&error)),
        }
    }))
}

fn parse_selection(
    caller: &Caller,
    wanted: &EntriesToCompress,
) -> Result<CompressTarget, CallFault> {
    let ways = [!wanted.urls.is_empty(), wanted.host.is_some(), wanted.all];
    if ways.into_iter().filter(|given| *given).count() != 1 {
        return Err(CallFault::bad("expected one of urls, host and all"));
    }
    if wanted.urls.is_empty() {
        if !caller.is_administrator() {
            let error =
                "whole hosts are compressed by the command line, and with the control password";
            return Err(CallFault::new(StatusCode::FORBIDDEN, error));
        }
        return Ok(CompressTarget::Hosts(wanted.host.clone()));
    }
    let owner = entries::owner(caller, wanted.owner.as_deref())?;
    Ok(CompressTarget::Urls(entries::places(caller, &wanted.urls, &owner)?))
}

//! The calls that read and change the configuration.

use hyper::header::{ETAG, HeaderValue, IF_MATCH};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use wwwoffle_config::edit::without_secrets;
use wwwoffle_config::{ChangeError, Faults, TextStamp};

use super::super::caller::Caller;
use crate::base::blocking::blocking;
use crate::base::error_chain::error_chain;
use crate::base::live::{AppliedOptions, Change, ConfigFileChange};
use crate::proxy::body::{self, Body};
use crate::site::api::fault::CallFault;
use crate::site::api::{JSON, json};
use crate::site::route::CallRequest;
use wwwoffle_api::{
    ConfigChange, ConfigError, ConfigFault, ConfigState, ConfigUndo, ConfigVersions,
};

/// Returns the schema of all options, for programs that help to edit the configuration.
pub(in crate::site) fn schema(caller: &Caller) -> Response<Body> {
    let schema = wwwoffle_config::describe::json_schema();
    caller.other(StatusCode::OK, Some(JSON), body::from_bytes(schema.into_bytes()))
}

/// Returns every option with its value and the place where it is set.
pub(in crate::site) async fn state(caller: &Caller) -> Result<Response<Body>, CallFault> {
    let file = caller.context.base.live.file();
    let text = match caller.context.base.config_text().await {
        Ok(text) => text,
        Err(error) => return Ok(refusal_response(caller, &error)),
    };
    // This also reads the lists that the file includes, so it may block.
    let state = match blocking(move || ConfigState::of(&file, &text)).await {
        Ok(state) => state,
        Err(error) => return Ok(refusal_response(caller, &error.into())),
    };
    let mut response = json(caller, &state);
    if let Ok(stamp) = HeaderValue::from_str(&format!("\"{}\"", state.stamp)) {
        response.headers_mut().insert(ETAG, stamp);
    }
    Ok(response)
}

pub(in crate::site) async fn versions(caller: &Caller) -> Result<Response<Body>, CallFault> {
    Ok(match caller.context.base.config_versions().await {
        Ok(versions) => json(caller, &ConfigVersions::of(&versions)),
        Err(error) => refusal_response(caller, &error),
    })
}

/// Applies one edit.
pub(in crate::site) async fn edit(
    caller: &Caller,
    call: CallRequest<'_>,
) -> Result<Response<Body>, CallFault> {
    let expected = expected(call.parts)?;
    let edit = call.read(caller).await?;
    Ok(change(caller, expected, Change::Edit(edit)).await)
}

/// Restores an earlier version.
pub(in crate::site) async fn undo(
    caller: &Caller,
    call: CallRequest<'_>,
) -> Result<Response<Body>, CallFault> {
    let expected = expected(call.parts)?;
    let undo: ConfigUndo = call.read(caller).await?;
    Ok(change(caller, expected, Change::Undo(undo.version)).await)
}

async fn change(caller: &Caller, expected: Option<TextStamp>, change: Change) -> Response<Body> {
    let file = caller.context.base.live.file();
    match caller.context.base.change_config(change, expected, caller.permission.reach()).await {
        Ok(ConfigFileChange { text, edited, applied: AppliedOptions { options, restart } }) => {
            json(caller, &ConfigChange::of(&file, &text, edited, &options, &restart))
        }
        Err(error) => refusal_response(caller, &error),
    }
}

/// Reloads the configuration.
pub(in crate::site) async fn reload(caller: &Caller) -> Result<Response<Body>, CallFault> {
    let applied = match caller.context.base.reload().await {
        Ok(applied) => applied,
        Err(faults) => return Ok(faulty(caller, &faults)),
    };
    let file = caller.context.base.live.file();
    Ok(match caller.context.base.config_text().await {
        Ok(text) => {
            let AppliedOptions { options, restart } = applied;
            json(caller, &ConfigChange::of(&file, &text, None, &options, &restart))
        }
        Err(error) => refusal_response(caller, &error),
    })
}

/// Returns the stamp of the text that the change is based on: the value of `If-Match` (RFC 9110
/// §13.1.1). `None` if the field is missing or `*`.
fn expected(parts: &Parts) -> Result<Option<TextStamp>, CallFault> {
    let mut fields = parts.headers.get_all(IF_MATCH).iter();
    let Some(field) = fields.next() else { return Ok(None) };
    let text = field.to_str().ok().filter(|_| fields.next().is_none()).map(str::trim);
    let bad =
        || CallFault::bad("expected one stamp in If-Match, as in the answer to GET /api/config");
    match text {
        Some("*") => Ok(None),
        Some(text) => text.trim_matches('"').parse().map(Some).map_err(|_| bad()),
        None => Err(bad()),
    }
}

fn faulty(caller: &Caller, faults: &Faults) -> Response<Body> {
    let error = "the configuration is faulty, so the one before stays in force".to_owned();
    let error_body =
        ConfigError { error, faults: ConfigFault::all(faults), ..ConfigError::default() };
    error_response(caller, StatusCode::UNPROCESSABLE_ENTITY, &error_body)
}

/// Returns the response for a refused change.
fn refusal_response(caller: &Caller, error: &ChangeError) -> Response<Body> {
    let status = match error {
        ChangeError::Conflict { .. } => StatusCode::PRECONDITION_FAILED,
        ChangeError::Beyond(_) => StatusCode::FORBIDDEN,
        ChangeError::Edit(_) | ChangeError::Faults(_) | ChangeError::NoVersion(_) => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        ChangeError::Locked(_) => StatusCode::SERVICE_UNAVAILABLE,
        ChangeError::Unreadable { .. } | ChangeError::Disk { .. } => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    };
    error_response(caller, status, &config_error(error))
}

/// Returns the error of a change, as the daemon and the command line report it.
pub(crate) fn config_error(error: &ChangeError) -> ConfigError {
    match error {
        ChangeError::Faults(faults) => ConfigError {
            error: "the change would make the configuration faulty, so it was not saved".to_owned(),
            faults: ConfigFault::all(faults),
            ..ConfigError::default()
        },
        ChangeError::Conflict { current, wanted } => ConfigError {
            error: error.to_string(),
            current: Some(without_secrets(current)),
            wanted: wanted.as_deref().map(without_secrets),
            ..ConfigError::default()
        },
        _ => ConfigError { error: error_chain(error), ..ConfigError::default() },
    }
}

fn error_response(caller: &Caller, status: StatusCode, error_body: &ConfigError) -> Response<Body> {
    let mut response = json(caller, error_body);
    *response.status_mut() = status;
    response
}

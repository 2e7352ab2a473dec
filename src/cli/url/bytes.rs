//! The URL functions of WWWOFFLE 2.9, under their old names.
//!
//! Their strings are byte strings: each character from U+0000 to U+00FF stands for one byte.

use serde_json::{Value, json};
use wwwoffle_url::{
    LocalScope, OldParts, OldRecord, ParseError, canonicalise_host, canonicalise_name,
    fix_html_link_url, make_hash, split_form_args, trim_args, url_decode_form_args,
    url_decode_generic, url_encode_form_args, url_encode_password, url_encode_path,
    url_recode_form_args,
};

use super::{Unanswerable, UrlAnswer};

/// Answers a question for a function of WWWOFFLE 2.9; `None` if there is no such function.
pub(super) fn answer(function: &str, given: &Value, around: &LocalScope) -> Option<UrlAnswer> {
    let one = |function: &dyn Fn(&[u8]) -> Value| argument(given).map(|bytes| function(&bytes));
    Some(match function {
        "URLDecodeGeneric" => one(&|given| text(url_decode_generic(given))),
        "URLDecodeFormArgs" => one(&|given| text(url_decode_form_args(given))),
        "URLRecodeFormArgs" => one(&|given| text(url_recode_form_args(given))),
        "URLEncodePath" => one(&|given| text(url_encode_path(given))),
        "URLEncodeFormArgs" => one(&|given| text(url_encode_form_args(given))),
        "URLEncodePassword" => one(&|given| text(url_encode_password(given))),
        "SplitFormArgs" => one(&|given| split_form_args(given).map(text).collect()),
        "TrimArgs" => one(&|given| text(trim_args(given))),
        "MakeHash" => one(&|given| text(make_hash(given))),
        "FixHTMLLinkURL" => one(&|given| text(fix_html_link_url(given))),
        "CanonicaliseName" => one(&|given| text(canonicalise_name(given))),
        "CanonicaliseHost" => argument(given).and_then(|host| Ok(text(canonicalise_host(&host)?))),
        "SplitURL" => argument(given).and_then(|url| record(OldRecord::split_url(&url, around))),
        "CreateURL" => create(given, around),
        "LinkURL" => link(given, around),
        "AddPasswordURL" => add_password(given, around),
        _ => return None,
    })
}

fn create(given: &Value, around: &LocalScope) -> UrlAnswer {
    let [proto, hostport, path, args, user, pass] = arguments(given)?;
    let needed = |part: Option<Vec<u8>>| part.ok_or_else(|| expected(given));
    let (proto, hostport, path) = (needed(proto)?, needed(hostport)?, needed(path)?);
    let parts = OldParts {
        proto: &proto,
        hostport: &hostport,
        path: &path,
        args: args.as_deref(),
        user: user.as_deref(),
        pass: pass.as_deref(),
    };
    record(OldRecord::create_url(&parts, around))
}

fn link(given: &Value, around: &LocalScope) -> UrlAnswer {
    let [Some(base), Some(link)] = arguments(given)? else { return Err(expected(given)) };
    record(OldRecord::link_url(&base, &link, around))
}

fn add_password(given: &Value, around: &LocalScope) -> UrlAnswer {
    let [Some(url), user, pass] = arguments(given)? else { return Err(expected(given)) };
    record(OldRecord::add_password_url(&url, user.as_deref(), pass.as_deref(), around))
}

fn record(record: Result<OldRecord, ParseError>) -> UrlAnswer {
    let record = record?;
    let (url, written) = (&record.url, &record.written);
    let hostp = [url.host_port(), url.path_and_arguments()].concat();
    Ok(json!({
        "name": url.as_str(), "file": record.file(), "hash": record.location.hash,
        "dir": record.location.dir, "link": record.link,
        "hostp": hostp,
        "pathp": url.path_and_arguments(), "proto": url.protocol(), "hostport": url.host_port(),
        "host": url.host(), "port": url.port().map_or(-1, i32::from), "path": url.path(),
        "args": url.arguments(), "user": url.user().map(text),
        "pass": record.password.as_ref().map(text), "local": url.is_local(),
        "localnet": record.is_localnet, "handled": record.is_handled,
        "defport": record.default_port, "original_name": text(&written.name),
        "original_pathp": text(&written.path_and_arguments),
        "original_path": text(&written.path),
        "original_args": written.arguments.as_ref().map(text),
    }))
}

/// Returns the only argument, a string.
fn argument(given: &Value) -> Result<Vec<u8>, Unanswerable> {
    bytes(given)?.ok_or_else(|| expected(given))
}

/// Returns the `N` arguments of the function, each a string or null.
fn arguments<const N: usize>(given: &Value) -> Result<[Option<Vec<u8>>; N], Unanswerable> {
    let values = given.as_array().ok_or_else(|| expected(given))?;
    let arguments = values.iter().map(bytes).collect::<Result<Vec<_>, _>>()?;
    let count = arguments.len();
    arguments
        .try_into()
        .map_err(|_| Unanswerable(format!("expected an array of {N} arguments, not {count}")))
}

fn bytes(value: &Value) -> Result<Option<Vec<u8>>, Unanswerable> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => {
            let byte = |c| u8::try_from(u32::from(c));
            text.chars().map(byte).collect::<Result<_, _>>().map(Some).map_err(|_| {
                Unanswerable(
                    "expected a string of bytes, U+0000 to U+00FF, a character a byte".to_owned(),
                )
            })
        }
        _ => Err(expected(value)),
    }
}

fn expected(found: &Value) -> Unanswerable {
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a single string",
        Value::Array(_) => "an array with null where it needs a string",
        Value::Object(_) => "an object",
    };
    Unanswerable(format!(
        "\"in\" takes a string, or for several arguments an array of strings and nulls, not {found}"
    ))
}

fn text(bytes: impl AsRef<[u8]>) -> Value {
    bytes.as_ref().iter().copied().map(char::from).collect::<String>().into()
}

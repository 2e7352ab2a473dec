//! The user's own files below `/local/`: the files in `local/` of the spool, unchanged.
//!
//! No file is executed here. WWWOFFLE 2.9 ran programs in this directory for any request; because a
//! page of another site could cause such a request, we do not. Scripts that run in the browser are
//! kept away from our own pages: each file is sandboxed (HTML §7.1.5), so its scripts have neither
//! our origin nor a token of ours.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderValue,
    LAST_MODIFIED, X_FRAME_OPTIONS,
};
use hyper::{HeaderMap, Response, StatusCode};
use wwwoffle_spool::fs::{DiskFile, PathTarget, Stamp};
use wwwoffle_spool::{Error, Spool};
use wwwoffle_url::url_decode_form_args;

use super::caller::Caller;
use crate::base::file_type::content_type;
use crate::net::upstream::BoxError;
use crate::page::message::Message;
use crate::proxy::body::{self, Body};
use crate::storage::store::Store;
use crate::storage::versions::memento::http_date;
use wwwoffle_http::caching::conditional::{Conditions, not_modified};

/// Path below which the files are.
const ROOT: &str = "/local/";

/// File that is served for a directory.
const INDEX: &str = "index.html";

/// The permissions of a user's own file. They do not include acting as our origin.
const SANDBOX: HeaderValue = HeaderValue::from_static(
    "sandbox allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads",
);

/// Bytes read at once.
const PIECE: usize = 128 * 1024;

/// Whether `path` names a file of the user.
pub(super) fn has(path: &str) -> bool {
    at(path).is_some()
}

/// Returns the part of `path` after `/local`, which is empty or begins with a slash. `None` if
/// `path` does not name a file of the user.
fn at(path: &str) -> Option<&str> {
    path.strip_prefix(ROOT.trim_end_matches('/'))
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Sends the file at `path`, an address below [`ROOT`].
pub(super) async fn serve(caller: &Caller, path: &str, request: &HeaderMap) -> Response<Body> {
    let Some(path) = path.strip_prefix(ROOT) else { return caller.see_other(ROOT) };
    let config = caller.context.base.config();
    let names = names(path);
    let found = caller.context.storage.store.run(move |spool| find(spool, &names)).await;
    match found {
        Err(error) => caller.spool_failed(&error),
        Ok(LocalTarget::Nothing) => {
            caller.message(&Message::NotFound { path: &format!("{ROOT}{path}") })
        }
        Ok(LocalTarget::Directory) => caller.see_other(&format!("{ROOT}{path}/")),
        Ok(LocalTarget::File { file, length, stamp, name }) => {
            let mut response = caller.other(StatusCode::OK, None, body::empty());
            let fields = response.headers_mut();
            describe(fields, stamp, length, &content_type(&config, &name));
            if Conditions::of(request).are_met_by(StatusCode::OK, fields) {
                not_modified(fields);
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                return response;
            }
            fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
            *response.body_mut() = sent(caller.context.storage.store.clone(), file, length);
            response
        }
    }
}

/// The target of a path.
enum LocalTarget {
    File {
        file: Arc<dyn DiskFile>,
        length: u64,
        stamp: Stamp,
        name: String,
    },
    /// A directory; its address must end with a slash.
    Directory,
    Nothing,
}

/// Splits a path into names as on the disk. The last one is empty for a directory.
fn names(path: &str) -> Vec<Vec<u8>> {
    // `+` is a space in a form, but itself in a path.
    path.split('/').map(|name| url_decode_form_args(name.replace('+', "%2B").as_bytes())).collect()
}

fn find(spool: &Spool, names: &[Vec<u8>]) -> Result<LocalTarget, Error> {
    let is_directory = names.last().is_some_and(Vec::is_empty);
    let index = is_directory.then(|| OsStr::new(INDEX));
    let given = names.len() - usize::from(is_directory);
    let path = names.iter().take(given).map(|name| OsStr::from_bytes(name)).chain(index);
    Ok(match spool.local(path)? {
        PathTarget::File(file, length, stamp) => {
            let last = names.last().filter(|last| !last.is_empty());
            let name = last.map_or_else(|| INDEX.into(), |last| String::from_utf8_lossy(last));
            LocalTarget::File { file, length, stamp, name: name.into_owned() }
        }
        PathTarget::Directory if !is_directory => LocalTarget::Directory,
        PathTarget::Directory | PathTarget::Nothing => LocalTarget::Nothing,
    })
}

fn describe(fields: &mut HeaderMap, stamp: Stamp, length: u64, content_type: &str) {
    let modified = stamp.modified();
    let tag = format!("\"{:x}-{length:x}\"", modified.as_nanosecond());
    let pairs = [
        (CONTENT_TYPE, content_type.to_owned()),
        (LAST_MODIFIED, http_date(modified)),
        (ETAG, tag),
        (CACHE_CONTROL, "no-cache".to_owned()),
    ];
    for (name, value) in pairs {
        if let Ok(value) = HeaderValue::from_str(&value) {
            fields.insert(name, value);
        }
    }
    fields.insert(CONTENT_SECURITY_POLICY, SANDBOX);
    // The file has no buttons of ours that a frame of another site could abuse.
    fields.remove(X_FRAME_OPTIONS);
}

/// Returns the first `length` bytes of the file as a body. If the file has become shorter, the body
/// is aborted.
pub(super) fn sent(store: Store, file: Arc<dyn DiskFile>, length: u64) -> Body {
    let frames = stream::unfold((store, file, 0), move |(store, file, at)| async move {
        let left = usize::try_from(length.saturating_sub(at)).unwrap_or(PIECE).min(PIECE);
        if left == 0 {
            return None;
        }
        let reading = Arc::clone(&file);
        let read = store.run(move |_| {
            let mut piece = vec![0; left];
            Ok(reading.read_at(&mut piece, at).map(|read| {
                piece.truncate(read);
                piece
            }))
        });
        let frame = match read.await {
            Ok(Ok(piece)) if piece.is_empty() => Err(BoxError::from("the file has become shorter")),
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(BoxError::from(error)),
            Err(error) => Err(BoxError::from(error)),
        };
        Some(match frame {
            Ok(piece) => {
                let next = at.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
                (Ok(Frame::data(Bytes::from(piece))), (store, file, next))
            }
            Err(error) => (Err(error), (store, file, length)),
        })
    });
    StreamBody::new(frames).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_before_decoding() {
        let names_of =
            |path: &str| names(path).into_iter().map(String::from_utf8).map(Result::unwrap);
        for (path, want) in [
            ("", &[""][..]),
            ("a/b.html", &["a", "b.html"]),
            ("a%2Fb/c+d%20e/", &["a/b", "c+d e", ""]),
            ("%2E%2E/x", &["..", "x"]),
        ] {
            assert_eq!(names_of(path).collect::<Vec<_>>(), want, "{path}");
        }
        assert_eq!(at("/local"), Some(""));
        assert_eq!(at("/local/a"), Some("/a"));
        assert_eq!(at("/locals"), None);
    }
}

//! The texts of documents, such as PDF files, which configured programs extract.
//!
//! Documents are not parsed in this process: a small hostile file could use all memory, and
//! `docs/guide/search.md` has measurements. Each program runs in a process of its own with bounds
//! (`base::bounded_program`).

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use hyper::{HeaderMap, StatusCode};
use tracing::{debug, warn};
use wwwoffle_config::{Config, TextProgram};
use wwwoffle_index::MAX_TEXT;
use wwwoffle_spool::Entry;

use crate::base::bounded_program::{ProgramBounds, RunEnd, convert};
use crate::base::error_chain::error_chain;
use crate::base::shown;
use crate::base::small_file::{IN_SPOOL, is_inside};
use crate::storage::body_pieces::{PieceError, read_pieces};

/// The largest document that is converted, in bytes. A document is useless without its end.
const MAX_DOCUMENT: usize = 32 << 20;

/// The bounds of a program for one document.
const BOUNDS: ProgramBounds =
    ProgramBounds { time: Duration::from_secs(10), memory: 1 << 30, output: MAX_TEXT };

/// The converter of documents into text.
#[derive(Debug, Default)]
pub struct DocumentConverter {
    /// The configuration, which names the programs.
    config: Arc<ArcSwap<Config>>,
    /// The spool, from which no program is run.
    spool: PathBuf,
    /// The programs that could not be started. Each is logged once.
    unusable: Mutex<BTreeSet<PathBuf>>,
}

impl DocumentConverter {
    /// A reader that uses the programs of the configuration in force.
    #[must_use]
    pub fn new(config: Arc<ArcSwap<Config>>, spool: &Path) -> Self {
        Self { config, spool: spool.to_owned(), unusable: Mutex::default() }
    }

    /// The text of a document of the type `media_type`. `None` if no program is configured for the
    /// type, or the document has no text.
    pub(super) fn text(
        &self,
        media_type: &str,
        entry: &Entry,
        status: StatusCode,
        fields: &HeaderMap,
    ) -> Option<String> {
        let config = self.config.load_full();
        let program = config.index_options.text_programs.of(media_type)?;
        let document = whole_body(entry, status, fields)?;
        let url = || shown::address(entry.url());
        let converted = if is_inside(&program.path, &self.spool) {
            Err(io::Error::other(IN_SPOOL))
        } else {
            convert(&program.path, &program.arguments, &document, BOUNDS)
        };
        match converted {
            Ok((text, end)) => {
                if end != RunEnd::Done {
                    debug!(url = url(), ?end, program = ?program.path, "the text of a document is incomplete");
                }
                // A failed program may have written an error message in place of the text.
                let text = Some(text).filter(|text| end != RunEnd::Failed && !text.is_empty())?;
                Some(String::from_utf8_lossy(&text).into_owned())
            }
            Err(error) => {
                self.report_unusable(program, &error);
                None
            }
        }
    }

    fn report_unusable(&self, program: &TextProgram, error: &io::Error) {
        let mut unusable = self.unusable.lock().unwrap_or_else(PoisonError::into_inner);
        if unusable.insert(program.path.clone()) {
            let error = error_chain(error);
            warn!(program = ?program.path, error, "documents are not searchable: their program cannot be started");
        }
    }
}

/// The decoded body of a document. `None` if it is empty, too long, or cannot be read.
fn whole_body(entry: &Entry, status: StatusCode, fields: &HeaderMap) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let read: Result<(), PieceError> = read_pieces(entry, status, fields, |piece| {
        body.extend_from_slice(piece);
        Ok(body.len() <= MAX_DOCUMENT)
    });
    read.ok()?;
    Some(body).filter(|body| (1..=MAX_DOCUMENT).contains(&body.len()))
}

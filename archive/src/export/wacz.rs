//! WACZ 1.1.1: a WARC in a ZIP file, with an index of its pages.

use std::io::{self, Seek, Write};

use serde_json::{Value, json};
use wwwoffle_spool::Entry;

use super::index;
use super::warc::{WarcWriter, digest, id, time};
use super::{ExportOptions, Titles};
use crate::fixture::{RecordedExchange, SETTINGS};
use crate::zip::write::{MemberSummary, MemberWriter, ZipWriter};

/// The name of the WARC member.
const ARCHIVE: &str = "data.warc.gz";
/// The index: lines of CDXJ. pywb only accepts an index whose name ends with `.cdx`.
const INDEX: &str = "indexes/index.cdx";
const PAGES: &str = "pages/pages.jsonl";
const PACKAGE: &str = "datapackage.json";
/// The definition of the collection whose pages are in the WACZ. Other readers ignore it.
pub(crate) const COLLECTION: &str = "wwwoffle/collection.json";
const PACKAGE_DIGEST: &str = "datapackage-digest.json";

/// A WACZ being written.
pub(crate) struct WaczWriter<W> {
    zip: ZipWriter<W>,
}

/// The WARC inside a WACZ, being written.
pub(crate) struct WaczArchive<'a, W: Write + Seek> {
    warcs: WarcWriter<io::BufWriter<MemberWriter<'a, W>>>,
    index_data: IndexData,
}

/// The lines of the index and of the list of pages, and the length and digest of the WARC.
#[derive(Default)]
pub(crate) struct IndexData {
    lines: Vec<String>,
    pages: Vec<String>,
    archive: Option<MemberSummary>,
    /// The settings, if the WACZ is a fixture.
    pub(crate) settings: Option<String>,
}

impl<W: Write + Seek> WaczWriter<W> {
    pub(crate) fn begin(out: W) -> Self {
        Self { zip: ZipWriter::new(out) }
    }

    /// Begins the WARC.
    pub(crate) fn warc(&mut self, options: &ExportOptions) -> io::Result<WaczArchive<'_, W>> {
        let member = self.zip.begin(&format!("archive/{ARCHIVE}"))?;
        let warcs = WarcWriter::begin(io::BufWriter::new(member), options)?;
        Ok(WaczArchive { warcs, index_data: IndexData::default() })
    }

    /// Writes the index, the pages and the digests.
    pub(crate) fn finish(
        mut self,
        index_data: IndexData,
        options: &ExportOptions,
    ) -> io::Result<W> {
        let IndexData { mut lines, pages, archive, settings } = index_data;
        lines.sort_unstable();
        let index = self.zip.add(INDEX, text(&lines).as_bytes())?;
        let header = json!({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"});
        let mut all = vec![header.to_string()];
        all.extend(pages);
        let pages = self.zip.add(PAGES, text(&all).as_bytes())?;
        let archive_path = format!("archive/{ARCHIVE}");
        let mut resources: Vec<Value> = Vec::new();
        resources.extend(archive.map(|added| resource(&archive_path, &added)));
        resources.extend([resource(INDEX, &index), resource(PAGES, &pages)]);
        if let Some(text) = settings {
            resources.push(resource(SETTINGS, &self.zip.add(SETTINGS, text.as_bytes())?));
        }
        if let Some(text) = &options.collection {
            resources.push(resource(COLLECTION, &self.zip.add(COLLECTION, text.as_bytes())?));
        }
        let package = json!({
            "profile": "data-package",
            "resources": resources,
            "wacz_version": "1.1.1",
            "title": "Pages saved by wwwoffle",
            "software": options.software,
            "created": time(options.now),
        });
        let package = self.zip.add(PACKAGE, format!("{package:#}\n").as_bytes())?;
        let said = json!({"path": PACKAGE, "hash": digest(&package.sha256)});
        self.zip.add(PACKAGE_DIGEST, format!("{said:#}\n").as_bytes())?;
        self.zip.finish()
    }
}

impl<W: Write + Seek> WaczArchive<'_, W> {
    pub(crate) fn add(&mut self, entry: &Entry, titles: Titles<'_>) -> io::Result<()> {
        let position = self.warcs.add(entry)?;
        self.index_data.lines.push(index::line(entry, position, ARCHIVE));
        let kind = index::media_type(entry.head());
        let is_page = matches!(kind.as_str(), "text/html" | "application/xhtml+xml");
        if is_page && entry.status() == 200 {
            // Versions may have equal bodies, so the time must distinguish them.
            let when = time(entry.received());
            let seed = [entry.url().as_bytes(), entry.digest(), when.as_bytes()];
            let id = id(&seed);
            let id = id.trim_start_matches("<urn:uuid:").trim_end_matches('>');
            let mut page = json!({"id": id, "url": index::uri(entry), "ts": when});
            if let (Some(title), Some(page)) = (titles(entry), page.as_object_mut()) {
                page.insert("title".to_owned(), title.into());
            }
            self.index_data.pages.push(page.to_string());
        }
        Ok(())
    }

    /// Adds an exchange of a fixture. Only responses to GET are in the index, because readers look
    /// up URLs there without a method.
    pub(crate) fn add_exchange(&mut self, exchange: &RecordedExchange) -> io::Result<()> {
        let position = self.warcs.add_exchange(exchange)?;
        let is_page = exchange.socket.is_none() && exchange.request.head.starts_with(b"GET ");
        if is_page {
            self.index_data.lines.push(index::exchange_line(exchange, position, ARCHIVE));
        }
        Ok(())
    }

    /// Ends the WARC.
    pub(crate) fn finish(mut self) -> io::Result<IndexData> {
        let member =
            self.warcs.into_inner().into_inner().map_err(io::IntoInnerError::into_error)?;
        self.index_data.archive = Some(member.finish()?);
        Ok(self.index_data)
    }
}

fn text(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn resource(path: &str, added: &MemberSummary) -> Value {
    let name = path.rsplit('/').next().unwrap_or(path);
    json!({"name": name, "path": path, "hash": digest(&added.sha256), "bytes": added.size})
}

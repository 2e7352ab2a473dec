//! The rows of the catalogue.

use hyper::HeaderMap;
use sha2::{Digest, Sha256};
use tokio_postgres::types::{ToSql, Type};
use wwwoffle_http::caching::vary::{Vary, parts_of};
use wwwoffle_http::head;
use wwwoffle_spool::{Entry, Place};
use wwwoffle_url::{CanonicalUrl, LocalHost};

use super::digest;

/// The key of a row: that of the place, and the digest of the variant text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::tier) struct RowKey {
    pub(super) key: [u8; 32],
    pub(super) variant: [u8; 32],
}

impl RowKey {
    pub(in crate::tier) fn of(place: &Place) -> Self {
        let variant = Sha256::digest(place.variant_text()).into();
        Self { key: *place.key().as_bytes(), variant }
    }
}

/// An object that no row names.
#[derive(Clone, Copy, Debug)]
pub(in crate::tier) struct UnusedObject {
    /// The digest of its bytes.
    pub(in crate::tier) object: [u8; 32],
    /// The row that it is meant for, or that named it before.
    pub(in crate::tier) row: RowKey,
}

/// A row to add.
#[derive(Debug)]
pub(in crate::tier) struct Row {
    key: Vec<u8>,
    variant: Vec<u8>,
    url: String,
    host: String,
    varies: String,
    /// In microseconds since 1970.
    stored: i64,
    status: i16,
    media: String,
    title: Option<String>,
    /// The length of the body.
    size: i64,
    object: Vec<u8>,
    object_size: i64,
    node: String,
}

impl Row {
    pub(in crate::tier) fn of(
        entry: &Entry,
        object: [u8; 32],
        object_size: u64,
        node: &str,
        title: Option<String>,
    ) -> Self {
        let RowKey { key, variant } = RowKey::of(entry.place());
        let fields =
            head::read_response(entry.head()).map(|(_, fields)| fields).unwrap_or_default();
        let media = fields.get(hyper::header::CONTENT_TYPE);
        let media = media.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let number = |length: u64| i64::try_from(length).unwrap_or(i64::MAX);
        // PostgreSQL stores no NUL.
        let text = |text: &str| text.replace('\0', "");
        Self {
            key: key.to_vec(),
            variant: variant.to_vec(),
            url: entry.url().to_owned(),
            host: host_of(entry.url()),
            varies: text(entry.place().variant_text()),
            stored: entry.stored().as_microsecond(),
            status: i16::try_from(entry.status()).unwrap_or_default(),
            media: text(media),
            title: title.map(|title| text(&title)),
            size: number(entry.body_len()),
            object: object.to_vec(),
            object_size: number(object_size),
            node: node.to_owned(),
        }
    }

    /// The arguments of the function `add_entry`.
    pub(super) fn values(&self) -> [(&(dyn ToSql + Sync), Type); 13] {
        [
            (&self.key, Type::BYTEA),
            (&self.variant, Type::BYTEA),
            (&self.url, Type::TEXT),
            (&self.varies, Type::TEXT),
            (&self.stored, Type::INT8),
            (&self.status, Type::INT2),
            (&self.media, Type::TEXT),
            (&self.title, Type::TEXT),
            (&self.size, Type::INT8),
            (&self.object, Type::BYTEA),
            (&self.object_size, Type::INT8),
            (&self.node, Type::TEXT),
            (&self.host, Type::TEXT),
        ]
    }
}

/// The host of a URL, as the catalogue lists it.
fn host_of(url: &str) -> String {
    let url = CanonicalUrl::parse(url, &LocalHost::default());
    url.map(|url| url.host().to_owned()).unwrap_or_default()
}

/// A row that was found.
#[derive(Clone, Debug)]
pub(in crate::tier) struct FoundRow {
    pub(in crate::tier) varies: String,
    /// In microseconds since 1970.
    pub(in crate::tier) stored: i64,
    pub(in crate::tier) object: [u8; 32],
    pub(in crate::tier) object_size: u64,
}

impl FoundRow {
    pub(super) fn read(row: &tokio_postgres::Row) -> Option<Self> {
        let object_size = u64::try_from(row.get::<_, i64>(3)).ok()?;
        let object = digest(row.get(2))?;
        Some(Self { varies: row.get(0), stored: row.get(1), object, object_size })
    }

    /// Whether a request with these fields selects the entry (RFC 9111 §4.1).
    pub(in crate::tier) fn is_selected_by(&self, request: &HeaderMap) -> bool {
        let names = parts_of(&self.varies).map(|(name, _)| name).collect();
        self.varies.is_empty() || Vary::By(names).text(request).as_ref() == Some(&self.varies)
    }
}

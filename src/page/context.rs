//! The context of our own pages, and the reader they are made for.

use std::sync::Arc;

use hyper::header::{ACCEPT_LANGUAGE, HeaderMap, HeaderValue};
use jiff::tz::TimeZone;

use super::token::Tokens;
use super::{LocalOrigin, Shell, Templates};
use crate::base::context::BaseContext;
use crate::base::mode::Mode;

/// The context of our own pages.
#[derive(Debug)]
pub struct PageContext {
    /// The base context, shared by all layers.
    pub base: Arc<BaseContext>,
    /// The origin of our own pages, for the links on message pages, which appear under the origins
    /// of other sites.
    pub origin: LocalOrigin,
    /// The built-in templates, overridden by the user's.
    pub templates: Arc<Templates>,
    /// The faults of the user's templates and texts.
    pub template_faults: Vec<String>,
    /// The maker and checker of form tokens.
    pub tokens: Tokens,
}

/// The reader of a page.
#[derive(Clone, Debug)]
pub struct PageReader {
    /// The mode in which the request began.
    pub mode: Mode,
    /// `Accept-Language` of the request.
    accepted: Option<HeaderValue>,
}

impl PageReader {
    /// Returns the reader who sent a request with these fields.
    #[must_use]
    pub fn of(mode: Mode, fields: &HeaderMap) -> Self {
        Self { mode, accepted: fields.get(ACCEPT_LANGUAGE).cloned() }
    }

    fn accepted(&self) -> Option<&str> {
        self.accepted.as_ref().and_then(|accepted| accepted.to_str().ok())
    }
}

impl PageContext {
    /// Returns the values that all pages for `reader` share. The origin in them is valid on every
    /// page; the caller may replace it by the origin that the client used.
    #[must_use]
    pub fn shell(&self, reader: &PageReader) -> Shell {
        let config = self.base.config();
        let language = self.templates.language(config.pages.language.as_str(), reader.accepted());
        Shell {
            templates: Arc::clone(&self.templates),
            origin: self.origin.clone(),
            mode: reader.mode,
            chosen: self.base.mode.chosen(),
            zone: TimeZone::system(),
            language,
            reader: String::new(),
            path: String::new(),
            token: String::new(),
            notice: None,
        }
    }
}

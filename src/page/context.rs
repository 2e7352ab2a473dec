//! What our own pages need, and whom they are made for.

use std::sync::Arc;

use hyper::header::{ACCEPT_LANGUAGE, HeaderMap, HeaderValue};
use jiff::tz::TimeZone;

use super::token::Tokens;
use super::{LocalOrigin, Shell, Templates};
use crate::base::context::BaseContext;
use crate::base::mode::Mode;

/// What our own pages need.
#[derive(Debug)]
pub struct PageContext {
    /// What all rooms share.
    pub base: Arc<BaseContext>,
    /// Where our own pages are, for links on pages of ours that stand in for others.
    pub origin: LocalOrigin,
    /// The built-in templates, with those of the user over them.
    pub templates: Templates,
    /// What is wrong with templates and texts of the user.
    pub template_faults: Vec<String>,
    /// Make and check form tokens.
    pub tokens: Tokens,
}

/// Whom a page is made for.
#[derive(Clone, Debug)]
pub struct PageReader {
    /// The mode in which the request began.
    pub mode: Mode,
    /// `Accept-Language` of the request.
    accepted: Option<HeaderValue>,
}

impl PageReader {
    /// The sender of a request with these fields.
    #[must_use]
    pub fn of(mode: Mode, fields: &HeaderMap) -> Self {
        Self { mode, accepted: fields.get(ACCEPT_LANGUAGE).cloned() }
    }

    fn accepted(&self) -> Option<&str> {
        self.accepted.as_ref().and_then(|accepted| accepted.to_str().ok())
    }
}

impl PageContext {
    /// What the pages for `reader` share, at the address that is good for every page.
    #[must_use]
    pub fn shell(&self, reader: &PageReader) -> Shell {
        let config = self.base.config();
        let language = self.templates.language(config.pages.language.as_str(), reader.accepted());
        let (origin, mode) = (self.origin.clone(), reader.mode);
        let (reader, path) = (String::new(), String::new());
        Shell { origin, mode, zone: TimeZone::system(), language, reader, path }
    }
}

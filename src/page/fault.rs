//! What is wrong with a form, told beside the fields when it is shown again.

use serde::Serialize;

use crate::base::text::Text;

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    field: &'static str,
    text: Text,
}

impl Fault {
    /// Says `text` of the field called `field`.
    #[must_use]
    pub const fn new(field: &'static str, text: Text) -> Self {
        Self { field, text }
    }

    /// The name of the field.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }
}

/// The status of a form that is shown again: it was understood, and what it says cannot be done (RFC 9110
/// §15.5.21).
#[must_use]
pub const fn status(faults: &[Fault]) -> u16 {
    if faults.is_empty() { 200 } else { 422 }
}

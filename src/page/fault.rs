//! Faults of a form, shown beside its fields when the form is displayed again.

use serde::Serialize;

use crate::base::text::Text;

/// The fault of one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FormFault {
    field: &'static str,
    text: Text,
}

impl FormFault {
    /// Makes the fault `text` of the field `field`.
    #[must_use]
    pub const fn new(field: &'static str, text: Text) -> Self {
        Self { field, text }
    }

    /// Returns the name of the field.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }
}

/// Returns the status of a page with a form. With `faults` it is 422: the syntax of the sent form
/// is correct, but its content cannot be processed (RFC 9110 §15.5.21).
#[must_use]
pub const fn status(faults: &[FormFault]) -> u16 {
    if faults.is_empty() { 200 } else { 422 }
}

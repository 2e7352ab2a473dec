//! TODO.

pub mod bar;
pub mod fault;
pub mod form;
pub mod guard;
pub mod message;
pub mod origin;
pub mod templates;
#[cfg(test)]
pub mod testing;
pub mod token;
pub mod ways;

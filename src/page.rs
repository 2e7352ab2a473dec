//! TODO.

pub mod bar;
pub mod escape;
pub mod fault;
pub mod form;
pub mod guard;
pub mod message;
pub mod origin;
pub mod shown;
pub mod templates;
#[cfg(test)]
pub mod testing;
pub mod text;
pub mod token;
pub mod ways;

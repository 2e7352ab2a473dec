//! The types of values: their syntax and their meaning.

pub(crate) mod aliases;
pub(crate) mod amounts;
pub(crate) mod archives;
pub(crate) mod arguments;
pub(crate) mod authorities;
pub(crate) mod censored;
pub(crate) mod certificates;
pub(crate) mod clients;
pub(crate) mod domains;
pub(crate) mod environment;
pub(crate) mod header_names;
pub(crate) mod hosts;
pub(crate) mod links;
pub(crate) mod media;
pub(crate) mod methods;
pub(crate) mod parent;
pub(crate) mod password;
pub(crate) mod plain;
pub(crate) mod ports;
pub(crate) mod programs;
pub(crate) mod quotas;
pub(crate) mod shipped;
pub(crate) mod texts;
pub(crate) mod tier;
pub(crate) mod times;
pub(crate) mod words;

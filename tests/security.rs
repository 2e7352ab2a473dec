//! Access and security: logins, users, permissions and other sites.

mod connection_logins;
mod cross_site;
mod form_fields;
pub(crate) mod identity;
pub(crate) mod logins;
pub(crate) mod owners;
mod owners_any;
mod passwd;
mod permissions;
mod referred;
pub(crate) mod routes;
mod secrets;
mod site_logins;
mod spool_owner;

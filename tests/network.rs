//! The machine and its network: addresses, limits, the link and parent proxies.

mod chain;
mod clock;
mod descriptors;
pub(crate) mod inward;
mod limits;
mod link;
mod own_addresses;
mod parent;
mod redirected;
mod tor;

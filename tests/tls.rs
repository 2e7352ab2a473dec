//! HTTPS: origins, interception, our own port, HTTP/2 and the authority.

pub(crate) mod authority;
mod bad_origins;
mod browsers;
mod certificates;
mod clients;
pub(crate) mod http2;
mod http2_hostile;
mod http2_origins;
mod http2_strict;
mod intercept;
mod intercepted_sites;
mod origins;
mod own_port;
mod sessions;
mod websocket;

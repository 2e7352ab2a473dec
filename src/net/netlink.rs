//! Messages to and from the kernel (netlink(7)).

/// The length of a message header, in bytes.
const HEAD: usize = 16;

/// The length of an attribute header, in bytes, and the alignment of attributes and messages.
const ATTRIBUTE_HEAD: usize = 4;

/// Flag of a message: it is a request.
pub(super) const NLM_F_REQUEST: u16 = 0x1;

/// Flag of a request: it asks for all objects.
pub(super) const NLM_F_DUMP: u16 = 0x300;

/// Message type: a route, in an answer.
pub(super) const RTM_NEWROUTE: u16 = 24;

/// Message type: requests a route.
pub(super) const RTM_GETROUTE: u16 = 26;

/// Returns a message with these contents.
pub(super) fn framed(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEAD + body.len()).unwrap_or(u32::MAX);
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(sequence.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(body);
    message
}

/// Returns an attribute with this value, padded.
pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(ATTRIBUTE_HEAD + value.len()).unwrap_or(u16::MAX);
    let mut attribute = length.to_ne_bytes().to_vec();
    attribute.extend(kind.to_ne_bytes());
    attribute.extend(value);
    attribute.resize(aligned(attribute.len()), 0);
    attribute
}

/// Parses the first message: its type, sequence number and body, and the bytes after it. `None` if
/// the message is incomplete or its length is invalid.
pub(super) fn message(bytes: &[u8]) -> Option<(u16, u32, &[u8], &[u8])> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let body = bytes.get(HEAD..length)?;
    let rest = bytes.get(aligned(length)..).unwrap_or_default();
    Some((u16_at(bytes, 4)?, u32_at(bytes, 8)?, body, rest))
}

/// The type and value of each attribute, up to the first malformed one.
pub(super) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let value = bytes.get(ATTRIBUTE_HEAD..length)?;
        // The two highest bits are flags and do not belong to the type.
        let kind = u16_at(bytes, 2)? & 0x3fff;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The length with padding, as a multiple of the alignment.
pub(super) fn aligned(length: usize) -> usize {
    length.saturating_add(ATTRIBUTE_HEAD - 1) & !(ATTRIBUTE_HEAD - 1)
}

/// The 16-bit number at this position, in the byte order of this machine. `None` if the bytes end
/// before.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// Like [`u16_at`], for 32 bits.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

#[cfg(target_os = "linux")]
mod socket {
    use std::io;
    use std::os::fd::OwnedFd;
    use std::time::Duration;

    use rustix::net::netlink::SocketAddrNetlink;
    use rustix::net::sockopt::{Timeout, set_socket_timeout};
    use rustix::net::{
        AddressFamily, SendFlags, SocketFlags, SocketType, bind, sendto, socket_with,
    };

    /// The timeout for an answer of the kernel.
    const PATIENCE: Duration = Duration::from_secs(2);

    /// Opens a socket for requests about routes. The socket also receives the changes of `groups`.
    /// Receiving fails after [`PATIENCE`], unless `flags` make the socket non-blocking.
    pub(in crate::net) fn open(flags: SocketFlags, groups: u32) -> io::Result<OwnedFd> {
        let flags = flags | SocketFlags::CLOEXEC;
        // The default protocol of a netlink socket is the one for routes (`NETLINK_ROUTE`).
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        bind(&socket, &SocketAddrNetlink::new(0, groups))?;
        Ok(socket)
    }

    /// Sends a message to the kernel.
    pub(in crate::net) fn send(socket: &OwnedFd, message: &[u8]) -> io::Result<()> {
        sendto(socket, message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        Ok(())
    }
}

#[cfg(target_os = "linux")]
pub(super) use socket::{open, send};

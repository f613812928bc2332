//! Numbers of protocols and lengths of headers.

/// The Transmission Control Protocol, in an IP header.
pub const TCP: u8 = 6;
/// The User Datagram Protocol, in an IP header.
pub const UDP: u8 = 17;
/// An IPv4 header without options (RFC 791 §3.1).
pub const IPV4_HEADER: usize = 20;
/// An IPv6 header without extensions (RFC 8200 §3).
pub const IPV6_HEADER: usize = 40;
/// IPv4 in IP (RFC 2003).
pub const IPV4: u8 = 4;
/// IPv6 in IP (RFC 4213 §3).
pub const IPV6: u8 = 41;
/// Generic Routing Encapsulation (RFC 2784).
pub const GRE: u8 = 47;
/// The protocols whose packets carry packets.
pub const TUNNELS: [u8; 3] = [IPV4, IPV6, GRE];

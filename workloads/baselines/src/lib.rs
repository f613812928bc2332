//! Baselines of the network without middleware: ICMP echo, `iperf3`, plain TCP and plain UDP. They share a crate because they are
//! one thing, what the others are compared with, and no library of theirs takes long to link.

mod icmp;
mod iperf3;
mod tcp;
mod udp;

pub use icmp::Icmp;
pub use iperf3::Iperf3;
pub use tcp::Tcp;
pub use udp::Udp;

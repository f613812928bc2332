//! Packets without probes: a packet socket (`AF_PACKET`, packet(7)) whose packets become the events that reading a capture file gives.
//! It needs `CAP_NET_RAW` and neither BTF nor BPF, and shows no sockets, no calls and no threads.
//!
//! ```text
//!  device ──▶ program (ports, snap length) ──▶ ring of blocks ──▶ frames ──▶ headers ──▶ Event
//!             classic BPF, in the kernel       shared memory      pure       pure
//! ```
//!
//! | file | what |
//! |---|---|
//! | [`PacketCapture`] | the running capture: packets as events, and what was lost |
//! | `socket` | the socket and its ring in shared memory; all of the unsafe code |
//! | `frames` | the packets in a block of the ring |
//! | `program` | the filter that the kernel runs, in classic BPF |
//! | `sightings` | one datagram that several devices show |
//! | `wall` | packets' times on the clock that all other events have |
//! | `addresses` | the addresses of this host |
//! | `error` | why there are no packets |

mod addresses;
mod capture;
mod error;
mod frames;
mod program;
mod sightings;
mod socket;
mod wall;

pub use addresses::own_addresses;
pub use capture::{LeftOut, PACKETS, PacketCapture, PacketConfig, own_namespace};
pub use error::PacketError;

/// Checks that packets can be captured here: opens a packet socket with a small ring, and closes it again.
///
/// # Errors
/// Why packets cannot be captured, with the remedy.
pub fn check() -> Result<(), PacketError> {
    let program = program::program(&[], 0);
    socket::PacketSocket::open(None, &program, 0).map(drop)
}

//! The marks of a flow, whichever its transport.

use super::alone::PacketTimes;
use super::path::Path;
use super::tcp::TcpMarks;
use super::udp::UdpMarks;
use wirelap_events::{ByteRange, Nanos, Transport};

/// The marks of a flow.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // One a flow, and most flows are TCP.
pub enum Marks {
    /// Marks of the bytes of a TCP direction.
    Tcp(TcpMarks),
    /// Marks of the datagrams of a UDP direction.
    Udp(UdpMarks),
}

impl Marks {
    /// No marks yet; of each kind, about `limit` are kept at most.
    pub fn new(transport: Transport, limit: usize) -> Marks {
        match transport {
            Transport::Tcp => Marks::Tcp(TcpMarks::new(limit)),
            Transport::Udp => Marks::Udp(UdpMarks::new(limit)),
        }
    }

    /// Time at which the last byte of `extent` was read.
    pub fn read_at(&self, extent: ByteRange) -> Option<Nanos> {
        match self {
            Marks::Tcp(marks) => marks.read_at(extent),
            Marks::Udp(marks) => marks.read_at(extent),
        }
    }

    /// Time at which it was seen that the reader is past `extent`.
    pub fn passed_at(&self, extent: ByteRange) -> Option<Nanos> {
        match self {
            Marks::Tcp(marks) => marks.passed_at(extent),
            Marks::Udp(marks) => marks.passed_at(extent),
        }
    }

    /// Time at which a datagram came in, or left, if nobody saw that.
    pub fn came_at(&self, number: u64) -> Option<Nanos> {
        match self {
            Marks::Tcp(_) => None,
            Marks::Udp(marks) => marks.came_at(number),
        }
    }

    /// Time at which the last byte of `extent` left, or else came in.
    pub fn left_at(&self, extent: ByteRange) -> Option<Nanos> {
        match self {
            Marks::Tcp(marks) => marks.left_at(extent),
            Marks::Udp(_) => None,
        }
    }

    /// Time of the call that wrote the first byte of `extent`.
    pub fn written_at(&self, extent: ByteRange) -> Option<Nanos> {
        match self {
            Marks::Tcp(marks) => marks.written_at(extent),
            Marks::Udp(_) => None,
        }
    }

    /// True if the sender wrote more, or tried to, after `extent`.
    pub fn has_more(&self, extent: ByteRange) -> bool {
        match self {
            Marks::Tcp(marks) => marks.has_more(extent.end),
            Marks::Udp(_) => false,
        }
    }

    /// True if the last byte of `extent` was seen to come in.
    pub fn was_received(&self, extent: ByteRange) -> bool {
        match self {
            Marks::Tcp(marks) => marks.was_received(extent),
            Marks::Udp(marks) => marks.was_received(extent),
        }
    }

    /// True if the receiving socket has `extent`, and all before it: bytes behind a hole are there for nobody. `None` if nobody sees
    /// what comes in; `sees_packets` tells whether packets are observed at all.
    pub fn has_arrived(&self, extent: ByteRange, sees_packets: bool) -> Option<bool> {
        match self {
            Marks::Tcp(marks) if marks.is_followed() => Some(marks.is_there(extent)),
            Marks::Tcp(marks) => {
                marks.sees_arrivals(sees_packets).then(|| marks.was_received(extent))
            }
            Marks::Udp(marks) => Some(marks.was_received(extent)),
        }
    }

    /// True if reads are seen of the flow's receiver.
    pub fn has_reads(&self) -> bool {
        match self {
            Marks::Tcp(marks) => marks.has_reads(),
            Marks::Udp(_) => false,
        }
    }

    /// Time at which the flow's receiver last read something new; 0 if it never did, and of
    /// datagrams.
    pub fn last_read(&self) -> Nanos {
        match self {
            Marks::Tcp(marks) => marks.last_read(),
            Marks::Udp(_) => Nanos(0),
        }
    }

    /// Number of sockets that got `extent`: several of a multicast.
    pub fn readers(&self, extent: ByteRange) -> usize {
        match self {
            Marks::Tcp(_) => 1,
            Marks::Udp(marks) => marks.readers(extent),
        }
    }

    /// Everything that was seen of `extent` on its way to one of its readers, 0 for the first.
    pub fn path(&self, extent: ByteRange, reader: usize) -> Path<'_> {
        match self {
            Marks::Tcp(marks) => marks.path(extent),
            Marks::Udp(marks) => marks.path(extent, reader),
        }
    }

    /// Times of the packets of `extent`, if nothing else was seen of it; then [`Marks::path`] tells the same, in more
    /// time.
    pub fn packets_alone(&self, extent: ByteRange) -> Option<PacketTimes> {
        match self {
            Marks::Tcp(marks) => marks.packets_alone(extent),
            Marks::Udp(marks) => marks.packets_alone(extent),
        }
    }

    /// Time at which a packet with the first byte of `extent` was first seen.
    pub fn began_at(&self, extent: ByteRange) -> Option<Nanos> {
        match self {
            Marks::Tcp(marks) => marks.began_at(extent),
            Marks::Udp(marks) => marks.began_at(extent),
        }
    }

    /// Takes the number of marks that were given up since the last call.
    pub fn take_evicted(&mut self) -> u64 {
        match self {
            Marks::Tcp(marks) => marks.take_evicted(),
            Marks::Udp(marks) => marks.take_evicted(),
        }
    }
}

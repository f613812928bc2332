//! The cost of a packet as Ethernet frames.
//!
//! Loopback and segmentation offload hand the device packets of up to 64 KiB and more. On a line, the
//! same payload is cut so that each IP packet has at most 1500 bytes (IEEE 802.3 §3.2.7, RFC 894):
//!
//! ```text
//! TCP   | Ethernet 14 | IP | TCP | ≤ 1500 − IP − TCP of payload | FCS 4 |   once a segment
//! UDP   | Ethernet 14 | IP | UDP | payload ···|  IP | ··· payload |         IP fragments
//! ```
//!
//! The headers are those of the packet itself: its TCP options are in each of its segments (RFC 9293
//! §3.7.1: the segment size counts them off). Datagrams are not cut by UDP but by IP: all fragments
//! but the last carry a multiple of 8 bytes (RFC 791 §3.2), and IPv6 adds 8 bytes to each (RFC 8200 §4.5).

use std::ops::AddAssign;
use wirelap_events::{Packet, Saturate, Transport};

/// The largest IP packet.
const MTU: u64 = 1500;

/// Destination, source, type.
const ETHERNET: u64 = 14;

/// The frame check sequence.
const CHECK: u64 = 4;

/// The shortest frame, its check sequence included (IEEE 802.3 §4A.4.2, minFrameSize).
const SHORTEST: u64 = 64;

/// An IPv4 header without options; one that is longer than this and shorter than 40 has options.
const IPV6: u64 = 40;

/// IPv6's fragment header.
const FRAGMENT: u64 = 8;

/// The same transport payload, carried by Ethernet frames of at most 1500 bytes of IP packet.
///
/// Bytes of a frame are its header (14), the IP packet, padding to 64 and the frame check sequence (4):
/// what IEEE 802.3 §3.1.1 calls a frame. Preamble and the gap between frames are not in these figures;
/// [`Framed::line_bytes`] adds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framed {
    /// Frames.
    pub frames: u64,
    /// Bytes of the frames.
    pub bytes: u64,
}

impl Framed {
    /// The frames' bytes with the preamble and start delimiter (8) and the least gap (12) of each:
    /// what they take of the line's rate.
    pub fn line_bytes(&self) -> u64 {
        self.bytes.saturating_add(self.frames.saturating_mul(20))
    }
}

impl AddAssign<&Framed> for Framed {
    fn add_assign(&mut self, other: &Framed) {
        self.frames.grow(other.frames);
        self.bytes.grow(other.bytes);
    }
}

/// The frames of a packet.
pub fn framed(packet: &Packet<'_>) -> Framed {
    let [ip, transport] = [packet.ip_header, packet.transport_header].map(u64::from);
    let payload = u64::from(packet.payload_len);
    match packet.flow.transport {
        Transport::Tcp => segments(ip, transport, payload),
        Transport::Udp => {
            // A train of datagrams of one size, the last of them shorter (UDP_SEGMENT).
            let datagrams = u64::from(packet.segments.max(1));
            let each = payload.div_ceil(datagrams);
            let whole = payload.checked_div(each).unwrap_or(0);
            let mut sum = repeat(fragments(ip, transport.saturating_add(each)), whole);
            let last = payload.saturating_sub(whole.saturating_mul(each));
            if last > 0 || payload == 0 {
                sum += &fragments(ip, transport.saturating_add(last));
            }
            sum
        }
    }
}

/// `payload` cut by TCP.
fn segments(ip: u64, transport: u64, payload: u64) -> Framed {
    let room = MTU.saturating_sub(ip.saturating_add(transport)).max(1);
    if payload <= room {
        return frame(ip.saturating_add(transport).saturating_add(payload));
    }
    let last = payload.checked_rem(room).unwrap_or(0);
    let mut sum = repeat(
        frame(ip.saturating_add(transport).saturating_add(room)),
        payload.checked_div(room).unwrap_or(0),
    );
    if last > 0 {
        sum += &frame(ip.saturating_add(transport).saturating_add(last));
    }
    sum
}

/// A datagram of `bytes`, cut by IP.
fn fragments(ip: u64, bytes: u64) -> Framed {
    if ip.saturating_add(bytes) <= MTU {
        return frame(ip.saturating_add(bytes));
    }
    let ip = if ip >= IPV6 { ip.saturating_add(FRAGMENT) } else { ip };
    let room = (MTU.saturating_sub(ip) / 8).saturating_mul(8).max(8);
    let last = bytes.checked_rem(room).unwrap_or(0);
    let mut sum = repeat(frame(ip.saturating_add(room)), bytes.checked_div(room).unwrap_or(0));
    if last > 0 {
        sum += &frame(ip.saturating_add(last));
    }
    sum
}

fn repeat(one: Framed, times: u64) -> Framed {
    Framed { frames: one.frames.saturating_mul(times), bytes: one.bytes.saturating_mul(times) }
}

/// One frame around an IP packet.
fn frame(packet: u64) -> Framed {
    Framed { frames: 1, bytes: ETHERNET.saturating_add(packet).saturating_add(CHECK).max(SHORTEST) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(framed: Framed) -> (u64, u64) {
        (framed.frames, framed.bytes)
    }

    #[test]
    fn a_full_segment_is_a_full_frame() {
        // 1500 - 20 - 32: the segment size of a connection with timestamps.
        assert_eq!(cost(segments(20, 32, 1448)), (1, 1518));
        assert_eq!(cost(segments(20, 32, 1449)), (2, 1518 + 71));
        assert_eq!(cost(segments(20, 32, 65_160)), (45, 45 * 1518));
        assert_eq!(cost(segments(40, 32, 1428)), (1, 1518));
    }

    #[test]
    fn short_frames_are_padded() {
        assert_eq!(cost(segments(20, 20, 0)), (1, 64));
        assert_eq!(cost(segments(20, 20, 6)), (1, 64));
        assert_eq!(cost(segments(20, 20, 7)), (1, 65));
        assert_eq!(cost(segments(20, 32, 0)), (1, 70));
    }

    #[test]
    fn datagrams_are_cut_by_ip() {
        assert_eq!(cost(fragments(20, 8 + 1472)), (1, 1518));
        // 1480 bytes, then 8 + 1473 - 1480 = 1 byte, padded.
        assert_eq!(cost(fragments(20, 8 + 1473)), (2, 1518 + 64));
        // 8 + 8192 = 5 × 1480 + 800.
        assert_eq!(cost(fragments(20, 8 + 8192)), (6, 5 * 1518 + 838));
        // 1448 = (1500 - 48) rounded down to a multiple of 8.
        assert_eq!(cost(fragments(40, 8 + 1453)), (2, (18 + 48 + 1448) + (18 + 48 + 13)));
    }

    #[test]
    fn the_line_pays_for_the_gaps() {
        assert_eq!(Framed { frames: 2, bytes: 128 }.line_bytes(), 168);
    }

    #[test]
    fn frames_carry_all_bytes_once() {
        for payload in 0..20_000 {
            let sum = segments(20, 32, payload);
            let headers = sum.frames * (ETHERNET + CHECK + 52);
            assert_eq!(sum.bytes, headers + payload, "padding starts below 46 bytes of packet");
            assert_eq!(sum.frames, payload.div_ceil(1448).max(1));
        }
    }
}

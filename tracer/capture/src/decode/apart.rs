//! Payload in a record of its own, which comes before that of its packet: kernels whose tracepoints cannot read it copy it where the
//! packet leaves its socket (`ebpf/probes/payload.bpf.c`).

use super::malformed::Malformed;
use super::record::RecordBytes;
use wirelap_ebpf::layout::{self as l, wl_flow, wl_head, wl_packet};
use wirelap_events::Nanos;

/// Identifies a packet both in the record with its payload and in the record of its xmit: by addresses, ports and protocol as
/// `struct wl_flow` has them, and by the position of its payload in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketName {
    /// `struct wl_flow` without the network namespace, which is not known where the payload is copied.
    pub flow: [u8; wl_flow::NETNS],
    /// The sequence number; for UDP a number that is nearly unique.
    pub seq: u32,
    /// Payload bytes.
    pub len: u32,
}

impl PacketName {
    /// True for a datagram, false for a part of a stream.
    pub fn is_datagram(&self) -> bool {
        libc::c_int::from(self.flow[wl_flow::TRANSPORT]) == libc::IPPROTO_UDP
    }
}

fn packet_name(r: RecordBytes<'_>) -> PacketName {
    PacketName {
        flow: r.bytes(wl_packet::FLOW),
        seq: r.u32(wl_packet::SEQ),
        len: r.u32(wl_packet::PAYLOAD_LEN),
    }
}

/// A packet that leaves, as far as that tells its payload, which was copied before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeavingPacket {
    pub name: PacketName,
    /// The packet as the kernel knows it, as long as it is there; `None` for a part of a stream, and for a fragment.
    pub skb: Option<u32>,
    /// Time when it left, or had reached a qdisc.
    pub at: Nanos,
    /// True if its payload was not reported.
    pub uncopied: bool,
}

/// Reads from a record how a packet left; `None` for a record of another kind.
pub(crate) fn departure(bytes: &[u8]) -> Option<LeavingPacket> {
    let head = RecordBytes::checked(bytes, 0, wl_head::SIZE).ok()?;
    if u32::from(head.kind()) != l::WL_XMIT {
        return None;
    }
    let r = RecordBytes::checked(bytes, head.kind(), wl_packet::SIZE).ok()?;
    let name = packet_name(r);
    let is_whole = name.is_datagram() && !r.flag(l::WL_FRAGMENT);
    Some(LeavingPacket {
        name,
        skb: is_whole.then(|| r.u32(wl_packet::ACK)),
        at: r.time(wl_packet::QUEUED).unwrap_or(Nanos(r.u64(wl_head::AT))),
        uncopied: r.flag(l::WL_UNCOPIED),
    })
}

/// The payload of a packet whose xmit follows, in a record that is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CopiedPayload<'r> {
    pub name: PacketName,
    /// As in [`LeavingPacket`], for a datagram.
    pub skb: u32,
    /// Time when the payload was copied.
    pub at: Nanos,
    pub bytes: &'r [u8],
}

/// The payload in such a record; `None` for other records.
///
/// # Errors
/// [`Malformed`] if the record is too short.
pub(crate) fn payload(bytes: &[u8]) -> Result<Option<CopiedPayload<'_>>, Malformed> {
    let head = RecordBytes::checked(bytes, 0, wl_head::SIZE)?;
    if u32::from(head.kind()) != l::WL_PAYLOAD {
        return Ok(None);
    }
    let r = RecordBytes::checked(bytes, head.kind(), wl_packet::SIZE)?;
    let needed = wl_packet::SIZE.saturating_add(r.u32(wl_head::CAPTURED) as usize);
    let short = Malformed::Short { kind: r.kind(), needed, got: bytes.len() };
    let bytes = bytes.get(wl_packet::SIZE..needed).ok_or(short)?;
    let at = Nanos(r.u64(wl_head::AT));
    Ok(Some(CopiedPayload { name: packet_name(r), skb: r.u32(wl_packet::ACK), at, bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UDP: u8 = 17;
    const TCP: u8 = 6;

    /// A record of this kind, of a packet of 3 bytes of payload, followed by `after`.
    fn record(kind: u32, transport: u8, flags: u32, queued: u64, after: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; wl_packet::SIZE];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(wl_head::AT, &9_u64.to_ne_bytes());
        put(wl_head::KIND, &[u8::try_from(kind).unwrap()]);
        put(wl_head::FLAGS, &[u8::try_from(flags).unwrap()]);
        put(wl_head::CAPTURED, &3_u32.to_ne_bytes());
        put(wl_packet::QUEUED, &queued.to_ne_bytes());
        put(wl_packet::FLOW + wl_flow::TRANSPORT, &[transport]);
        put(wl_packet::SEQ, &7_u32.to_ne_bytes());
        put(wl_packet::ACK, &70_u32.to_ne_bytes());
        put(wl_packet::PAYLOAD_LEN, &3_u32.to_ne_bytes());
        bytes.extend_from_slice(after);
        bytes
    }

    fn departed(transport: u8, flags: u32, queued: u64) -> LeavingPacket {
        departure(&record(l::WL_XMIT, transport, flags, queued, &[])).unwrap()
    }

    #[test]
    fn a_datagram_leaves_as_a_packet_of_the_kernel() {
        let left = departed(UDP, 0, 9);
        assert!(left.name.is_datagram() && (left.name.seq, left.name.len) == (7, 3));
        assert_eq!((left.skb, left.at, left.uncopied), (Some(70), Nanos(9), false));
        // Its payload had been copied before it reached the qdisc.
        assert_eq!(departed(UDP, 0, 5).at, Nanos(5));
        assert_eq!(departed(UDP, 0, 0).at, Nanos(9));
        assert!(departed(UDP, l::WL_UNCOPIED, 9).uncopied);
    }

    #[test]
    fn fragments_and_segments_are_found_by_their_names_alone() {
        assert_eq!(departed(UDP, l::WL_FRAGMENT, 9).skb, None);
        assert_eq!(departed(TCP, 0, 9).skb, None);
    }

    #[test]
    fn only_what_is_sent_has_its_payload_apart() {
        assert_eq!(departure(&record(l::WL_RX, UDP, 0, 9, &[])), None);
        assert_eq!(departure(&[0; 3]), None);
        assert_eq!(payload(&record(l::WL_XMIT, UDP, 0, 9, b"abc")), Ok(None));
    }

    #[test]
    fn a_payload_comes_with_its_packet() {
        let whole = record(l::WL_PAYLOAD, UDP, 0, 0, b"abc");
        let copied = payload(&whole).unwrap().unwrap();
        assert_eq!((copied.skb, copied.at, copied.bytes), (70, Nanos(9), &b"abc"[..]));
        assert_eq!(copied.name, departed(UDP, 0, 9).name);
        let short = &whole[..whole.len() - 1];
        assert!(matches!(payload(short), Err(Malformed::Short { .. })));
    }
}

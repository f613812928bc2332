//! Keeps payload that comes in a record of its own until the xmit of its packet is reported.
//!
//! On kernels without `bpf_dynptr_from_skb`, the payload is copied where a packet leaves its socket. The xmit of the packet
//! follows: at once on loopback, later behind a qdisc, and perhaps as several segments.

use crate::decode::{CopiedPayload, LeavingPacket, PacketName};
use std::collections::VecDeque;
use wirelap_events::Nanos;

/// The most payloads that are kept; older ones are dropped.
const MAX_PAYLOADS: usize = 1024;
/// The most bytes of payload that are kept; older ones are dropped.
const MAX_BYTES: usize = 16 << 20;
/// The most empty buffers that are kept for reuse.
const MAX_SPARE: usize = 16;

/// The payload of a packet.
struct StashedPayload {
    name: PacketName,
    skb: u32,
    copied: Nanos,
    bytes: Vec<u8>,
}

impl StashedPayload {
    /// Returns the offset at which a packet's payload begins in this one; `None` if it is not a part of it.
    fn start_of(&self, name: &PacketName) -> Option<u32> {
        let skipped = name.seq.wrapping_sub(self.name.seq);
        (self.name.flow == name.flow && skipped < self.name.len).then_some(skipped)
    }

    /// Returns the kept part of a packet's payload that begins at `start`. The snap length may have cut off the end.
    fn part(&self, start: u32, len: u32) -> &[u8] {
        let rest = self.bytes.get(start as usize..).unwrap_or_default();
        rest.get(..len as usize).unwrap_or(rest)
    }

    /// True if a whole datagram, or fragment, is in this payload.
    fn contains(&self, name: &PacketName) -> bool {
        self.start_of(name).is_some_and(|start| name.len <= self.name.len - start)
    }
}

/// The payloads in the order of their arrival.
#[derive(Default)]
pub(crate) struct PayloadStash {
    payloads: VecDeque<StashedPayload>,
    bytes: usize,
    spare: Vec<Vec<u8>>,
    /// The payload of the datagram, or fragment, that was asked for last.
    taken: Vec<u8>,
    /// Time when the present window began.
    since: Nanos,
}

impl PayloadStash {
    /// Keeps the payload of a packet.
    pub fn put(&mut self, payload: &CopiedPayload<'_>) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(payload.bytes);
        self.bytes += bytes.len();
        let CopiedPayload { name, skb, at, .. } = *payload;
        self.payloads.push_back(StashedPayload { name, skb, copied: at, bytes });
        while self.payloads.len() > MAX_PAYLOADS || self.bytes > MAX_BYTES {
            self.forget(0);
        }
    }

    fn forget(&mut self, index: usize) {
        if let Some(StashedPayload { bytes, .. }) = self.payloads.remove(index) {
            self.bytes -= bytes.len();
            if self.spare.len() < MAX_SPARE {
                self.spare.push(bytes);
            }
        }
    }

    /// The probes resume. Of what was copied before that, the packets may have left meanwhile.
    pub fn begin_window(&mut self, at: Nanos) {
        self.since = at;
    }

    /// The payload of a packet or of one of its segments; empty if it is not kept.
    pub fn get(&mut self, departure: &LeavingPacket) -> &[u8] {
        let name = &departure.name;
        if name.len == 0 || departure.uncopied {
            &[]
        } else if name.is_datagram() {
            self.datagram(departure)
        } else {
            self.segment(name)
        }
    }

    /// Each payload is that of one datagram, whole or in fragments. Datagrams of a flow may all have the same name: where the
    /// device computes the checksum, as on loopback, the one that they have is of addresses and length. So it is that of the same packet of
    /// the kernel, whose memory is another packet's later: the last that was copied before the datagram left.
    fn datagram(&mut self, departure: &LeavingPacket) -> &[u8] {
        let LeavingPacket { name, skb, at, .. } = departure;
        self.taken.clear();
        let is_its = |kept: &StashedPayload| {
            (self.since..=*at).contains(&kept.copied)
                && skb.is_none_or(|skb| kept.skb == skb)
                && kept.contains(name)
        };
        let found = self.payloads.iter().rposition(is_its);
        let Some((index, kept)) = found.and_then(|at| Some((at, self.payloads.get(at)?))) else {
            return &[];
        };
        let start = kept.start_of(name).unwrap_or_default();
        self.taken.extend_from_slice(kept.part(start, name.len));
        if name.len == kept.name.len - start {
            self.forget(index);
        }
        &self.taken
    }

    /// The payload stays, because other segments may follow.
    fn segment(&self, name: &PacketName) -> &[u8] {
        let found = self.payloads.iter().rev().find_map(|kept| Some((kept, kept.start_of(name)?)));
        found.map(|(kept, start)| kept.part(start, name.len)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_ebpf::layout::wl_flow;

    fn name(flow: u8, seq: u32, len: u32) -> PacketName {
        PacketName { flow: std::array::from_fn(|_| flow), seq, len }
    }

    /// Returns the name of a datagram.
    fn datagram(port: u8, seq: u32, len: u32) -> PacketName {
        let mut name = name(port, seq, len);
        name.flow[wl_flow::TRANSPORT] = 17;
        name
    }

    /// A datagram, or a packet of a stream, that left at once.
    fn left(at: u64, skb: u32, name: PacketName) -> LeavingPacket {
        let skb = name.is_datagram().then_some(skb);
        LeavingPacket { name, skb, at: Nanos(at), uncopied: false }
    }

    impl PayloadStash {
        fn copy(&mut self, at: u64, skb: u32, name: PacketName, bytes: &[u8]) {
            self.put(&CopiedPayload { name, skb, at: Nanos(at), bytes });
        }
    }

    #[test]
    fn datagrams_of_one_name_have_their_own_payloads() {
        let mut stash = PayloadStash::default();
        let (its, other) = (datagram(1, 9, 3), datagram(1, 8, 3));
        // They wait in a qdisc, which gives them out in another order.
        for (at, skb, bytes) in [(1, 70, b"abc"), (2, 71, b"def"), (3, 72, b"ghi")] {
            stash.copy(at, skb, its, bytes);
        }
        assert_eq!(stash.get(&left(4, 70, other)), b"");
        assert_eq!(stash.get(&left(4, 72, its)), b"ghi");
        assert_eq!(stash.get(&left(5, 70, its)), b"abc");
        assert_eq!(stash.get(&left(6, 71, its)), b"def");
        // Its payload was not copied.
        assert_eq!(stash.get(&left(7, 71, its)), b"");
        assert_eq!(stash.bytes, 0);
    }

    #[test]
    fn fragments_share_the_payload_of_their_datagram() {
        let mut stash = PayloadStash::default();
        stash.copy(1, 70, datagram(1, 9, 3), b"def");
        let fragment = |seq, len| LeavingPacket { skb: None, ..left(2, 0, datagram(1, seq, len)) };
        assert_eq!(stash.get(&fragment(9, 2)), b"de");
        assert_eq!(stash.get(&fragment(11, 1)), b"f");
        assert_eq!(stash.get(&fragment(9, 2)), b"");
    }

    #[test]
    fn a_datagram_has_no_payload_of_one_that_was_not_seen_to_leave() {
        let mut stash = PayloadStash::default();
        let its = datagram(1, 9, 3);
        stash.copy(1, 70, its, b"abc");
        // The kernel uses the memory of the packet again.
        assert_eq!(stash.get(&LeavingPacket { uncopied: true, ..left(5, 70, its) }), b"");
        stash.copy(6, 70, its, b"ghi");
        assert_eq!(stash.get(&left(7, 70, its)), b"ghi");
        // In another window.
        stash.begin_window(Nanos(10));
        assert_eq!(stash.get(&left(11, 70, its)), b"");
        stash.copy(12, 70, its, b"jkl");
        assert_eq!(stash.get(&left(13, 70, its)), b"jkl");
        // It was copied for a datagram that left later.
        stash.copy(16, 70, its, b"mno");
        assert_eq!(stash.get(&left(15, 70, its)), b"");
    }

    #[test]
    fn a_packet_and_its_segments_find_their_bytes() {
        let mut stash = PayloadStash::default();
        stash.copy(1, 0, name(1, u32::MAX - 1, 6), b"abcdef");
        let mut get = |flow, seq, len| stash.get(&left(2, 0, name(flow, seq, len))).to_vec();
        assert_eq!(get(1, u32::MAX - 1, 6), b"abcdef");
        assert_eq!(get(1, 1, 2), b"de");
        assert_eq!(get(1, 4, 2), b"");
        assert_eq!(get(2, u32::MAX, 2), b"");
    }

    #[test]
    fn the_newest_of_two_is_found() {
        let mut stash = PayloadStash::default();
        stash.copy(1, 0, name(1, 10, 3), b"old");
        stash.copy(2, 0, name(1, 10, 3), b"new");
        assert_eq!(stash.get(&left(3, 0, name(1, 10, 3))), b"new");
    }

    #[test]
    fn what_was_cut_off_is_not_there() {
        let mut stash = PayloadStash::default();
        stash.copy(1, 0, name(1, 0, 100), b"0123456789");
        assert_eq!(stash.get(&left(2, 0, name(1, 0, 100))), b"0123456789");
        assert_eq!(stash.get(&left(2, 0, name(1, 8, 50))), b"89");
        assert_eq!(stash.get(&left(2, 0, name(1, 50, 50))), b"");
    }

    #[test]
    fn memory_stays_bounded() {
        let mut stash = PayloadStash::default();
        let payload = vec![7; 60_000];
        for seq in 0..3_000 {
            stash.copy(1, 0, name(1, seq * 100_000, 60_000), &payload);
        }
        assert!(stash.payloads.len() <= MAX_PAYLOADS && stash.bytes <= MAX_BYTES);
        assert_eq!(stash.bytes, stash.payloads.len() * 60_000);
        assert_eq!(stash.get(&left(2, 0, name(1, 0, 1))), b"");
    }
}

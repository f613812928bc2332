//! Keeps payload that comes in a record of its own until the xmit of its packet is reported.
//!
//! On kernels without `bpf_dynptr_from_skb`, the payload is copied where a packet leaves its socket. The xmit of the packet
//! follows: at once on loopback, later behind a qdisc, and perhaps as several segments.

use crate::decode::PacketName;
use std::collections::VecDeque;

/// The most payloads that are kept; older ones are dropped.
const MAX_PAYLOADS: usize = 1024;
/// The most bytes of payload that are kept; older ones are dropped.
const MAX_BYTES: usize = 16 << 20;
/// The most empty buffers that are kept for reuse.
const MAX_SPARE: usize = 16;

/// The payloads in the order of their arrival.
#[derive(Default)]
pub(crate) struct PayloadStash {
    payloads: VecDeque<(PacketName, Vec<u8>)>,
    bytes: usize,
    spare: Vec<Vec<u8>>,
    /// The payload of the datagram, or fragment, that was asked for last.
    taken: Vec<u8>,
}

impl PayloadStash {
    /// Keeps the payload of a packet.
    pub fn put(&mut self, name: PacketName, payload: &[u8]) {
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(payload);
        self.bytes += buffer.len();
        self.payloads.push_back((name, buffer));
        while self.payloads.len() > MAX_PAYLOADS || self.bytes > MAX_BYTES {
            let Some((_, old)) = self.payloads.pop_front() else { break };
            self.bytes -= old.len();
            self.reuse(old);
        }
    }

    fn reuse(&mut self, buffer: Vec<u8>) {
        if self.spare.len() < MAX_SPARE {
            self.spare.push(buffer);
        }
    }

    /// The payload of a packet or of one of its segments; empty if it is not kept.
    pub fn get(&mut self, name: &PacketName) -> &[u8] {
        if name.is_datagram() { self.datagram(name) } else { self.segment(name) }
    }

    /// Datagrams of a flow may all have the same name, and leave in the order in which they were sent. So each payload is that of one
    /// datagram, the oldest first, whole or in fragments: a datagram whose own payload was not copied must not get that of an earlier one.
    fn datagram(&mut self, name: &PacketName) -> &[u8] {
        let skipped = |kept: &PacketName| name.seq.wrapping_sub(kept.seq);
        let is_its = |kept: &PacketName| {
            let left = kept.len.checked_sub(skipped(kept));
            kept.flow == name.flow && left.is_some_and(|left| left > 0 && name.len <= left)
        };
        let found = self.payloads.iter().position(|(kept, _)| is_its(kept));
        let Some((index, (kept, payload))) =
            found.and_then(|at| Some((at, self.payloads.get(at)?)))
        else {
            return &[];
        };
        let start = skipped(kept);
        // The snap length may have cut off the end of the payload.
        let rest = payload.get(start as usize..).unwrap_or_default();
        self.taken.clear();
        self.taken.extend_from_slice(rest.get(..name.len as usize).unwrap_or(rest));
        let is_last = name.len == kept.len - start;
        if is_last && let Some((_, payload)) = self.payloads.remove(index) {
            self.bytes -= payload.len();
            self.reuse(payload);
        }
        &self.taken
    }

    /// The payload stays, because other segments may follow.
    fn segment(&self, name: &PacketName) -> &[u8] {
        self.payloads
            .iter()
            .rev()
            .filter(|(kept, _)| kept.flow == name.flow)
            .find_map(|(kept, bytes)| {
                let skipped = name.seq.wrapping_sub(kept.seq);
                if skipped >= kept.len {
                    return None;
                }
                // The snap length may have cut off the end of the payload.
                let rest = bytes.get(skipped as usize..).unwrap_or_default();
                Some(rest.get(..name.len as usize).unwrap_or(rest))
            })
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_ebpf::layout::wl_flow;

    fn name(flow: u8, seq: u32, len: u32) -> PacketName {
        PacketName { flow: std::array::from_fn(|_| flow), seq, len }
    }

    /// Of a datagram.
    fn datagram(port: u8, seq: u32, len: u32) -> PacketName {
        let mut name = name(port, seq, len);
        name.flow[wl_flow::TRANSPORT] = 17;
        name
    }

    #[test]
    fn datagrams_of_one_name_have_their_own_payloads_in_turn() {
        let mut stash = PayloadStash::default();
        stash.put(datagram(1, 9, 3), b"abc");
        stash.put(datagram(1, 9, 3), b"def");
        assert_eq!(stash.get(&datagram(1, 8, 3)), b"");
        assert_eq!(stash.get(&datagram(1, 9, 3)), b"abc");
        // In two fragments.
        assert_eq!(stash.get(&datagram(1, 9, 2)), b"de");
        assert_eq!(stash.get(&datagram(1, 11, 1)), b"f");
        // Its payload was not copied.
        assert_eq!(stash.get(&datagram(1, 9, 3)), b"");
        assert_eq!(stash.bytes, 0);
    }

    #[test]
    fn a_packet_and_its_segments_find_their_bytes() {
        let mut stash = PayloadStash::default();
        stash.put(name(1, u32::MAX - 1, 6), b"abcdef");
        assert_eq!(stash.get(&name(1, u32::MAX - 1, 6)), b"abcdef");
        assert_eq!(stash.get(&name(1, 1, 2)), b"de");
        assert_eq!(stash.get(&name(1, 4, 2)), b"");
        assert_eq!(stash.get(&name(2, u32::MAX, 2)), b"");
    }

    #[test]
    fn the_newest_of_two_is_found() {
        let mut stash = PayloadStash::default();
        stash.put(name(1, 10, 3), b"old");
        stash.put(name(1, 10, 3), b"new");
        assert_eq!(stash.get(&name(1, 10, 3)), b"new");
    }

    #[test]
    fn what_was_cut_off_is_not_there() {
        let mut stash = PayloadStash::default();
        stash.put(name(1, 0, 100), b"0123456789");
        assert_eq!(stash.get(&name(1, 0, 100)), b"0123456789");
        assert_eq!(stash.get(&name(1, 8, 50)), b"89");
        assert_eq!(stash.get(&name(1, 50, 50)), b"");
    }

    #[test]
    fn memory_stays_bounded() {
        let mut stash = PayloadStash::default();
        let payload = vec![7; 60_000];
        for seq in 0..3_000 {
            stash.put(name(1, seq * 100_000, 60_000), &payload);
        }
        assert!(stash.payloads.len() <= MAX_PAYLOADS && stash.bytes <= MAX_BYTES);
        assert_eq!(stash.bytes, stash.payloads.len() * 60_000);
        assert_eq!(stash.get(&name(1, 0, 1)), b"");
    }
}

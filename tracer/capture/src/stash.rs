//! Keeps payload that comes in a record of its own until the xmit of its packet is reported.
//!
//! On kernels without `bpf_dynptr_from_skb`, the payload is copied where a packet leaves its socket. The xmit of the packet
//! follows: at once on loopback, later behind a qdisc, and perhaps as several segments.

use crate::decode::{CopiedPayload, Departure, Moment, PacketName};
use std::collections::VecDeque;
use wirelap_events::Nanos;

/// The most payloads that are kept; older ones are dropped.
const MAX_PAYLOADS: usize = 1024;
/// The most bytes of payload that are kept; older ones are dropped.
const MAX_BYTES: usize = 16 << 20;
/// The most empty buffers that are kept for reuse.
const MAX_SPARE: usize = 16;
/// A datagram reaches its qdisc so soon after its payload was copied.
const TO_QDISC: Nanos = Nanos::from_millis(1);

/// The payload of a packet.
struct Kept {
    name: PacketName,
    copied: Moment,
    bytes: Vec<u8>,
}

impl Kept {
    /// Where a packet's payload begins in this one; `None` if it is not a part of it.
    fn start_of(&self, name: &PacketName) -> Option<u32> {
        let skipped = name.seq.wrapping_sub(self.name.seq);
        (self.name.flow == name.flow && skipped < self.name.len).then_some(skipped)
    }

    /// What there is of a packet's payload that begins at `start`. The snap length may have cut off the end.
    fn part(&self, start: u32, len: u32) -> &[u8] {
        let rest = self.bytes.get(start as usize..).unwrap_or_default();
        rest.get(..len as usize).unwrap_or(rest)
    }

    /// Whether a whole datagram, or fragment, is in this payload.
    fn contains(&self, name: &PacketName) -> bool {
        self.start_of(name).is_some_and(|start| name.len <= self.name.len - start)
    }
}

/// The payloads in the order of their arrival.
#[derive(Default)]
pub(crate) struct PayloadStash {
    payloads: VecDeque<Kept>,
    bytes: usize,
    spare: Vec<Vec<u8>>,
    /// The payload of the datagram, or fragment, that was asked for last.
    taken: Vec<u8>,
}

impl PayloadStash {
    /// Keeps the payload of a packet.
    pub fn put(&mut self, payload: &CopiedPayload<'_>) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(payload.bytes);
        self.bytes += bytes.len();
        self.payloads.push_back(Kept { name: payload.name, copied: payload.copied, bytes });
        while self.payloads.len() > MAX_PAYLOADS || self.bytes > MAX_BYTES {
            self.forget(0);
        }
    }

    fn forget(&mut self, index: usize) {
        if let Some(Kept { bytes, .. }) = self.payloads.remove(index) {
            self.bytes -= bytes.len();
            if self.spare.len() < MAX_SPARE {
                self.spare.push(bytes);
            }
        }
    }

    /// The payload of a packet or of one of its segments; empty if it is not kept.
    pub fn get(&mut self, name: &PacketName, departure: Departure) -> &[u8] {
        if name.is_datagram() { self.datagram(name, departure) } else { self.segment(name) }
    }

    /// Each payload is that of one datagram, whole or in fragments, and datagrams of a flow may all have the same name: where the
    /// device computes the checksum, as on loopback, the one that they have is of addresses and length.
    fn datagram(&mut self, name: &PacketName, departure: Departure) -> &[u8] {
        self.taken.clear();
        let Some(index) = self.payload_of(name, departure) else { return &[] };
        let Some(kept) = self.payloads.get(index) else { return &[] };
        let start = kept.start_of(name).unwrap_or_default();
        self.taken.extend_from_slice(kept.part(start, name.len));
        if name.len == kept.name.len - start {
            self.forget(index);
        }
        &self.taken
    }

    /// The place of the payload that was copied last before its datagram left. One that was copied earlier is of a datagram that
    /// another thread sends, or of one whose xmit was not reported, and must not be taken for a later one's.
    fn payload_of(&self, name: &PacketName, departure: Departure) -> Option<usize> {
        let last = |is_its: &dyn Fn(Moment) -> bool| {
            self.payloads.iter().rposition(|kept| is_its(kept.copied) && kept.contains(name))
        };
        match departure {
            Departure::Direct { uncopied: true, .. } => None,
            Departure::Direct { then, .. } => {
                last(&|copied| copied.cpu == then.cpu && copied.at <= then.at)
            }
            Departure::Queued(Some(queued)) => {
                last(&|copied| copied.at <= queued && queued <= copied.at + TO_QDISC)
            }
            // The hook that tells when is attached soon after the first packet. Until then they leave in the order in which they were sent.
            Departure::Queued(None) => self.payloads.iter().position(|kept| kept.contains(name)),
        }
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
    use wirelap_events::Cpu;

    fn name(flow: u8, seq: u32, len: u32) -> PacketName {
        PacketName { flow: std::array::from_fn(|_| flow), seq, len }
    }

    /// Of a datagram.
    fn datagram(port: u8, seq: u32, len: u32) -> PacketName {
        let mut name = name(port, seq, len);
        name.flow[wl_flow::TRANSPORT] = 17;
        name
    }

    fn moment(at: u64, cpu: u16) -> Moment {
        Moment { at: Nanos(at), cpu: Cpu(cpu) }
    }

    fn direct(at: u64, cpu: u16) -> Departure {
        Departure::Direct { then: moment(at, cpu), uncopied: false }
    }

    impl PayloadStash {
        fn copy(&mut self, at: u64, cpu: u16, name: PacketName, bytes: &[u8]) {
            self.put(&CopiedPayload { name, copied: moment(at, cpu), bytes });
        }
    }

    #[test]
    fn datagrams_of_one_name_have_their_own_payloads() {
        let mut stash = PayloadStash::default();
        let (its, other) = (datagram(1, 9, 3), datagram(1, 8, 3));
        stash.copy(1, 0, its, b"abc");
        assert_eq!(stash.get(&other, direct(2, 0)), b"");
        assert_eq!(stash.get(&its, direct(2, 0)), b"abc");
        stash.copy(3, 0, its, b"def");
        // In two fragments.
        assert_eq!(stash.get(&datagram(1, 9, 2), direct(4, 0)), b"de");
        assert_eq!(stash.get(&datagram(1, 11, 1), direct(5, 0)), b"f");
        // Its payload was not copied.
        assert_eq!(stash.get(&its, direct(6, 0)), b"");
        assert_eq!(stash.bytes, 0);
    }

    #[test]
    fn a_datagram_has_no_payload_of_one_that_was_not_seen_to_leave() {
        let mut stash = PayloadStash::default();
        let its = datagram(1, 9, 3);
        stash.copy(1, 0, its, b"abc");
        let bare = Departure::Direct { then: moment(5, 0), uncopied: true };
        assert_eq!(stash.get(&its, bare), b"");
        stash.copy(6, 0, its, b"ghi");
        assert_eq!(stash.get(&its, direct(7, 0)), b"ghi");
        // Of another flow on another CPU nothing was lost.
        stash.copy(8, 0, its, b"jkl");
        assert_eq!(stash.get(&its, direct(9, 1)), b"");
        // Behind a qdisc.
        let queued = |at: Nanos| Departure::Queued(Some(at));
        assert_eq!(stash.get(&its, queued(Nanos(7))), b"abc");
        assert_eq!(stash.get(&its, queued(TO_QDISC + Nanos(9))), b"");
        assert_eq!(stash.get(&its, queued(Nanos(9))), b"jkl");
    }

    #[test]
    fn two_threads_that_send_at_once_have_their_own_payloads() {
        let mut stash = PayloadStash::default();
        let its = datagram(1, 9, 3);
        stash.copy(1, 0, its, b"abc");
        stash.copy(2, 1, its, b"def");
        assert_eq!(stash.get(&its, direct(3, 0)), b"abc");
        assert_eq!(stash.get(&its, direct(3, 1)), b"def");
        // Where it is not known when they reached the qdisc, they leave in their order.
        stash.copy(4, 0, its, b"ghi");
        stash.copy(5, 1, its, b"jkl");
        assert_eq!(stash.get(&its, Departure::Queued(None)), b"ghi");
        assert_eq!(stash.get(&its, Departure::Queued(None)), b"jkl");
    }

    #[test]
    fn a_packet_and_its_segments_find_their_bytes() {
        let mut stash = PayloadStash::default();
        stash.copy(1, 0, name(1, u32::MAX - 1, 6), b"abcdef");
        let mut get = |flow, seq, len| stash.get(&name(flow, seq, len), direct(2, 0)).to_vec();
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
        assert_eq!(stash.get(&name(1, 10, 3), direct(3, 0)), b"new");
    }

    #[test]
    fn what_was_cut_off_is_not_there() {
        let mut stash = PayloadStash::default();
        stash.copy(1, 0, name(1, 0, 100), b"0123456789");
        assert_eq!(stash.get(&name(1, 0, 100), direct(2, 0)), b"0123456789");
        assert_eq!(stash.get(&name(1, 8, 50), direct(2, 0)), b"89");
        assert_eq!(stash.get(&name(1, 50, 50), direct(2, 0)), b"");
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
        assert_eq!(stash.get(&name(1, 0, 1), direct(2, 0)), b"");
    }
}

//! Packets in any order, cut anywhere, sent any number of times: the flow's bytes.

use proptest::prelude::*;
use wirelap_correlate::{ParkingLimits, Piece, Reassembly};
use wirelap_events::{Nanos, Offset};

/// The bytes that came out, with a check that they came end to end.
#[derive(Default)]
pub struct Output {
    pub bytes: Vec<Option<u8>>,
    next: Option<u64>,
}

impl Output {
    pub fn take(&mut self, piece: Piece<'_>) {
        let (at, len) = match piece {
            Piece::Bytes { at, bytes, missing } => (at, bytes.len() as u64 + missing),
            Piece::Gap { at, len } => (at, len),
        };
        assert!(len > 0, "an empty piece");
        assert!(self.next.is_none_or(|next| next == at.0), "pieces do not lie end to end");
        self.next = Some(at.0 + len);
        if let Piece::Bytes { bytes, .. } = piece {
            self.bytes.extend(bytes.iter().copied().map(Some));
            let missing = len - bytes.len() as u64;
            self.bytes.extend((0..missing).map(|_| None));
        } else {
            self.bytes.extend((0..len).map(|_| None));
        }
    }
}

fn byte(at: usize) -> u8 {
    u8::try_from(at % 251).unwrap()
}

prop_compose! {
    /// Packets that cover `0..len`, some several times, in any order.
    fn packets()(
        cuts in prop::collection::vec(1usize..400, 1..60),
        extra in prop::collection::vec((0usize..9000, 1usize..500), 0..40),
        seed in any::<u64>(),
    ) -> (usize, Vec<(usize, usize)>) {
        let len: usize = cuts.iter().sum();
        let mut at = 0;
        let mut packets: Vec<_> = cuts.iter().map(|&n| { at += n; (at - n, at) }).collect();
        packets.extend(extra.iter().map(|&(at, n)| (at % len, (at % len + n).min(len))));
        let mut state = seed;
        for i in (1..packets.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            packets.swap(i, usize::try_from(state >> 33).unwrap() % (i + 1));
        }
        (len, packets)
    }
}

proptest! {
    #[test]
    fn any_order_gives_the_same_bytes((len, packets) in packets()) {
        let original: Vec<u8> = (0..len).map(byte).collect();
        let mut reassembly = Reassembly::new(ParkingLimits::default());
        reassembly.start_at(Offset(0));
        let mut out = Output::default();
        for (from, to) in packets {
            let at = Offset(from as u64);
            reassembly.packet(at, &original[from..to], 0, Nanos(0), &mut |p| out.take(p));
        }
        prop_assert!(!reassembly.is_waiting());
        prop_assert!(out.bytes.iter().copied().eq(original.into_iter().map(Some)));
    }

    #[test]
    fn what_is_lost_is_a_gap_and_nothing_else(
        (len, packets) in packets(),
        lost in any::<u64>(),
        limit in 0usize..2000,
    ) {
        let original: Vec<u8> = (0..len).map(byte).collect();
        let limits = ParkingLimits { bytes: limit, packets: 16 };
        let mut reassembly = Reassembly::new(limits);
        reassembly.start_at(Offset(0));
        let mut out = Output::default();
        for (n, (from, to)) in packets.into_iter().enumerate() {
            if lost >> (n % 64) & 1 == 1 {
                continue;
            }
            let at = Offset(from as u64);
            reassembly.packet(at, &original[from..to], 0, Nanos(n as u64), &mut |p| out.take(p));
            prop_assert!(reassembly.parked_bytes() <= limit);
        }
        reassembly.interrupt(&mut |p| out.take(p));
        prop_assert!(!reassembly.is_waiting());
        for (at, got) in out.bytes.iter().enumerate() {
            prop_assert!(got.is_none_or(|got| got == byte(at)), "a wrong byte at {at}");
        }
    }
}

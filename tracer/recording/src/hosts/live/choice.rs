//! Choice of the packets that are compared, where there are more than can wait for their other sighting.

use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wirelap_events::{FlowKey, Saturate, Total};

/// Flows that are told apart by a hash. Each has a share of its own, so that a slow one beside a fast one keeps its packets.
const FLOWS: usize = 1 << u8::BITS;

/// Packets of one flow, of which those are kept whose token ends in so many zero bits.
#[derive(Clone, Copy, Debug, Default)]
struct FlowShare {
    seen: u32,
    zeros: u8,
}

impl FlowShare {
    fn kept(self) -> u32 {
        self.seen.checked_shr(self.zeros.into()).unwrap_or(0)
    }
}

/// Choice of one host's packets. The other host that sees a flow sees as many packets of it, and so chooses the same ones.
#[derive(Debug)]
pub struct PacketChoice {
    flows: Box<[FlowShare; FLOWS]>,
    /// Packets that are kept of each flow until the next renewal.
    share: u32,
}

impl PacketChoice {
    /// All packets are kept, up to so many of each flow.
    pub fn new(share: u32) -> PacketChoice {
        PacketChoice { flows: Box::new([FlowShare::default(); FLOWS]), share }
    }

    /// True if a packet is kept.
    pub fn keeps(&mut self, flow: &FlowKey, token: u64) -> bool {
        let Some(flow) = self.flows.get_mut(number(flow)) else { return false };
        flow.seen.grow(1);
        if flow.kept() > self.share {
            flow.zeros.grow(1);
        }
        token.trailing_zeros() >= flow.zeros.into()
    }

    /// Begins anew, with at most so many packets of all flows if they go on as before.
    pub fn renew(&mut self, budget: u32) {
        self.share = budget.max(1);
        let kept = |flows: &[FlowShare], share| {
            flows.iter().map(|flow| flow.seen.min(share)).total::<u32>()
        };
        while self.share > 1 && kept(self.flows.as_slice(), self.share) > budget {
            self.share /= 2;
        }
        for flow in self.flows.iter_mut() {
            flow.zeros = 0;
            while flow.kept() > self.share {
                flow.zeros.grow(1);
            }
            flow.seen = 0;
        }
    }
}

/// Number of a flow.
fn number(flow: &FlowKey) -> usize {
    let mut hasher = FxHasher::default();
    flow.hash(&mut hasher);
    hasher.finish().to_le_bytes()[0].into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;
    use wirelap_events::{NetNs, Transport};
    use wirelap_test_support::random::Random;

    #[test]
    fn a_slow_flow_keeps_its_packets_beside_a_fast_one() {
        let flow = |port: u16| {
            let end = |last| SocketAddr::from(([10, 0, 0, last], port));
            FlowKey::new(Transport::Tcp, end(1), end(2), NetNs(0))
        };
        let [fast, slow] = [flow(9092), flow(1883)];
        assert_ne!(number(&fast), number(&slow));
        let (mut choice, mut random) = (PacketChoice::new(400), Random::new(7));
        for _ in 0..3 {
            let mut kept = [0, 0];
            for packet in 0..100_000 {
                kept[0] += u32::from(choice.keeps(&fast, random.number()));
                if packet % 5_000 == 0 {
                    kept[1] += u32::from(choice.keeps(&slow, random.number()));
                }
            }
            assert_eq!(kept[1], 20);
            assert!((50..2_400).contains(&kept[0]), "{kept:?}");
            choice.renew(400);
        }
    }
}

//! One capture with both ends in it: captures of two hosts that share a clock, put together with mergecap.

use super::token::token;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::Saturate;
use wirelap_events::{Body, Event, FlowKey, Nanos, NetNs, Packet, PacketHook};

/// Fewer different packets say nothing.
const MIN_PACKETS: usize = 16;

/// The most packets that wait for their second sighting.
const MAX_WAITING: usize = 65_536;

/// Longest time between the two sightings of a packet.
const MAX_WAIT: Nanos = Nanos::from_millis(10_000);

/// The packets of a capture, from which it is found out whether it has each twice.
#[derive(Default)]
pub struct Sightings(FxHashMap<u64, u32>);

impl Sightings {
    /// Takes a packet in. Returns false if its direction is told, so that there is nothing to find out.
    pub fn add(&mut self, packet: &Packet<'_>) -> bool {
        if packet.hook == PacketHook::Xmit {
            return false;
        }
        if let Some(token) = token(packet) {
            self.0.entry(token).or_default().grow(1);
        }
        true
    }

    /// True if seven in ten packets are there exactly twice.
    pub fn are_twice(&self) -> bool {
        let twice = self.0.values().filter(|&&count| count == 2).count();
        self.0.len() >= MIN_PACKETS && twice.saturating_mul(10) >= self.0.len().saturating_mul(7)
    }
}

/// Takes the first sighting of a packet for its sending, and the second for its receipt.
#[derive(Debug, Default)]
pub struct DuplicateCapture {
    waiting: FxHashMap<u64, Nanos>,
    order: VecDeque<(Nanos, u64)>,
}

impl DuplicateCapture {
    /// A packet, sent or received.
    pub fn place<'a>(&mut self, mut event: Event<'a>) -> Event<'a> {
        let at = event.at;
        let Body::Packet(packet) = &mut event.body else { return event };
        let Some(token) = token(packet) else { return event };
        let is_second = self.waiting.remove(&token).is_some_and(|first| at <= first + MAX_WAIT);
        if is_second {
            packet.hook = PacketHook::Rx;
            packet.netns = NetNs(2);
        } else {
            self.wait(token, at);
            packet.hook = PacketHook::Xmit;
            packet.netns = NetNs(1);
        }
        let flow = packet.flow;
        packet.flow = FlowKey::new(flow.transport, flow.src, flow.dst, packet.netns);
        event
    }

    fn wait(&mut self, token: u64, at: Nanos) {
        while self.order.len() >= MAX_WAITING
            || self.order.front().is_some_and(|&(first, _)| first + MAX_WAIT < at)
        {
            let Some((first, old)) = self.order.pop_front() else { break };
            if self.waiting.get(&old) == Some(&first) {
                self.waiting.remove(&old);
            }
        }
        self.waiting.insert(token, at);
        self.order.push_back((at, token));
    }
}

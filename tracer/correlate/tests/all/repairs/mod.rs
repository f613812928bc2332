//! Messages of DDS that are lost in whole or in part, and sent again or not.

mod fragments;
mod order;

use crate::played::Played;
use wirelap_correlate::{Config, VerdictKind};
use wirelap_events::{
    Body, DropCause, DroppedPacket, FlowKey, LossCause, LostEvents, Nanos, NetNs, Probe, ReadKind,
    Stage,
};
use wirelap_test_support::world::udp::{ALL, End, Reported, datagram, end, flow};
use wirelap_test_support::world::{World, process};

const PREFIX: [u8; 12] = [1, 0x10, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const WRITER: u32 = 0x0000_0b02;

/// Bytes of a fragment, and fragments of a sample.
const PART: usize = 1000;
const PARTS: u32 = 5;

/// Serialized bytes of a sample: the last fragment is shorter.
const SAMPLE: usize = 4500;

fn header() -> Vec<u8> {
    let mut message = b"RTPS\x02\x05\x01\x10".to_vec();
    message.extend(PREFIX);
    message
}

/// A `DATA_FRAG` with one fragment, which counts from 0, little-endian.
fn submessage(writer: u32, number: u32, fragment: u32) -> Vec<u8> {
    let start = fragment as usize * PART;
    let len = PART.min(SAMPLE - start);
    let mut bytes = vec![0x16, 1];
    bytes.extend(u16::try_from(32 + len).unwrap().to_le_bytes());
    bytes.extend([0, 0, 28, 0, 0, 0, 0, 0]);
    bytes.extend(writer.to_be_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend((fragment + 1).to_le_bytes());
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(u16::try_from(PART).unwrap().to_le_bytes());
    bytes.extend(u32::try_from(SAMPLE).unwrap().to_le_bytes());
    // The encapsulation header, and a body that is no lone sequence.
    let body = [0u8, 1, 0, 0].into_iter().chain(std::iter::repeat(7));
    bytes.extend(body.skip(start.min(4)).take(len));
    bytes
}

/// A sender, and readers of its own or of a group.
struct Net {
    world: World,
    from: End,
    packets: u64,
}

impl Net {
    fn new() -> Net {
        let mut world = World::new();
        let from = end(&mut world, process(1, "pub"), "10.0.0.1:7411");
        Net { world, from, packets: 0 }
    }

    fn reader(&mut self, pid: u32, port: u16) -> End {
        end(&mut self.world, process(pid, "sub"), &format!("10.0.0.1:{port}"))
    }

    fn send(&mut self, way: FlowKey, to: &[End], submessages: &[Vec<u8>]) -> (Nanos, Vec<Nanos>) {
        self.packets += 1;
        let bytes = [header(), submessages.concat()].concat();
        datagram(&mut self.world, way, self.packets, self.from, to, &bytes, ALL)
    }

    fn part(&mut self, way: FlowKey, to: &[End], number: u32, part: u32) -> (Nanos, Vec<Nanos>) {
        self.send(way, to, &[submessage(WRITER, number, part)])
    }

    /// A sample to one reader, who does not get what is `lost`. When it was sent.
    fn sample(&mut self, way: FlowKey, to: End, number: u32, lost: &[u32]) -> Nanos {
        let mut sent = None;
        for part in 0..PARTS {
            let to: &[End] = if lost.contains(&part) { &[] } else { &[to] };
            let (at, _) = self.part(way, to, number, part);
            sent.get_or_insert(at);
        }
        sent.unwrap()
    }

    fn rest(&mut self, millis: u64) {
        self.world.now += millis * 1_000_000;
    }

    fn dropped(&mut self, way: FlowKey) {
        let drop = DroppedPacket {
            flow: way,
            cause: DropCause::SocketBuffer,
            reason: 6,
            len: 1000,
            outward: false,
            queued: None,
            netns: NetNs(0),
            mtu: 0,
            tcp: None,
        };
        self.world.tell(Body::Drop(drop), &[]);
    }

    fn play(&self) -> Played {
        Played::new(Config::default(), &self.world.events)
    }
}

fn way(port: u16) -> FlowKey {
    flow("10.0.0.1:7411", &format!("10.0.0.1:{port}"))
}

fn verdicts(played: &Played) -> Vec<VerdictKind> {
    played.group().why.verdicts.iter().map(|verdict| verdict.kind).collect()
}

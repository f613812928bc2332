//! Packets that come back through loopback: the probes report only the time, and the rest is known from when they were sent.

use crate::decode::LoopedPacket;
use wirelap_events::{Body, Event, LossCause, LostEvents, Packet, PacketHook, Probe};

/// The last packet that each CPU sent through a device without a link header, as loopback is.
#[derive(Default)]
pub(super) struct SentPackets {
    by_cpu: Vec<Option<Packet<'static>>>,
}

impl SentPackets {
    /// Notes the packet of an event, if it is one that may come back.
    pub fn note(&mut self, event: &Event<'_>) {
        let Body::Packet(packet) = event.body else { return };
        if packet.hook != PacketHook::Xmit || packet.link_header != 0 {
            return;
        }
        let cpu = usize::from(event.cpu.0);
        if cpu >= self.by_cpu.len() {
            self.by_cpu.resize(cpu + 1, None);
        }
        self.by_cpu[cpu] = Some(Packet { payload: &[], ..packet });
    }

    /// The event of a packet that has come back; that of a lost one if it is not the one that its CPU sent last.
    pub fn receive(&self, looped: &LoopedPacket) -> Event<'static> {
        let sent = self.by_cpu.get(usize::from(looped.cpu.0)).copied().flatten();
        let body = match sent.filter(|sent| sent.id == looped.id) {
            Some(sent) => Body::Packet(Packet {
                hook: PacketHook::Rx,
                task: looped.task,
                socket: None,
                queued: None,
                queue: 0,
                ..sent
            }),
            None => {
                Body::Lost(LostEvents { probe: Probe::Rx, count: 1, cause: LossCause::RunSkipped })
            }
        };
        Event { at: looped.at, cpu: looped.cpu, body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{
        Cpu, FlowKey, IfIndex, Nanos, NetNs, PacketId, PacketKind, Pid, SocketId, TaskId, Tid,
        Transport,
    };

    fn task(tid: u32) -> TaskId {
        TaskId { pid: Pid(1), tid: Tid(tid) }
    }

    fn sent(id: u64, link_header: u16) -> Packet<'static> {
        let (from, to) = ("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        Packet {
            hook: PacketHook::Xmit,
            flow: FlowKey::new(Transport::Udp, from, to, NetNs(9)),
            id: PacketId(id),
            socket: Some(SocketId(7)),
            task: task(1),
            netns: NetNs(9),
            device: IfIndex(1),
            queued: Some(Nanos(10)),
            queue: 3,
            wire_bytes: 33,
            link_header,
            ip_header: 20,
            transport_header: 8,
            payload_len: 5,
            segments: 1,
            deferred: false,
            kind: PacketKind::Whole,
            tcp: None,
            payload: b"bytes",
        }
    }

    fn note(packets: &mut SentPackets, cpu: u16, packet: Packet<'static>) {
        packets.note(&Event { at: Nanos(11), cpu: Cpu(cpu), body: Body::Packet(packet) });
    }

    fn receive(packets: &SentPackets, cpu: u16, id: u64) -> Option<Packet<'static>> {
        let looped = LoopedPacket { at: Nanos(12), cpu: Cpu(cpu), id: PacketId(id), task: task(2) };
        let event = packets.receive(&looped);
        assert_eq!((event.at, event.cpu), (Nanos(12), Cpu(cpu)));
        match event.body {
            Body::Packet(packet) => Some(packet),
            Body::Lost(LostEvents { probe: Probe::Rx, count: 1, .. }) => None,
            _ => panic!("{event:?}"),
        }
    }

    #[test]
    fn a_packet_comes_back_as_it_was_sent_without_what_is_of_its_sender() {
        let mut packets = SentPackets::default();
        note(&mut packets, 3, sent(5, 0));
        note(&mut packets, 0, sent(6, 0));
        let expected = Packet {
            hook: PacketHook::Rx,
            task: task(2),
            socket: None,
            queued: None,
            queue: 0,
            payload: b"",
            ..sent(5, 0)
        };
        assert_eq!(receive(&packets, 3, 5), Some(expected));
        assert_eq!(receive(&packets, 0, 6).map(|packet| packet.id), Some(PacketId(6)));
    }

    #[test]
    fn only_the_last_packet_of_its_cpu_comes_back() {
        let mut packets = SentPackets::default();
        assert_eq!(receive(&packets, 1, 5), None);
        note(&mut packets, 1, sent(5, 0));
        note(&mut packets, 1, sent(6, 0));
        note(&mut packets, 1, Packet { hook: PacketHook::Rx, ..sent(7, 0) });
        note(&mut packets, 1, sent(8, 14));
        assert_eq!(receive(&packets, 1, 5), None);
        assert_eq!(receive(&packets, 0, 6), None);
        assert_eq!(receive(&packets, 1, 6).map(|packet| packet.id), Some(PacketId(6)));
    }
}

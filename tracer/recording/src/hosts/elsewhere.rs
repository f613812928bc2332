//! What another host saw, as the first one would tell it: by its clock, and with numbers that none of its own has.

use wirelap_events::{
    Body, CgroupId, Cpu, DroppedPacket, Event, FlowKey, Holder, Lost, Nanos, NetNs, Packet,
    PacketId, Quota, ReadCall, ReadKind, Ready, ReadyKind, Retransmit, SendCall, SendKind, Socket,
    SocketId, TaskId, ThreadState, Wake,
};

/// What makes numbers of one host others than those of another, beside its number in the highest bits.
const ELSEWHERE: u64 = 0x5555_5555_5555_5555;
const ELSEWHERE_NETNS: u32 = 0x5555_5555;

/// The network namespace that the packets of a host's capture are in, where the capture names none: 1 for the first host.
pub fn netns_on(host: u8) -> NetNs {
    NetNs(Renumbering::of(host).netns)
}

/// Numbers that one host gives by itself, as those of the `number`th host: 1 for the first, which keeps them.
#[derive(Clone, Copy, Debug)]
pub struct Renumbering {
    number: u8,
    long: u64,
    netns: u32,
    cpu: u16,
}

/// Every time of an event by another clock. All fields are named, so that one that is added does not compile until it
/// is thought of here.
pub fn retime(event: &mut Event<'_>, clock: impl Fn(Nanos) -> Nanos) {
    let seen = event.at;
    event.at = clock(seen);
    let optional = |at: &mut Option<Nanos>| *at = at.map(&clock);
    match &mut event.body {
        Body::Send(SendCall { kind: SendKind::Datagram { entered, len: _ }, .. }) => {
            optional(entered);
        }
        Body::Read(ReadCall {
            kind: ReadKind::Datagram { seen, packet: _, flow: _, len: _ },
            ..
        })
        | Body::Ready(Ready { kind: ReadyKind::Datagram { seen, packet: _ }, .. }) => {
            optional(seen);
        }
        Body::Packet(Packet { queued, .. }) | Body::Drop(DroppedPacket { queued, .. }) => {
            optional(queued);
        }
        Body::Wake(Wake {
            left,
            woken,
            task: _,
            reason: _,
            waker: _,
            from_irq: _,
            migrated: _,
            holder: Holder { task: _, comm: _, held: _ },
            others: _,
            throttled: _,
            cgroup: _,
            sleep: _,
            waker_comm: _,
        }) => {
            optional(left);
            *woken = clock(*woken);
        }
        Body::Send(SendCall { kind: SendKind::Stream { start: _, len: _, state: _ }, .. })
        | Body::Socket(_)
        | Body::Closed(_)
        | Body::Read(ReadCall { kind: ReadKind::Stream { end: _, len: _ }, .. })
        | Body::Ready(Ready { kind: ReadyKind::Stream(_), .. })
        | Body::Retransmit(_)
        | Body::Quota(_)
        | Body::Lost(_)
        | Body::State(_)
        | Body::Window(_) => {}
    }
}

impl Renumbering {
    /// As those of a host: 1 for the first.
    pub fn of(number: u8) -> Renumbering {
        let before = number.saturating_sub(1);
        let is_first = before == 0;
        Renumbering {
            number,
            long: if is_first { 0 } else { ELSEWHERE ^ u64::from(before.saturating_sub(1)) << 56 },
            netns: if is_first {
                0
            } else {
                ELSEWHERE_NETNS ^ u32::from(before.saturating_sub(1)) << 24
            },
            // The highest bits of the 4096 that the correlator tells apart.
            cpu: u16::from(before).reverse_bits() >> 4,
        }
    }

    /// An event's numbers.
    #[expect(
        clippy::too_many_lines,
        reason = "every field of every event, so that a new one is not forgotten"
    )]
    pub fn renumber(&self, event: &mut Event<'_>) {
        if self.number <= 1 {
            return;
        }
        event.cpu = Cpu(event.cpu.0 ^ self.cpu);
        match &mut event.body {
            Body::Socket(Socket {
                id,
                netns,
                task,
                transport: _,
                local: _,
                remote: _,
                comm: _,
                origin: _,
                tx_next: _,
                rx_next: _,
            }) => {
                self.socket(id);
                self.namespace(netns);
                self.thread(task);
            }
            Body::State(ThreadState { task, doing: _ }) => self.thread(task),
            Body::Closed(id)
            | Body::Retransmit(Retransmit { socket: id, start: _, len: _, recovery: _ }) => {
                self.socket(id);
            }
            Body::Send(SendCall { socket: id, task, kind: _ }) => {
                self.socket(id);
                self.thread(task);
            }
            Body::Read(ReadCall { socket: id, task, kind }) => {
                self.socket(id);
                self.thread(task);
                match kind {
                    ReadKind::Datagram { packet: memory, seen: _, flow: key, len: _ } => {
                        if let Some(id) = memory {
                            self.packet(id);
                        }
                        if let Some(key) = key {
                            self.flow(key);
                        }
                    }
                    ReadKind::Stream { end: _, len: _ } => {}
                }
            }
            Body::Ready(Ready { socket: id, kind }) => {
                self.socket(id);
                match kind {
                    ReadyKind::Datagram { packet: memory, seen: _ } => {
                        if let Some(id) = memory {
                            self.packet(id);
                        }
                    }
                    ReadyKind::Stream(_) => {}
                }
            }
            Body::Packet(seen) => {
                self.packet(&mut seen.id);
                seen.socket.iter_mut().for_each(|id| self.socket(id));
                self.thread(&mut seen.task);
                self.namespace(&mut seen.netns);
                self.flow(&mut seen.flow);
            }
            Body::Wake(Wake {
                task,
                waker,
                holder: Holder { task: holder, comm: _, held: _ },
                reason: _,
                left: _,
                woken: _,
                from_irq: _,
                migrated: _,
                others,
                throttled: _,
                cgroup,
                sleep: _,
                waker_comm: _,
            }) => {
                let others = others.iter_mut().map(|other| &mut other.task);
                [task, waker, holder].into_iter().chain(others).for_each(|task| self.thread(task));
                self.cgroup(cgroup);
            }
            Body::Quota(Quota {
                cgroup,
                task,
                name: _,
                is_v2: _,
                quota: _,
                period: _,
                periods: _,
                throttled_periods: _,
                throttled: _,
            }) => {
                self.cgroup(cgroup);
                self.thread(task);
            }
            Body::Drop(DroppedPacket {
                flow: key,
                cause: _,
                reason: _,
                len: _,
                outward: _,
                queued: _,
                tcp: _,
            }) => self.flow(key),
            Body::Lost(Lost { probe: _, count: _ }) | Body::Window(_) => {}
        }
    }

    fn socket(&self, id: &mut SocketId) {
        id.0 ^= self.long;
    }

    /// 0 stays none.
    fn cgroup(&self, id: &mut CgroupId) {
        if id.0 != 0 {
            id.0 ^= self.long;
        }
    }

    fn packet(&self, id: &mut PacketId) {
        id.0 ^= self.long;
    }

    fn namespace(&self, netns: &mut NetNs) {
        netns.0 ^= self.netns;
    }

    fn thread(&self, task: &mut TaskId) {
        *task = TaskId { pid: task.pid.on_host(self.number), tid: task.tid.on_host(self.number) };
    }

    /// What stays within a namespace stays within that of its host.
    fn flow(&self, key: &mut FlowKey) {
        let mut scope = key.scope;
        self.namespace(&mut scope);
        *key = FlowKey::new(key.transport, key.src, key.dst, scope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{Comm, IfIndex, PacketHook, Pid, Portion, Seq, Tid, Transport};

    fn at(body: Body<'_>) -> Event<'_> {
        Event { at: Nanos(100), cpu: Cpu(1), body }
    }

    const TASK: TaskId = TaskId { pid: Pid(7), tid: Tid(8) };

    fn key(local: bool, scope: u32) -> FlowKey {
        let [a, b] =
            if local { ["127.0.0.1:1", "127.0.0.1:2"] } else { ["10.0.0.1:1", "10.0.0.2:2"] };
        FlowKey::new(Transport::Udp, a.parse().unwrap(), b.parse().unwrap(), NetNs(scope))
    }

    #[test]
    fn every_time_moves_with_its_event() {
        let wake = Wake { woken: Nanos(90), left: Some(Nanos(50)), ..Wake::default() };
        let mut event = at(Body::Wake(wake));
        retime(&mut event, |at| at + Nanos(1_000));
        let Body::Wake(moved) = event.body else { unreachable!() };
        assert_eq!((event.at.0, moved.woken.0, moved.left), (1_100, 1_090, Some(Nanos(1_050))));
        let kind = SendKind::Datagram { len: 1, entered: Some(Nanos(80)) };
        let mut event = at(Body::Send(SendCall { socket: SocketId(1), task: TASK, kind }));
        retime(&mut event, |at| at + Nanos(1_000));
        let Body::Send(SendCall { kind, .. }) = event.body else { unreachable!() };
        assert_eq!(kind, SendKind::Datagram { len: 1, entered: Some(Nanos(1_080)) });
        let packet = Some(PacketId(3));
        let kind = ReadKind::Datagram { packet, seen: Some(Nanos(80)), flow: None, len: 1 };
        let mut read = at(Body::Read(ReadCall { socket: SocketId(1), task: TASK, kind }));
        let kind = ReadyKind::Datagram { packet, seen: Some(Nanos(80)) };
        let mut ready = at(Body::Ready(Ready { socket: SocketId(1), kind }));
        retime(&mut read, |at| at + Nanos(1_000));
        retime(&mut ready, |at| at + Nanos(1_000));
        let (Body::Read(read), Body::Ready(ready)) = (read.body, ready.body) else {
            unreachable!()
        };
        assert!(matches!(read.kind, ReadKind::Datagram { seen: Some(Nanos(1_080)), .. }));
        assert!(matches!(ready.kind, ReadyKind::Datagram { seen: Some(Nanos(1_080)), .. }));
    }

    #[test]
    fn events_of_one_socket_stay_together_and_apart_from_the_other_hosts() {
        let id = SocketId(5);
        let mut ready = at(Body::Ready(Ready { socket: id, kind: ReadyKind::Stream(Seq(1)) }));
        let kind = ReadKind::Stream { end: Seq(1), len: 1 };
        let mut read = at(Body::Read(ReadCall { socket: id, task: TASK, kind }));
        Renumbering::of(2).renumber(&mut ready);
        Renumbering::of(2).renumber(&mut read);
        let (Body::Ready(ready), Body::Read(read)) = (ready.body, read.body) else {
            unreachable!()
        };
        assert_eq!(ready.socket, read.socket);
        assert_ne!(read.socket, id);
        assert_eq!((read.task.pid.number(), read.task.tid.number()), (7, 8));
        assert_eq!(read.task.pid.host(), 2);
    }

    #[test]
    fn every_host_has_its_own_numbers() {
        let numbers = |host: u8| {
            let kind =
                ReadyKind::Datagram { packet: Some(PacketId(0xFFFF_8880_0000_0040)), seen: None };
            let mut ready = at(Body::Ready(Ready { socket: SocketId(5), kind }));
            Renumbering::of(host).renumber(&mut ready);
            let Body::Ready(Ready { socket, kind: ReadyKind::Datagram { packet: Some(id), .. } }) =
                ready.body
            else {
                unreachable!()
            };
            (socket, id, ready.cpu)
        };
        let all: Vec<_> = (1..=64).map(numbers).collect();
        assert_eq!(all[0], (SocketId(5), PacketId(0xFFFF_8880_0000_0040), Cpu(1)));
        for (index, one) in all.iter().enumerate() {
            let others = all.iter().take(index);
            assert!(others.into_iter().all(|o| o.0 != one.0 && o.1 != one.1 && o.2 != one.2));
        }
    }

    #[test]
    fn flows_between_hosts_stay_the_same_and_those_within_one_do_not() {
        for local in [false, true] {
            let kind = ReadKind::Datagram {
                packet: Some(PacketId(3)),
                seen: None,
                flow: Some(key(local, 9)),
                len: 1,
            };
            let mut event = at(Body::Read(ReadCall { socket: SocketId(1), task: TASK, kind }));
            Renumbering::of(2).renumber(&mut event);
            let Body::Read(ReadCall { kind: ReadKind::Datagram { packet, flow, .. }, .. }) =
                event.body
            else {
                unreachable!()
            };
            assert_ne!(packet, Some(PacketId(3)));
            assert_eq!(flow == Some(key(local, 9)), !local);
        }
    }

    #[test]
    fn an_idle_cpu_is_nobody_on_both() {
        let mut event = at(Body::Wake(Wake { task: TASK, ..Wake::default() }));
        Renumbering::of(2).renumber(&mut event);
        let Body::Wake(wake) = event.body else { unreachable!() };
        assert_eq!(wake.holder.task, TaskId::default());
        assert_eq!(wake.waker, TaskId::default());
    }

    #[test]
    fn a_socket_has_its_packets() {
        let local = "10.0.0.1:1".parse().unwrap();
        let mut socket = at(Body::Socket(Socket {
            id: SocketId(5),
            netns: NetNs(9),
            transport: Transport::Udp,
            local,
            remote: None,
            task: TASK,
            comm: Comm::default(),
            origin: wirelap_events::Origin::FirstSeen,
            tx_next: None,
            rx_next: None,
        }));
        let mut packet = at(Body::Packet(Packet {
            hook: PacketHook::Xmit,
            flow: key(true, 9),
            id: PacketId(3),
            socket: Some(SocketId(5)),
            task: TASK,
            netns: NetNs(9),
            device: IfIndex(1),
            queued: Some(Nanos(99)),
            queue: 0,
            wire_bytes: 50,
            link_header: 14,
            ip_header: 20,
            transport_header: 8,
            payload_len: 8,
            segments: 1,
            deferred: false,
            portion: Portion::Whole,
            tcp: None,
            payload: &[],
        }));
        Renumbering::of(2).renumber(&mut socket);
        Renumbering::of(2).renumber(&mut packet);
        let (Body::Socket(socket), Body::Packet(packet)) = (socket.body, packet.body) else {
            unreachable!()
        };
        assert_eq!(packet.socket, Some(socket.id));
        assert_eq!(packet.netns, socket.netns);
        assert_eq!(packet.flow.scope, socket.netns);
    }
}

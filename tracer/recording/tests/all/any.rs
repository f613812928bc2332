//! Any event that a probe can tell.

use arrayvec::ArrayString;
use proptest::option;
use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};
use wirelap_events::{
    Body, CgroupId, Comm, Cpu, DropCause, DroppedPacket, Event, FlowKey, Holder, IfIndex,
    LossCause, LostEvents, Nagle, Nanos, NetNs, OffCpuReason, Packet, PacketHook, PacketId,
    PacketKind, Pid, Probe, ProcessEnd, Quota, ReadCall, ReadKind, Ready, ReadyKind, Recovery,
    Retransmit, SendCall, SendKind, Seq, SleepCall, Socket, SocketId, SocketOrigin, TaskId,
    TcpFields, ThreadActivity, ThreadState, Tid, Transport, TxState, Wake,
};
use wirelap_test_support::event::OwnedEvent;

fn loss_cause() -> impl Strategy<Value = LossCause> {
    prop_oneof![
        Just(LossCause::RingFull),
        Just(LossCause::RunSkipped),
        Just(LossCause::StatedByFile)
    ]
}

/// Any event.
pub fn told() -> impl Strategy<Value = OwnedEvent> {
    let others = prop_oneof![
        socket().prop_map(Body::Socket),
        any::<u64>().prop_map(|id| Body::Closed(SocketId(id))),
        send().prop_map(Body::Send),
        read().prop_map(Body::Read),
        ready().prop_map(Body::Ready),
        wake().prop_map(Body::Wake),
        quota().prop_map(Body::Quota),
        (task(), any::<u32>(), any::<bool>()).prop_map(|(task, status, out_of_memory)| {
            Body::Ended(ProcessEnd { task, status, out_of_memory })
        }),
        retransmit().prop_map(Body::Retransmit),
        drops().prop_map(Body::Drop),
        (probe(), any::<u64>(), loss_cause())
            .prop_map(|(probe, count, cause)| Body::Lost(LostEvents { probe, count, cause })),
        (task(), 0usize..5, any::<[Option<u64>; 3]>()).prop_map(|(task, doing, times)| {
            let all = [
                ThreadActivity::Stopped,
                ThreadActivity::Asleep,
                ThreadActivity::Blocked,
                ThreadActivity::Runnable,
                ThreadActivity::Running,
            ];
            let [cpu_time, waited, ran] = times.map(|time| time.map(Nanos));
            let activity = all[doing];
            Body::State(ThreadState { task, activity, cpu_time, waited, ran })
        }),
        any::<bool>().prop_map(Body::Window),
        any::<u64>().prop_map(|since| Body::Waiting(Nanos(since))),
    ];
    let payload = prop::collection::vec(any::<u8>(), 0..300);
    let packets = (packet(), payload).prop_map(|(mut packet, payload)| {
        let len = u32::try_from(payload.len()).unwrap();
        packet.payload_len = packet.payload_len.max(len);
        (Body::Packet(packet), payload)
    });
    let body = prop_oneof![others.prop_map(|body| (body, Vec::new())), packets];
    (any::<u64>(), any::<u16>(), body).prop_map(|(at, cpu, (body, payload))| OwnedEvent {
        event: Event { at: Nanos(at), cpu: Cpu(cpu), body },
        payload,
    })
}

fn task() -> impl Strategy<Value = TaskId> {
    any::<(u32, u32)>().prop_map(|(pid, tid)| TaskId { pid: Pid(pid), tid: Tid(tid) })
}

fn comm() -> impl Strategy<Value = Comm> {
    any::<[u8; 16]>().prop_map(Comm)
}

fn transport() -> impl Strategy<Value = Transport> {
    prop_oneof![Just(Transport::Tcp), Just(Transport::Udp)]
}

fn addresses() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let ip = |v4: bool, bytes: [u8; 16]| {
        if v4 { IpAddr::from(*bytes.first_chunk::<4>().unwrap()) } else { IpAddr::from(bytes) }
    };
    let side = || any::<([u8; 16], u16)>();
    (any::<bool>(), side(), side()).prop_map(move |(v4, a, b)| {
        (SocketAddr::new(ip(v4, a.0), a.1), SocketAddr::new(ip(v4, b.0), b.1))
    })
}

fn flow() -> impl Strategy<Value = FlowKey> {
    (transport(), addresses(), any::<u32>())
        .prop_map(|(transport, (a, b), netns)| FlowKey::new(transport, a, b, NetNs(netns)))
}

fn nanos() -> impl Strategy<Value = Option<Nanos>> {
    option::of(any::<u64>().prop_map(Nanos))
}

fn seq() -> impl Strategy<Value = Seq> {
    any::<u32>().prop_map(Seq)
}

fn socket() -> impl Strategy<Value = Socket> {
    let origin = prop_oneof![
        Just(SocketOrigin::Existing),
        Just(SocketOrigin::Connected),
        Just(SocketOrigin::Accepted),
        Just(SocketOrigin::FirstSeen),
    ];
    let known = (any::<u64>(), any::<u32>(), transport(), addresses(), any::<[bool; 2]>());
    (known, task(), comm(), origin, option::of(seq()), option::of(seq())).prop_map(
        |(
            (id, netns, transport, (local, peer), [connected, is_subflow]),
            task,
            comm,
            origin,
            tx_next,
            rx_next,
        )| {
            Socket {
                id: SocketId(id),
                netns: NetNs(netns),
                transport,
                local,
                remote: Some(peer).filter(|_| connected),
                task,
                comm,
                origin,
                tx_next,
                rx_next,
                is_subflow,
            }
        },
    )
}

fn send() -> impl Strategy<Value = SendCall> {
    let nagle = prop_oneof![Just(Nagle::On), Just(Nagle::Off), Just(Nagle::Corked)];
    let state = (any::<[u32; 8]>(), nagle, any::<u64>()).prop_map(|(n, nagle, pacing)| TxState {
        in_flight: n[0],
        unsent: n[1],
        window: n[2],
        mss: n[3],
        cwnd: n[4],
        segments_out: n[5],
        nagle,
        send_buffer: n[6],
        pacing,
        min_rtt: n[7],
    });
    let kind =
        prop_oneof![
            (seq(), any::<u32>(), option::of(state))
                .prop_map(|(start, len, state)| SendKind::Stream { start, len, state }),
            (any::<u32>(), nanos()).prop_map(|(len, entered)| SendKind::Datagram { len, entered }),
        ];
    (any::<u64>(), task(), kind).prop_map(|(id, task, kind)| SendCall {
        socket: SocketId(id),
        task,
        kind,
    })
}

fn read() -> impl Strategy<Value = ReadCall> {
    let packet = option::of(any::<u64>().prop_map(PacketId));
    let kind = prop_oneof![
        (seq(), any::<u32>()).prop_map(|(end, len)| ReadKind::Stream { end, len }),
        (packet, nanos(), option::of(flow()), any::<u32>())
            .prop_map(|(packet, seen, flow, len)| ReadKind::Datagram { packet, seen, flow, len }),
    ];
    (any::<u64>(), task(), kind).prop_map(|(id, task, kind)| ReadCall {
        socket: SocketId(id),
        task,
        kind,
    })
}

fn ready() -> impl Strategy<Value = Ready> {
    let kind = prop_oneof![
        seq().prop_map(ReadyKind::Stream),
        (option::of(any::<u64>().prop_map(PacketId)), nanos())
            .prop_map(|(packet, seen)| ReadyKind::Datagram { packet, seen }),
    ];
    (any::<u64>(), kind).prop_map(|(id, kind)| Ready { socket: SocketId(id), kind })
}

fn wake() -> impl Strategy<Value = Wake> {
    let rest = prop_oneof![
        Just(OffCpuReason::Asleep),
        Just(OffCpuReason::Blocked),
        Just(OffCpuReason::Stopped),
        Just(OffCpuReason::Preempted),
    ];
    let holder = (task(), comm(), any::<u64>()).prop_map(|(task, comm, held)| Holder {
        task,
        comm,
        held: Nanos(held),
    });
    (task(), rest, nanos(), any::<u64>(), task(), any::<(bool, bool)>(), holder).prop_map(
        |(task, rest, left, woken, waker, (from_irq, migrated), holder)| Wake {
            task,
            reason: rest,
            left,
            woken: Nanos(woken),
            waker,
            from_irq,
            migrated,
            missed: from_irq != migrated,
            holder,
            others: [holder, Holder::NOBODY, Holder::NOBODY],
            rest: if migrated { holder.held } else { Nanos(0) },
            throttled: holder.held,
            cgroup: CgroupId(woken),
            sleep: if from_irq { SleepCall::Timer } else { SleepCall::Lock },
            waker_comm: holder.comm,
        },
    )
}

fn quota() -> impl Strategy<Value = Quota> {
    (task(), any::<[u64; 4]>(), any::<[u32; 2]>(), any::<bool>(), "[a-z/.é]{0,90}").prop_map(
        |(task, [cgroup, quota, period, throttled], [periods, throttled_periods], is_v2, name)| {
            Quota {
                cgroup: CgroupId(cgroup),
                task,
                name: ArrayString::from(&name).unwrap(),
                is_v2,
                quota: Nanos(quota),
                period: Nanos(period),
                periods,
                throttled_periods,
                throttled: Nanos(throttled),
            }
        },
    )
}

fn retransmit() -> impl Strategy<Value = Retransmit> {
    let recovery = option::of(prop::sample::select(&Recovery::ALL[..]));
    (any::<u64>(), seq(), any::<u32>(), recovery).prop_map(|(id, start, len, recovery)| {
        Retransmit { socket: SocketId(id), start, len, recovery }
    })
}

fn drops() -> impl Strategy<Value = DroppedPacket> {
    let cause = prop::sample::select(&DropCause::ALL[..]);
    let way = (any::<bool>(), nanos(), option::of((seq(), seq(), any::<u8>(), any::<u16>())));
    let way = (way, any::<u32>(), any::<u32>());
    (flow(), cause, any::<u32>(), any::<u32>(), way).prop_map(
        |(flow, cause, reason, len, ((outward, queued, tcp), netns, mtu))| DroppedPacket {
            netns: NetNs(netns),
            mtu,
            flow,
            cause,
            reason,
            len,
            outward,
            queued,
            tcp: tcp.map(|(seq, ack, flags, window)| TcpFields { seq, ack, flags, window }),
        },
    )
}

fn probe() -> impl Strategy<Value = Probe> {
    (0..Probe::ALL.len()).prop_map(|index| Probe::ALL[index])
}

/// A packet as the probes tell it; its headers may be as long as they like, as they do in no packet.
fn packet() -> impl Strategy<Value = Packet<'static>> {
    let hook = prop_oneof![Just(PacketHook::Xmit), Just(PacketHook::Rx)];
    let who = (hook, any::<u64>(), option::of(any::<u64>()), task());
    let place = (any::<u32>(), any::<u32>(), nanos(), any::<u16>());
    let sizes = (any::<u32>(), any::<u16>(), 0..12u16, 0..12u16, payload_len(), any::<u16>());
    let tcp = (any::<u32>(), any::<u32>(), any::<u8>(), any::<u16>());
    (who, (transport(), addresses()), place, sizes, any::<(bool, bool)>(), tcp).prop_map(
        |((hook, id, socket, task), (transport, (src, dst)), place, sizes, odd, tcp)| {
            let is_tcp = transport == Transport::Tcp;
            let ip = if src.is_ipv4() { 20 + 4 * sizes.2.min(10) } else { 40 + 8 * sizes.2 };
            let header = if is_tcp { 20 + 4 * sizes.3.min(10) } else { 8 };
            Packet {
                hook,
                flow: FlowKey::new(transport, src, dst, NetNs(place.0)),
                id: PacketId(id),
                socket: socket.map(SocketId),
                task,
                netns: NetNs(place.0),
                device: IfIndex(place.1),
                queued: place.2,
                queue: place.3,
                wire_bytes: sizes.0,
                link_header: sizes.1,
                ip_header: if odd.0 && odd.1 { sizes.1 } else { ip },
                transport_header: header,
                payload_len: sizes.4,
                segments: sizes.5,
                deferred: odd.0,
                kind: match (odd, is_tcp) {
                    ((true, false), false) => PacketKind::Fragment { start: sizes.4, of: tcp.0 },
                    ((false, true), _) => PacketKind::IcmpError,
                    _ => PacketKind::Whole,
                },
                tcp: is_tcp.then_some(TcpFields {
                    seq: Seq(tcp.0),
                    ack: Seq(tcp.1),
                    flags: tcp.2,
                    window: tcp.3,
                }),
                payload: &[],
            }
        },
    )
}

/// Lengths of ordinary packets, of large offloads, and of packets that cannot be.
fn payload_len() -> impl Strategy<Value = u32> {
    prop_oneof![0..70_000u32, 0..600_000u32, any::<u32>()]
}

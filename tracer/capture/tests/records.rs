//! Records as the kernel would send them: every kind is read right, and cut short at every byte.

use std::net::SocketAddr;
use wirelap_capture::decode::{Malformed, decode};
use wirelap_ebpf::layout::{self as l, wl_flow, wl_head, wl_task};
use wirelap_events::{
    Body, CgroupId, Cpu, DropCause, Event, FlowKey, Nagle, Nanos, NetNs, OffCpuReason, Origin,
    PacketHook, PacketId, Pid, ReadKind, ReadyKind, Recovery, SendKind, Seq, Sleep, SocketId,
    TaskId, Tid, Transport, TxState,
};

const TASK: TaskId = TaskId { pid: Pid(71), tid: Tid(72) };

/// A record under construction.
struct Record(Vec<u8>);

impl Record {
    fn new(kind: u32, size: usize) -> Record {
        let mut record = Record(vec![0; size]);
        record.put(wl_head::AT, &1_234_u64.to_ne_bytes());
        record.put(wl_head::CPU, &5_u16.to_ne_bytes());
        record.put(wl_head::KIND, &[u8::try_from(kind).unwrap()]);
        record
    }

    fn put(&mut self, at: usize, bytes: &[u8]) -> &mut Record {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn u32(&mut self, at: usize, value: u32) -> &mut Record {
        self.put(at, &value.to_ne_bytes())
    }

    fn u64(&mut self, at: usize, value: u64) -> &mut Record {
        self.put(at, &value.to_ne_bytes())
    }

    fn task(&mut self, at: usize) -> &mut Record {
        self.u32(at + wl_task::PID, 71).u32(at + wl_task::TID, 72)
    }

    /// 10.0.0.1:1000 → 10.0.0.2:2000 in namespace 9.
    fn flow(&mut self, at: usize, transport: u8) -> &mut Record {
        self.put(at + wl_flow::SRC, &[10, 0, 0, 1])
            .put(at + wl_flow::DST, &[10, 0, 0, 2])
            .put(at + wl_flow::SPORT, &1000_u16.to_ne_bytes())
            .put(at + wl_flow::DPORT, &2000_u16.to_ne_bytes())
            .put(at + wl_flow::FAMILY, &[4])
            .put(at + wl_flow::TRANSPORT, &[transport])
            .u32(at + wl_flow::NETNS, 9)
    }

    fn body(&self) -> Body<'_> {
        let Event { at, cpu, body } = decode(&self.0).unwrap();
        assert_eq!((at, cpu), (Nanos(1_234), Cpu(5)));
        body
    }
}

fn addresses() -> (SocketAddr, SocketAddr) {
    ("10.0.0.1:1000".parse().unwrap(), "10.0.0.2:2000".parse().unwrap())
}

fn key(transport: Transport) -> FlowKey {
    let (src, dst) = addresses();
    FlowKey::new(transport, src, dst, NetNs(9))
}

fn socket() -> Record {
    use l::wl_socket as f;
    let mut record = Record::new(l::WL_SOCKET, f::SIZE);
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_HAS_SEQ).unwrap()]);
    record.u64(f::COOKIE, 42).task(f::TASK).put(f::COMM, b"mosquitto").flow(f::FLOW, 6);
    record.u32(f::TX_NEXT, 7).u32(f::RX_NEXT, 8).u32(f::ORIGIN, l::WL_ORIGIN_ACCEPTED);
    record
}

fn packet(kind: u32, transport: u8, payload: &[u8]) -> Record {
    use l::wl_packet as f;
    let mut record = Record::new(kind, f::SIZE);
    record.u32(wl_head::CAPTURED, u32::try_from(payload.len()).unwrap());
    record.u64(f::ID, 0xabc).u64(f::COOKIE, 42).task(f::TASK).u64(f::QUEUED, 1_200);
    record.flow(f::FLOW, transport).u32(f::DEVICE, 2).u32(f::WIRE_BYTES, 166);
    record.u32(f::PAYLOAD_LEN, 100).u32(f::SEQ, 11).u32(f::ACK, 12);
    record.put(f::WINDOW, &500_u16.to_ne_bytes()).put(f::QUEUE, &3_u16.to_ne_bytes());
    record.put(f::SEGMENTS, &1_u16.to_ne_bytes()).put(f::LINK_HEADER, &14_u16.to_ne_bytes());
    record.put(f::IP_HEADER, &20_u16.to_ne_bytes()).put(f::TRANSPORT_HEADER, &[32]);
    record.put(f::TCP_FLAGS, &[0x18]);
    record.0.extend_from_slice(payload);
    record
}

fn all_kinds() -> Vec<Record> {
    let with_flow = |kind, size, flow| {
        let mut record = Record::new(kind, size);
        record.flow(flow, 17);
        record
    };
    vec![
        socket(),
        Record::new(l::WL_CLOSED, l::wl_closed::SIZE),
        Record::new(l::WL_SEND_STREAM, l::wl_send::SIZE),
        Record::new(l::WL_SEND_DATAGRAM, l::wl_send::SIZE),
        Record::new(l::WL_READ_STREAM, l::wl_read::SIZE),
        Record::new(l::WL_READ_DATAGRAM, l::wl_read::SIZE),
        Record::new(l::WL_READY_STREAM, l::wl_ready::SIZE),
        Record::new(l::WL_READY_DATAGRAM, l::wl_ready::SIZE),
        packet(l::WL_XMIT, 6, b"payload"),
        packet(l::WL_RX, 17, b""),
        Record::new(l::WL_WAKE, l::wl_wake::SIZE),
        Record::new(l::WL_RETRANSMIT, l::wl_retransmit::SIZE),
        with_flow(l::WL_DROP, l::wl_drop::SIZE, l::wl_drop::FLOW),
    ]
}

#[test]
fn every_kind_is_refused_at_every_length_but_its_own() {
    for record in all_kinds() {
        assert!(decode(&record.0).is_ok(), "{:?}", record.0);
        for end in 0..record.0.len() {
            let error = decode(&record.0[..end]).unwrap_err();
            assert!(matches!(error, Malformed::Short { got, .. } if got == end), "{error}");
        }
        // Rings round records up, and packets come in size classes.
        let mut longer = record.0.clone();
        longer.extend_from_slice(&[0xff; 9]);
        assert_eq!(decode(&longer), decode(&record.0));
    }
}

#[test]
fn any_bytes_at_all_are_an_event_or_an_error() {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_le_bytes()[6]
    };
    for len in 0..600 {
        let mut bytes: Vec<u8> = (0..len).map(|_| next()).collect();
        if let Some(kind) = bytes.get_mut(wl_head::KIND) {
            *kind %= 16;
        }
        if let Ok(Event { body: Body::Packet(packet), .. }) = decode(&bytes) {
            assert!(packet.payload.len() < len);
        }
    }
}

#[test]
fn a_socket() {
    let record = socket();
    let Body::Socket(socket) = record.body() else { panic!() };
    let (local, remote) = addresses();
    assert_eq!((socket.id, socket.netns, socket.task), (SocketId(42), NetNs(9), TASK));
    assert_eq!((socket.local, socket.remote), (local, Some(remote)));
    assert_eq!((socket.comm.as_str(), socket.origin), ("mosquitto", Origin::Accepted));
    assert_eq!((socket.tx_next, socket.rx_next), (Some(Seq(7)), Some(Seq(8))));
}

#[test]
fn a_socket_without_peer_or_sequence_numbers() {
    let mut record = socket();
    record.put(wl_head::FLAGS, &[0]);
    record.put(l::wl_socket::FLOW + wl_flow::DPORT, &[0, 0]);
    let Body::Socket(socket) = record.body() else { panic!() };
    assert_eq!((socket.remote, socket.tx_next, socket.rx_next), (None, None, None));
}

#[test]
fn sends_and_reads() {
    let mut send = Record::new(l::WL_SEND_STREAM, l::wl_send::SIZE);
    send.u64(l::wl_send::COOKIE, 42).task(l::wl_send::TASK);
    send.u32(l::wl_send::START, 100).u32(l::wl_send::LEN, 64).u64(l::wl_send::ENTERED, 99);
    let Body::Send(found) = send.body() else { panic!() };
    assert_eq!((found.socket, found.task), (SocketId(42), TASK));
    let SendKind::Stream { start, len, state: Some(state) } = found.kind else { panic!() };
    assert_eq!((start, len, state), (Seq(100), 64, TxState::default()));

    send.put(wl_head::KIND, &[u8::try_from(l::WL_SEND_DATAGRAM).unwrap()]);
    let Body::Send(found) = send.body() else { panic!() };
    assert_eq!(found.kind, SendKind::Datagram { len: 64, entered: Some(Nanos(99)) });

    let mut read = Record::new(l::WL_READ_STREAM, l::wl_read::SIZE);
    read.u64(l::wl_read::COOKIE, 42).task(l::wl_read::TASK).u64(l::wl_read::PACKET, 0xabc);
    read.u32(l::wl_read::END, 164).u32(l::wl_read::LEN, 64);
    let Body::Read(found) = read.body() else { panic!() };
    assert_eq!(found.kind, ReadKind::Stream { end: Seq(164), len: 64 });

    read.put(wl_head::KIND, &[u8::try_from(l::WL_READ_DATAGRAM).unwrap()]);
    read.u64(l::wl_read::SEEN, 77);
    let Body::Read(found) = read.body() else { panic!() };
    let (packet, seen) = (Some(PacketId(0xabc)), Some(Nanos(77)));
    assert_eq!(found.kind, ReadKind::Datagram { packet, seen, flow: None, len: 64 });
}

#[test]
fn what_tcp_knew_at_a_send() {
    use l::wl_tx as f;
    let tx = l::wl_send::TX;
    let mut send = Record::new(l::WL_SEND_STREAM, l::wl_send::SIZE);
    send.u32(tx + f::IN_FLIGHT, 1).u32(tx + f::UNSENT, 2).u32(tx + f::WINDOW, 3);
    send.u32(tx + f::MSS, 4).u32(tx + f::CWND, 5).u32(tx + f::SEGMENTS_OUT, 6);
    send.u32(tx + f::SEND_BUFFER, 7).u64(tx + f::PACING, 1 << 40);
    for (number, nagle) in [
        (l::WL_NAGLE_ON, Nagle::On),
        (l::WL_NAGLE_OFF, Nagle::Off),
        (l::WL_NAGLE_CORKED, Nagle::Corked),
    ] {
        send.u32(tx + f::NAGLE, number);
        let Body::Send(found) = send.body() else { panic!() };
        let SendKind::Stream { state: Some(found), .. } = found.kind else { panic!() };
        let expected = TxState {
            in_flight: 1,
            unsent: 2,
            window: 3,
            mss: 4,
            cwnd: 5,
            segments_out: 6,
            nagle,
            send_buffer: 7,
            pacing: 1 << 40,
        };
        assert_eq!(found, expected);
    }
}

#[test]
fn readiness() {
    let mut ready = Record::new(l::WL_READY_STREAM, l::wl_ready::SIZE);
    ready.u64(l::wl_ready::COOKIE, 42).u32(l::wl_ready::RCV_NXT, 164);
    let Body::Ready(found) = ready.body() else { panic!() };
    assert_eq!((found.socket, found.kind), (SocketId(42), ReadyKind::Stream(Seq(164))));
    ready.put(wl_head::KIND, &[u8::try_from(l::WL_READY_DATAGRAM).unwrap()]);
    let Body::Ready(found) = ready.body() else { panic!() };
    assert_eq!(found.kind, ReadyKind::Datagram { packet: None, seen: None });
    ready.u64(l::wl_ready::PACKET, 0xabc).u64(l::wl_ready::SEEN, 77);
    let Body::Ready(found) = ready.body() else { panic!() };
    let (packet, seen) = (Some(PacketId(0xabc)), Some(Nanos(77)));
    assert_eq!(found.kind, ReadyKind::Datagram { packet, seen });
}

#[test]
fn a_packet_and_its_payload() {
    let record = packet(l::WL_XMIT, 6, b"payload");
    let Body::Packet(packet) = record.body() else { panic!() };
    assert_eq!((packet.hook, packet.flow), (PacketHook::Xmit, key(Transport::Tcp)));
    assert_eq!((packet.id, packet.socket), (PacketId(0xabc), Some(SocketId(42))));
    assert_eq!((packet.task, packet.queued), (TASK, Some(Nanos(1_200))));
    assert_eq!((packet.device.0, packet.queue, packet.segments), (2, 3, 1));
    assert_eq!((packet.link_header, packet.ip_header, packet.transport_header), (14, 20, 32));
    let tcp = packet.tcp.unwrap();
    assert_eq!((tcp.seq, tcp.ack, tcp.flags, tcp.window), (Seq(11), Seq(12), 0x18, 500));
    assert_eq!((packet.payload, packet.uncaptured()), (&b"payload"[..], 93));
    assert!(!packet.deferred);
}

#[test]
fn a_packet_has_no_more_payload_than_bytes() {
    let mut record = packet(l::WL_XMIT, 6, b"payload");
    record.u32(l::wl_packet::PAYLOAD_LEN, 65_515).u32(l::wl_packet::WIRE_BYTES, 70);
    let Body::Packet(found) = record.body() else { panic!() };
    assert_eq!((found.payload_len, found.payload), (70, &b"payload"[..]));
    record.u32(l::wl_packet::PAYLOAD_LEN, 3);
    let Body::Packet(found) = record.body() else { panic!() };
    assert_eq!((found.payload_len, found.payload), (3, &b"pay"[..]));
}

#[test]
fn a_datagram_on_its_way_in() {
    let mut record = packet(l::WL_RX, 17, b"");
    record.u64(l::wl_packet::COOKIE, 0).u64(l::wl_packet::QUEUED, 0);
    let Body::Packet(packet) = record.body() else { panic!() };
    assert_eq!((packet.hook, packet.flow), (PacketHook::Rx, key(Transport::Udp)));
    assert_eq!((packet.socket, packet.queued, packet.tcp), (None, None, None));
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_DEFERRED).unwrap()]);
    let Body::Packet(packet) = record.body() else { panic!() };
    assert!(packet.deferred);
}

#[test]
fn a_wakeup() {
    use l::wl_wake as f;
    let mut record = Record::new(l::WL_WAKE, f::SIZE);
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_FROM_IRQ).unwrap()]);
    record.task(f::TASK).u32(f::WAKER + wl_task::PID, 1).u32(f::WAKER + wl_task::TID, 2);
    record.u64(f::WOKEN, 1_000).u64(f::LEFT, 900).u64(f::HELD, 200);
    record.u32(f::HOLDER + wl_task::PID, 30).u32(f::HOLDER + wl_task::TID, 33);
    record.put(f::HOLDER_COMM, b"rustc");
    let Body::Wake(wake) = record.body() else { panic!() };
    assert_eq!((wake.task, wake.woken, wake.from_irq), (TASK, Nanos(1_000), true));
    assert_eq!((wake.left, wake.migrated), (Some(Nanos(900)), false));
    assert_eq!(wake.waker, TaskId { pid: Pid(1), tid: Tid(2) });
    let holder = TaskId { pid: Pid(30), tid: Tid(33) };
    assert_eq!((wake.holder.task, wake.holder.held), (holder, Nanos(200)));
    assert_eq!(wake.holder.comm.as_str(), "rustc");

    record.u64(f::HELD, 0u64.wrapping_sub(5));
    let Body::Wake(wake) = record.body() else { panic!() };
    assert_eq!(wake.holder.held, Nanos(0));

    for (call, sleep) in [
        (libc::SYS_futex, Sleep::Lock),
        (libc::SYS_clock_nanosleep, Sleep::Timer),
        (libc::SYS_epoll_wait, Sleep::Call),
        (0xFFFF_FFFF, Sleep::Unknown),
    ] {
        record.u32(f::CALL, u32::try_from(call).unwrap());
        let Body::Wake(wake) = record.body() else { panic!() };
        assert_eq!(wake.sleep, sleep);
    }

    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_MIGRATED).unwrap()]).u64(f::LEFT, 0);
    for (number, rest) in [
        (l::WL_OFF_CPU_ASLEEP, OffCpuReason::Asleep),
        (l::WL_OFF_CPU_BLOCKED, OffCpuReason::Blocked),
        (l::WL_OFF_CPU_STOPPED, OffCpuReason::Stopped),
        (l::WL_OFF_CPU_PREEMPTED, OffCpuReason::Preempted),
    ] {
        record.u32(f::OFF_CPU, number);
        let Body::Wake(wake) = record.body() else { panic!() };
        assert_eq!((wake.reason, wake.left), (rest, None));
        assert_eq!((wake.from_irq, wake.migrated), (false, true));
    }
}

#[test]
fn who_shared_a_wait_and_how_much_of_it_was_throttled() {
    use l::wl_share as share;
    use l::wl_wake as f;
    let mut record = Record::new(l::WL_WAKE_SHARED, l::wl_wake_shared::SIZE);
    record.task(f::TASK).u64(f::WOKEN, 234);
    record.u32(f::OFF_CPU, l::WL_OFF_CPU_PREEMPTED);
    record.u64(f::THROTTLED, 300).u64(f::CGROUP, 77).u64(f::HELD, 400);
    let others = l::wl_wake_shared::OTHERS;
    for (index, held) in [200, 101, 100].into_iter().enumerate() {
        let at = others + index * share::SIZE;
        record.u32(at + share::TASK + wl_task::TID, 5).u64(at + share::HELD, held);
        record.put(at + share::COMM, b"kworker");
    }
    let Body::Wake(wake) = record.body() else { panic!() };
    assert_eq!((wake.throttled, wake.cgroup), (Nanos(300), CgroupId(77)));
    assert_eq!(wake.holder.held, Nanos(400));
    // 1,000 - 300 - 400 leaves 300: 200, and what does not fit into the rest is no time.
    assert_eq!(wake.others.map(|other| other.held.0), [200, 0, 0]);
    assert_eq!(wake.others[0].comm.as_str(), "kworker");

    // A thread that goes on on another CPU did not wait for those who had that one.
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_MIGRATED).unwrap()]);
    record.u32(f::WAKER + wl_task::TID, 9).put(f::WAKER_COMM, b"hog");
    let Body::Wake(wake) = record.body() else { panic!() };
    assert_eq!((wake.holder.task.tid, wake.holder.held), (Tid(9), Nanos(700)));
    assert_eq!(wake.holder.comm.as_str(), "hog");
    assert_eq!(wake.others[0].held, Nanos(0));
}

#[test]
fn a_quota_that_was_used_up() {
    use l::wl_quota as f;
    let mut record = Record::new(l::WL_QUOTA, f::SIZE);
    record.task(f::TASK).u64(f::CGROUP, 4711).u64(f::QUOTA, 20_000_000).u64(f::PERIOD, 100_000_000);
    record.u32(f::PERIODS, 30).u32(f::THROTTLED_PERIODS, 29).u64(f::THROTTLED, 7);
    record.put(f::NAME, b"app.scope").put(f::PARENT, b"pod.slice");
    for (level, hierarchy, name) in
        [(1, 0, "/app.scope"), (2, 3, "/pod.slice/app.scope"), (3, 0, "pod.slice/app.scope")]
    {
        record.u32(f::LEVEL, level).u32(f::HIERARCHY, hierarchy);
        let Body::Quota(quota) = record.body() else { panic!() };
        assert_eq!((quota.name.as_str(), quota.is_v2), (name, hierarchy == 0));
        assert_eq!((quota.quota, quota.period), (Nanos(20_000_000), Nanos(100_000_000)));
        assert_eq!((quota.periods, quota.throttled_periods, quota.throttled), (30, 29, Nanos(7)));
    }
}

#[test]
fn retransmissions_drops_and_ends() {
    let mut record = Record::new(l::WL_RETRANSMIT, l::wl_retransmit::SIZE);
    record.u64(l::wl_retransmit::COOKIE, 42);
    record.u32(l::wl_retransmit::START, 5).u32(l::wl_retransmit::LEN, 6);
    let Body::Retransmit(found) = record.body() else { panic!() };
    assert_eq!((found.socket, found.start, found.len), (SocketId(42), Seq(5), 6));
    for (state, recovery) in [
        (l::WL_CA_LOSS, Recovery::Timeout),
        (l::WL_CA_RECOVERY, Recovery::Fast),
        (l::WL_CA_OPEN, Recovery::TailProbe),
        (l::WL_CA_DISORDER, Recovery::TailProbe),
    ] {
        record.u32(l::wl_retransmit::STATE, state);
        let Body::Retransmit(found) = record.body() else { panic!() };
        assert_eq!(found.recovery, Some(recovery));
    }

    let mut record = Record::new(l::WL_DROP, l::wl_drop::SIZE);
    record.flow(l::wl_drop::FLOW, 17).u32(l::wl_drop::REASON, 3).u32(l::wl_drop::LEN, 10);
    let Body::Drop(found) = record.body() else { panic!() };
    assert_eq!((found.flow, found.reason, found.len), (key(Transport::Udp), 3, 10));
    for (number, cause) in [
        (l::WL_CAUSE_OTHER, DropCause::Other),
        (l::WL_CAUSE_SOCKET_BUFFER, DropCause::SocketBuffer),
        (l::WL_CAUSE_QUEUE, DropCause::Queue),
        (l::WL_CAUSE_NO_SOCKET, DropCause::NoSocket),
        (l::WL_CAUSE_FILTER, DropCause::Filter),
        (l::WL_CAUSE_DUPLICATE, DropCause::Duplicate),
    ] {
        record.u32(l::wl_drop::CAUSE, number);
        let Body::Drop(found) = record.body() else { panic!() };
        assert_eq!(
            (found.cause, found.tcp, found.outward, found.queued),
            (cause, None, false, None)
        );
    }

    let mut record = Record::new(l::WL_DROP, l::wl_drop::SIZE);
    record.flow(l::wl_drop::FLOW, 6).u32(l::wl_drop::SEQ, 7).u32(l::wl_drop::ACK, 8);
    record.u64(l::wl_drop::QUEUED, 9);
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_OUTWARD).unwrap()]);
    let Body::Drop(found) = record.body() else { panic!() };
    assert_eq!((found.outward, found.queued), (true, Some(Nanos(9))));
    assert_eq!(found.tcp.map(|tcp| (tcp.seq, tcp.ack)), Some((Seq(7), Seq(8))));

    let mut record = Record::new(l::WL_CLOSED, l::wl_closed::SIZE);
    record.u64(l::wl_closed::COOKIE, 42);
    assert_eq!(record.body(), Body::Closed(SocketId(42)));
}

#[test]
fn impossible_values_are_named() {
    let with = |at: usize, value: u8| {
        let mut record = socket();
        record.put(at, &[value]);
        decode(&record.0).unwrap_err().to_string()
    };
    let flow = l::wl_socket::FLOW;
    assert_eq!(with(flow + wl_flow::FAMILY, 5), "a record of kind 1 has 5 as its address family");
    assert_eq!(
        with(flow + wl_flow::TRANSPORT, 1),
        "a record of kind 1 has 1 as its transport protocol"
    );
    assert_eq!(with(l::wl_socket::ORIGIN, 9), "a record of kind 1 has 9 as its origin");
    let with = |kind: u32, size: usize, at: usize| {
        let mut record = Record::new(kind, size);
        record.u32(at, 9);
        decode(&record.0).unwrap_err().to_string()
    };
    let nagle = l::wl_send::TX + l::wl_tx::NAGLE;
    assert_eq!(
        with(l::WL_SEND_STREAM, l::wl_send::SIZE, nagle),
        "a record of kind 3 has 9 as its nagle"
    );
    assert_eq!(
        with(l::WL_WAKE, l::wl_wake::SIZE, l::wl_wake::OFF_CPU),
        "a record of kind 11 has 9 as its rest"
    );
    let mut record = Record::new(l::WL_DROP, l::wl_drop::SIZE);
    record.flow(l::wl_drop::FLOW, 17).u32(l::wl_drop::CAUSE, 9);
    let error = decode(&record.0).unwrap_err().to_string();
    assert_eq!(error, "a record of kind 13 has 9 as its cause");
    assert_eq!(decode(&Record::new(99, 64).0), Err(Malformed::Kind(99)));
}

//! Numbers of one host stay together, and apart from those of others.

use super::*;
use wirelap_events::Cpu;
use wirelap_events::{
    Comm, IfIndex, Nanos, Packet, PacketHook, PacketKind, Pid, Seq, Tid, Transport,
};

fn at(body: Body<'_>) -> Event<'_> {
    Event { at: Nanos(100), cpu: Cpu(1), body }
}

const TASK: TaskId = TaskId { pid: Pid(7), tid: Tid(8) };

fn key(local: bool, scope: u32) -> FlowKey {
    let [a, b] = if local { ["127.0.0.1:1", "127.0.0.1:2"] } else { ["10.0.0.1:1", "10.0.0.2:2"] };
    FlowKey::new(Transport::Udp, a.parse().unwrap(), b.parse().unwrap(), NetNs(scope))
}

#[test]
fn events_of_one_socket_stay_together_and_apart_from_the_other_hosts() {
    let id = SocketId(5);
    let mut ready = at(Body::Ready(Ready { socket: id, kind: ReadyKind::Stream(Seq(1)) }));
    let kind = ReadKind::Stream { end: Seq(1), len: 1 };
    let mut read = at(Body::Read(ReadCall { socket: id, task: TASK, kind }));
    Renumbering::of(2).renumber(&mut ready);
    Renumbering::of(2).renumber(&mut read);
    let (Body::Ready(ready), Body::Read(read)) = (ready.body, read.body) else { unreachable!() };
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
        let Body::Read(ReadCall { kind: ReadKind::Datagram { packet, flow, .. }, .. }) = event.body
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
        origin: wirelap_events::SocketOrigin::FirstSeen,
        tx_next: None,
        rx_next: None,
        is_subflow: false,
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
        kind: PacketKind::Whole,
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

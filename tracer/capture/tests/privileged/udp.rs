//! UDP: sends, which datagram a read takes, shared ports, sendmmsg.

use crate::raw;
use crate::support::{Seen, V4, V6, everything, in_own_netns, pattern, warm_up};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, UdpSocket};
use std::os::fd::OwnedFd;
use wirelap_capture::Capture;
use wirelap_events::{Body, PacketHook, PacketId, ReadKind, ReadyKind, SendKind, Transport};

const MESSAGES: usize = 23;

fn port(socket: &UdpSocket) -> u16 {
    socket.local_addr().unwrap().port()
}

fn datagrams(address: IpAddr) {
    in_own_netns(move |netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let _first = warm_up(&mut seen, &mut capture);
        let reader = UdpSocket::bind((address, 0)).unwrap();
        let sender = UdpSocket::bind((address, 0)).unwrap();
        let (to, from) = (port(&reader), port(&sender));
        let mut buffer = [0; 2048];
        for message in 0..MESSAGES {
            sender.send_to(&pattern(100 + message), reader.local_addr().unwrap()).unwrap();
            assert_eq!(reader.recv(&mut buffer).unwrap(), 100 + message);
        }
        drop((reader, sender));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        let (reader, sender) = (seen.socket_at(to), seen.socket_at(from));
        assert_eq!((sender.transport, sender.remote), (Transport::Udp, None));
        assert_eq!(reader.task.pid.0, std::process::id());
        assert_sends(&seen, &sender);
        let out: Vec<_> = seen.packets(PacketHook::Xmit).collect();
        let ids: Vec<PacketId> = out.iter().map(|(packet, _)| packet.id).collect();
        assert_eq!(out.len(), MESSAGES);
        for (message, (packet, payload)) in out.iter().enumerate() {
            assert_eq!((packet.socket, packet.flow.dst.port()), (Some(sender.id), to));
            assert_eq!(payload, &pattern(100 + message));
        }
        let rx: Vec<_> = seen.packets(PacketHook::Rx).map(|(packet, _)| packet.id).collect();
        assert_eq!(rx, ids);
        let readies = seen.readies(reader.id).into_iter().map(|ready| ready.kind);
        assert!(readies.eq(ids.iter().map(|&id| ReadyKind::Datagram(Some(id)))));
        let reads: Vec<_> = seen.reads(reader.id).into_iter().map(|read| read.kind).collect();
        assert_eq!(reads.len(), MESSAGES);
        for (message, read) in reads.into_iter().enumerate() {
            let ReadKind::Datagram { packet, len, .. } = read else { panic!("{read:?}") };
            assert_eq!((packet, len as usize), (Some(ids[message]), 100 + message));
        }
    });
}

fn assert_sends(seen: &Seen, sender: &wirelap_events::Socket) {
    let mut sends = 0;
    for (event, _) in &seen.events {
        let Body::Send(send) = event.body else { continue };
        let SendKind::Datagram { len, entered } = send.kind else { panic!("{send:?}") };
        assert_eq!((send.socket, len as usize), (sender.id, 100 + sends));
        let queued = seen.packets(PacketHook::Xmit).nth(sends).unwrap().0.queued.unwrap();
        assert!(entered.unwrap() < queued && queued < event.at, "{event:?}");
        sends += 1;
    }
    assert_eq!(sends, MESSAGES);
}

#[test]
fn datagrams_over_ipv4() {
    datagrams(V4);
}

#[test]
fn datagrams_over_ipv6() {
    datagrams(V6);
}

#[test]
fn reads_of_a_full_queue_name_their_datagrams() {
    const QUEUED: usize = 50;
    in_own_netns(|netns| {
        let reader = UdpSocket::bind((V4, 0)).unwrap();
        let sender = UdpSocket::bind((V4, 0)).unwrap();
        let to = reader.local_addr().unwrap();
        // These are in the queue before anybody watches.
        for _ in 0..3 {
            sender.send_to(&[0; 10], to).unwrap();
        }
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        for _ in 0..QUEUED {
            sender.send_to(&[0; 10], to).unwrap();
        }
        let mut buffer = [0; 64];
        for _ in 0..QUEUED + 3 {
            // A look at the datagram is no read.
            reader.peek(&mut buffer).unwrap();
            reader.recv(&mut buffer).unwrap();
        }
        drop((reader, sender));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        let ids = seen.packets(PacketHook::Rx).map(|(packet, _)| Some(packet.id));
        let expected: Vec<_> = [None; 3].into_iter().chain(ids).collect();
        let reads: Vec<_> = seen
            .reads(seen.socket_at(to.port()).id)
            .into_iter()
            .map(|read| match read.kind {
                ReadKind::Datagram { packet, .. } => packet,
                ReadKind::Stream { .. } => panic!("{read:?}"),
            })
            .collect();
        assert_eq!(expected.len(), QUEUED + 3);
        assert_eq!(reads, expected);
    });
}

/// A UDP socket at a port that others may share.
fn shared(port: u16) -> UdpSocket {
    use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};
    let fd: OwnedFd = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
    sockopt::set_socket_reuseport(&fd, true).unwrap();
    bind(&fd, &std::net::SocketAddr::from((V4, port))).unwrap();
    UdpSocket::from(fd)
}

#[test]
fn sockets_that_share_a_port_are_told_apart() {
    const SENDERS: usize = 40;
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let first = shared(0);
        let second = shared(port(&first));
        let to = first.local_addr().unwrap();
        for _ in 0..SENDERS {
            // The kernel chooses by the sender's port.
            UdpSocket::bind((V4, 0)).unwrap().send_to(&[1; 8], to).unwrap();
        }
        let mut expected = BTreeMap::new();
        for (index, socket) in [&first, &second].into_iter().enumerate() {
            socket.set_nonblocking(true).unwrap();
            while let Ok((_, from)) = socket.recv_from(&mut [0; 8]) {
                expected.insert(from.port(), index);
            }
        }
        assert_eq!(expected.len(), SENDERS);
        drop((first, second));
        seen.collect(&mut capture, "the end of all sockets", |s| s.closed() == SENDERS + 2);

        let sender_of: BTreeMap<_, _> = seen
            .packets(PacketHook::Rx)
            .map(|(packet, _)| (packet.id, packet.flow.src.port()))
            .collect();
        let mut by_socket: BTreeMap<_, BTreeSet<u16>> = BTreeMap::new();
        for (event, _) in &seen.events {
            let Body::Read(read) = event.body else { continue };
            let ReadKind::Datagram { packet: Some(id), .. } = read.kind else { panic!("{read:?}") };
            by_socket.entry(read.socket).or_default().insert(sender_of[&id]);
        }
        let truth = |index| -> BTreeSet<u16> {
            expected.iter().filter(|&(_, &i)| i == index).map(|(&port, _)| port).collect()
        };
        let found: Vec<_> = by_socket.into_values().collect();
        let truth: Vec<_> = [truth(0), truth(1)].into_iter().filter(|t| !t.is_empty()).collect();
        assert!(found.iter().all(|set| truth.contains(set)) && found.len() == truth.len());
    });
}

#[test]
fn each_datagram_of_a_sendmmsg_has_its_own_time() {
    const BATCH: usize = 8;
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let _first = warm_up(&mut seen, &mut capture);
        let reader = UdpSocket::bind((V4, 0)).unwrap();
        let sender = UdpSocket::bind((V4, 0)).unwrap();
        sender.connect(reader.local_addr().unwrap()).unwrap();
        assert_eq!(raw::send_many(&sender, BATCH), BATCH);
        for _ in 0..BATCH {
            reader.recv(&mut [0; 16]).unwrap();
        }
        let from = port(&sender);
        drop((reader, sender));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        let mut exits = Vec::new();
        for (event, _) in &seen.events {
            let Body::Send(send) = event.body else { continue };
            let SendKind::Datagram { entered, len: 16 } = send.kind else { panic!("{send:?}") };
            assert_eq!(send.socket, seen.socket_at(from).id);
            // The next begins where the last ended, or is entered after it.
            let entered = entered.unwrap();
            assert!(exits.last().is_none_or(|&last| last <= entered) && entered < event.at);
            exits.push(event.at);
        }
        assert_eq!(exits.len(), BATCH);
    });
}

#[test]
fn two_descriptors_of_a_socket_are_one_socket() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let socket = UdpSocket::bind((V4, 0)).unwrap();
        let at = socket.local_addr().unwrap();
        let copy = socket.try_clone().unwrap();
        socket.send_to(&[1], at).unwrap();
        copy.send_to(&[2], at).unwrap();
        drop((socket, copy));
        seen.collect(&mut capture, "the end of the socket", |seen| seen.closed() == 1);
        assert_eq!(seen.sends(seen.socket_at(at.port()).id).len(), 2);
    });
}

//! UDP: sends, `sendmmsg`, a socket's descriptors and threads.

mod pauses;
mod reads;

use crate::raw;
use crate::support::{Seen, V4, V6, everything, in_own_netns, pattern, warm_up};
use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use wirelap_capture::{Capture, CaptureConfig};
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
        let readies = seen.readies(reader.id).into_iter().map(|ready| match ready.kind {
            ReadyKind::Datagram { packet, .. } => packet,
            ReadyKind::Stream(_) => panic!("{ready:?}"),
        });
        assert!(readies.eq(ids.iter().map(|&id| Some(id))));
        let reads: Vec<_> = seen.reads(reader.id).into_iter().map(|read| read.kind).collect();
        assert_eq!(reads.len(), MESSAGES);
        let mut named = 0;
        for (message, read) in reads.into_iter().enumerate() {
            let ReadKind::Datagram { packet, len, .. } = read else { panic!("{read:?}") };
            assert_eq!(len as usize, 100 + message);
            // A reader on another CPU may be faster than the announcement.
            assert!(packet.is_none_or(|packet| packet == ids[message]), "{message}");
            named += usize::from(packet.is_some());
        }
        assert!(named > MESSAGES / 2, "{named}");
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

/// The first datagrams of a socket, sent by two threads at the same moment.
#[test]
fn threads_that_use_a_socket_first_together_lose_no_event() {
    const ROUNDS: usize = 5000;
    in_own_netns(|netns| {
        let reader = UdpSocket::bind((V4, 0)).unwrap();
        let to = reader.local_addr().unwrap();
        // Nobody reads the ring meanwhile: what other tests send must not fill it.
        let config = CaptureConfig { ports: vec![to.port()], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        reader.send_to(&[0], to).unwrap();
        seen.collect(&mut capture, "the first datagram", |seen| {
            !seen.sends_at(to.port()).is_empty()
        });
        seen.forget();
        let sockets: Vec<_> = (0..ROUNDS).map(|_| UdpSocket::bind((V4, 0)).unwrap()).collect();
        let arrived = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for (round, socket) in sockets.iter().enumerate() {
                        arrived.fetch_add(1, Ordering::AcqRel);
                        while arrived.load(Ordering::Acquire) < 2 * (round + 1) {
                            std::thread::yield_now();
                        }
                        socket.send_to(&[0], to).unwrap();
                    }
                });
            }
        });
        seen.collect(&mut capture, "every datagram", |seen| {
            seen.packets(PacketHook::Xmit).count() == 2 * ROUNDS
        });
        // What the kernel skipped, it counts of all sockets together.
        assert!(capture.counters().iter().all(|counters| counters.lost == 0));
        let sends = seen.events.iter().filter(|(event, _)| matches!(event.body, Body::Send(_)));
        assert_eq!(sends.count(), 2 * ROUNDS);
    });
}

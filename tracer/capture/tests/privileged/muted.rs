//! Muting by the user: its sockets report no calls and no payload, until that ends.

use crate::support::{Seen, V4, connect, everything, in_own_netns, port, talk, warm_up};
use std::net::UdpSocket;
use wirelap_capture::Capture;
use wirelap_events::{PacketHook, SocketId};

/// Payload bytes on the wire, and captured, of the packets that a socket sent.
fn sent_bytes(seen: &Seen, socket: SocketId) -> (u32, usize) {
    let its = seen.packets(PacketHook::Xmit).filter(|(packet, _)| packet.socket == Some(socket));
    its.fold((0, 0), |(sent, captured), (packet, payload)| {
        (sent + packet.payload_len, captured + payload.len())
    })
}

/// Counts the sends, reads and notifications of sockets that were reported.
fn calls(seen: &Seen, sockets: &[SocketId]) -> usize {
    let each = sockets.iter().map(|&socket| {
        seen.sends(socket).len() + seen.reads(socket).len() + seen.readies(socket).len()
    });
    each.sum()
}

#[test]
fn a_tcp_socket_that_the_user_mutes_reports_everything_once_that_ends() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let (mut other, mut end) = connect(V4);
        talk(&mut near, &mut far, 1);
        talk(&mut other, &mut end, 1);
        let ports = [port(&near), far.local_addr().unwrap().port()];
        let neighbour = port(&other);
        seen.collect(&mut capture, "the first messages", |seen| {
            seen.sends_at(ports[0]).len() == 1
                && seen.sends_at(neighbour).len() == 1
                && seen.reads(seen.socket_at(ports[1]).id).len() == 1
        });
        let muted = ports.map(|port| seen.socket_at(port).id);
        seen.forget();
        capture.mute_for_user(&muted).unwrap();
        assert_eq!((capture.muted_by_user(), capture.muted()), (2, 0));
        talk(&mut near, &mut far, 5);
        talk(&mut other, &mut end, 2);
        seen.collect(&mut capture, "the neighbour's sends", |seen| {
            seen.sends_at(neighbour).len() == 2
        });
        assert_eq!(calls(&seen, &muted), 0);
        assert_eq!(sent_bytes(&seen, muted[0]), (50, 0), "packets come without their payload");

        seen.forget();
        capture.mute_for_user(&[]).unwrap();
        assert_eq!(capture.muted_by_user(), 0);
        talk(&mut near, &mut far, 3);
        seen.collect(&mut capture, "the sends and reads", |seen| {
            seen.sends(muted[0]).len() == 3 && seen.reads(muted[1]).len() == 3
        });
        assert_eq!(sent_bytes(&seen, muted[0]), (30, 30));

        // What is closed while it is muted needs no room.
        capture.mute_for_user(&muted).unwrap();
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        assert_eq!(capture.muted_by_user(), 0);
        capture.mute_for_user(&[]).unwrap();
    });
}

#[test]
fn what_cannot_be_followed_stays_muted_when_the_user_mutes_nothing_more() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        talk(&mut near, &mut far, 1);
        let at = port(&near);
        seen.collect(&mut capture, "a message", |seen| seen.sends_at(at).len() == 1);
        let socket = seen.socket_at(at).id;
        capture.mute(&[socket]).unwrap();
        capture.mute_for_user(&[socket]).unwrap();
        assert_eq!((capture.muted_by_user(), capture.muted()), (0, 1));
        capture.mute_for_user(&[]).unwrap();
        assert_eq!(capture.muted(), 1);
    });
}

#[test]
fn a_udp_socket_that_the_user_mutes_reports_everything_once_that_ends() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let _first = warm_up(&mut seen, &mut capture);
        let [reader, sender, other] = [(); 3].map(|()| UdpSocket::bind((V4, 0)).unwrap());
        let own_port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
        let talk = |from: &UdpSocket, to: &UdpSocket, times| {
            for _ in 0..times {
                from.send_to(&[1; 10], to.local_addr().unwrap()).unwrap();
                to.recv(&mut [0; 10]).unwrap();
            }
        };
        talk(&sender, &reader, 1);
        talk(&other, &other, 1);
        let [to, from, apart] = [&reader, &sender, &other].map(own_port);
        seen.collect(&mut capture, "the first datagrams", |seen| {
            let received = seen.packets(PacketHook::Rx).map(|(packet, _)| packet.flow.dst.port());
            received.filter(|port| [to, apart].contains(port)).count() == 2
        });
        let muted = [to, from].map(|port| seen.socket_at(port).id);
        let apart = seen.socket_at(apart).id;
        seen.forget();
        capture.mute_for_user(&muted).unwrap();
        talk(&sender, &reader, 5);
        talk(&other, &other, 2);
        seen.collect(&mut capture, "the other's reads", |seen| seen.reads(apart).len() == 2);
        assert_eq!(calls(&seen, &muted), 0);
        assert_eq!(sent_bytes(&seen, muted[1]), (50, 0));

        seen.forget();
        capture.mute_for_user(&[]).unwrap();
        talk(&sender, &reader, 3);
        seen.collect(&mut capture, "the sends and reads", |seen| {
            seen.sends(muted[1]).len() == 3 && seen.reads(muted[0]).len() == 3
        });
        assert_eq!(sent_bytes(&seen, muted[1]), (30, 30));
    });
}

//! By port, from the start and later.

use super::MESSAGES;
use crate::support::{Seen, V4, connect, everything, in_own_netns, pattern, port};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use wirelap_capture::{Capture, CaptureConfig};
use wirelap_events::{PacketHook, Pid, Probe};

fn talk(near: &mut TcpStream, far: &mut TcpStream) {
    for _ in 0..MESSAGES {
        near.write_all(&[1; 32]).unwrap();
        far.read_exact(&mut [0; 32]).unwrap();
    }
}

fn lost_and_filtered(capture: &Capture, probe: Probe) -> (u64, u64) {
    let counters = capture.counters();
    let found = counters.iter().find(|counters| counters.probe == probe).unwrap();
    (found.lost, found.filtered)
}

#[test]
fn only_the_wanted_port_is_traced() {
    in_own_netns(|netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let wanted = listener.local_addr().unwrap();
        let config = CaptureConfig { ports: vec![wanted.port()], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let (mut other_near, mut other_far) = connect(V4);
        talk(&mut other_near, &mut other_far);
        let mut near = TcpStream::connect(wanted).unwrap();
        let mut far = listener.accept().unwrap().0;
        talk(&mut near, &mut far);
        let near_port = port(&near);
        drop((near, far, other_near, other_far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        assert_eq!(seen.sockets.len(), 2);
        assert_eq!(seen.sends(seen.socket_at(near_port).id).len(), MESSAGES);
        assert_eq!(seen.reads(seen.socket_at(wanted.port()).id).len(), MESSAGES);
        for hook in [PacketHook::Xmit, PacketHook::Rx] {
            for (packet, _) in seen.packets(hook) {
                let ports = [packet.flow.src.port(), packet.flow.dst.port()];
                assert!(ports.contains(&wanted.port()), "{packet:?}");
            }
        }
        for probe in [Probe::Send, Probe::Read, Probe::Xmit, Probe::Rx] {
            let (lost, filtered) = lost_and_filtered(&capture, probe);
            assert_eq!(lost, 0);
            assert!(filtered >= MESSAGES as u64, "{probe:?}: {filtered}");
        }
    });
}

/// A socket without a peer of its own has one in each call.
#[test]
fn what_is_sent_to_the_wanted_port_is_traced_from_unconnected_sockets_too() {
    in_own_netns(|netns| {
        let [wanted, other] = [(); 2].map(|()| UdpSocket::bind((V4, 0)).unwrap());
        let to = wanted.local_addr().unwrap().port();
        let config = CaptureConfig { ports: vec![to], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let [near, stranger] = [(); 2].map(|()| UdpSocket::bind((V4, 0)).unwrap());
        let bytes = pattern(300);
        for _ in 0..MESSAGES {
            stranger.send_to(&bytes, other.local_addr().unwrap()).unwrap();
            near.send_to(&bytes, (V4, to)).unwrap();
            assert_eq!(wanted.recv(&mut [0; 400]).unwrap(), 300);
        }
        let ports = [&near, &stranger].map(|socket| socket.local_addr().unwrap().port());
        drop((near, stranger, wanted));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        assert_eq!(seen.sends(seen.socket_at(ports[0]).id).len(), MESSAGES);
        let sent: Vec<_> = seen.packets(PacketHook::Xmit).collect();
        assert_eq!(sent.len(), MESSAGES);
        assert!(
            sent.iter().all(|(packet, payload)| packet.flow.dst.port() == to && *payload == bytes)
        );
        assert!(seen.sockets.values().all(|socket| socket.local.port() != ports[1]));
    });
}

/// Connections that are opened while the probes are being attached are judged before the filter is
/// complete, by the very thread that uses them later.
#[test]
fn connections_opened_while_attaching_are_traced() {
    in_own_netns(|netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let wanted = listener.local_addr().unwrap();
        let (stop, stopped) = mpsc::channel::<()>();
        let (attached, go) = mpsc::channel::<()>();
        let client = thread::spawn(move || {
            let mut open = Vec::new();
            while stopped.try_recv().is_err() {
                let near = TcpStream::connect(wanted).unwrap();
                open.push((near, listener.accept().unwrap().0));
                // However long it takes, some of each part of that time are kept.
                if open.len() == 300 {
                    let mut number = 0;
                    open.retain(|_| {
                        number += 1;
                        number % 2 == 0
                    });
                }
            }
            go.recv().unwrap();
            for (near, _) in &mut open {
                near.write_all(b"x").unwrap();
            }
            open
        });
        let config = CaptureConfig { ports: vec![wanted.port()], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        stop.send(()).unwrap();
        attached.send(()).unwrap();
        let open = client.join().unwrap();
        let ports: Vec<u16> = open.iter().map(|(near, _)| port(near)).collect();
        drop(open);
        let mut seen = Seen::new(netns);
        // A port may have been that of a connection before, which is closed again.
        let has_sent = |seen: &Seen, port| {
            let mut at_port = seen.sockets.values().filter(|s| s.local.port() == port);
            at_port.any(|socket| seen.sends(socket.id).len() == 1)
        };
        seen.collect(&mut capture, "a send on each socket", |seen| {
            ports.iter().all(|&port| has_sent(seen, port))
        });
    });
}

#[test]
fn a_port_that_is_added_later_is_traced_from_then_on() {
    in_own_netns(|netns| {
        let (mut near, mut far) = connect(V4);
        let config = CaptureConfig { ports: vec![1], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        talk(&mut near, &mut far);
        capture.add_port(port(&far)).unwrap();
        talk(&mut near, &mut far);
        let near_port = port(&near);
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        let socket = seen.socket_at(near_port);
        let sends = seen.sends(socket.id);
        assert_eq!(sends.len(), MESSAGES);
        assert_eq!(Some(crate::support::sent(&sends[0]).0), socket.tx_next);
    });
}

/// Such as that of a broker which ran already: it is in nobody's process tree.
#[test]
fn a_port_is_added_to_a_filter_by_process_too() {
    in_own_netns(|netns| {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let config = CaptureConfig { pids: vec![Pid(child.id())], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        talk(&mut near, &mut far);
        capture.add_port(port(&far)).unwrap();
        talk(&mut near, &mut far);
        let (near_port, far_port) = (port(&near), port(&far));
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        assert_eq!(seen.sends(seen.socket_at(near_port).id).len(), MESSAGES);
        assert_eq!(seen.reads(seen.socket_at(far_port).id).len(), MESSAGES);
        drop(child.stdin.take());
        child.wait().unwrap();
    });
}

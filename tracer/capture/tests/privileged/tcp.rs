//! TCP: sends, reads, readiness, connections.

use crate::support::{
    Seen, V4, V6, assert_covers, connect, everything, in_own_netns, pattern, port, sent, taken,
    wait_until,
};
use rustix::net::{AddressFamily, SocketType};
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use wirelap_capture::{Capture, CaptureConfig};
use wirelap_events::{Body, OffCpuReason, PacketHook, ReadyKind, SocketOrigin, Transport};

const MESSAGES: usize = 23;
const BYTES: usize = 64;

/// A conversation of 23 messages and 23 replies, each read before the next is sent.
fn conversation(address: IpAddr) {
    in_own_netns(move |netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(address);
        let (near_port, far_port) = (port(&near), port(&far));
        let mut buffer = [0; BYTES];
        for _ in 0..MESSAGES {
            near.write_all(&pattern(BYTES)).unwrap();
            far.read_exact(&mut buffer).unwrap();
            far.write_all(&buffer).unwrap();
            near.read_exact(&mut buffer).unwrap();
        }
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        let (near, far) = (seen.socket_at(near_port), seen.socket_at(far_port));
        assert_eq!((near.origin, far.origin), (SocketOrigin::Connected, SocketOrigin::Accepted));
        assert_eq!((near.transport, near.local.ip()), (Transport::Tcp, address));
        assert_eq!((near.remote, far.remote), (Some(far.local), Some(near.local)));
        assert_eq!((near.tx_next, near.rx_next), (far.rx_next, far.tx_next));
        assert_eq!(near.task.pid.0, std::process::id());
        assert_eq!(near.task.pid, far.task.pid);
        for (from, to) in [(near, far), (far, near)] {
            let start = from.tx_next.unwrap();
            assert_eq!(seen.sends(from.id).len(), MESSAGES);
            assert_eq!(seen.reads(to.id).len(), MESSAGES);
            assert_covers(seen.sends(from.id).iter().map(sent), start, MESSAGES * BYTES);
            assert_covers(seen.reads(to.id).iter().map(taken), start, MESSAGES * BYTES);
            let ends = seen.readies(to.id);
            for message in 1..=MESSAGES {
                let end = start.plus(u32::try_from(message * BYTES).unwrap());
                assert!(ends.iter().any(|ready| ready.kind == ReadyKind::Stream(end)), "{ends:?}");
            }
            let stream = seen.stream_from(from.local.port(), start);
            assert_eq!(stream, pattern(BYTES).repeat(MESSAGES));
        }
        assert_eq!(seen.packets(PacketHook::Xmit).count(), seen.packets(PacketHook::Rx).count());
    });
}

#[test]
fn a_conversation_over_ipv4() {
    conversation(V4);
}

#[test]
fn a_conversation_over_ipv6() {
    conversation(V6);
}

#[test]
fn each_stage_of_a_message_is_later_than_the_one_before() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let near_port = port(&near);
        let reader = thread::spawn(move || {
            far.read_exact(&mut [0; BYTES]).unwrap();
            far
        });
        near.write_all(&[7; BYTES]).unwrap();
        let far = reader.join().unwrap();
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        let mut times = Vec::new();
        for (event, payload) in &seen.events {
            match event.body {
                Body::Send(_) | Body::Read(_) => times.push(event.at),
                Body::Packet(p) if p.payload_len > 0 && p.hook == PacketHook::Xmit => {
                    assert_eq!(p.flow.src.port(), near_port);
                    assert_eq!(payload, &[7; BYTES]);
                    times.extend([p.queued.unwrap(), event.at]);
                }
                Body::Packet(p) if p.payload_len > 0 => times.push(event.at),
                Body::Ready(r) if times.len() == 4 => {
                    assert!(seen.sockets.contains_key(&r.socket));
                    times.push(event.at);
                }
                _ => {}
            }
        }
        assert_eq!(times.len(), 6, "send, queue, xmit, rx, ready, read: {:#?}", seen.events);
        assert!(times.is_sorted(), "{times:?}");
    });
}

#[test]
fn a_reader_that_slept_has_a_wakeup_from_the_network() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let reader = thread::spawn(move || {
            far.read_exact(&mut [0; 1]).unwrap();
            ready.send(rustix::thread::gettid()).unwrap();
            far.read_exact(&mut [0; 1]).unwrap();
            far
        });
        near.write_all(&[1]).unwrap();
        let tid = is_ready.recv().unwrap().as_raw_nonzero().get().cast_unsigned();
        wait_until(tid, 'S');
        near.write_all(&[2]).unwrap();
        let far = reader.join().unwrap();
        let far_port = port(&far);
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        let far = seen.socket_at(far_port);
        let find = |wanted: &dyn Fn(&Body<'_>) -> bool| {
            seen.events.iter().rposition(|(event, _)| wanted(&event.body)).unwrap()
        };
        let read = find(&|body| matches!(body, Body::Read(r) if r.socket == far.id));
        let ready = find(
            &|body| matches!(body, Body::Ready(r) if r.socket == far.id && r.kind == ReadyKind::Stream(far.rx_next.unwrap().plus(2))),
        );
        let wakes: Vec<_> = seen.events[..read]
            .iter()
            .filter_map(|(event, _)| match event.body {
                Body::Wake(wake) if wake.task.tid.0 == tid => Some((wake, event.at)),
                _ => None,
            })
            // A thread that is on its way to read may still be preempted.
            .filter(|(wake, _)| wake.reason == OffCpuReason::Asleep)
            .filter(|(wake, _)| wake.woken > seen.events[ready].0.at)
            .collect();
        assert_eq!(wakes.len(), 1, "{:#?}", seen.events);
        let (wake, running) = wakes[0];
        assert!(wake.woken < running && running < seen.events[read].0.at);
        assert!(wake.from_irq, "the packet came in a softirq: {wake:?}");
    });
}

#[test]
fn a_wakeup_by_another_thread_is_not_from_an_interrupt() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, far) = connect(V4);
        // From here on every thread of this process is traced.
        near.write_all(&[1]).unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel();
        let sleeper = thread::spawn(move || {
            tell.send(rustix::thread::gettid()).unwrap();
            wait.recv().unwrap();
        });
        let tid = told.recv().unwrap().as_raw_nonzero().get().cast_unsigned();
        wait_until(tid, 'S');
        let waker = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        go.send(()).unwrap();
        sleeper.join().unwrap();
        drop((near, far));
        let woken = move |seen: &Seen| {
            seen.events.iter().any(|(event, _)| {
                matches!(event.body, Body::Wake(w)
                    if w.task.tid.0 == tid && w.waker.tid.0 == waker && !w.from_irq)
            })
        };
        seen.collect(&mut capture, "the wakeup by this thread", woken);
    });
}

#[test]
fn two_threads_that_write_to_one_socket_share_its_bytes_exactly() {
    const WRITES: usize = 200;
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (near, mut far) = connect(V4);
        let near_port = port(&near);
        let near = Arc::new(near);
        let writers: Vec<_> = [100, 37]
            .into_iter()
            .map(|len| {
                let near = Arc::clone(&near);
                thread::spawn(move || {
                    for _ in 0..WRITES {
                        // A blocking socket takes such a small write whole.
                        assert_eq!((&*near).write(&vec![1; len]).unwrap(), len);
                    }
                })
            })
            .collect();
        let total = WRITES * (100 + 37);
        let mut buffer = vec![0; total];
        far.read_exact(&mut buffer).unwrap();
        for writer in writers {
            writer.join().unwrap();
        }
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        let socket = seen.socket_at(near_port);
        let sends = seen.sends(socket.id);
        assert_eq!(sends.len(), 2 * WRITES);
        let mut ranges: Vec<_> = sends.iter().map(sent).collect();
        ranges.sort_by_key(|(start, _)| start.distance_from(socket.tx_next.unwrap()));
        assert_covers(ranges, socket.tx_next.unwrap(), total);
        for len in [100, 37] {
            let threads: std::collections::BTreeSet<_> = sends
                .iter()
                .filter(|send| sent(send).1 == len)
                .map(|send| send.task.tid.0)
                .collect();
            assert_eq!(threads.len(), 1, "sends of {len} bytes are of one thread");
        }
    });
}

#[test]
fn a_send_that_waits_for_room_is_one_send() {
    const BYTES: usize = 8 << 20;
    in_own_netns(|netns| {
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        // Nobody reads the ring meanwhile: what other tests send must not fill it.
        let config = CaptureConfig { ports: vec![at.port()], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = (TcpStream::connect(at).unwrap(), listener.accept().unwrap().0);
        let (near_port, far_port) = (port(&near), port(&far));
        let writer = thread::spawn(move || {
            assert_eq!(near.write(&pattern(BYTES)).unwrap(), BYTES);
            near.shutdown(Shutdown::Write).unwrap();
            near
        });
        let mut received = Vec::new();
        far.read_to_end(&mut received).unwrap();
        drop((writer.join().unwrap(), far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        // What the kernel skipped, it counts of all sockets together.
        assert!(capture.counters().iter().all(|counters| counters.lost == 0));
        let (near, far) = (seen.socket_at(near_port), seen.socket_at(far_port));
        let start = near.tx_next.unwrap();
        assert_covers(seen.sends(near.id).iter().map(sent), start, BYTES);
        assert_eq!(seen.sends(near.id).len(), 1);
        assert_covers(seen.reads(far.id).iter().map(taken), start, BYTES);
        assert!(seen.stream_from(near_port, start) == received, "the payload is not what was read");
    });
}

#[test]
fn the_rest_of_a_partial_write_is_a_send_of_its_own() {
    // More than any socket buffers hold.
    const BYTES: usize = 16 << 20;
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let near_port = port(&near);
        let bytes = pattern(BYTES);
        near.set_nonblocking(true).unwrap();
        // Nobody reads yet.
        let first = near.write(&bytes).unwrap();
        let reader = thread::spawn(move || {
            let mut received = Vec::new();
            far.read_to_end(&mut received).unwrap();
            received
        });
        let mut calls = vec![(0, BYTES)];
        let mut at = first;
        while at < BYTES {
            // Only calls that moved bytes are sends; others find no room.
            match near.write(&bytes[at..]) {
                Ok(len) => {
                    calls.push((at, BYTES - at));
                    at += len;
                }
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock),
            }
        }
        drop(near);
        assert!(reader.join().unwrap() == bytes);
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        let socket = seen.socket_at(near_port);
        let mut sends: Vec<_> = seen.sends(socket.id).iter().map(sent).collect();
        // A call that finds no room enters the kernel too, at the same place as the next one.
        sends.dedup();
        let expected: Vec<_> = calls
            .into_iter()
            .map(|(at, len)| {
                let at = u32::try_from(at).unwrap();
                (socket.tx_next.unwrap().plus(at), u32::try_from(len).unwrap())
            })
            .collect();
        assert_eq!(sends, expected);
    });
}

#[test]
fn a_connection_from_before_is_announced_with_its_place_in_the_stream() {
    in_own_netns(|netns| {
        let (mut near, mut far) = connect(V4);
        let (near_port, far_port) = (port(&near), port(&far));
        near.write_all(&pattern(1000)).unwrap();
        far.read_exact(&mut [0; 300]).unwrap();

        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        near.write_all(&pattern(50)).unwrap();
        far.read_exact(&mut [0; 750]).unwrap();
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        let (near, far) = (seen.socket_at(near_port), seen.socket_at(far_port));
        assert_eq!((near.origin, far.origin), (SocketOrigin::Existing, SocketOrigin::Existing));
        assert_eq!(near.task.pid.0, std::process::id());
        // 700 bytes were on the way.
        assert_eq!(near.tx_next.unwrap().distance_from(far.rx_next.unwrap()), 700);
        assert_covers(seen.sends(near.id).iter().map(sent), near.tx_next.unwrap(), 50);
        assert_covers(seen.reads(far.id).iter().map(taken), far.rx_next.unwrap(), 750);
    });
}

/// A connected pair of MPTCP sockets (RFC 8684).
fn connect_by_mptcp() -> (TcpStream, TcpStream) {
    let socket = || {
        let (family, kind) = (AddressFamily::INET, SocketType::STREAM);
        rustix::net::socket(family, kind, Some(rustix::net::ipproto::MPTCP)).unwrap()
    };
    let listener = socket();
    rustix::net::bind(&listener, &SocketAddr::new(V4, 0)).unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let listener = TcpListener::from(listener);
    let near = socket();
    rustix::net::connect(&near, &listener.local_addr().unwrap()).unwrap();
    (TcpStream::from(near), listener.accept().unwrap().0)
}

#[test]
fn sockets_that_carry_mptcp_are_said_to() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect_by_mptcp();
        near.write_all(&[7; BYTES]).unwrap();
        far.read_exact(&mut [0; BYTES]).unwrap();
        let ends = |seen: &Seen| {
            let sockets = seen.sockets.values().filter(|socket| socket.remote.is_some());
            sockets.map(|socket| socket.is_subflow).collect::<Vec<_>>()
        };
        seen.collect(&mut capture, "both sockets", move |seen| ends(seen).len() == 2);
        assert_eq!(ends(&seen), [true, true]);
        let sent = seen.events.iter().any(|(event, payload)| {
            matches!(event.body, Body::Packet(p) if p.hook == PacketHook::Xmit)
                && payload == &[7; BYTES]
        });
        assert!(sent, "the bytes are in its packets");
    });
}

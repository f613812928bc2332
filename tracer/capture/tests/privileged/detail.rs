//! Less than everything is observed.

use crate::support::{
    Seen, V4, assert_covers, connect, enter_new_netns, everything, in_own_netns, ip, own_tid,
    pattern, port, sent, taken,
};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc;
use std::thread;
use wirelap_capture::{Capture, CaptureConfig};
use wirelap_events::{Body, PacketHook, TraceDetail};

fn with(detail: TraceDetail) -> CaptureConfig {
    CaptureConfig { detail, ..everything() }
}

/// True if there is an event that only more detail brings.
fn has_more_than_ends(seen: &Seen) -> bool {
    let is_more = |body| {
        matches!(
            body,
            Body::Packet(_) | Body::Ready(_) | Body::Wake(_) | Body::Drop(_) | Body::Retransmit(_)
        )
    };
    seen.events.iter().any(|(event, _)| is_more(event.body))
}

#[test]
fn with_ends_the_bytes_come_from_the_sends() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&with(TraceDetail::Ends)).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let whole = pattern(100_000);
        let (first, rest) = whole.split_at(64);
        let (second, long) = rest.split_at(1_000);
        near.write_all(first).unwrap();
        // Three buffers in one call, one of them empty.
        let parts = [IoSlice::new(&second[..10]), IoSlice::new(&[]), IoSlice::new(&second[10..])];
        assert_eq!(near.write_vectored(&parts).unwrap(), second.len());
        near.write_all(long).unwrap();
        let reader = thread::spawn(move || {
            let mut got = vec![0; 100_000];
            far.read_exact(&mut got).unwrap();
            (far, got)
        });
        let (far, got) = reader.join().unwrap();
        assert_eq!(got, whole);
        let (near_port, far_port) = (port(&near), port(&far));
        let has_read = |seen: &Seen| {
            let find = |at| seen.sockets.values().find(|socket| socket.local.port() == at);
            let all = find(far_port).map(|far| seen.reads(far.id).iter().map(|r| taken(r).1).sum());
            all == Some(100_000_u32)
        };
        seen.collect(&mut capture, "the last read", has_read);
        let (near, far) = (seen.socket_at(near_port), seen.socket_at(far_port));
        let start = near.tx_next.unwrap();
        let sends = seen.sends(near.id);
        assert_covers(sends.iter().map(sent), start, whole.len());
        assert_covers(seen.reads(far.id).iter().map(taken), start, whole.len());
        let mut covered = 0;
        for ((start_of, len), (start, of, bytes)) in
            sends.iter().map(sent).zip(seen.written(near.id))
        {
            assert_eq!((start_of, len), (start, of));
            let at = usize::try_from(start.distance_from(near.tx_next.unwrap())).unwrap();
            assert_eq!(bytes, &whole[at..at + bytes.len()]);
            assert_eq!(bytes.len(), 65_536.min(len as usize));
            covered += 1;
        }
        assert_eq!(covered, sends.len());
        assert!(!has_more_than_ends(&seen), "{:?}", seen.events);
    });
}

#[test]
fn with_ends_the_copy_is_as_long_as_asked_for() {
    in_own_netns(|netns| {
        let config = CaptureConfig { snap_bytes: 100, ..with(TraceDetail::Ends) };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let bytes = pattern(3_000);
        let halves = bytes.split_at(1_500);
        near.write_all(&bytes).unwrap();
        let parts = [IoSlice::new(halves.0), IoSlice::new(halves.1)];
        assert_eq!(near.write_vectored(&parts).unwrap(), bytes.len());
        far.read_exact(&mut [0; 6_000]).unwrap();
        let at = port(&near);
        seen.collect(&mut capture, "two sends", |seen| seen.sends_at(at).len() == 2);
        let near = seen.socket_at(at);
        let copied: Vec<_> =
            seen.written(near.id).iter().map(|(_, _, copy)| copy.to_vec()).collect();
        assert_eq!(copied, [&bytes[..100], &bytes[..100]]);
    });
}

/// Bytes from a file come from no memory of the sender's: the send is seen without them.
#[test]
fn with_ends_a_file_that_is_sent_has_no_bytes() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&with(TraceDetail::Ends)).unwrap();
        let mut seen = Seen::new(netns);
        let (near, mut far) = connect(V4);
        let mut file = File::from(memfd_create("sent", MemfdFlags::CLOEXEC).unwrap());
        file.write_all(&pattern(5_000)).unwrap();
        let mut from = 0;
        assert_eq!(rustix::fs::sendfile(&near, &file, Some(&mut from), 5_000).unwrap(), 5_000);
        far.read_exact(&mut [0; 5_000]).unwrap();
        let at = port(&near);
        let has_sent =
            |seen: &Seen| seen.sends_at(at).iter().map(|send| sent(send).1).sum::<u32>() == 5_000;
        seen.collect(&mut capture, "the send of the file", has_sent);
        assert!(seen.written(seen.socket_at(at).id).is_empty());
    });
}

#[test]
fn with_ends_packets_are_observed_once_datagrams_are_read() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&with(TraceDetail::Ends)).unwrap();
        let mut seen = Seen::new(netns);
        let (near, far) = (UdpSocket::bind((V4, 0)).unwrap(), UdpSocket::bind((V4, 0)).unwrap());
        let to = far.local_addr().unwrap();
        let exchange = |payload: &[u8]| {
            near.send_to(payload, to).unwrap();
            far.recv(&mut [0; 64]).unwrap();
        };
        exchange(b"before");
        seen.collect(&mut capture, "the first read", |seen| {
            let here = seen.sockets.values().find(|socket| socket.local.port() == to.port());
            here.is_some_and(|socket| !seen.reads(socket.id).is_empty())
        });
        assert_eq!(seen.packets(PacketHook::Xmit).count(), 0);
        exchange(b"after");
        let has_come = |seen: &Seen| {
            let sent = seen.packets(PacketHook::Xmit).any(|(_, payload)| payload == b"after");
            sent && seen.packets(PacketHook::Rx).count() == 1
        };
        seen.collect(&mut capture, "the second datagram", has_come);
        // TCP is still observed at its ends.
        let (mut near, mut far) = connect(V4);
        near.write_all(b"stream").unwrap();
        far.read_exact(&mut [0; 6]).unwrap();
        let at = port(&near);
        seen.collect(&mut capture, "the stream", |seen| seen.sends_at(at).len() == 1);
        assert_eq!(seen.packets(PacketHook::Xmit).count(), 1);
        assert_eq!(seen.packets(PacketHook::Rx).count(), 1);
    });
}

/// Bytes that another host sends are in packets only: those are observed once a program has read them. A host with another address is
/// taken for another one, and here it is another namespace.
#[test]
fn with_ends_packets_of_other_hosts_are_observed_once_they_are_read() {
    in_own_netns(|netns| {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let other = thread::spawn(move || {
            enter_new_netns();
            tell.send(own_tid()).unwrap();
            wait.recv().unwrap();
            ip("addr add 10.9.0.2/24 dev far");
            ip("link set far up");
            let mut stream = TcpStream::connect((Ipv4Addr::new(10, 9, 0, 1), 7777)).unwrap();
            for bytes in [b"before", b"behind"] {
                stream.write_all(bytes).unwrap();
                wait.recv().unwrap();
            }
        });
        ip(&format!("link add near type veth peer name far netns {}", told.recv().unwrap()));
        ip("addr add 10.9.0.1/24 dev near");
        ip("link set near up");
        let listener = TcpListener::bind((Ipv4Addr::new(10, 9, 0, 1), 7777)).unwrap();
        let mut capture = Capture::attach(&with(TraceDetail::Ends)).unwrap();
        let mut seen = Seen::new(netns);
        go.send(()).unwrap();
        let mut here = listener.accept().unwrap().0;
        let mut read = || here.read_exact(&mut [0; 6]).unwrap();
        let received = |seen: &Seen| {
            let data = seen.packets(PacketHook::Rx).filter(|(packet, _)| packet.payload_len > 0);
            data.map(|(packet, payload)| (packet.payload_len, payload.to_vec())).collect::<Vec<_>>()
        };
        read();
        seen.collect(&mut capture, "the first read", |seen| {
            seen.sockets.values().any(|socket| !seen.reads(socket.id).is_empty())
        });
        assert!(received(&seen).is_empty());
        go.send(()).unwrap();
        read();
        seen.collect(&mut capture, "the second packet", |seen| !received(seen).is_empty());
        // Without the function, of received packets only the linear part is read, which has none of the payload here.
        let reads_all =
            capture.hooks().iter().any(|chosen| chosen.hook == Some("kfunc bpf_dynptr_from_skb"));
        let payload = if reads_all { b"behind".to_vec() } else { Vec::new() };
        assert_eq!(received(&seen), [(6, payload)]);
        go.send(()).unwrap();
        other.join().unwrap();
    });
}

#[test]
fn with_path_packets_are_observed_and_threads_are_not() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&with(TraceDetail::Path)).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let reader = thread::spawn(move || far.read_exact(&mut [0; 64]));
        near.write_all(&pattern(64)).unwrap();
        reader.join().unwrap().unwrap();
        let at = port(&near);
        seen.collect(&mut capture, "the send", |seen| {
            seen.packets(PacketHook::Rx).any(|(packet, _)| packet.payload_len == 64)
        });
        let near = seen.socket_at(at);
        assert_eq!(seen.stream_from(at, near.tx_next.unwrap()), pattern(64));
        assert!(seen.written(near.id).is_empty());
        let is_of_threads = |body| matches!(body, Body::Ready(_) | Body::Wake(_));
        assert!(!seen.events.iter().any(|(event, _)| is_of_threads(event.body)));
    });
}

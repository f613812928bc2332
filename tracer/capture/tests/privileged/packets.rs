//! Packets: bytes as the device counts them, payload, namespaces.

use crate::raw;
use crate::support::{
    Seen, V4, V6, connect, current_netns, enter_new_netns, everything, in_own_netns, ip, pattern,
    port,
};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{IoSlice, Read as _, Seek as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc;
use std::thread;
use wirelap_capture::{Capture, CaptureConfig};
use wirelap_events::{IfIndex, Packet, PacketHook, PacketKind};

/// A device's received and sent bytes and packets, of this thread's namespace.
fn counters(device: &str) -> [u64; 4] {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{device}:")));
    let fields: Vec<u64> =
        line.unwrap().split_whitespace().map(|field| field.parse().unwrap()).collect();
    [fields[0], fields[1], fields[8], fields[9]]
}

/// The same from the events of one device.
fn counted(seen: &Seen, device: IfIndex) -> [u64; 4] {
    let sum = |hook| {
        let packets = || seen.packets(hook).filter(|(packet, _)| packet.device == device);
        let bytes: u64 = packets().map(|(packet, _)| u64::from(packet.wire_bytes)).sum();
        [bytes, packets().count() as u64]
    };
    let ([rx_bytes, rx], [tx_bytes, tx]) = (sum(PacketHook::Rx), sum(PacketHook::Xmit));
    [rx_bytes, rx, tx_bytes, tx]
}

/// Headers and payload make up each packet.
fn assert_adds_up(seen: &Seen) {
    for hook in [PacketHook::Xmit, PacketHook::Rx] {
        for (p, _) in seen.packets(hook) {
            let headers = u32::from(p.link_header + p.ip_header + p.transport_header);
            assert_eq!(headers + p.payload_len, p.wire_bytes, "{p:?}");
        }
    }
}

/// Some of everything: both address families and transports, small and large.
fn mixed_traffic() -> usize {
    let mut sockets = 0;
    for address in [V4, V6] {
        let (mut near, mut far) = connect(address);
        for len in [1, 64, 1500, 100_000] {
            let writer = thread::spawn(move || {
                near.write_all(&pattern(len)).unwrap();
                near
            });
            far.read_exact(&mut vec![0; len]).unwrap();
            near = writer.join().unwrap();
        }
        let (a, b) =
            (UdpSocket::bind((address, 0)).unwrap(), UdpSocket::bind((address, 0)).unwrap());
        for len in [0, 1, 512, 20_000] {
            a.send_to(&pattern(len), b.local_addr().unwrap()).unwrap();
            b.recv(&mut vec![0; len]).unwrap();
        }
        sockets += 4;
    }
    sockets
}

#[test]
fn wire_bytes_are_what_the_loopback_device_counts() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let before = counters("lo");
        let sockets = mixed_traffic();
        seen.collect(&mut capture, "the end of all sockets", |seen| seen.closed() == sockets);
        let after = counters("lo");
        let delta = std::array::from_fn(|i| after[i] - before[i]);
        assert_eq!(counted(&seen, IfIndex(1)), delta);
        assert_adds_up(&seen);
        assert!(seen.packets(PacketHook::Xmit).any(|(packet, _)| packet.wire_bytes > 20_000));
    });
}

/// Sends bytes through a veth pair; what was seen in the sender's and the receiver's namespace.
fn across_veth(settings: &'static [&'static str], bytes: usize) -> (Seen, Seen) {
    in_own_netns(move |near_ns| {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let far_thread = thread::spawn(move || {
            enter_new_netns();
            let tid = rustix::thread::gettid().as_raw_nonzero().get();
            tell.send((tid, current_netns())).unwrap();
            wait.recv().unwrap();
            ip("addr add 10.9.0.2/24 dev far");
            ip("link set far up");
            let listener = TcpListener::bind((Ipv4Addr::new(10, 9, 0, 2), 7777)).unwrap();
            tell.send((0, current_netns())).unwrap();
            wait.recv().unwrap();
            tell.send((0, current_netns())).unwrap();
            let mut stream = listener.accept().unwrap().0;
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == pattern(bytes));
        });
        let (tid, far_ns) = told.recv().unwrap();
        ip(&format!("link add near type veth peer name far netns {tid}"));
        ip("addr add 10.9.0.1/24 dev near");
        ip("link set near up");
        for setting in settings {
            let words: Vec<_> = setting.split(' ').collect();
            assert!(std::process::Command::new("tc").args(words).status().unwrap().success());
        }
        go.send(()).unwrap();
        told.recv().unwrap();
        let mut capture = Capture::attach(&everything()).unwrap();
        let (mut near, mut far) = (Seen::new(near_ns), Seen::new(far_ns));
        go.send(()).unwrap();
        told.recv().unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::new(10, 9, 0, 2), 7777)).unwrap();
        // From the handshake on the hook at the qdisc is attached, if there is a qdisc.
        near.collect_both(&mut far, &mut capture, |near, _| {
            near.packets(PacketHook::Xmit).count() > 1
        });
        stream.write_all(&pattern(bytes)).unwrap();
        drop(stream);
        far_thread.join().unwrap();
        near.collect_both(&mut far, &mut capture, |near, far| {
            near.closed() > 0 && far.closed() > 0
        });
        (near, far)
    })
}

#[test]
fn a_veth_pair_is_seen_from_both_namespaces_and_its_payload_once() {
    const BYTES: usize = 200_000;
    let (near, far) = across_veth(&[], BYTES);
    assert_adds_up(&near);
    assert_adds_up(&far);
    let sender = near.sockets.values().find(|socket| socket.remote.is_some()).unwrap();
    assert_eq!(near.stream_from(sender.local.port(), sender.tx_next.unwrap()), pattern(BYTES));
    let of = |packet: Packet<'_>| (packet.tcp.unwrap().seq.0, packet.wire_bytes);
    let out: BTreeMap<_, _> = near
        .packets(PacketHook::Xmit)
        .filter(|(packet, _)| packet.payload_len > 0)
        .map(|(packet, _)| (of(packet), packet))
        .collect();
    // On a busy machine, TCP may send the end again before it is acknowledged (tail loss probe, RFC 8985 §7).
    let mut arrived = vec![false; BYTES];
    for (packet, payload) in
        far.packets(PacketHook::Rx).filter(|(packet, _)| packet.payload_len > 0)
    {
        assert_eq!(payload.len(), 0, "captured twice: {packet:?}");
        assert_eq!(packet.link_header, 14);
        assert_eq!(u32::from(packet.segments), packet.payload_len.div_ceil(1448));
        let sent = out[&of(packet)];
        assert_eq!(sent.flow, packet.flow);
        assert_ne!(sent.netns, packet.netns);
        let from = packet.tcp.unwrap().seq.0.wrapping_sub(sender.tx_next.unwrap().0) as usize;
        arrived[from..from + packet.payload_len as usize].fill(true);
    }
    assert!(arrived.iter().all(|&arrived| arrived));
}

#[test]
fn a_packet_that_waits_in_a_qdisc_says_since_when() {
    const BYTES: usize = 60_000;
    // 8 Mbit/s: 60 kB take some 60 ms, so most packets wait for longer than a millisecond.
    const TBF: &str = "qdisc add dev near root tbf rate 8mbit burst 5000 limit 1000000";
    let (near, _) = across_veth(&[TBF], BYTES);
    let waited = near
        .events
        .iter()
        .filter_map(|(event, _)| match event.body {
            wirelap_events::Body::Packet(p) if p.hook == PacketHook::Xmit && p.payload_len > 0 => {
                Some(event.at.since(p.queued.expect("queued")).unwrap().0)
            }
            _ => None,
        })
        .max();
    assert!(waited.unwrap() > 1_000_000, "{waited:?}");
}

/// Sends with `send`, and compares what was captured with what arrived.
fn payload_of(send: impl FnOnce(&mut TcpStream) + Send + 'static) {
    in_own_netns(move |netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let near_port = port(&near);
        let writer = thread::spawn(move || send(&mut near));
        let mut received = Vec::new();
        far.read_to_end(&mut received).unwrap();
        drop(far);
        writer.join().unwrap();
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        assert!(!received.is_empty());
        let socket = seen.socket_at(near_port);
        let stream = seen.stream_from(near_port, socket.tx_next.unwrap());
        assert!(stream == received, "captured {} of {} bytes", stream.len(), received.len());
        let sends = seen.sends(socket.id);
        let first = sends.iter().map(|send| crate::support::sent(send).0).next();
        assert_eq!(first, socket.tx_next);
    });
}

#[test]
fn payload_of_writev() {
    payload_of(|stream| {
        let (a, b, c) = (pattern(10), pattern(3_000), pattern(70_000));
        let mut parts = [IoSlice::new(&a), IoSlice::new(&b), IoSlice::new(&c)];
        let mut parts = &mut parts[..];
        while !parts.is_empty() {
            let written = stream.write_vectored(parts).unwrap();
            IoSlice::advance_slices(&mut parts, written);
        }
    });
}

#[test]
fn payload_of_sendmsg() {
    payload_of(|stream| {
        let bytes = pattern(9_000);
        let parts = [IoSlice::new(&bytes[..17]), IoSlice::new(&bytes[17..])];
        let mut none = rustix::net::SendAncillaryBuffer::default();
        let flags = rustix::net::SendFlags::empty();
        let sent = rustix::net::sendmsg(stream, &parts, &mut none, flags).unwrap();
        assert_eq!(sent, 9_000);
    });
}

#[test]
fn payload_of_sendfile() {
    payload_of(|stream| {
        let mut file = tempfile();
        file.write_all(&pattern(150_000)).unwrap();
        file.rewind().unwrap();
        let mut left = 150_000;
        while left > 0 {
            left -= rustix::fs::sendfile(&*stream, &file, None, left).unwrap();
        }
    });
}

/// A file without a name.
fn tempfile() -> File {
    let flags = rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::RDWR;
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    File::from(rustix::fs::open(std::env::temp_dir(), flags, mode).unwrap())
}

#[test]
fn payload_of_zero_copy() {
    payload_of(|stream| {
        rustix::net::sockopt::set_socket_send_buffer_size(&*stream, 1 << 20).unwrap();
        raw::enable_zero_copy(stream);
        let bytes = pattern(100_000);
        let mut sent = 0;
        while sent < bytes.len() {
            sent += raw::send_zero_copy(stream, &bytes[sent..]);
        }
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn the_snap_length_cuts_payload_and_nothing_else() {
    in_own_netns(|netns| {
        let config = CaptureConfig { snap_bytes: 100, ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let (a, b) = (UdpSocket::bind((V4, 0)).unwrap(), UdpSocket::bind((V4, 0)).unwrap());
        for len in [99, 100, 101, 5_000] {
            a.send_to(&pattern(len), b.local_addr().unwrap()).unwrap();
        }
        drop((a, b));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        let cut: Vec<_> = seen
            .packets(PacketHook::Xmit)
            .map(|(packet, payload)| {
                assert_eq!(payload, &pattern(packet.payload_len as usize)[..payload.len()]);
                (packet.payload_len, payload.len())
            })
            .collect();
        assert_eq!(cut, [(99, 99), (100, 100), (101, 100), (5_000, 100)]);
    });
}

#[test]
fn fragments_belong_to_their_datagram() {
    in_own_netns(|netns| {
        ip("link set lo mtu 1500");
        for address in [V4, V6] {
            let mut capture = Capture::attach(&everything()).unwrap();
            let mut seen = Seen::new(netns);
            let before = counters("lo");
            let (a, b) =
                (UdpSocket::bind((address, 0)).unwrap(), UdpSocket::bind((address, 0)).unwrap());
            a.send_to(&pattern(5000), b.local_addr().unwrap()).unwrap();
            b.recv(&mut [0; 5000]).unwrap();
            drop(b);
            seen.collect(&mut capture, "the end of a socket", |seen| seen.closed() == 1);
            let after = counters("lo");
            let delta: [u64; 4] = std::array::from_fn(|i| after[i] - before[i]);
            assert_eq!(counted(&seen, IfIndex(1)), delta, "{address}");
            assert_adds_up(&seen);
            for hook in [PacketHook::Xmit, PacketHook::Rx] {
                let packets: Vec<_> = seen.packets(hook).collect();
                assert_eq!(packets.len(), 4, "{address} {packets:?}");
                let mut bytes = Vec::new();
                let mut next = 0;
                for (packet, payload) in packets {
                    let whole = PacketKind::Fragment { start: next, of: 5000 };
                    assert_eq!(packet.kind, whole, "{address}");
                    assert_eq!(packet.flow.src, a.local_addr().unwrap());
                    next += packet.payload_len;
                    bytes.extend_from_slice(payload);
                }
                assert_eq!(next, 5000);
                let captured = if hook == PacketHook::Xmit { pattern(5000) } else { Vec::new() };
                assert!(bytes == captured, "{address} {hook:?}: {} bytes", bytes.len());
            }
            let ids: Vec<_> = seen.packets(PacketHook::Xmit).map(|(packet, _)| packet.id).collect();
            assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        }
    });
}

#[test]
fn an_icmp_error_belongs_to_the_flow_that_would_have_answered() {
    in_own_netns(|netns| {
        for address in [V4, V6] {
            let mut capture = Capture::attach(&everything()).unwrap();
            let mut seen = Seen::new(netns);
            let nobody = UdpSocket::bind((address, 0)).unwrap().local_addr().unwrap();
            let before = counters("lo");
            let socket = UdpSocket::bind((address, 0)).unwrap();
            socket.send_to(&pattern(300), nobody).unwrap();
            let refused = |seen: &Seen| {
                seen.packets(PacketHook::Rx).any(|(packet, _)| packet.kind == PacketKind::IcmpError)
            };
            seen.collect(&mut capture, "an ICMP error", refused);
            let after = counters("lo");
            let delta: [u64; 4] = std::array::from_fn(|i| after[i] - before[i]);
            assert_eq!(counted(&seen, IfIndex(1)), delta, "{address}");
            assert_adds_up(&seen);
            let (packet, payload) = seen.packets(PacketHook::Xmit).last().unwrap();
            assert_eq!(packet.kind, PacketKind::IcmpError);
            assert_eq!((packet.flow.src, packet.flow.dst), (nobody, socket.local_addr().unwrap()));
            assert!(payload.is_empty());
        }
    });
}

//! Packets without probes, from a real kernel: exact counts in namespaces of their own.

use crate::support::{V4, V6, in_own_netns, ip};
use rustix::net::{AddressFamily, SocketType};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use wirelap_capture::packets::{self, PacketCapture, PacketConfig, PacketError};
use wirelap_events::{Body, Nanos, Packet, PacketHook, PacketId, Probe, Transport};

const PATIENCE: Duration = Duration::from_secs(20);

/// More datagrams than fit into the smallest ring.
const SENT: u64 = 20_000;

fn config() -> PacketConfig {
    PacketConfig { snap_bytes: 65_536, ring_bytes: 16 << 20, ..PacketConfig::default() }
}

/// A packet that was seen, with its payload beside.
#[derive(Clone, Debug)]
struct Seen {
    at: Nanos,
    packet: Packet<'static>,
    payload: Vec<u8>,
}

/// Takes packets until so many with payload are there, and then for as long as a block may take to be given away.
fn take(capture: &mut PacketCapture, payloads: usize) -> (Vec<Seen>, u64) {
    let (mut seen, mut lost) = (Vec::new(), 0);
    let deadline = Instant::now() + PATIENCE;
    let mut quiet_since = Instant::now();
    loop {
        let asked = Instant::now();
        let count = capture
            .poll(Duration::from_millis(5), &mut |event| match event.body {
                Body::Packet(packet) => seen.push(Seen {
                    at: event.at,
                    payload: packet.payload.to_vec(),
                    packet: Packet { payload: &[], ..packet },
                }),
                Body::Lost(more) => lost += more.count,
                other => panic!("{other:?}"),
            })
            .unwrap();
        if count > 0 {
            quiet_since = Instant::now();
        }
        let found = seen.iter().filter(|one| !one.payload.is_empty()).count();
        // What came after it was asked is not there yet.
        let quiet = asked.saturating_duration_since(quiet_since);
        let is_quiet = u128::from(capture.lag().0) < 2 * quiet.as_nanos();
        if found >= payloads && is_quiet {
            return (seen, lost);
        }
        assert!(Instant::now() < deadline, "{found} of {payloads} came");
    }
}

fn at(hook: PacketHook, seen: &[Seen]) -> Vec<&Seen> {
    seen.iter().filter(|one| one.packet.hook == hook).collect()
}

fn udp(ip: std::net::IpAddr) -> (UdpSocket, UdpSocket, SocketAddr) {
    let receiver = UdpSocket::bind((ip, 0)).unwrap();
    let to = receiver.local_addr().unwrap();
    (UdpSocket::bind((ip, 0)).unwrap(), receiver, to)
}

#[test]
fn every_datagram_on_loopback_is_sent_once_and_received_once() {
    in_own_netns(|netns| {
        for ip in [V4, V6] {
            let mut capture = PacketCapture::open(&config()).unwrap();
            let (sender, receiver, to) = udp(ip);
            let before = wirelap_capture::clock::now();
            for number in 0..23_u8 {
                // Equal ones and different ones.
                sender.send_to(&[number / 2; 100], to).unwrap();
                receiver.recv(&mut [0; 200]).unwrap();
            }
            let after = wirelap_capture::clock::now();
            let (seen, lost) = take(&mut capture, 23);
            assert_eq!(lost, 0);
            let (sent, received) = (at(PacketHook::Xmit, &seen), at(PacketHook::Rx, &seen));
            assert_eq!((sent.len(), received.len()), (23, 23));
            for (number, (sent, received)) in sent.iter().zip(&received).enumerate() {
                let number = u8::try_from(number / 2).unwrap();
                assert_eq!(sent.payload, [number; 100]);
                assert_eq!((received.payload.len(), received.packet.payload_len), (0, 100));
                assert_eq!(sent.packet.id, received.packet.id);
                assert!(before <= sent.at && sent.at <= received.at && received.at <= after);
                assert_eq!((sent.packet.netns, sent.packet.flow.dst), (netns, to));
                let headers = if ip.is_ipv4() { 28 } else { 48 };
                assert_eq!((sent.packet.wire_bytes, sent.packet.link_header), (headers + 100, 0));
            }
            let ids: HashMap<PacketId, usize> =
                sent.iter().map(|one| one.packet.id).zip(0..).collect();
            assert_eq!(ids.len(), 23);
            let counters = capture.counters();
            let emitted = |probe| counters.iter().find(|one| one.probe == probe).unwrap().emitted;
            assert_eq!((emitted(Probe::Xmit), emitted(Probe::Rx)), (23, 23));
        }
    });
}

#[test]
fn a_small_ring_holds_the_few_packets_of_most_of_a_second() {
    in_own_netns(|_| {
        let config = PacketConfig { ring_bytes: 4 << 20, ..config() };
        let mut capture = PacketCapture::open(&config).unwrap();
        let (sender, receiver, to) = udp(V4);
        let begun = Instant::now();
        // One each 4 ms, as from a program with other things to do, and nobody takes them.
        for number in 0..200_u32 {
            std::thread::sleep((Duration::from_millis(4) * number).saturating_sub(begun.elapsed()));
            sender.send_to(&number.to_be_bytes(), to).unwrap();
            receiver.recv(&mut [0; 8]).unwrap();
        }
        let (seen, lost) = take(&mut capture, 200);
        assert_eq!(lost, 0);
        let numbers: Vec<_> =
            at(PacketHook::Xmit, &seen).iter().map(|one| one.payload.clone()).collect();
        assert_eq!(
            numbers,
            (0..200_u32).map(|number| number.to_be_bytes().to_vec()).collect::<Vec<_>>()
        );
    });
}

#[test]
fn the_bytes_of_a_stream_are_all_there_in_order() {
    in_own_netns(|_| {
        let mut capture = PacketCapture::open(&config()).unwrap();
        let listener = TcpListener::bind((V4, 0)).unwrap();
        let to = listener.local_addr().unwrap();
        let mut near = TcpStream::connect(to).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let all: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_be_bytes).collect();
        let expected = all.clone();
        let writer = std::thread::spawn(move || near.write_all(&all).map(|()| near));
        let mut read = vec![0; expected.len()];
        far.read_exact(&mut read).unwrap();
        drop(writer.join().unwrap().unwrap());
        let (seen, lost) = take(&mut capture, 1);
        assert_eq!(lost, 0);
        let sent = seen.iter().filter(|one| {
            one.packet.hook == PacketHook::Xmit
                && one.packet.flow.dst == to
                && one.packet.payload_len > 0
        });
        let mut first = None;
        let mut upto = 0;
        for one in sent {
            let seq = one.packet.tcp.unwrap().seq;
            // On a busy machine, what was acknowledged late is sent twice.
            let start = seq.distance_from(*first.get_or_insert(seq));
            let start = usize::try_from(start).unwrap();
            assert!(start <= upto, "bytes {upto} to {start} were not seen");
            assert_eq!(one.payload.len(), one.packet.payload_len as usize);
            assert!(one.payload == expected[start..start + one.payload.len()], "at {start}");
            upto = upto.max(start + one.payload.len());
        }
        assert_eq!(upto, expected.len());
    });
}

#[test]
fn only_the_wanted_ports_are_captured_and_more_can_be_added() {
    in_own_netns(|_| {
        let (sender, wanted, to) = udp(V4);
        let other = UdpSocket::bind((V4, 0)).unwrap();
        let elsewhere = other.local_addr().unwrap();
        let ports = vec![to.port()];
        let mut capture = PacketCapture::open(&PacketConfig { ports, ..config() }).unwrap();
        let send = || {
            sender.send_to(b"to other", elsewhere).unwrap();
            sender.send_to(b"to wanted", to).unwrap();
            wanted.recv(&mut [0; 20]).unwrap();
        };
        let payloads = |seen: &[Seen]| -> Vec<String> {
            let sent = at(PacketHook::Xmit, seen);
            sent.iter().map(|one| String::from_utf8(one.payload.clone()).unwrap()).collect()
        };
        send();
        let (seen, _) = take(&mut capture, 1);
        assert_eq!(payloads(&seen), ["to wanted"]);
        capture.add_port(elsewhere.port()).unwrap();
        send();
        let (seen, _) = take(&mut capture, 2);
        assert_eq!(payloads(&seen), ["to other", "to wanted"]);
    });
}

#[test]
fn what_does_not_fit_into_the_ring_is_counted_exactly() {
    in_own_netns(|_| {
        let smallest = PacketConfig { ring_bytes: 0, ..config() };
        let mut capture = PacketCapture::open(&smallest).unwrap();
        let (sender, _receiver, to) = udp(V4);
        // Nobody reads meanwhile. Each is seen when sent and when received.
        for _ in 0..SENT {
            sender.send_to(&[1; 200], to).unwrap();
        }
        let (seen, lost) = take(&mut capture, 1);
        assert!(lost > 0);
        assert_eq!(seen.len() as u64 + lost, 2 * SENT);
        assert_eq!(capture.counters().iter().map(|one| one.lost).sum::<u64>(), lost);
        // It goes on after that.
        sender.send_to(b"after", to).unwrap();
        let (seen, _) = take(&mut capture, 1);
        assert_eq!(seen[0].payload, b"after");
    });
}

#[test]
fn the_snap_length_cuts_payload_and_keeps_its_length() {
    in_own_netns(|_| {
        let mut capture =
            PacketCapture::open(&PacketConfig { snap_bytes: 10, ..config() }).unwrap();
        let (sender, _receiver, to) = udp(V4);
        sender.send_to(&vec![5; 60_000], to).unwrap();
        let (seen, _) = take(&mut capture, 1);
        let sent = at(PacketHook::Xmit, &seen);
        assert_eq!(
            (sent[0].payload.as_slice(), sent[0].packet.payload_len),
            (&[5; 10][..], 60_000)
        );
    });
}

/// A frame with a datagram of these bytes to port 9000, in VLAN 7 (IEEE 802.1Q).
fn tagged(payload: &[u8]) -> Vec<u8> {
    let len = |headers: usize| u16::try_from(headers + payload.len()).unwrap().to_be_bytes();
    let mut out = vec![0xff; 6];
    out.extend([2, 0, 0, 0, 0, 1, 0x81, 0, 0, 7, 8, 0]);
    let ip = out.len();
    out.extend([0; 28]);
    out[ip] = 0x45;
    out[ip + 2..ip + 4].copy_from_slice(&len(28));
    out[ip + 8..ip + 10].copy_from_slice(&[64, 17]);
    out[ip + 12..ip + 20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
    out[ip + 20..ip + 24].copy_from_slice(&[0, 7, 35, 40]);
    out[ip + 24..ip + 26].copy_from_slice(&len(8));
    out.extend_from_slice(payload);
    out
}

/// A veth pair: what leaves one end comes in at the other, and is one datagram. The kernel takes the tag out, and it counts.
#[test]
fn a_tagged_datagram_is_one_on_both_devices_and_its_tag_counts() {
    in_own_netns(|_| {
        ip("link add near type veth peer name far");
        ip("link set near up");
        ip("link set far up");
        let ports = vec![9000];
        let all = PacketConfig { ports, ..config() };
        let far = PacketConfig { device: Some("far".into()), ..all.clone() };
        let mut everywhere = PacketCapture::open(&all).unwrap();
        let mut on_far = PacketCapture::open(&far).unwrap();
        let frames: Vec<Vec<u8>> = (0..5_u8).map(|number| tagged(&[number; 300])).collect();
        let fd = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
        let near = rustix::net::netdevice::name_to_index(fd, "near").unwrap();
        crate::raw::send_frames(near, frames.iter().map(Vec::as_slice));
        let (seen, _) = take(&mut everywhere, 10);
        let (sent, received) = (at(PacketHook::Xmit, &seen), at(PacketHook::Rx, &seen));
        assert_eq!((sent.len(), received.len()), (5, 5));
        for (number, (sent, received)) in (0..).zip(sent.iter().zip(&received)) {
            assert_eq!(
                (&sent.payload, &received.payload),
                (&vec![number; 300], &vec![number; 300])
            );
            assert_eq!(sent.packet.id, received.packet.id);
            let packet = received.packet;
            assert_eq!((packet.link_header, packet.wire_bytes), (18, 300 + 28 + 18));
            assert_eq!(packet.flow.transport, Transport::Udp);
        }
        let (seen, _) = take(&mut on_far, 5);
        assert_eq!(at(PacketHook::Rx, &seen).len(), seen.len());
        assert_eq!(seen.len(), 5);
    });
}

#[test]
fn the_right_to_capture_packets_is_enough_and_without_it_the_sentence_names_it() {
    in_own_netns(|_| {
        let keep = |kept: CapabilitySet| {
            let inheritable = CapabilitySet::empty();
            let sets = CapabilitySets { effective: kept, permitted: kept, inheritable };
            set_capabilities(None, sets).unwrap();
        };
        keep(CapabilitySet::NET_RAW);
        packets::check().unwrap();
        let mut capture = PacketCapture::open(&config()).unwrap();
        keep(CapabilitySet::empty());
        let (sender, _receiver, to) = udp(V4);
        sender.send_to(b"one", to).unwrap();
        assert_eq!(take(&mut capture, 1).0[0].payload, b"one");
        // What comes later needs no right either.
        capture.add_port(7).unwrap();
        let refused = packets::check().unwrap_err();
        assert!(matches!(refused, PacketError::NoPrivileges), "{refused}");
        assert!(refused.to_string().contains("CAP_NET_RAW"), "{refused}");
    });
}

#[test]
fn a_device_that_is_not_there_is_named() {
    in_own_netns(|_| {
        let nowhere = PacketConfig { device: Some("nowhere0".into()), ..config() };
        let refused = PacketCapture::open(&nowhere).unwrap_err().to_string();
        assert!(refused.contains("nowhere0") && refused.contains("ip link"), "{refused}");
    });
}

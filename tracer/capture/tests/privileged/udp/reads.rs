//! Datagrams that reads take.

use super::port;
use crate::support::{Seen, V4, everything, in_own_netns, own_tid, shared};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wirelap_capture::Capture;
use wirelap_events::{Body, NetNs, PacketHook, ReadKind, ReadyKind};

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

        let expected: Vec<_> = [None; 3].into_iter().chain((0..QUEUED).map(Some)).collect();
        let reads = seen.datagrams_read(seen.socket_at(to.port()).id);
        assert!(reads.into_iter().map(|(_, packet)| packet).eq(expected));
    });
}

/// A datagram that says who sent it, and which of its it is.
pub(super) fn numbered(sender: u8, number: u32) -> [u8; 64] {
    let mut bytes = [sender; 64];
    bytes[4..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Sends datagrams from several sockets at once, no more than a receive buffer holds ahead of `read`.
pub(super) fn flood(to: SocketAddr, senders: u8, each: u32, read: &Arc<AtomicUsize>) {
    const AHEAD: usize = 64;
    let sent = Arc::new(AtomicUsize::new(0));
    for sender in 0..senders {
        let socket = UdpSocket::bind((V4, 0)).unwrap();
        let (sent, read) = (sent.clone(), read.clone());
        std::thread::spawn(move || {
            for number in 0..each {
                sent.fetch_add(1, Ordering::SeqCst);
                let deadline = Instant::now() + Duration::from_secs(20);
                while sent.load(Ordering::SeqCst) > read.load(Ordering::SeqCst) + AHEAD {
                    assert!(Instant::now() < deadline, "nobody reads");
                    std::thread::yield_now();
                }
                socket.send_to(&numbered(sender, number), to).unwrap();
            }
        });
    }
}

/// A socket to be flooded, watched from before it is there.
pub(super) struct Target {
    pub capture: Capture,
    pub seen: Seen,
    pub reader: UdpSocket,
    pub to: SocketAddr,
    /// Number of datagrams that were read.
    pub read: Arc<AtomicUsize>,
}

impl Target {
    pub fn new(netns: NetNs) -> Target {
        let capture = Capture::attach(&everything()).unwrap();
        let reader = UdpSocket::bind((V4, 0)).unwrap();
        let to = reader.local_addr().unwrap();
        Target { capture, seen: Seen::new(netns), reader, to, read: Arc::default() }
    }
}

/// Counts an application's datagrams that the reads name. Panics if one is named that is another.
fn named(seen: &Seen, reads: impl IntoIterator<Item = Option<usize>>, took: &[Vec<u8>]) -> usize {
    let left: Vec<_> = seen.packets(PacketHook::Xmit).map(|(_, payload)| payload).collect();
    let reads: Vec<_> = reads.into_iter().collect();
    assert_eq!(reads.len(), took.len());
    for (index, (read, took)) in reads.iter().zip(took).enumerate() {
        assert!(
            read.is_none_or(|packet| left[packet] == took.as_slice()),
            "read {index}: {read:?}"
        );
    }
    reads.into_iter().flatten().count()
}

#[test]
fn datagrams_that_several_cpus_receive_are_what_was_read() {
    const SENDERS: u8 = 3;
    const EACH: u32 = 6_000;
    in_own_netns(|netns| {
        let Target { mut capture, mut seen, reader, to, read } = Target::new(netns);
        flood(to, SENDERS, EACH, &read);
        let mut took = Vec::new();
        let mut buffer = [0; 64];
        reader.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        while took.len() < usize::from(SENDERS) * EACH as usize {
            let len = reader.recv(&mut buffer).unwrap();
            took.push(buffer[..len].to_vec());
            read.fetch_add(1, Ordering::SeqCst);
        }
        drop(reader);
        seen.collect(&mut capture, "the end of all sockets", |seen| seen.closed() == 4);

        let reads = seen.datagrams_read(seen.socket_at(to.port()).id);
        let named = named(&seen, reads.into_iter().map(|(_, packet)| packet), &took);
        assert!(named * 10 > took.len() * 9, "{named} of {}", took.len());
        let departures = seen.departures();
        for (event, _) in &seen.events {
            let Body::Ready(ready) = event.body else { continue };
            let ReadyKind::Datagram { packet: Some(id), seen: Some(at) } = ready.kind else {
                continue;
            };
            assert!(at <= event.at && departures.in_memory(id, at).is_some(), "{event:?}");
        }
    });
}

#[test]
fn of_a_socket_that_two_threads_read_no_datagram_is_another() {
    const SENDERS: u8 = 2;
    const EACH: u32 = 3_000;
    in_own_netns(|netns| {
        let Target { mut capture, mut seen, reader, to, read } = Target::new(netns);
        let turn = Arc::new(AtomicUsize::new(0));
        let sender = UdpSocket::bind((V4, 0)).unwrap();
        reader.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let threads: Vec<_> = (0..2)
            .map(|thread| {
                let (socket, read, turn) =
                    (reader.try_clone().unwrap(), read.clone(), turn.clone());
                std::thread::spawn(move || {
                    let mut took = Vec::new();
                    let mut buffer = [0; 64];
                    // Each reads once alone, so that both are known to read.
                    while turn.load(Ordering::SeqCst) < thread {
                        std::thread::yield_now();
                    }
                    while let Ok(len) = socket.recv(&mut buffer) {
                        took.push(buffer[..len].to_vec());
                        if took.len() == 1 {
                            turn.fetch_add(1, Ordering::SeqCst);
                            while turn.load(Ordering::SeqCst) < 2 {
                                std::thread::yield_now();
                            }
                        } else {
                            read.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                    (own_tid(), took)
                })
            })
            .collect();
        for thread in 0..2 {
            sender.send_to(&numbered(9, thread), to).unwrap();
            let deadline = Instant::now() + Duration::from_secs(20);
            while turn.load(Ordering::SeqCst) <= thread as usize {
                assert!(Instant::now() < deadline, "nobody reads");
                std::thread::yield_now();
            }
        }
        flood(to, SENDERS, EACH, &read);
        let took: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(took.iter().map(|(_, t)| t.len()).sum::<usize>(), 2 * EACH as usize + 2);
        drop((reader, sender));
        seen.collect(&mut capture, "the end of all sockets", |seen| seen.closed() == 4);

        let reads = seen.datagrams_read(seen.socket_at(to.port()).id);
        for (tid, took) in took {
            let own = reads.iter().filter(|(reader, _)| *reader == tid);
            named(&seen, own.map(|&(_, packet)| packet), &took);
        }
    });
}

/// A checksum over more than 76 bytes is looked at when the datagram is read, not when it comes.
#[test]
fn a_datagram_with_a_wrong_checksum_is_not_what_was_read() {
    use rustix::net::{AddressFamily, SocketType, ipproto, sendto, socket};
    const LEN: usize = 200;
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let reader = UdpSocket::bind((V4, 0)).unwrap();
        let sender = UdpSocket::bind((V4, 0)).unwrap();
        let to = reader.local_addr().unwrap();
        let raw: OwnedFd =
            socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::UDP)).unwrap();
        let mut wrong = vec![0xee; 8 + LEN];
        wrong[..2].copy_from_slice(&port(&sender).to_be_bytes());
        wrong[2..4].copy_from_slice(&to.port().to_be_bytes());
        wrong[4..6].copy_from_slice(&u16::try_from(8 + LEN).unwrap().to_be_bytes());
        wrong[6..8].copy_from_slice(&1_u16.to_be_bytes());
        let mut took = Vec::new();
        let mut buffer = [0; LEN];
        for round in 0..20 {
            sender.send_to(&[round; LEN], to).unwrap();
            sendto(&raw, &wrong, rustix::net::SendFlags::empty(), &to).unwrap();
            sender.send_to(&[100 + round; LEN], to).unwrap();
            for _ in 0..2 {
                let len = reader.recv(&mut buffer).unwrap();
                assert_ne!(buffer[0], 0xee);
                took.push(buffer[..len].to_vec());
            }
        }
        drop((reader, sender, raw));
        // The raw socket is of the protocol, too.
        seen.collect(&mut capture, "the end of all sockets", |seen| seen.closed() >= 2);
        let reads = seen.datagrams_read(seen.socket_at(to.port()).id);
        let named = named(&seen, reads.into_iter().map(|(_, packet)| packet), &took);
        assert!(named >= took.len() / 4, "{named} of {}", took.len());
    });
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
        // The kernel chooses by the sender's port. All are open at once, so that no two have the same one.
        let senders: Vec<_> = (0..SENDERS).map(|_| UdpSocket::bind((V4, 0)).unwrap()).collect();
        for sender in &senders {
            sender.send_to(&[1; 8], to).unwrap();
        }
        let mut expected = BTreeMap::new();
        for (index, socket) in [&first, &second].into_iter().enumerate() {
            socket.set_nonblocking(true).unwrap();
            while let Ok((_, from)) = socket.recv_from(&mut [0; 8]) {
                expected.insert(from.port(), index);
            }
        }
        assert_eq!(expected.len(), SENDERS);
        drop((first, second, senders));
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

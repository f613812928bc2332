//! Which datagram a read takes.

use super::port;
use crate::support::{Seen, V4, everything, in_own_netns, own_tid, shared, wait_until};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::time::{ClockId, clock_gettime};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use wirelap_capture::Capture;
use wirelap_events::{Body, Nanos, NetNs, PacketHook, ReadKind, ReadyKind};

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
fn numbered(sender: u8, number: u32) -> [u8; 64] {
    let mut bytes = [sender; 64];
    bytes[4..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Sends datagrams from several sockets at once, no more than a receive buffer holds ahead of `read`.
fn flood(to: SocketAddr, senders: u8, each: u32, read: &Arc<AtomicUsize>) {
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
struct Target {
    capture: Capture,
    seen: Seen,
    reader: UdpSocket,
    to: SocketAddr,
    /// How many datagrams were read.
    read: Arc<AtomicUsize>,
}

impl Target {
    fn new(netns: NetNs) -> Target {
        let capture = Capture::attach(&everything()).unwrap();
        let reader = UdpSocket::bind((V4, 0)).unwrap();
        let to = reader.local_addr().unwrap();
        Target { capture, seen: Seen::new(netns), reader, to, read: Arc::default() }
    }
}

/// How a reader waits for the next datagram.
#[derive(Clone, Copy)]
enum Waits {
    /// In the receive call.
    InTheCall,
    /// In `epoll_wait`, and then receives once.
    InEpoll,
}

impl Waits {
    /// Receives a datagram each time it is called. Its length.
    fn receiver(self, reader: &UdpSocket) -> impl FnMut(&mut [u8]) -> usize {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        epoll::add(&epoll, reader, epoll::EventData::new_u64(0), epoll::EventFlags::IN).unwrap();
        move |buffer| {
            if let Waits::InEpoll = self {
                let mut ready = Vec::with_capacity(1);
                epoll::wait(&epoll, spare_capacity(&mut ready), None).unwrap();
            }
            reader.recv(buffer).unwrap()
        }
    }
}

fn is_first_after_each_pause_known(waits: Waits) {
    const WINDOWS: u32 = 20;
    in_own_netns(move |netns| {
        let Target { mut capture, mut seen, reader, to, read } = Target::new(netns);
        let sender = UdpSocket::bind((V4, 0)).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let count = read.clone();
        let thread = std::thread::spawn(move || {
            let mut receive = waits.receiver(&reader);
            tell.send(own_tid()).unwrap();
            while receive(&mut [0; 64]) > 0 {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let tid = told.recv().unwrap();
        let send = |number: u32| {
            let before = read.load(Ordering::SeqCst);
            sender.send_to(&numbered(1, number), to).unwrap();
            let deadline = Instant::now() + Duration::from_secs(20);
            while read.load(Ordering::SeqCst) == before {
                assert!(Instant::now() < deadline, "nobody reads");
                std::thread::yield_now();
            }
            wait_until(tid, 'S');
        };
        wait_until(tid, 'S');
        for window in 0..WINDOWS {
            send(window);
            capture.set_window(false).unwrap();
            send(window);
            capture.set_window(true).unwrap();
        }
        sender.send_to(&[], to).unwrap();
        thread.join().unwrap();
        drop(sender);
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        let reads = seen.datagrams_read(seen.socket_at(to.port()).id);
        let expected = (0..=WINDOWS as usize).map(|index| (tid, Some(index)));
        assert!(expected.eq(reads.iter().copied()), "{reads:?}");
    });
}

#[test]
fn the_first_datagram_after_a_pause_is_known_of_a_reader_that_sleeps_in_the_call() {
    is_first_after_each_pause_known(Waits::InTheCall);
}

#[test]
fn the_first_datagram_after_a_pause_is_known_of_a_reader_that_sleeps_in_epoll() {
    is_first_after_each_pause_known(Waits::InEpoll);
}

/// A call that received a datagram: when it was made, when it had returned, and what it got.
type Received = (Nanos, Nanos, Vec<u8>);

/// Windows open and end in the middle of a flood, and of calls. What a read is said to have taken, it took.
fn names_are_right_across_pauses(waits: Waits) {
    const SENDERS: u8 = 2;
    const EACH: u32 = 5_000;
    const ALL: usize = SENDERS as usize * EACH as usize;
    in_own_netns(move |netns| {
        let Target { mut capture, mut seen, reader, to, read } = Target::new(netns);
        flood(to, SENDERS, EACH, &read);
        let count = read.clone();
        let thread = std::thread::spawn(move || {
            let mut receive = waits.receiver(&reader);
            let mut buffer = [0; 64];
            let mut call = || -> Received {
                let before = monotonic();
                let len = receive(&mut buffer);
                count.fetch_add(1, Ordering::SeqCst);
                (before, monotonic(), buffer[..len].to_vec())
            };
            (0..ALL).map(|_| call()).collect::<Vec<_>>()
        });
        let mut opened = vec![Nanos(0)];
        let deadline = Instant::now() + Duration::from_mins(1);
        let mut until = 0;
        for window in 0.. {
            // As many reads as one after the other of these numbers, so that it ends in any state.
            until += [1, 17, 2, 40, 3, 90][window % 6];
            while read.load(Ordering::SeqCst) < until.min(ALL) {
                assert!(Instant::now() < deadline, "nobody reads");
                std::hint::spin_loop();
            }
            if until >= ALL {
                break;
            }
            capture.set_window(false).unwrap();
            opened.push(monotonic());
            capture.set_window(true).unwrap();
        }
        let received = thread.join().unwrap();
        let senders = usize::from(SENDERS);
        seen.collect(&mut capture, "the end of all sockets", |seen| seen.closed() == senders + 1);

        let departures = seen.departures();
        let left: Vec<_> = seen.packets(PacketHook::Xmit).map(|(_, payload)| payload).collect();
        let (mut reads, mut named) = (0, 0);
        for (event, _) in &seen.events {
            let Body::Read(read) = event.body else { continue };
            let ReadKind::Datagram { packet, seen: Some(at), .. } = read.kind else { continue };
            reads += 1;
            let Some((departed, number)) = packet.and_then(|id| departures.use_at(id, at)) else {
                continue;
            };
            // Of what departed before the window, the memory may have been used again.
            let window = opened.partition_point(|&opened| opened <= event.at) - 1;
            if departed < opened[window] {
                continue;
            }
            let call = received.partition_point(|(_, returned, _)| *returned < event.at);
            let (made, _, got) = &received[call];
            assert!(*made <= event.at, "a read that no call was");
            assert_eq!(left[number], got.as_slice(), "read {call}, in window {window}");
            named += 1;
        }
        println!("{named} of {reads} reads in {} windows", opened.len());
        assert!(named * 2 > reads, "{named} of {reads}");
    });
}

#[test]
fn no_read_has_a_wrong_name_after_a_pause_where_the_reader_waits_in_the_call() {
    names_are_right_across_pauses(Waits::InTheCall);
}

#[test]
fn no_read_has_a_wrong_name_after_a_pause_where_the_reader_waits_in_epoll() {
    names_are_right_across_pauses(Waits::InEpoll);
}

/// The clock that events have.
fn monotonic() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap())
}

/// How many of an application's datagrams the reads name. Panics if one is named that is another.
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

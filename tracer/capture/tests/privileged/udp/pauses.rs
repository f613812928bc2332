//! Datagrams that reads take after a pause of the probes.

use super::reads::{Target, flood, numbered};
use crate::support::{V4, in_own_netns, own_tid, wait_until};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use std::collections::HashMap;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, ChosenHook, clock};
use wirelap_events::{Body, Nanos, PacketHook, ReadKind};

/// The way in which a reader waits for the next datagram.
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

/// The way in which a pause is made.
#[derive(Clone, Copy)]
enum Pause {
    /// The probes stay attached.
    Window,
    /// They are detached, and attached again: a call in which a reader sleeps meanwhile began before that.
    Detached,
}

impl Pause {
    fn during(self, capture: &mut Capture, work: impl FnOnce()) {
        match self {
            Pause::Window => capture.set_window(false).unwrap(),
            Pause::Detached => capture.detach().unwrap(),
        }
        work();
        match self {
            Pause::Window => capture.set_window(true).unwrap(),
            Pause::Detached => capture.attach_again().unwrap(),
        }
    }
}

/// Sends two datagrams in each window and another in each pause, and checks which ones the reads name.
fn are_those_after_each_pause_known(waits: Waits, pause: Pause) {
    const WINDOWS: u32 = 20;
    in_own_netns(move |netns| {
        let Target { mut capture, mut seen, reader, to, read } = Target::new(netns);
        let sender = UdpSocket::bind((V4, 0)).unwrap();
        // Its reads are those of a thread that runs: where functions can be traced, these are seen to take their datagrams.
        let neighbour = UdpSocket::bind((V4, 0)).unwrap();
        let neighbour_is_at = neighbour.local_addr().unwrap();
        let talk_beside = || {
            neighbour.send_to(&[0; 9], neighbour_is_at).unwrap();
            neighbour.recv(&mut [0; 64]).unwrap();
        };
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
        // Hooks that wait for a datagram are attached then.
        talk_beside();
        seen.collect(&mut capture, "a read beside", |seen| {
            seen.events.iter().any(|(event, _)| matches!(event.body, Body::Read(_)))
        });
        let by_function = |chosen: &ChosenHook| {
            chosen.observation == "read"
                && chosen.hook.is_some_and(|hook| hook.starts_with("fexit"))
        };
        // Where the end of a call is that of a function (before 6.3), a call that began before is not seen to end.
        let is_unseen = matches!((waits, pause), (Waits::InTheCall, Pause::Detached))
            && capture.hooks().iter().any(by_function);
        let mut expected = Vec::new();
        for window in 0..WINDOWS {
            for number in [3 * window, 3 * window + 1] {
                talk_beside();
                send(number);
                let began_in_a_pause = window > 0 && number == 3 * window;
                if !(is_unseen && began_in_a_pause) {
                    expected.push((tid, Some(numbered(1, number).to_vec())));
                }
            }
            pause.during(&mut capture, || send(3 * window + 2));
        }
        sender.send_to(&[], to).unwrap();
        if !is_unseen {
            expected.push((tid, Some(Vec::new())));
        }
        thread.join().unwrap();
        drop((sender, neighbour));
        seen.collect(&mut capture, "the end of all sockets", |seen| seen.closed() == 3);
        let left: Vec<_> = seen.packets(PacketHook::Xmit).map(|(_, payload)| payload).collect();
        let reads = seen.datagrams_read(seen.socket_at(to.port()).id).into_iter();
        let took: Vec<_> =
            reads.map(|(tid, packet)| (tid, packet.map(|packet| left[packet].to_vec()))).collect();
        assert_eq!(took.len(), expected.len());
        for (index, (took, expected)) in took.iter().zip(&expected).enumerate() {
            assert!(
                took == expected,
                "read {index}: {:?}",
                took.1.as_ref().map(|took| took.get(..8))
            );
        }
    });
}

#[test]
fn datagrams_after_a_pause_are_known_of_a_reader_that_sleeps_in_the_call() {
    are_those_after_each_pause_known(Waits::InTheCall, Pause::Window);
}

#[test]
fn datagrams_after_a_pause_are_known_of_a_reader_that_sleeps_in_epoll() {
    are_those_after_each_pause_known(Waits::InEpoll, Pause::Window);
}

#[test]
fn datagrams_after_detaching_are_known_of_a_reader_that_sleeps_in_the_call() {
    are_those_after_each_pause_known(Waits::InTheCall, Pause::Detached);
}

#[test]
fn datagrams_after_detaching_are_known_of_a_reader_that_sleeps_in_epoll() {
    are_those_after_each_pause_known(Waits::InEpoll, Pause::Detached);
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
                let before = clock::now();
                let len = receive(&mut buffer);
                count.fetch_add(1, Ordering::SeqCst);
                (before, clock::now(), buffer[..len].to_vec())
            };
            (0..ALL).map(|_| call()).collect::<Vec<_>>()
        });
        let mut opened = vec![Nanos(0)];
        let deadline = Instant::now() + Duration::from_mins(1);
        let mut until = 0;
        for window in 0.. {
            // As many reads as one after the other of these numbers, so that it ends in any state, and sees more than a
            // queue holds.
            until += [1, 17, 2, 40, 3, 200][window % 6];
            while read.load(Ordering::SeqCst) < until.min(ALL) {
                assert!(Instant::now() < deadline, "nobody reads");
                std::hint::spin_loop();
            }
            if until >= ALL {
                break;
            }
            capture.set_window(false).unwrap();
            opened.push(clock::now());
            capture.set_window(true).unwrap();
        }
        let received = thread.join().unwrap();
        let senders = usize::from(SENDERS);
        seen.collect(&mut capture, "the end of all sockets", |seen| seen.closed() == senders + 1);

        let departures = seen.departures();
        let left: Vec<_> = seen.packets_at(PacketHook::Xmit).collect();
        let departed_at: HashMap<_, _> =
            left.iter().map(|&(at, _, payload)| (payload, at)).collect();
        let (mut could, mut named) = (0, 0);
        for (event, _) in &seen.events {
            let Body::Read(read) = event.body else { continue };
            let ReadKind::Datagram { packet, seen: Some(at), .. } = read.kind else { continue };
            let call = received.partition_point(|(_, returned, _)| *returned < event.at);
            let (made, _, got) = &received[call];
            assert!(*made <= event.at, "a read that no call was");
            let window = opened.partition_point(|&opened| opened <= event.at) - 1;
            // Of what departed before the window, the memory may have been used again.
            let in_the_window = |departed: Nanos| departed >= opened[window];
            could +=
                usize::from(departed_at.get(got.as_slice()).copied().is_some_and(in_the_window));
            let Some((departed, number)) = packet.and_then(|id| departures.use_at(id, at)) else {
                continue;
            };
            // Where payload is copied apart, that may have been before the window.
            if in_the_window(departed) && !left[number].2.is_empty() {
                assert_eq!(left[number].2, got.as_slice(), "read {call}, in window {window}");
                named += 1;
            }
        }
        println!("{named} of {could} reads in {} windows", opened.len());
        assert!(named > 0 && named * 10 > could * 9, "{named} of {could}");
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

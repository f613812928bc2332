//! The ring buffer, the kernel's and our own, while several threads fill it and one empties it.

use crate::support::{V4, everything, in_own_netns};
use std::collections::HashMap;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use wirelap_capture::{Capture, CaptureConfig, MAX_BATCH, ProbeCounters};
use wirelap_events::{Body, PacketHook, Probe};

const THREADS: u16 = 4;
const SENDS: u32 = 4_000;

/// The probes that report each datagram once.
const PROBES: [Probe; 5] = [Probe::Send, Probe::Read, Probe::Ready, Probe::Xmit, Probe::Rx];

/// The datagram with this number: its number, and bytes that follow from it and from the port. Some are so long that their record
/// is a large one.
fn datagram(port: u16, number: u32) -> Vec<u8> {
    let len = if number.is_multiple_of(97) { 20_000 } else { 4 + (number as usize * 37) % 700 };
    let [first, ..] = number.wrapping_mul(u32::from(port)).to_le_bytes();
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.extend((0..=u8::MAX).cycle().map(|at| at ^ first).take(len - 4));
    bytes
}

/// Sends the datagrams to itself.
fn talk(port: u16) {
    let socket = UdpSocket::bind((V4, port)).unwrap();
    let mut read = vec![0; 65_536];
    for number in 0..SENDS {
        let sent = datagram(port, number);
        socket.send_to(&sent, (V4, port)).unwrap();
        assert_eq!(socket.recv(&mut read).unwrap(), sent.len());
    }
}

/// Events that were reported of the datagrams.
#[derive(Default)]
struct Reported {
    /// True if a packet has its payload in its own record. Where it comes in another, that may be lost, and then no other one's may be
    /// taken for it. Datagrams of one length have the same name there.
    has_payload: bool,
    /// By port: the numbers of the datagrams in the order in which their packets were reported.
    packets: HashMap<u16, Vec<u32>>,
    lost: HashMap<Probe, u64>,
    counts: HashMap<Probe, u64>,
}

impl Reported {
    fn poll(&mut self, capture: &mut Capture, ports: &[u16]) -> usize {
        let wait = Duration::from_millis(5);
        capture
            .poll(wait, &mut |event| match event.body {
                Body::Lost(lost) => *self.lost.entry(lost.probe).or_default() += lost.count,
                Body::Packet(packet) if packet.hook == PacketHook::Xmit => {
                    let port = packet.flow.src.port();
                    if !ports.contains(&port) {
                        return;
                    }
                    *self.counts.entry(Probe::Xmit).or_default() += 1;
                    if packet.payload.is_empty() && !self.has_payload {
                        return;
                    }
                    let number = u32::from_le_bytes(*packet.payload.first_chunk().unwrap());
                    assert!(packet.payload == datagram(port, number), "{port} {number}");
                    self.packets.entry(port).or_default().push(number);
                }
                body => {
                    if let Some(probe) = body.probe() {
                        *self.counts.entry(probe).or_default() += 1;
                    }
                }
            })
            .unwrap()
    }
}

/// Each test has ports of its own, because the probes see those of all namespaces.
fn all_come_whole(kernel_ring: bool, first_port: u16) {
    in_own_netns(move |_| {
        let ports: Vec<_> = (first_port..first_port + THREADS).collect();
        // Small, so that it is full at times, and used over and over again.
        let config = CaptureConfig {
            ring_bytes: 1 << 18,
            ports: ports.clone(),
            kernel_ring,
            ..everything()
        };
        let mut capture = Capture::attach(&config).unwrap();
        let talking = Arc::new(AtomicUsize::new(ports.len()));
        let threads: Vec<_> = ports
            .iter()
            .map(|&port| {
                let talking = Arc::clone(&talking);
                thread::spawn(move || {
                    talk(port);
                    talking.fetch_sub(1, Ordering::AcqRel);
                })
            })
            .collect();
        let mut payload = capture.hooks().iter().filter(|chosen| chosen.observation == "payload");
        let has_payload = payload.any(|chosen| chosen.hook == Some("kfunc bpf_dynptr_from_skb"));
        let mut reported = Reported { has_payload, ..Reported::default() };
        let deadline = Instant::now() + Duration::from_secs(100);
        loop {
            let is_over = talking.load(Ordering::Acquire) == 0;
            let count = reported.poll(&mut capture, &ports);
            if is_over && count < MAX_BATCH {
                break;
            }
            assert!(Instant::now() < deadline);
        }
        for thread in threads {
            thread.join().unwrap();
        }
        // The counts of what was lost are read now and then.
        let is_told = |reported: &Reported, counters: &[ProbeCounters]| {
            let mut its = counters.iter().filter(|counters| PROBES.contains(&counters.probe));
            its.all(|counters| {
                let lost = reported.lost.get(&counters.probe).copied().unwrap_or_default();
                lost == counters.missing()
            })
        };
        while !is_told(&reported, &capture.counters()) {
            reported.poll(&mut capture, &ports);
            assert!(Instant::now() < deadline);
        }
        for counters in capture.counters() {
            if PROBES.contains(&counters.probe) {
                let all = u64::from(SENDS) * u64::from(THREADS);
                // What the kernel skipped, it counts of all sockets together.
                let handled = counters.emitted + counters.lost;
                let possible = handled..=handled + counters.skipped;
                assert!(possible.contains(&all), "{counters:?}");
                assert!(counters.emitted > 0, "{counters:?}");
            }
        }
        assert_eq!(reported.packets.len(), ports.len());
        for (port, numbers) in &reported.packets {
            assert!(numbers.is_sorted_by(|before, after| before < after), "{port}: {numbers:?}");
        }
        println!("kernel's: {kernel_ring}, {:?}, lost {:?}", reported.counts, reported.lost);
    });
}

#[test]
fn records_of_several_threads_come_whole_in_order_and_counted() {
    all_come_whole(false, 4_900);
}

#[test]
fn records_in_the_kernels_ring_buffer_come_whole_in_order_and_counted() {
    all_come_whole(true, 4_910);
}

//! A capture's life: windows, a full ring, and nothing left behind.

use crate::support::{
    PATIENCE, Seen, V4, cgroup_root, connect, everything, in_own_netns, port, talk,
};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::UdpSocket;
use std::time::{Duration, Instant};
use wirelap_capture::{AttachError, Capture, CaptureConfig, doctor};
use wirelap_events::{Body, PacketHook, Pid, Probe, TraceDetail};

#[test]
fn every_event_that_a_full_ring_loses_is_counted() {
    count_what_a_full_ring_loses(false, 4_999);
}

#[test]
fn every_event_that_the_kernels_full_ring_loses_is_counted() {
    count_what_a_full_ring_loses(true, 4_998);
}

/// Each with a port of its own: a capture counts what both tests send when they run at the same time.
fn count_what_a_full_ring_loses(kernel_ring: bool, at: u16) {
    const SENDS: u64 = 3_000;
    in_own_netns(move |netns| {
        let config =
            CaptureConfig { ring_bytes: 1 << 16, ports: vec![at], kernel_ring, ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let mut seen = Seen::new(netns);
        let socket = UdpSocket::bind((V4, at)).unwrap();
        for _ in 0..SENDS {
            // Nobody reads the ring meanwhile.
            socket.send_to(&[1; 100], (V4, at)).unwrap();
            socket.recv(&mut [0; 100]).unwrap();
        }
        let expected = [Probe::Send, Probe::Read, Probe::Ready, Probe::Xmit, Probe::Rx];
        seen.collect(&mut capture, "the count of lost events", |seen| {
            expected.iter().all(|probe| seen.lost.get(probe).is_some_and(|&lost| lost > 0))
        });
        // What the kernel skips goes on to be counted: of all sockets together.
        let deadline = Instant::now() + PATIENCE;
        let missing = |capture: &Capture, probe| {
            let counters = capture.counters();
            counters.iter().find(|counters| counters.probe == probe).unwrap().missing()
        };
        while expected.iter().any(|probe| missing(&capture, *probe) != seen.lost[probe]) {
            seen.collect(&mut capture, "a further count", |_| true);
            assert!(Instant::now() < deadline, "{:?}", seen.lost);
        }
        let counters = capture.counters();
        for probe in expected {
            let found = counters.iter().find(|counters| counters.probe == probe).unwrap();
            let handled = found.emitted + found.lost;
            assert!((handled..=handled + found.skipped).contains(&SENDS), "{found:?}");
            assert!(found.emitted > 0);
        }
        // And it goes on.
        socket.send_to(&[1; 100], (V4, at)).unwrap();
        let sends = seen.sends(seen.socket_at(at).id).len();
        seen.collect(&mut capture, "the next send", |seen| {
            seen.sends(seen.socket_at(at).id).len() == sends + 1
        });
    });
}

#[test]
fn a_closed_window_reports_nothing_and_an_open_one_everything() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let mut talk = |times| {
            for _ in 0..times {
                near.write_all(&[1; 10]).unwrap();
                far.read_exact(&mut [0; 10]).unwrap();
            }
        };
        talk(3);
        capture.set_window(false).unwrap();
        capture.set_window(false).unwrap();
        talk(5);
        capture.set_window(true).unwrap();
        talk(7);
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        let order: Vec<_> = seen
            .events
            .iter()
            .filter_map(|(event, _)| match event.body {
                Body::Send(_) => Some('s'),
                Body::Window(open) => Some(if open { 'o' } else { 'c' }),
                _ => None,
            })
            .collect();
        assert_eq!(order.iter().collect::<String>(), "sssco".to_owned() + "sssssss");
    });
}

#[test]
fn what_is_detached_costs_nothing_and_sees_nothing_until_it_is_attached_again() {
    const TURNS: usize = 5;
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let before = held();
        let (mut near, mut far) = connect(V4);
        let mut talk = |times| {
            for _ in 0..times {
                near.write_all(&[1; 10]).unwrap();
                far.read_exact(&mut [0; 10]).unwrap();
            }
        };
        let mut links = Vec::new();
        for _ in 0..TURNS {
            talk(3);
            capture.detach().unwrap();
            capture.detach().unwrap();
            links.push(before.difference(&held()).count());
            talk(5);
            capture.attach_again().unwrap();
            capture.attach_again().unwrap();
        }
        talk(2);
        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        let order: String = seen
            .events
            .iter()
            .filter_map(|(event, _)| match event.body {
                Body::Send(_) => Some('s'),
                Body::Read(_) => Some('r'),
                Body::Window(open) => Some(if open { 'o' } else { 'c' }),
                _ => None,
            })
            .collect();
        assert_eq!(order, "srsrsrco".repeat(TURNS) + "srsr");
        // Send, read, ready, packets both ways, two of scheduling, drops, retransmissions.
        assert!(links.iter().all(|&gone| gone >= 9), "{links:?}");
    });
}

#[test]
fn datagrams_keep_their_names_after_a_pause_that_nobody_saw() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let socket = UdpSocket::bind((V4, 0)).unwrap();
        let at = socket.local_addr().unwrap();
        let send =
            |times| (0..times).for_each(|_| assert_eq!(socket.send_to(&[7], at).unwrap(), 1));
        let read = |times| (0..times).for_each(|_| assert_eq!(socket.recv(&mut [0]).unwrap(), 1));
        send(3);
        capture.detach().unwrap();
        read(1);
        send(1);
        capture.attach_again().unwrap();
        // Three are left, which nobody can name.
        send(2);
        read(5);
        send(1);
        read(1);
        drop(socket);
        seen.collect(&mut capture, "the end of the socket", |seen| seen.closed() == 1);
        // Three had left before the pause: what has their memory now may be what nobody saw.
        let reads = seen.datagrams_read(seen.socket_at(at.port()).id);
        let reads = reads.into_iter().map(|(_, number)| number.filter(|&number| number >= 3));
        let expected = [None, None, None, Some(3), Some(4), Some(5)];
        assert_eq!(reads.collect::<Vec<_>>(), expected);
        assert_eq!(seen.packets(PacketHook::Xmit).count(), 6);
    });
}

/// Ids of the BPF programs and links that this process holds.
fn held() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir("/proc/self/fdinfo").unwrap().flatten() {
        // A descriptor of another test's thread may be gone already.
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        found.extend(
            text.lines().filter(|line| line.starts_with("link_id:")).map(ToOwned::to_owned),
        );
    }
    found
}

#[test]
fn nothing_is_left_attached() {
    let before = held();
    let capture = Capture::attach(&everything()).unwrap();
    let hooks = capture.hooks().len();
    let attached: BTreeSet<_> = held().difference(&before).cloned().collect();
    assert!(attached.len() >= hooks / 2, "{attached:?}");
    drop(capture);
    // Other tests attach at the same time, with other links.
    let exists = |line: &String| {
        let id = line.trim_start_matches("link_id:").trim().to_owned();
        std::process::Command::new("bpftool").args(["link", "show", "id", &id]).output().is_ok_and(
            |output| {
                output.status.success()
                    && String::from_utf8_lossy(&output.stdout)
                        .contains(&format!("pids {}", std::process::id()))
            },
        )
    };
    let own: Vec<_> = attached.difference(&held()).cloned().collect();
    assert!(!own.is_empty());
    let deadline = Instant::now() + Duration::from_secs(10);
    while own.iter().any(exists) {
        assert!(Instant::now() < deadline, "still attached: {own:?}");
    }
}

#[test]
fn what_cannot_be_attached_is_refused_in_a_sentence() {
    let odd = CaptureConfig { ring_bytes: 5_000, ..everything() };
    assert!(matches!(Capture::attach(&odd), Err(AttachError::BadRingSize(5_000))));
    let nowhere = CaptureConfig { cgroup: Some("/proc".into()), ..everything() };
    assert!(matches!(Capture::attach(&nowhere), Err(AttachError::BadCgroup { .. })));
}

#[test]
fn the_doctor_expects_the_hooks_that_are_then_chosen() {
    let capture = Capture::attach(&everything()).unwrap();
    let doctor = doctor::examine(None);
    assert_eq!(doctor.missing_capabilities, [""; 0]);
    for chosen in capture.hooks() {
        let expected = doctor.observations.iter().find(|o| o.observation == chosen.observation);
        assert_eq!(expected.unwrap().hook, chosen.hook, "{chosen:?}");
    }
}

/// A program that the kernel refuses only with some settings would silently be missing with these.
#[test]
fn with_each_detail_and_filter_the_same_hooks_are_chosen() {
    let doctor = doctor::examine(None);
    let filtered = CaptureConfig {
        ports: vec![4_997],
        pids: vec![Pid(std::process::id())],
        cgroup: Some(cgroup_root()),
        ..everything()
    };
    let tls = CaptureConfig { tls: true, ..everything() };
    let kernel_ring = CaptureConfig { kernel_ring: true, ..tls.clone() };
    let keeping = CaptureConfig { keeps_cpu: Some(true), ..tls.clone() };
    let settings = [everything(), filtered, tls, kernel_ring, keeping];
    for detail in [TraceDetail::Ends, TraceDetail::Path, TraceDetail::Full] {
        for setting in &settings {
            let config = CaptureConfig { detail, ring_bytes: 1 << 16, ..setting.clone() };
            let capture = Capture::attach(&config).unwrap();
            for chosen in capture.hooks() {
                let mut known = doctor.observations.iter();
                if config.kernel_ring && chosen.observation == "ring buffer" {
                    assert_eq!(chosen.hook, Some("the kernel's"));
                    continue;
                }
                // The text of TLS is not asked for there.
                if let Some(expected) = known.find(|o| o.observation == chosen.observation) {
                    assert_eq!(chosen.hook, expected.hook, "{config:?}: {chosen:?}");
                }
            }
        }
    }
}

#[test]
fn of_a_muted_socket_only_packets_without_payload_are_reported() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = connect(V4);
        let (mut other, mut end) = connect(V4);
        talk(&mut near, &mut far, 3);
        let ports = [port(&near), far.local_addr().unwrap().port()];
        seen.collect(&mut capture, "three messages", |seen| {
            seen.sends_at(ports[0]).len() == 3 && seen.reads(seen.socket_at(ports[1]).id).len() == 3
        });
        let muted = ports.map(|port| seen.socket_at(port).id);
        seen.forget();
        capture.mute(&muted).unwrap();
        capture.mute(&muted).unwrap();
        assert_eq!(capture.muted(), 2);
        talk(&mut near, &mut far, 5);
        // A neighbour is reported as before.
        talk(&mut other, &mut end, 4);
        let neighbour = port(&other);
        seen.collect(&mut capture, "the neighbour's sends", |seen| {
            seen.sends_at(neighbour).len() == 4
        });
        assert!(muted.iter().all(|&id| seen.sends(id).is_empty() && seen.reads(id).is_empty()));
        assert!(muted.iter().all(|&id| seen.readies(id).is_empty()));
        let packets = seen.packets(PacketHook::Xmit);
        let with_payload = packets.filter(|(packet, _)| packet.payload_len > 0);
        let (mut bytes, mut captured) = (0, 0);
        for (packet, payload) in with_payload.filter(|(packet, _)| packet.socket == Some(muted[0]))
        {
            bytes += packet.payload_len;
            captured += payload.len();
        }
        assert_eq!((bytes, captured), (50, 0), "the bytes are counted, and none are copied");
        let counted = |probe| {
            let counters = capture.counters();
            counters.iter().find(|one| one.probe == probe).unwrap().muted
        };
        assert_eq!([Probe::Send, Probe::Read, Probe::Ready].map(counted), [5, 5, 5]);

        drop((near, far));
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
        assert_eq!(capture.muted(), 0, "a closed socket needs no room");
        let (mut near, mut far) = connect(V4);
        talk(&mut near, &mut far, 2);
        let next = port(&near);
        seen.collect(&mut capture, "sends of a new socket", |seen| seen.sends_at(next).len() == 2);
    });
}

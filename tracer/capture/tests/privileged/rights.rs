//! Abilities of a capture whose thread has given up root's rights.

use crate::support::{Seen, V4, everything, in_own_netns};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;
use wirelap_capture::{Capture, CaptureConfig};

/// Keeps only what a capture says that it needs.
fn give_up_rights(capture: &Capture) {
    let kept = capture.rights_still_needed(true);
    let sets =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).unwrap();
}

#[test]
fn all_that_comes_after_attaching_works_without_roots_rights() {
    in_own_netns(|netns| {
        let config = CaptureConfig { ports: vec![4_321], ..everything() };
        let mut capture = Capture::attach(&config).unwrap();
        let held = UdpSocket::bind((V4, 4_322)).unwrap();
        give_up_rights(&capture);
        // A port more, whose socket is there already; processes; windows; hooks that are attached when they are needed.
        capture.add_port(4_322).unwrap();
        capture.add_pid(wirelap_events::Pid(std::process::id())).unwrap();
        capture.set_window(false).unwrap();
        capture.set_window(true).unwrap();
        let mut seen = Seen::new(netns);
        held.send_to(&[1; 10], (V4, 4_322)).unwrap();
        held.recv(&mut [0; 10]).unwrap();
        seen.collect(&mut capture, "a datagram", |seen| !seen.sends_at(4_322).is_empty());
        capture.detach().unwrap();
        capture.attach_again().unwrap();
        let listener = TcpListener::bind((V4, 4_321)).unwrap();
        let mut near = TcpStream::connect((V4, 4_321)).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(&[1; 10]).unwrap();
        far.read_exact(&mut [0; 10]).unwrap();
        let port = near.local_addr().unwrap().port();
        seen.collect(&mut capture, "a send", |seen| !seen.sends_at(port).is_empty());
        assert!(capture.counters().iter().any(|counters| counters.emitted > 0));
        assert_eq!(capture.poll(Duration::ZERO, &mut |_| {}).err().map(|e| e.to_string()), None);
    });
}

//! State of TCP recorded at a send, against what it tells of itself (`TCP_INFO`, `SIOCOUTQ`).

use crate::raw;
use crate::support::{Seen, V4, everything, in_own_netns, port};
use rustix::net::{SendFlags, sockopt};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};
use wirelap_capture::Capture;
use wirelap_events::{Nagle, SendKind, TxState};

/// A delayed acknowledgement comes after 40 ms (`TCP_DELACK_MIN`); what takes longer is tried again.
const QUICKLY: Duration = Duration::from_millis(20);

/// A machine that is never quick enough in this time is too busy to be measured.
const AT_MOST: Duration = Duration::from_secs(30);

/// Reads what TCP tells of a socket now: include/uapi/linux/tcp.h `struct tcp_info`, by byte offset.
fn told(stream: &TcpStream, nagle: Nagle) -> TxState {
    let info = raw::socket_option(stream, libc::IPPROTO_TCP, libc::TCP_INFO);
    let field = |at: usize| u32::from_ne_bytes(info[at..at + 4].try_into().unwrap());
    let unsent = field(144);
    TxState {
        in_flight: raw::unacknowledged(stream) - unsent,
        unsent,
        window: field(228),
        mss: field(16),
        cwnd: field(80),
        segments_out: field(24),
        nagle,
        send_buffer: u32::try_from(sockopt::socket_send_buffer_size(stream).unwrap()).unwrap(),
        pacing: pacing(stream, &info),
        // The kernel tells it from 4.6 on.
        min_rtt: field(148),
    }
}

/// BBR paces itself; the others leave that to the `fq` queueing discipline, which is not here.
fn pacing(stream: &TcpStream, info: &[u8]) -> u64 {
    let is_paced = sockopt::tcp_congestion(stream).unwrap() == "bbr";
    let rate = u64::from_ne_bytes(info[104..112].try_into().unwrap());
    if is_paced { rate } else { 0 }
}

/// A connection whose far end does not acknowledge at once, and takes `room` bytes if that is given.
fn slow_to_acknowledge(room: Option<usize>) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((V4, 0)).unwrap();
    if let Some(room) = room {
        sockopt::set_socket_recv_buffer_size(&listener, room).unwrap();
    }
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let far = listener.accept().unwrap().0;
    sockopt::set_tcp_quickack(&far, false).unwrap();
    (near, far)
}

fn states(seen: &Seen, port: u16) -> Vec<TxState> {
    let sends = seen.sends(seen.socket_at(port).id);
    let state = |kind| match kind {
        SendKind::Stream { state: Some(state), .. } => state,
        other => panic!("{other:?} without its state"),
    };
    sends.into_iter().map(|send| state(send.kind)).collect()
}

/// Returns the state that was recorded at each of three sends of 64 bytes that nobody acknowledges, after comparing it with what
/// TCP told before each.
fn three_sends(prepare: fn(&TcpStream), flags: SendFlags, nagle: Nagle) -> Vec<TxState> {
    in_own_netns(move |netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let deadline = Instant::now() + AT_MOST;
        loop {
            let mut seen = Seen::new(netns);
            let (near, far) = slow_to_acknowledge(None);
            prepare(&near);
            let start = Instant::now();
            let expected = [(); 3].map(|()| {
                let expected = told(&near, nagle);
                assert_eq!(rustix::net::send(&near, &[7; 64], flags).unwrap(), 64);
                expected
            });
            let was_quick = start.elapsed() < QUICKLY;
            let near_port = port(&near);
            drop((near, far));
            seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);
            if was_quick {
                let found = states(&seen, near_port);
                assert_eq!(found, expected);
                return found;
            }
            assert!(Instant::now() < deadline, "three sends never took less than {QUICKLY:?}");
        }
    })
}

/// Bytes and segments in flight, and bytes not sent yet.
fn amounts(state: &TxState) -> (u32, u32, u32) {
    (state.in_flight, state.segments_out, state.unsent)
}

#[test]
fn nagle_keeps_the_second_short_segment_back() {
    let found = three_sends(|_| {}, SendFlags::empty(), Nagle::On);
    assert_eq!(found.iter().map(amounts).collect::<Vec<_>>(), [(0, 0, 0), (64, 1, 0), (64, 1, 64)]);
}

#[test]
fn without_nagle_each_is_sent() {
    let found = three_sends(|near| near.set_nodelay(true).unwrap(), SendFlags::empty(), Nagle::Off);
    assert_eq!(found.iter().map(amounts).collect::<Vec<_>>(), [(0, 0, 0), (64, 1, 0), (128, 2, 0)]);
}

#[test]
fn a_cork_keeps_even_the_first_back_and_outweighs_no_delay() {
    let cork = |near: &TcpStream| {
        near.set_nodelay(true).unwrap();
        sockopt::set_tcp_cork(near, true).unwrap();
    };
    let found = three_sends(cork, SendFlags::empty(), Nagle::Corked);
    assert_eq!(found.iter().map(amounts).collect::<Vec<_>>(), [(0, 0, 0), (0, 0, 64), (0, 0, 128)]);
}

#[test]
fn a_send_that_says_more_will_come_is_a_cork_for_itself() {
    let found = three_sends(|near| near.set_nodelay(true).unwrap(), SendFlags::MORE, Nagle::Corked);
    assert_eq!(found.iter().map(amounts).collect::<Vec<_>>(), [(0, 0, 0), (0, 0, 64), (0, 0, 128)]);
}

#[test]
fn a_receiver_without_room_shows_as_its_window() {
    in_own_netns(|netns| {
        let mut capture = Capture::attach(&everything()).unwrap();
        let mut seen = Seen::new(netns);
        let (mut near, mut far) = slow_to_acknowledge(Some(4_096));
        near.set_nonblocking(true).unwrap();
        let is_full = |error: std::io::Error| assert_eq!(error.kind(), ErrorKind::WouldBlock);
        let deadline = Instant::now() + AT_MOST;
        while near.write(&[7; 10_000]).map_err(is_full).is_ok() {
            assert!(Instant::now() < deadline, "the socket's buffers are never full");
        }
        // Nothing moves any more but the probes of the closed window: between two equal answers, nothing.
        let expected = loop {
            let before = told(&near, Nagle::On);
            let is_at_rest = near.write(&[7; 10_000]).map_err(is_full).is_err();
            if is_at_rest && told(&near, Nagle::On) == before && before.in_flight == 0 {
                break before;
            }
            assert!(Instant::now() < deadline, "it does not come to rest");
        };
        let (near_port, far_port) = (port(&near), port(&far));
        drop(near);
        far.read_to_end(&mut Vec::new()).unwrap();
        drop(far);
        seen.collect(&mut capture, "the end of both sockets", |seen| seen.closed() == 2);

        assert_eq!(states(&seen, near_port).last(), Some(&expected));
        assert!(expected.window < expected.mss && expected.unsent > 10_000, "{expected:?}");
        assert!(seen.sends(seen.socket_at(far_port).id).is_empty());
    });
}

//! A link on the path that is slower than its sender, and one that is only long.

use crate::brokered::house;
use crate::played::Played;
use wirelap_correlate::{Clause, Severity, VerdictKind};
use wirelap_events::{Body, Nagle, PacketHook, Seq, TcpFields, TxState, tcp_flags};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Connection, World};

const MS: u64 = 1_000_000;

/// The link takes a message in so much time.
const EACH: u64 = 10 * MS;

/// So many are under way, and so many wait in the socket before each.
const UNDER_WAY: u32 = 10;
const WAITING: u64 = 3;

/// The acknowledgement of a message comes so long after it has left.
const ROUND_TRIP: u64 = 100 * MS;

/// A step on the way of a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Acknowledged,
    Arrives,
    Leaves,
    Written,
}

/// A message that is alone, and has its acknowledgement after `alone`; then eighty, each of which waits for its acknowledgements as on a
/// link with a queue.
fn sent_over(alone: u64) -> Played {
    let mut world = World::new();
    let (publisher, mut subscribers) = house(&mut world, 1);
    let subscriber = &mut subscribers[0];
    let began = world.now + MS;
    let mut steps = vec![
        (began, 0, Step::Written),
        (began, 0, Step::Leaves),
        (began + alone - MS / 2, 0, Step::Arrives),
        (began + alone, 0, Step::Acknowledged),
    ];
    let began = began + 5 * ROUND_TRIP;
    for n in 1..=80 {
        let written = began + u64::from(n) * EACH;
        // The first ones find the window open.
        let waits = if n > UNDER_WAY { WAITING * EACH } else { 0 };
        let left = written + waits;
        steps.extend([
            (written, n, Step::Written),
            (left, n, Step::Leaves),
            (left + ROUND_TRIP - MS, n, Step::Arrives),
            (left + ROUND_TRIP - MS / 2, n, Step::Acknowledged),
        ]);
    }
    steps.sort_unstable();
    let all: Vec<Vec<u8>> = (0..=80).map(|n| publish("t", &payload(stamp(n), 1_000))).collect();
    let len = u32::try_from(all[0].len()).unwrap();
    let first = publisher.up.next;
    let start = |n: u32| first.plus(n * len);
    for (at, n, step) in steps {
        world.now = world.now.max(at);
        let bytes = &all[usize::try_from(n).unwrap()];
        let way = publisher.up;
        match step {
            Step::Written => {
                world.state = Some(state(n, len));
                world.send(&way, start(n), len);
                world.state = None;
            }
            Step::Leaves => {
                world.xmit(&way, start(n), bytes);
            }
            Step::Arrives => {
                world.rx(&way, start(n), len);
                world.ready(&way, start(n + 1));
                world.wake(way.to.1.task, None);
                world.read(&way, start(n + 1), len);
                world.message(&mut subscriber.down, bytes);
            }
            Step::Acknowledged => acknowledged(&mut world, &publisher, start(n + 1)),
        }
    }
    Played::of(&world)
}

/// The state of TCP when message `n` is written: as many are under way as may be, if they are.
fn state(n: u32, len: u32) -> TxState {
    let is_full = n > UNDER_WAY;
    let segments = if is_full { UNDER_WAY } else { n.saturating_sub(1).min(UNDER_WAY - 1) };
    TxState {
        in_flight: segments * len,
        unsent: if is_full { 3 * len } else { 0 },
        window: 1 << 20,
        mss: 1_448,
        cwnd: UNDER_WAY,
        segments_out: segments,
        nagle: Nagle::Off,
        send_buffer: 1 << 20,
        pacing: 0,
        min_rtt: 0,
    }
}

fn acknowledged(world: &mut World, connection: &Connection, ack: Seq) {
    let back = connection.down;
    let mut packet = world.tcp_packet(&back, PacketHook::Rx, back.next, 0);
    packet.tcp = Some(TcpFields { seq: back.next, ack, flags: tcp_flags::ACK, window: 9_999 });
    world.tell(Body::Packet(packet), &[]);
}

fn problems(played: &Played) -> Vec<VerdictKind> {
    let verdicts = played.group().why.verdicts.iter();
    let problems = verdicts.filter(|one| one.severity == Severity::Problem);
    problems.map(|verdict| verdict.kind).collect()
}

#[test]
fn what_a_slow_link_takes_is_not_the_windows_nor_the_senders() {
    let played = sent_over(2 * MS);
    assert_eq!(played.counts(), [81, 81, 81, 0]);
    assert_eq!(problems(&played), [VerdictKind::BottleneckLink]);
    let link = &played.group().why.verdicts[0];
    assert_eq!((link.leg, link.process), (Some(1), None));
    let queue = link.evidence.iter().find_map(|clause| match clause {
        Clause::QueueOnPath { longest, least, rate } => Some((longest.0, least.0, *rate)),
        _ => None,
    });
    let (longest, least, rate) = queue.unwrap();
    assert!(longest.abs_diff(ROUND_TRIP) < MS && least.abs_diff(2 * MS) < MS, "{longest} {least}");
    // A kilobyte and its headers in 10 ms, and once, when the window is full for the first time, nothing for 30 ms.
    assert!((75_000..105_000).contains(&rate), "{rate}");
}

/// The same, and the first message took as long.
#[test]
fn a_long_path_has_no_queue() {
    let played = sent_over(ROUND_TRIP);
    let found = problems(&played);
    assert!(!found.contains(&VerdictKind::BottleneckLink), "{found:?}");
    let mut verdicts = played.group().why.verdicts.iter();
    let window = verdicts.find(|one| one.kind == VerdictKind::CongestionWindow).unwrap();
    let is_short =
        |clause: &Clause| matches!(clause, Clause::RoundTrip(Some(trip)) if trip.is_short());
    assert!(window.evidence.iter().any(is_short), "{:?}", window.evidence);
}

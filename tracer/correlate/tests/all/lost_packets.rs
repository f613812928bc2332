//! Packets that the network loses: what follows until the copy that arrives is the network's, not the sender's socket's.

use crate::played::Played;
use crate::words::words;
use wirelap_correlate::{Severity, VerdictKind};
use wirelap_events::{
    Body, Delivery, DropCause, DroppedPacket, Nanos, NetNs, PacketHook, Recovery, Retransmit,
    Segment, Seq, Stage, TcpFields, tcp_flags,
};
use wirelap_test_support::compose::{plain, stamp};
use wirelap_test_support::world::{Connection, STEP, Way, World, process};

pub const TIMEOUT: u64 = 200_000_000;

fn world() -> (World, Connection) {
    let mut world = World::new();
    let (a, b) = (process(1, "a"), process(2, "b"));
    let pair = world.connect(a, "127.0.0.1:40000", b, "127.0.0.1:9000");
    (world, pair)
}

fn thrown_away(
    world: &mut World,
    way: &Way,
    at: (Seq, u32),
    cause: DropCause,
    outward: bool,
) -> Nanos {
    let tcp = TcpFields { seq: at.0, ack: Seq(0), flags: 0, window: 0 };
    let drop = DroppedPacket {
        flow: way.key,
        cause,
        reason: 12,
        len: at.1,
        outward,
        queued: None,
        netns: NetNs(0),
        mtu: 0,
        tcp: Some(tcp),
    };
    world.tell(Body::Drop(drop), &[])
}

pub fn sent_again(world: &mut World, way: &Way, at: (Seq, u32), recovery: Recovery) {
    let recovery = Some(recovery);
    let again = Retransmit { socket: way.from.0, start: at.0, len: at.1, recovery };
    world.tell(Body::Retransmit(again), &[]);
}

/// The receiver's acknowledgement of everything before `ack` comes in.
pub fn acknowledge(world: &mut World, back: &Way, ack: Seq) {
    for hook in [PacketHook::Xmit, PacketHook::Rx] {
        let mut packet = world.tcp_packet(back, hook, back.next, 0);
        packet.tcp = Some(TcpFields { seq: back.next, ack, flags: tcp_flags::ACK, window: 99 });
        world.tell(Body::Packet(packet), &[]);
    }
}

/// The copy that arrives is taken in and read.
pub fn arrive(world: &mut World, way: &Way, (start, len): (Seq, u32), upto: Seq) {
    world.rx(way, start, len);
    world.ready(way, upto);
    world.wake(way.to.1.task, None);
    world.read(way, upto, len);
}

fn of(played: &Played, seq: u32) -> &Delivery {
    played.deliveries.iter().find(|delivery| delivery.stamp == Some(stamp(seq))).unwrap()
}

fn segment(delivery: &Delivery, segment: Segment) -> u64 {
    delivery.legs[0].segments().get(segment).unwrap_or_default().0
}

/// Messages for longer than a connection's start-up takes.
fn warm_up(world: &mut World, pair: &mut Connection) {
    for n in 0..30 {
        world.message(&mut pair.up, &plain(stamp(1_000 + n), 100));
        acknowledge(world, &pair.down, pair.up.next);
        world.now += 50_000_000;
    }
}

/// Every twentieth message is lost as `lose` has it, the others are not.
fn with_losses(lose: impl Fn(&mut World, &mut Way, &[u8])) -> Played {
    let (mut world, mut pair) = world();
    warm_up(&mut world, &mut pair);
    for n in 0..100 {
        let bytes = plain(stamp(n), 100);
        if n % 20 == 7 {
            lose(&mut world, &mut pair.up, &bytes);
        } else {
            world.message(&mut pair.up, &bytes);
        }
        acknowledge(&mut world, &pair.down, pair.up.next);
        world.now += 10_000_000;
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [130, 130, 130, 0]);
    played
}

fn assert_network(played: &Played) -> String {
    let why = &played.group().why;
    let problems: Vec<_> =
        why.verdicts.iter().filter(|verdict| verdict.severity == Severity::Problem).collect();
    let [verdict] = problems.as_slice() else { panic!("{problems:#?}") };
    assert_eq!((verdict.kind, verdict.leg), (VerdictKind::Retransmission, Some(1)));
    assert_eq!(verdict.segment, Some(Segment::Loss));
    assert_eq!(verdict.process.map(|(task, _)| task), Some(process(1, "a").task));
    words(verdict)
}

/// In the input hook: the packet leaves and comes in, and goes no further.
#[test]
fn what_is_dropped_on_its_way_in_is_the_networks() {
    let played = with_losses(|world, way, bytes| {
        let (start, len) = way.advance(bytes.len());
        world.send(way, start, len);
        world.xmit(way, start, bytes);
        world.rx(way, start, len);
        thrown_away(world, way, (start, len), DropCause::Filter, false);
        world.now += TIMEOUT;
        world.xmit(way, start, bytes);
        sent_again(world, way, (start, len), Recovery::Timeout);
        arrive(world, way, (start, len), way.next);
    });
    let lost = of(&played, 27);
    assert!(segment(lost, Segment::SocketTx) < 2 * STEP, "{lost:#?}");
    assert!((TIMEOUT..TIMEOUT + 4 * STEP).contains(&segment(lost, Segment::Loss)), "{lost:#?}");
    assert_eq!(of(&played, 28).legs[0].times.get(Stage::Lost), None);
    let evidence = assert_network(&played);
    assert!(evidence.contains("5 messages from a (pid 1) to b (pid 2)"), "{evidence}");
    assert!(evidence.contains("TCP's timeout (5)"), "{evidence}");
    assert!(evidence.contains("packet filter, as netfilter (5)"), "{evidence}");
}

/// In the output hook: no device sees the first copy, and TCP does not count it as sent.
#[test]
fn what_is_dropped_before_the_device_is_the_networks() {
    let played = with_losses(|world, way, bytes| {
        let (start, len) = way.advance(bytes.len());
        world.send(way, start, len);
        thrown_away(world, way, (start, len), DropCause::Filter, true);
        world.now += TIMEOUT;
        thrown_away(world, way, (start, len), DropCause::Filter, true);
        world.now += TIMEOUT;
        world.xmit(way, start, bytes);
        arrive(world, way, (start, len), way.next);
    });
    let lost = of(&played, 27);
    assert_eq!(segment(lost, Segment::SocketTx), STEP, "{lost:#?}");
    assert!(segment(lost, Segment::Loss) > 2 * TIMEOUT, "{lost:#?}");
    let evidence = assert_network(&played);
    assert!(evidence.contains("10 packets thrown away by this host"), "{evidence}");
}

/// Between two hosts: of the first copy nothing is known but that it left.
#[test]
fn what_is_lost_elsewhere_is_the_networks() {
    let played = with_losses(|world, way, bytes| {
        let (start, len) = way.advance(bytes.len());
        world.send(way, start, len);
        world.xmit(way, start, bytes);
        world.now += TIMEOUT;
        world.xmit(way, start, bytes);
        sent_again(world, way, (start, len), Recovery::Fast);
        arrive(world, way, (start, len), way.next);
    });
    assert!(segment(of(&played, 27), Segment::Loss) >= TIMEOUT);
    let evidence = assert_network(&played);
    assert!(evidence.contains("fast retransmit (5)"), "{evidence}");
    assert!(evidence.contains("threw none of them away"), "{evidence}");
}

/// The data is there, and its sender does not hear of it in time: nobody waits for the copy.
#[test]
fn a_copy_of_what_has_arrived_is_no_loss() {
    let played = with_losses(|world, way, bytes| {
        let (start, len) = way.advance(bytes.len());
        world.send(way, start, len);
        world.xmit(way, start, bytes);
        world.rx(way, start, len);
        world.ready(way, way.next);
        world.now += TIMEOUT;
        world.xmit(way, start, bytes);
        sent_again(world, way, (start, len), Recovery::Timeout);
        world.rx(way, start, len);
        thrown_away(world, way, (start, len), DropCause::Duplicate, false);
        world.read(way, way.next, len);
    });
    let spurious = of(&played, 27);
    assert_eq!(segment(spurious, Segment::Loss), 0, "{spurious:#?}");
    assert!(segment(spurious, Segment::Busy) >= TIMEOUT, "{spurious:#?}");
    let verdicts = &played.group().why.verdicts;
    assert!(verdicts.iter().all(|verdict| verdict.kind != VerdictKind::Retransmission));
}

/// A packet that arrives waits for one before it that was lost.
#[test]
fn who_waits_behind_a_loss_waits_for_the_network() {
    let (mut world, mut pair) = world();
    warm_up(&mut world, &mut pair);
    for n in 0..50 {
        if n % 10 != 7 {
            let bytes = plain(stamp(2 * n), 100);
            world.message(&mut pair.up, &bytes);
            let bytes = plain(stamp(2 * n + 1), 100);
            world.message(&mut pair.up, &bytes);
            world.now += 10_000_000;
            continue;
        }
        let [first, second] = [2 * n, 2 * n + 1].map(|seq| plain(stamp(seq), 100));
        let (at, len) = pair.up.advance(first.len());
        let way = pair.up;
        world.send(&way, at, len);
        world.xmit(&way, at, &first);
        world.rx(&way, at, len);
        thrown_away(&mut world, &way, (at, len), DropCause::Filter, false);
        let (then, more) = pair.up.advance(second.len());
        world.send(&way, then, more);
        world.xmit(&way, then, &second);
        world.rx(&way, then, more);
        world.now += TIMEOUT;
        world.xmit(&way, at, &first);
        sent_again(&mut world, &way, (at, len), Recovery::Timeout);
        arrive(&mut world, &way, (at, len), pair.up.next);
        world.read(&way, pair.up.next, len + more);
    }
    let played = Played::of(&world);
    let behind = of(&played, 15);
    assert_eq!(segment(behind, Segment::Loss), 0);
    assert!(segment(behind, Segment::StackRx) >= TIMEOUT, "{behind:#?}");
    let seen = behind.legs[0].circumstances;
    assert_eq!((seen.loss.resent, seen.loss.behind), (false, true));
    assert_eq!(seen.loss.dropped, Some(DropCause::Filter));
    let evidence = assert_network(&played);
    assert!(evidence.contains("5 messages from a (pid 1) to b (pid 2), and 5 more"), "{evidence}");
}

/// A message that may not be sent before an earlier one has arrived waits for the network, too.
#[test]
fn who_may_not_send_because_of_a_loss_waits_for_the_network() {
    let played = with_losses(|world, way, bytes| {
        let whole = bytes.len();
        let (start, len) = way.advance(whole);
        world.send(way, start, len / 2);
        world.xmit(way, start, &bytes[..whole / 2]);
        thrown_away(world, way, (start, len / 2), DropCause::Queue, false);
        let rest = (start.plus(len / 2), len - len / 2);
        world.send(way, rest.0, rest.1);
        world.now += TIMEOUT;
        world.xmit(way, start, &bytes[..whole / 2]);
        sent_again(world, way, (start, len / 2), Recovery::Timeout);
        world.rx(way, start, len / 2);
        world.ready(way, rest.0);
        world.xmit(way, rest.0, &bytes[whole / 2..]);
        arrive(world, way, rest, way.next);
    });
    let lost = of(&played, 27);
    assert!(segment(lost, Segment::SocketTx) >= TIMEOUT, "{lost:#?}");
    let verdicts = &played.group().why.verdicts;
    let problems: Vec<_> = verdicts.iter().map(|v| (v.kind, v.leg, v.segment)).collect();
    assert_eq!(problems, [(VerdictKind::Retransmission, Some(1), Some(Segment::SocketTx))]);
}

/// Packets that overtake each other are not lost.
#[test]
fn another_order_is_no_loss() {
    let (mut world, mut pair) = world();
    for n in 0..50 {
        let [first, second] = [2 * n, 2 * n + 1].map(|seq| plain(stamp(seq), 100));
        let (at, len) = pair.up.advance(first.len());
        let (then, more) = pair.up.advance(second.len());
        let way = pair.up;
        world.send(&way, at, len + more);
        world.xmit(&way, at, &first);
        world.xmit(&way, then, &second);
        world.rx(&way, then, more);
        world.now += 300_000;
        arrive(&mut world, &way, (at, len), way.next);
        world.read(&way, way.next, len + more);
        world.now += 10_000_000;
    }
    let played = Played::of(&world);
    let verdicts = &played.group().why.verdicts;
    assert!(verdicts.iter().all(|v| v.kind != VerdictKind::Retransmission), "{verdicts:#?}");
    assert!(!of(&played, 15).legs[0].circumstances.loss.behind);
}

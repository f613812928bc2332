//! Connections on which nothing arrives, though TCP sends it again and again.

use crate::audience::{Audience, Fate, pass};
use crate::lost_packets::{acknowledge, sent_again};
use wirelap_correlate::{Clause, Severity, StuckConnection, Verdict, VerdictKind};
use wirelap_events::{Body, DropCause, DroppedPacket, Nanos, NetNs, Recovery, Seq, TcpFields};
use wirelap_test_support::world::{Way, World};

/// A router of this host throws away what is too big for what is ahead.
fn too_big(world: &mut World, way: &Way, (seq, len): (Seq, u32)) {
    let drop = DroppedPacket {
        flow: way.key,
        cause: DropCause::TooBig,
        reason: 12,
        len,
        outward: false,
        queued: None,
        tcp: Some(TcpFields { seq, ack: Seq(0), flags: 0, window: 0 }),
        netns: NetNs(7),
        mtu: 1450,
    };
    world.tell(Body::Drop(drop), &[]);
}

fn told(all: &Audience) -> Option<(Verdict, StuckConnection)> {
    let mut groups = all.watch.correlator.snapshot(Nanos(all.watch.world.now)).groups;
    let verdicts = groups.remove(0).why.verdicts.into_iter();
    let mut lost = verdicts.filter(|one| one.kind == VerdictKind::Retransmission);
    lost.find_map(|verdict| {
        let stuck = verdict.evidence.iter().find_map(|clause| match clause {
            Clause::Stuck(stuck) => Some((**stuck).clone()),
            _ => None,
        })?;
        Some((verdict, stuck))
    })
}

/// Ten messages, the last of which the second subscriber does not get: it is sent again so often in so many milliseconds.
fn stuck(resends: u64, after_ms: u64) -> (Audience, (Seq, u32)) {
    let mut all = Audience::new();
    for n in 0..9 {
        let bytes = all.publish_number(n);
        all.second_gets(&bytes);
        all.watch.take(100);
    }
    let bytes = all.publish_number(9);
    let down = &mut all.subscribers[1].down;
    let lost = (down.next, u32::try_from(bytes.len()).unwrap());
    pass(&mut all.watch.world, down, &bytes, Fate::OnTheWay);
    let down = all.subscribers[1].down;
    for _ in 0..resends {
        all.watch.take(after_ms / resends);
        sent_again(&mut all.watch.world, &down, lost, Recovery::Timeout);
        too_big(&mut all.watch.world, &down, lost);
    }
    all.watch.take(10);
    (all, lost)
}

#[test]
fn where_nothing_arrives_is_told_with_where_it_is_thrown_away() {
    let (mut all, (seq, len)) = stuck(4, 1_600);
    let (verdict, stuck) = told(&all).unwrap();
    assert_eq!(verdict.severity, Severity::Problem);
    assert_eq!((stuck.resent, stuck.bytes), (4, u64::from(len)));
    assert_eq!(stuck.sender.map(|(pid, _)| pid.0), Some(10));
    assert!(stuck.age >= Nanos::from_millis(1_600), "{}", stuck.age);
    let dropped = stuck.dropped.unwrap();
    assert_eq!((dropped.cause, dropped.mtu, dropped.packets), (DropCause::TooBig, Some(1450), 4));
    assert_eq!(dropped.netns, Some((NetNs(7), None)));
    // It arrives after all.
    acknowledge(&mut all.watch.world, &all.subscribers[1].up, seq.plus(len));
    all.watch.take(10);
    assert!(told(&all).is_none());
}

#[test]
fn what_is_lost_once_or_a_moment_ago_is_not_stuck() {
    assert!(told(&stuck(1, 2_000).0).is_none());
    assert!(told(&stuck(4, 400).0).is_none());
}

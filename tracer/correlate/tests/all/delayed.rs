//! Messages that an exchange of AMQP keeps for a time, by their publisher's wish: while they have not come they are no losses, and they hide none.

use crate::played::Played;
use wirelap_correlate::{Clause, VerdictKind};
use wirelap_test_support::compose::amqp;
use wirelap_test_support::world::{World, process};

const MS: u64 = 1_000_000;

/// The losses that are told where 60 messages are delayed by so many milliseconds and come then, if `they_come`, and `lost` others that are not
/// delayed never come.
fn said(delay: i32, they_come: bool, lost: u32) -> Option<Vec<Clause>> {
    let mut world = World::new();
    let [mut publisher, mut consumer] = [20, 30].map(|pid| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        let broker = process(10, "broker");
        world.connect(process(pid, "client"), &from, broker, "127.0.0.1:5672")
    });
    for client in [&mut publisher, &mut consumer] {
        world.message(&mut client.up, b"AMQP\0\0\x09\x01");
    }
    let (of, mut tag) = (["ex", "k"], 0);
    let text = |kind: &str, n: u32| format!("{kind} {n}").into_bytes();
    for n in 0..60 {
        world
            .message(&mut publisher.up, &amqp::publish_delayed("ex", "k", delay, &text("late", n)));
    }
    let mut pass = |world: &mut World, kind: &str, messages: u32, comes: bool| {
        for n in 0..messages {
            world.now += 10 * MS;
            world.message(&mut publisher.up, &amqp::publish("ex", "k", &text(kind, n)));
            if comes {
                tag += 1;
                world.message(&mut consumer.down, &amqp::deliver("ex", "k", tag, &text(kind, n)));
            }
        }
    };
    pass(&mut world, "before", 50, true);
    pass(&mut world, "lost", lost, false);
    pass(&mut world, "after", 50, true);
    world.now += u64::from(delay.unsigned_abs()) * MS;
    pass(&mut world, "still after", 50, true);
    for n in (0..60).filter(|_| they_come) {
        let bytes = amqp::deliver_delayed(of, 1_000 + u64::from(n), delay, &text("late", n));
        world.message(&mut consumer.down, &bytes);
    }
    world.now += 20_000 * MS;
    let played = Played::of(&world);
    let verdicts = &played.group().why.verdicts;
    let found = verdicts.iter().find(|one| one.kind == VerdictKind::NeverDelivered)?;
    Some(found.evidence.clone())
}

#[test]
fn what_is_delayed_is_no_loss() {
    assert_eq!(
        [(500, false), (500, true), (30_000, true)].map(|(ms, come)| said(ms, come, 0)),
        [const { None }; 3]
    );
}

/// One that comes after its message was forgotten is not joined to it, and that is no reason to doubt other losses.
#[test]
fn what_is_delayed_hides_no_loss() {
    for (delay, they_come) in [(500, true), (30_000, true), (500, false)] {
        let said = said(delay, they_come, 30).unwrap_or_default();
        let lost = said.iter().any(|one| matches!(one, Clause::Swallowed { messages: 30, .. }));
        assert!(lost, "{delay} {they_come}: {said:?}");
    }
}

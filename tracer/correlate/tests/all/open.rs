//! Messages that ought to have arrived: how many, where they are, and who holds them up.

use crate::brokered::house;
use crate::words::{clauses, words};
use wirelap_correlate::{
    Config, Correlator, Group, Overdue, Severity, Verdict, VerdictKind, Whereabouts,
};
use wirelap_events::{Body, Delivery, Nanos, Pid, ThreadActivity, ThreadState};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{Way, World, process};

/// Sends a message that is not read. Returns what is read when it is.
fn unread(world: &mut World, way: &mut Way, bytes: &[u8]) -> (Way, u32) {
    let (start, len) = way.advance(bytes.len());
    world.send(way, start, len);
    world.xmit(way, start, bytes);
    world.rx(way, start, len);
    world.ready(way, way.next);
    (*way, len)
}

/// A correlator that takes what a world tells, piece by piece.
struct Watch {
    correlator: Correlator,
    taken: usize,
    delivered: usize,
}

impl Watch {
    fn new() -> Watch {
        Watch { correlator: Correlator::new(Config::default()), taken: 0, delivered: 0 }
    }

    /// Takes what is new, and lets time pass after it.
    fn take(&mut self, world: &mut World, rest_ms: u64) {
        let delivered = &mut self.delivered;
        let mut count = |_: &Delivery| *delivered += 1;
        for told in &world.events[self.taken..] {
            self.correlator.take(&told.event(), &mut count);
        }
        self.taken = world.events.len();
        for _ in 0..rest_ms / 10 {
            world.now += 10_000_000;
            self.correlator.tick(Nanos(world.now), &mut count);
        }
    }

    fn group(&self, world: &World) -> Group {
        self.correlator.snapshot(Nanos(world.now)).groups.remove(0)
    }
}

fn problems(group: &Group) -> Vec<&Verdict> {
    group.why.verdicts.iter().filter(|verdict| verdict.severity == Severity::Problem).collect()
}

fn doing(world: &mut World, pid: u32, activity: ThreadActivity) {
    let task = process(pid, "").task;
    world.tell(Body::State(ThreadState { task, activity, ..ThreadState::default() }), &[]);
}

#[test]
fn a_stopped_broker_is_named_while_it_is_stopped() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut watch = Watch::new();
    for n in 0..30 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscribers[0].down, &bytes);
        watch.take(&mut world, 10);
    }
    let late: Vec<_> = (30..35).map(|n| publish("t", &payload(stamp(n), 64))).collect();
    let unread: Vec<_> =
        late.iter().map(|bytes| unread(&mut world, &mut publisher.up, bytes)).collect();
    watch.take(&mut world, 500);
    assert_eq!(watch.group(&world).why.open, []);
    // Longer than a message is waited for that may be lost.
    watch.take(&mut world, 20_000);
    assert_eq!(watch.correlator.holding(Nanos(world.now)), [Pid(10)]);
    doing(&mut world, 10, ThreadActivity::Stopped);
    watch.take(&mut world, 100);
    let group = watch.group(&world);
    let [open] = &group.why.open[..] else { panic!("{:?}", group.why.open) };
    assert_eq!((open.messages, open.place, open.leg), (5, Whereabouts::BrokerQueue, 1));
    assert_eq!(
        open.process.map(|(task, comm)| (task.pid.0, comm.as_str().to_owned())),
        Some((10, "mosquitto".into()))
    );
    assert!(open.oldest > Nanos::from_millis(20_000), "{open:?}");
    let problems = problems(&group);
    assert_eq!(problems[0].kind, VerdictKind::BrokerStalled);
    assert!(problems[0].is_still_so());
    assert!(words(problems[0]).contains("stopped"), "{problems:?}");
    assert!(!group.why.is_healthy());
    // It goes on.
    for ((way, len), bytes) in unread.iter().zip(&late) {
        world.read(way, way.next, *len);
        world.message(&mut subscribers[0].down, bytes);
    }
    watch.take(&mut world, 200);
    assert_eq!(watch.delivered, 35);
    let group = watch.group(&world);
    assert_eq!(group.why.open, []);
    assert_eq!(group.messages.matched, 35);
}

/// Each message waits longer than the one before, and there are few: the median says nothing of what is usual.
#[test]
fn few_messages_show_none_that_is_typical() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut watch = Watch::new();
    let mut waiting = Vec::new();
    for n in 0..5 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        waiting.push(unread(&mut world, &mut subscribers[0].down, &bytes));
    }
    for (way, len) in &waiting[..2] {
        watch.take(&mut world, 3_000);
        world.read(way, way.next, *len);
    }
    watch.take(&mut world, 300);
    let open = watch.group(&world).why.open;
    let open: Vec<_> = open.iter().map(|one| (one.messages, one.place)).collect();
    assert_eq!(open, [(3, Whereabouts::ReaderQueue)]);
}

/// Two publishers of one broker, which goes on reading the other.
#[test]
fn a_broker_that_reads_others_holds_one_back() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let broker = process(10, "mosquitto");
    let mut other =
        world.connect_mqtt(process(21, "pub"), "127.0.0.1:40021", broker, "127.0.0.1:1883");
    let mut watch = Watch::new();
    let mut both = |world: &mut World, watch: &mut Watch, n: u32, held: bool| {
        let bytes = publish("t", &payload(stamp(n), 64));
        if held {
            unread(world, &mut publisher.up, &bytes);
        } else {
            world.message(&mut publisher.up, &bytes);
            world.message(&mut subscribers[0].down, &bytes);
        }
        world.message(&mut other.up, &publish("u", &payload(stamp(1_000 + n), 64)));
        watch.take(world, 10);
    };
    (0..30).for_each(|n| both(&mut world, &mut watch, n, false));
    (30..230).for_each(|n| both(&mut world, &mut watch, n, true));
    doing(&mut world, 10, ThreadActivity::Asleep);
    watch.take(&mut world, 100);
    let found = |group: &Group| {
        let held =
            |v: &&Verdict| matches!(v.open, Some(open) if open.place == Whereabouts::LeftUnread);
        problems(group).into_iter().find(held).map(|verdict| verdict.kind)
    };
    assert_eq!(found(&watch.group(&world)), Some(VerdictKind::Backpressure));
    // It reads nothing any more.
    watch.take(&mut world, 2_000);
    doing(&mut world, 10, ThreadActivity::Asleep);
    watch.take(&mut world, 100);
    let group = watch.group(&world);
    assert_eq!(found(&group), None);
    assert_eq!(problems(&group)[0].kind, VerdictKind::BrokerStalled);
}

#[test]
fn a_reader_that_hangs_is_named_and_the_broker_is_not() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 2);
    let mut watch = Watch::new();
    for n in 0..40 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscribers[0].down, &bytes);
        if n < 30 {
            world.message(&mut subscribers[1].down, &bytes);
        } else {
            unread(&mut world, &mut subscribers[1].down, &bytes);
        }
        watch.take(&mut world, 10);
    }
    watch.take(&mut world, 1_500);
    doing(&mut world, 31, ThreadActivity::Asleep);
    watch.take(&mut world, 100);
    let group = watch.group(&world);
    let [open] = &group.why.open[..] else { panic!("{:?}", group.why.open) };
    assert_eq!((open.messages, open.place, open.leg), (10, Whereabouts::ReaderQueue, 2));
    let problems = problems(&group);
    let named: Vec<_> =
        problems.iter().map(|v| (v.kind, v.process.map(|(task, _)| task.pid.0))).collect();
    assert_eq!(named, [(VerdictKind::ClientStalled, Some(31))]);
}

/// A reader hangs, and the broker, which also has messages for another one, does not get a CPU.
#[test]
fn what_a_broker_has_for_others_than_a_reader_that_hangs_is_its_own() {
    let named = |topic: &str, reader: usize| {
        let mut world = World::new();
        let (mut publisher, mut subscribers) = house(&mut world, 2);
        let mut watch = Watch::new();
        for n in 0..44 {
            let bytes = publish("t", &payload(stamp(n), 64));
            world.message(&mut publisher.up, &bytes);
            if n < 40 {
                world.message(&mut subscribers[0].down, &bytes);
            } else {
                unread(&mut world, &mut subscribers[0].down, &bytes);
            }
            let bytes = publish(topic, &payload(stamp(1_000 + n), 64));
            world.message(&mut publisher.up, &bytes);
            if n < 40 {
                world.message(&mut subscribers[reader].down, &bytes);
            }
            watch.take(&mut world, 10);
        }
        watch.take(&mut world, 1_500);
        let open = watch.group(&world).why.open;
        let of = |one: &Overdue| (one.place, one.messages, one.is_for_busy_readers);
        open.iter().map(of).collect::<Vec<_>>()
    };
    let unread = (Whereabouts::ReaderQueue, 4, false);
    assert_eq!(named("u", 1), [(Whereabouts::Broker, 1, false), unread]);
    assert_eq!(named("u", 0), [(Whereabouts::Broker, 1, true), unread], "all are for one reader");
}

/// Messages that a broker has and nobody subscribes to are not open business, and neither are those that a socket
/// had that is closed.
#[test]
fn what_nobody_waits_for_is_not_open() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut watch = Watch::new();
    for n in 0..40 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscribers[0].down, &bytes);
        world.message(&mut publisher.up, &publish("elsewhere", &payload(stamp(1_000 + n), 64)));
    }
    let bytes = publish("t", &payload(stamp(41), 64));
    world.message(&mut publisher.up, &bytes);
    unread(&mut world, &mut subscribers[0].down, &bytes);
    world.tell(Body::Closed(subscribers[0].down.to.0), &[]);
    watch.take(&mut world, 2_000);
    assert_eq!(watch.group(&world).why.open, []);
}

#[test]
fn what_a_broker_keeps_that_passed_on_everything_before_is_open() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut watch = Watch::new();
    for n in 0..40 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        if n < 38 {
            world.message(&mut subscribers[0].down, &bytes);
        }
        watch.take(&mut world, 10);
    }
    watch.take(&mut world, 1_500);
    let group = watch.group(&world);
    let open: Vec<_> = group.why.open.iter().map(|open| (open.messages, open.place)).collect();
    assert_eq!(open, [(2, Whereabouts::Broker)]);
    // A broker that sleeps may have done with them.
    assert_eq!(problems(&group), Vec::<&Verdict>::new());
    doing(&mut world, 10, ThreadActivity::Stopped);
    watch.take(&mut world, 100);
    assert_eq!(problems(&watch.group(&world))[0].kind, VerdictKind::BrokerStalled);
}

/// The subscriber is gone: a broker that keeps what comes after that does what it should.
#[test]
fn what_the_last_subscriber_left_behind_is_not_open() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut watch = Watch::new();
    for n in 0..42 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        if n < 40 {
            world.message(&mut subscribers[0].down, &bytes);
        } else {
            world.tell(Body::Closed(subscribers[0].down.to.0), &[]);
        }
        watch.take(&mut world, 10);
    }
    watch.take(&mut world, 1_500);
    assert_eq!(watch.group(&world).why.open, []);
}

/// Verdicts after the last reader's connection was closed, by which end, with or without the
/// protocol's farewell.
fn after_leaving(says_goodbye: bool, by_broker: bool) -> Vec<Verdict> {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    let mut watch = Watch::new();
    for n in 0..60 {
        let bytes = publish("t", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        if n < 30 {
            world.message(&mut subscribers[0].down, &bytes);
        }
        if n == 29 {
            if says_goodbye {
                world.message(&mut subscribers[0].up, &[0xe0, 0]);
            }
            let [reader, broker] = [subscribers[0].up, subscribers[0].down];
            let closed = if by_broker { broker } else { reader };
            world.tell(Body::Closed(closed.from.0), &[]);
        }
        watch.take(&mut world, 10);
    }
    watch.take(&mut world, 1_500);
    watch.group(&world).why.verdicts
}

#[test]
fn what_comes_when_the_last_reader_was_killed_is_told() {
    let verdicts = after_leaving(false, false);
    let found = verdicts.iter().find(|verdict| verdict.kind == VerdictKind::NeverDelivered);
    let found = found.unwrap_or_else(|| panic!("{verdicts:?}"));
    assert_eq!(found.severity, Severity::Problem);
    let said = clauses(found);
    assert!(said[0].contains("without the protocol's farewell"), "{said:?}");
    assert!(said[1].starts_with("30 of 60 messages"), "{said:?}");
    assert!(said[0].contains("sub (pid 30)"), "{said:?}");
    assert!(!said[0].contains("by the broker"), "{said:?}");
    // The broker was, or threw it out.
    let verdicts = after_leaving(false, true);
    let found = verdicts.iter().find(|verdict| verdict.kind == VerdictKind::NeverDelivered);
    let said = found.map(clauses).unwrap_or_default();
    assert!(said[0].contains("closed by the broker"), "{verdicts:?}");
    // Who takes leave meant to.
    let verdicts = after_leaving(true, false);
    let found = verdicts.iter().find(|verdict| verdict.kind == VerdictKind::NeverDelivered);
    assert_eq!(found.map(|verdict| verdict.severity), Some(Severity::Note), "{verdicts:?}");
}

/// A router forgets a connection, and answers its packets with a reset: the server's socket is closed, and the client's stays open.
#[test]
fn what_a_closed_socket_had_sent_is_on_no_way() {
    for is_closed in [false, true] {
        let mut world = World::new();
        let (mut publisher, mut subscribers) = house(&mut world, 2);
        let mut watch = Watch::new();
        for n in 0..30 {
            let bytes = publish("t", &payload(stamp(n), 64));
            world.message(&mut publisher.up, &bytes);
            for subscriber in &mut subscribers {
                world.message(&mut subscriber.down, &bytes);
            }
            watch.take(&mut world, 10);
        }
        let bytes = publish("t", &payload(stamp(30), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscribers[1].down, &bytes);
        let down = &mut subscribers[0].down;
        let (start, len) = down.advance(bytes.len());
        world.send(down, start, len);
        world.xmit(down, start, &bytes);
        if is_closed {
            world.tell(Body::Closed(down.from.0), &[]);
        }
        watch.take(&mut world, 3_000);
        let open = watch.group(&world).why.open;
        let places: Vec<_> = open.iter().map(|one| (one.messages, one.place)).collect();
        let expected = if is_closed { vec![] } else { vec![(1, Whereabouts::Network)] };
        assert_eq!(places, expected, "{is_closed}");
    }
}

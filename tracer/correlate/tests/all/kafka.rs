//! Producer → broker → consumer, who asks.

mod asking;
mod equal;
mod kept;
mod later;
mod not_kept;
mod old;
mod replicas;
mod share;
mod slow;

use crate::played::Played;
use wirelap_correlate::{GroupNote, Severity, VerdictKind};
use wirelap_events::{Body, Delivery, Nanos};
use wirelap_test_support::compose::kafka::{
    at_offset, batch, fetch, fetch_by_id, fetch_committed, fetch_from, fetched, fetched_by_id,
    offset_fetch, offset_fetched, produce, record, transactional,
};
use wirelap_test_support::world::{Connection, STEP, World, process};

/// A broker, a producer and a consumer, all connected.
fn house(world: &mut World) -> (Connection, Connection) {
    let broker = process(10, "java");
    let mut join = |pid: u32, name: &'static str| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        world.connect(process(pid, name), &from, broker, "127.0.0.1:9092")
    };
    (join(20, "producer"), join(30, "consumer"))
}

/// A consumer looks at a response when it has all of it, however early a record's own bytes came.
#[test]
fn a_record_is_read_with_the_response_that_it_is_in() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    world.message(&mut consumer.up, &fetch(1));
    let records = [record(b"first value"), record(b"second value")];
    let sent: Vec<Nanos> = (0..)
        .zip(&records)
        .map(|(n, record)| world.message(&mut producer.up, &produce(n, "t", &batch(1, record))).0)
        .collect();
    let response = fetched(1, "t", &records.map(|record| batch(1, &record)).concat());
    let (start, end) = response.split_at(response.len() - 10);
    world.message(&mut consumer.down, start);
    world.now += 40_000_000;
    let (_, read) = world.message(&mut consumer.down, end);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [2, 2, 2, 0]);
    for (delivery, sent) in played.deliveries.iter().zip(sent) {
        assert_eq!(delivery.one_way(), read.since(sent));
        assert!(delivery.legs[1].flow_range.range.len() < 30, "its own bytes alone");
    }
}

/// Records as raw snappy writes what it cannot make shorter: their length, and all of them.
fn snappy(count: usize, records: &[u8]) -> Vec<u8> {
    let len = u8::try_from(records.len()).unwrap();
    let packed = [&[len, (len - 1) << 2], records].concat();
    let mut batch = batch(count, &packed);
    batch[22] = 2;
    batch
}

#[test]
fn the_records_of_a_compressed_batch_are_messages() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    for n in 0..20_u8 {
        let id = usize::from(n);
        world.message(&mut consumer.up, &fetch(id));
        let records = snappy(3, &[record(&[n; 7]), record(&[n; 9]), record(&[n; 7])].concat());
        world.message(&mut producer.up, &produce(id, "t", &records));
        world.message(&mut consumer.down, &fetched(id, "t", &records));
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [60, 60, 60, 0]);
    assert_eq!(played.snapshot.trust.unread_messages, 0);
}

/// A packet of a batch was not captured: what it says that it has, and nobody saw.
#[test]
fn records_that_were_not_captured_are_told() {
    let mut world = World::new();
    let (mut producer, _) = house(&mut world);
    world.message(&mut producer.up, &produce(1, "t", &batch(1, &record(b"value"))));
    let request = produce(2, "t", &batch(3000, &record(&[b'v'; 40]).repeat(3000)));
    let (start, rest) = request.split_at(60_000);
    world.message(&mut producer.up, start);
    producer.up.advance(rest.len());
    world.message(&mut producer.up, &produce(3, "t", &batch(1, &record(b"value"))));
    let played = Played::of(&world);
    let seen = played.counts()[0];
    assert!((1000..2000).contains(&seen), "{seen}");
    assert_eq!(seen + played.snapshot.trust.unread_messages, 3002);
}

/// The window of a sampled run closes in the middle of a batch: its other records are messages between windows, as all that
/// are sent there.
#[test]
fn records_that_passed_between_two_windows_are_no_failure() {
    let mut world = World::new();
    let (mut producer, _) = house(&mut world);
    let request = produce(1, "t", &batch(3000, &record(&[b'v'; 40]).repeat(3000)));
    let (start, rest) = request.split_at(60_000);
    world.message(&mut producer.up, start);
    world.tell(Body::Window(false), &[]);
    producer.up.advance(rest.len());
    world.tell(Body::Window(true), &[]);
    world.message(&mut producer.up, &produce(2, "t", &batch(1, &record(b"value"))));
    let played = Played::of(&world);
    let seen = played.counts()[0];
    assert!((1000..2000).contains(&seen), "{seen}");
    assert_eq!(played.snapshot.trust.unread_messages, 0);
}

#[test]
fn a_batch_that_cannot_be_opened_says_how_many_it_has() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    for n in 0..20 {
        world.message(&mut consumer.up, &fetch(n));
        // It claims three and has one.
        let records = snappy(3, &record(b"value"));
        world.message(&mut producer.up, &produce(n, "t", &records));
        world.message(&mut consumer.down, &fetched(n, "t", &records));
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [0, 0, 0, 0]);
    assert_eq!(played.snapshot.trust.unread_messages, 120);
    let unread = GroupNote::UnreadBatches { to_broker: 60, from_broker: 60 };
    assert!(played.group().notes.contains(&unread), "{:?}", played.group().notes);
    assert_eq!(played.group().holes.unread_messages, 120);
}

/// A producer and a consumer whose connections were there before the observation began.
fn connected_before(world: &mut World) -> (Connection, Connection) {
    let broker = process(10, "java");
    let mut join = |pid: u32, name: &'static str| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        world.existing(process(pid, name), &from, broker, "127.0.0.1:7831")
    };
    (join(20, "producer"), join(30, "consumer"))
}

/// A response to a request that was not seen, with a low number and nothing in it, looks like the header of a Produce request
/// of a client without a name. Taken for that, it would make the broker the client.
#[test]
fn a_response_that_is_seen_first_is_no_request() {
    for first in 0..30 {
        let mut world = World::new();
        let (mut producer, mut consumer) = connected_before(&mut world);
        let id = [0xDB; 16];
        world.message(&mut consumer.down, &fetched_by_id(first, id, b""));
        for n in first + 1..first + 21 {
            world.message(&mut consumer.up, &fetch_by_id(n));
            let records = batch(1, &record(format!("value {n}").as_bytes()));
            world.message(&mut producer.up, &produce(n, "t", &records));
            world.message(&mut consumer.down, &fetched_by_id(n, id, &records));
        }
        let played = Played::of(&world);
        assert_eq!(played.counts(), [20, 20, 20, 0], "first {first}");
    }
}

/// Zeros look like the header of a request, and the id of a topic behind them like the name of its client. A response that
/// is found first, before its connection is known to be Kafka's, is none of that.
#[test]
fn the_id_of_a_topic_is_no_clients_name() {
    for start in [&b"jD-X"[..], b"jDab", b"Abcdefghijklmnop"] {
        let mut id = [0xDB; 16];
        id[..start.len()].copy_from_slice(start);
        let mut world = World::new();
        let (mut producer, mut consumer) = connected_before(&mut world);
        world.message(&mut producer.up, &produce(1, "t", &batch(1, &record(b"before"))));
        for n in 2..42 {
            // Waited for in vain.
            world.message(&mut consumer.down, &fetched_by_id(2 * n, id, b""));
            world.message(&mut consumer.up, &fetch_by_id(2 * n + 1));
            let records = batch(1, &record(format!("value {n}").as_bytes()));
            world.message(&mut producer.up, &produce(n, "t", &records));
            world.message(&mut consumer.down, &fetched_by_id(2 * n + 1, id, &records));
            world.message(&mut consumer.up, &fetch_by_id(2 * n + 2));
        }
        let played = Played::of(&world);
        assert_eq!(played.counts(), [41, 40, 40, 0], "{start:?}");
    }
}

/// A broker keeps a transaction's messages until it is committed, for those who want no others.
#[test]
fn what_a_commit_is_waited_for_is_told() {
    for (is_committed, is_transactional) in
        [(true, true), (true, false), (false, true), (false, false)]
    {
        let mut world = World::new();
        let (mut producer, mut consumer) = house(&mut world);
        for n in 0..20 {
            let ask = if is_committed { fetch_committed(n) } else { fetch(n) };
            world.message(&mut consumer.up, &ask);
            let plain = batch(1, &record(format!("value {n}").as_bytes()));
            let records = if is_transactional { transactional(plain) } else { plain };
            world.message(&mut producer.up, &produce(n, "t", &records));
            world.now += 30_000_000;
            world.message(&mut consumer.down, &fetched(n, "t", &records));
        }
        let played = Played::of(&world);
        assert_eq!(played.counts(), [20, 20, 20, 0]);
        for delivery in &played.deliveries {
            let seen = &delivery.legs[1].circumstances;
            assert_eq!(seen.request.awaits_commit, is_committed && is_transactional);
        }
    }
}

/// A consumer's connection, from which it asks for offsets of its group and for records.
struct Member {
    connection: Connection,
    asked: usize,
}

impl Member {
    fn new(world: &mut World, pid: u32) -> Member {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        let (client, broker) = (process(pid, "member"), process(10, "java"));
        let connection = world.connect(client, &from, broker, "127.0.0.1:9092");
        Member { connection, asked: 0 }
    }

    /// Lets the member join a group, which has committed this offset of `topic-0`.
    fn joins(&mut self, world: &mut World, group: &str, topic: &str, offset: Option<usize>) {
        self.asked += 1;
        world.message(&mut self.connection.up, &offset_fetch(self.asked, group));
        let answer = offset_fetched(self.asked, topic, offset);
        world.message(&mut self.connection.down, &answer);
    }

    /// Lets the member ask for records from an offset on. Returns the time at which its request
    /// leaves.
    fn asks(&mut self, world: &mut World, topic: &str, offset: usize) -> Nanos {
        self.asked += 1;
        let (sent, _) =
            world.message(&mut self.connection.up, &fetch_from(self.asked, topic, offset));
        sent + Nanos(STEP)
    }

    fn gets(&mut self, world: &mut World, topic: &str, records: &[Vec<u8>], offset: usize) {
        let all: Vec<u8> = (offset..)
            .zip(records)
            .flat_map(|(at, record)| at_offset(batch(1, record), at))
            .collect();
        world.message(&mut self.connection.down, &fetched(self.asked, topic, &all));
    }
}

fn numbered(n: usize) -> Vec<u8> {
    record(format!("value {n}").as_bytes())
}

/// Sixty records of a partition, 30 ms apart. Its reader is gone after the thirtieth, and `second`, which reads another topic until then,
/// takes it over ten records later, as a member of this group, which has committed so many. Returns also when.
fn handed_over(group: &str, committed: usize) -> (Played, Nanos) {
    let mut world = World::new();
    let (mut producer, _) = house(&mut world);
    let [mut first, mut second] = [31, 32].map(|pid| Member::new(&mut world, pid));
    first.joins(&mut world, "g", "t", None);
    second.joins(&mut world, "g", "u", None);
    let mut taken = Nanos(0);
    for n in 0..60 {
        world.now += 30_000_000;
        match n {
            0..30 => {
                first.asks(&mut world, "t", n);
                second.asks(&mut world, "u", n);
            }
            30 => {
                let socket = first.connection.up.from.0;
                world.tell(Body::Closed(socket), &[]);
            }
            40 => {
                second.joins(&mut world, group, "t", Some(committed));
                taken = second.asks(&mut world, "t", committed);
                let waited: Vec<_> = (committed..40).map(numbered).collect();
                second.gets(&mut world, "t", &waited, committed);
            }
            _ => {}
        }
        if n >= 40 {
            second.asks(&mut world, "t", n);
        }
        world.message(&mut producer.up, &produce(n + 1, "t", &batch(1, &numbered(n))));
        match n {
            0..30 => {
                let other = record(format!("other {n}").as_bytes());
                world.message(&mut producer.up, &produce(n + 1, "u", &batch(1, &other)));
                first.gets(&mut world, "t", &[numbered(n)], n);
                second.gets(&mut world, "u", &[other], n);
            }
            40.. => second.gets(&mut world, "t", &[numbered(n)], n),
            _ => {}
        }
    }
    (Played::of(&world), taken)
}

/// Times at which those messages were taken over that waited for it.
fn taken_over(played: &Played) -> Vec<Option<Nanos>> {
    let seen = played.deliveries.iter().map(|delivery: &Delivery| &delivery.legs[1].circumstances);
    seen.filter(|seen| seen.subscription.handed_over).map(|seen| seen.subscription.ready).collect()
}

/// Messages that the first had got and had not committed are sent again because of the rebalance.
#[test]
fn what_is_read_again_waited_for_the_rebalance_too() {
    let (played, taken) = handed_over("g", 20);
    assert_eq!(taken_over(&played), [Some(taken); 20]);
}

/// Nobody in the group read the partition; who takes it over did nothing wrong.
#[test]
fn what_waits_for_a_rebalance_does_not_wait_for_who_takes_over() {
    let (played, taken) = handed_over("g", 30);
    assert_eq!(played.counts(), [90, 90, 90, 0]);
    assert_eq!(taken_over(&played), [Some(taken); 10]);
    let verdicts = &played.group().why.verdicts;
    let problems: Vec<_> =
        verdicts.iter().filter(|one| one.severity == Severity::Problem).collect();
    let [rebalance] = problems[..] else { panic!("{verdicts:?}") };
    assert_eq!((rebalance.kind, rebalance.process), (VerdictKind::GroupRebalance, None));
    assert_eq!(rebalance.leg, Some(2));
}

/// A group of its own that reads the same later is no member that takes over.
#[test]
fn another_group_takes_nothing_over() {
    let (played, _) = handed_over("h", 30);
    assert!(taken_over(&played).is_empty());
    let verdicts = &played.group().why.verdicts;
    assert!(verdicts.iter().all(|one| one.kind != VerdictKind::GroupRebalance), "{verdicts:?}");
}

#[test]
fn a_broker_answers_its_producer_in_turn_and_a_consumer_is_no_server() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    world.message(&mut consumer.up, &fetch(1));
    let record = record(b"a value");
    world.message(&mut producer.up, &produce(1, "t", &batch(1, &record)));
    world.message(&mut consumer.down, &fetched(1, "t", &batch(1, &record)));
    let played = Played::of(&world);
    let in_turn =
        played.deliveries[0].legs.iter().map(|leg| leg.circumstances.permission.answers_in_turn);
    assert!(in_turn.eq([true, false]));
}

/// A broker that is its own controller talks to itself at another port.
#[test]
fn a_broker_is_named_by_the_port_of_its_clients() {
    let mut world = World::new();
    let broker = process(10, "java");
    let mut itself = world.connect(broker, "127.0.0.1:40001", broker, "127.0.0.1:9093");
    for id in 0..3 {
        world.message(&mut itself.up, &fetch(id));
        world.message(&mut itself.down, &fetched(id, "__cluster_metadata", &[]));
    }
    let (mut producer, mut consumer) = house(&mut world);
    let batch = batch(1, &record(b"value"));
    world.message(&mut consumer.up, &fetch(1));
    world.message(&mut producer.up, &produce(1, "t", &batch));
    world.message(&mut consumer.down, &fetched(1, "t", &batch));
    let played = Played::of(&world);
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(played.group().endpoint, Some("127.0.0.1:9092".parse().unwrap()));
}

/// A broker that may not hand a record out yet, because copies of it are missing, answers with none.
#[test]
fn a_consumer_that_was_answered_with_nothing_was_not_late() {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    let batch = batch(1, &record(b"a value"));
    world.message(&mut consumer.up, &fetch(1));
    world.message(&mut producer.up, &produce(1, "t", &batch));
    for id in 1..4 {
        world.now += 500_000_000;
        world.message(&mut consumer.down, &fetched(id, "t", &[]));
        world.message(&mut consumer.up, &fetch(id + 1));
    }
    world.message(&mut consumer.down, &fetched(4, "t", &batch));
    let played = Played::of(&world);
    let request = &played.deliveries[0].legs[1].circumstances.request;
    assert!(request.made.is_some());
    assert!(request.between < Nanos::from_millis(1), "{:?}", request.between);
}

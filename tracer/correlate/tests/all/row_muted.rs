//! Rows that the user mutes: a pause of one row.

use crate::brokered::{BROKER, house};
use wirelap_correlate::{Config, Correlator, Group, Snapshot};
use wirelap_events::{Delivery, GroupId, Nanos, Seq, SocketId};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::rtps::Message;
use wirelap_test_support::world::udp::{ALL, datagram, end, flow};
use wirelap_test_support::world::{Connection, World, process};

/// A correlator that takes in what happens in a world, as it happens.
pub struct Live {
    pub correlator: Correlator,
    pub world: World,
    taken: usize,
    deliveries: usize,
}

impl Live {
    pub fn new() -> Live {
        Live {
            correlator: Correlator::new(Config::default()),
            world: World::new(),
            taken: 0,
            deliveries: 0,
        }
    }

    /// Takes in what has happened since, and waits until slower layers had time to report.
    pub fn catch_up(&mut self) {
        let mut count = |_: &Delivery| self.deliveries += 1;
        for event in &self.world.events[self.taken..] {
            self.correlator.take(&event.event(), &mut count);
        }
        self.taken = self.world.events.len();
        self.world.now += 100_000_000;
        self.correlator.tick(Nanos(self.world.now), &mut count);
    }

    /// Publishes messages that a subscriber gets.
    pub fn publish(&mut self, publisher: &mut Connection, subscriber: &mut Connection, count: u64) {
        for n in 0..count {
            let bytes = publish("t", &(self.world.now + n).to_be_bytes());
            self.world.message(&mut publisher.up, &bytes);
            self.world.message(&mut subscriber.down, &bytes);
            self.world.now += 1_000_000;
        }
        self.catch_up();
    }

    /// Time passes.
    pub fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.world.now += 1_000_000_000;
            self.catch_up();
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        self.correlator.snapshot(Nanos(self.world.now))
    }

    /// The row of a broker's address.
    pub fn at(&self, address: &str) -> Group {
        let endpoint = address.parse().unwrap();
        let groups = self.snapshot().groups;
        groups.into_iter().find(|group| group.endpoint == Some(endpoint)).unwrap()
    }

    pub fn mute(&mut self, row: GroupId) -> bool {
        let mut count = |_: &Delivery| self.deliveries += 1;
        self.correlator.mute(row, &mut count)
    }

    pub fn unmute(&mut self, row: GroupId) {
        assert!(self.correlator.unmute(row, Nanos(self.world.now)));
    }
}

/// sent, delivered, matched, uncovered, cut, unfinished.
pub fn counts(group: &Group) -> [u64; 6] {
    let all = group.messages;
    [all.sent, all.delivered, all.matched, all.uncovered, all.cut, all.unfinished]
}

/// A row without what is so of the host's processes, and without how long it was muted.
pub fn figures(group: Group) -> Group {
    Group { muted: None, notes: vec![], processes: vec![], ..group }
}

fn sockets(connection: &Connection) -> [SocketId; 2] {
    [connection.up.from.0, connection.up.to.0]
}

#[test]
fn the_figures_of_a_muted_row_stay_and_counts_go_on_exactly_after_it() {
    let mut live = Live::new();
    let (mut publisher, mut subscribers) = house(&mut live.world, 1);
    live.publish(&mut publisher, &mut subscribers[0], 20);
    let row = live.at(BROKER).id;
    assert!(live.mute(row));
    assert!(!live.mute(row), "it is muted already");
    let before = live.at(BROKER);
    assert_eq!(counts(&before), [20, 20, 20, 0, 0, 0]);
    assert!(before.is_muted());
    live.publish(&mut publisher, &mut subscribers[0], 50);
    live.wait(20);
    let muted = live.at(BROKER);
    assert!(muted.muted.unwrap().time >= Nanos::from_millis(20_000));
    assert_eq!(figures(muted), figures(before.clone()), "nothing changes while it is muted");
    assert_eq!(live.deliveries, 20);

    live.unmute(row);
    assert!(!live.correlator.unmute(row, Nanos(live.world.now)));
    live.publish(&mut publisher, &mut subscribers[0], 30);
    live.wait(20);
    let after = live.at(BROKER);
    assert_eq!(counts(&after), [50, 50, 50, 0, 0, 0]);
    assert!(!after.is_muted() && after.muted.is_some());
    assert_eq!(live.deliveries, 50);
    let [old, new] = [&before, &after].map(|group| group.overhead);
    assert_eq!(new.deliveries, 50);
    // CONNECT and CONNACK are in the bytes of before.
    let each = |packets: u64, messages: u64| packets as f64 / messages as f64;
    assert!(each(new.packets, 50) < each(old.packets, 20), "{old:?} {new:?}");
    assert_eq!(live.snapshot().trust.undecoded_bytes, 0);
}

#[test]
fn what_has_just_arrived_when_a_row_is_muted_is_delivered() {
    let mut live = Live::new();
    let (mut publisher, mut subscribers) = house(&mut live.world, 1);
    live.publish(&mut publisher, &mut subscribers[0], 5);
    let bytes = publish("t", b"the last one");
    live.world.message(&mut publisher.up, &bytes);
    live.world.message(&mut subscribers[0].down, &bytes);
    let mut count = |_: &Delivery| live.deliveries += 1;
    for event in &live.world.events[live.taken..] {
        live.correlator.take(&event.event(), &mut count);
    }
    live.taken = live.world.events.len();
    let row = live.at(BROKER).id;
    assert!(live.mute(row));
    assert_eq!((counts(&live.at(BROKER)), live.deliveries), ([6, 6, 6, 0, 0, 0], 6));
}

#[test]
fn what_is_under_way_when_a_row_is_muted_is_cut_and_not_lost() {
    let mut live = Live::new();
    let (mut publisher, mut subscribers) = house(&mut live.world, 1);
    live.publish(&mut publisher, &mut subscribers[0], 20);
    let bytes = publish("t", b"under way");
    live.world.message(&mut publisher.up, &bytes);
    live.catch_up();
    let row = live.at(BROKER).id;
    live.mute(row);
    assert_eq!(counts(&live.at(BROKER)), [21, 20, 20, 0, 0, 0]);
    // Its subscriber gets it meanwhile, and another one is published.
    live.world.message(&mut subscribers[0].down, &bytes);
    let bytes = publish("t", b"published meanwhile");
    live.world.message(&mut publisher.up, &bytes);
    live.wait(2);
    assert!(live.snapshot().slow.listed.is_empty());
    live.unmute(row);
    live.world.message(&mut subscribers[0].down, &bytes);
    live.publish(&mut publisher, &mut subscribers[0], 10);
    live.wait(20);
    let after = live.at(BROKER);
    let [sent, delivered, matched, uncovered, cut, _] = counts(&after);
    assert_eq!([sent, delivered, matched, uncovered, cut], [31, 31, 30, 0, 1]);
    assert!((after.coverage - 1.0).abs() < 1e-9);
    assert!(after.why.open.is_empty());
}

#[test]
fn other_rows_go_on_while_one_is_muted() {
    const OTHER: &str = "127.0.0.1:1884";
    let mut live = Live::new();
    let (mut publisher, mut subscribers) = house(&mut live.world, 1);
    let broker = process(60, "other");
    let join = |live: &mut Live, pid: u32, name| {
        let from = format!("127.0.0.1:{}", 40_000 + pid);
        live.world.connect_mqtt(process(pid, name), &from, broker, OTHER)
    };
    let (mut near, mut far) = (join(&mut live, 70, "near"), join(&mut live, 80, "far"));
    live.publish(&mut publisher, &mut subscribers[0], 5);
    live.publish(&mut near, &mut far, 5);
    let row = live.at(BROKER).id;
    live.mute(row);
    for _ in 0..5 {
        live.publish(&mut publisher, &mut subscribers[0], 3);
        live.publish(&mut near, &mut far, 3);
    }
    assert_eq!(counts(&live.at(BROKER)), [5, 5, 5, 0, 0, 0]);
    assert_eq!(counts(&live.at(OTHER)), [20, 20, 20, 0, 0, 0]);
    assert!(live.at(OTHER).muted.is_none());
    live.unmute(row);
    live.publish(&mut publisher, &mut subscribers[0], 3);
    live.wait(10);
    assert_eq!(counts(&live.at(BROKER)), [8, 8, 8, 0, 0, 0]);
}

#[test]
fn new_connections_of_a_muted_row_are_muted_once_they_are_recognised() {
    let mut live = Live::new();
    let (mut publisher, mut subscribers) = house(&mut live.world, 1);
    live.publish(&mut publisher, &mut subscribers[0], 5);
    let row = live.at(BROKER).id;
    live.mute(row);
    let before = live.at(BROKER);
    let mut all = [sockets(&publisher), sockets(&subscribers[0])].concat();
    let sorted = |mut sockets: Vec<SocketId>| {
        sockets.sort();
        sockets.dedup();
        sockets
    };
    assert_eq!(sorted(live.correlator.muted_sockets(None)), all);
    let broker = process(10, "mosquitto");
    let mut late = live.world.connect_mqtt(process(50, "late"), "127.0.0.1:40050", broker, BROKER);
    live.publish(&mut late, &mut subscribers[0], 5);
    assert_eq!(figures(live.at(BROKER)), figures(before));
    all.extend(sockets(&late));
    assert_eq!(sorted(live.correlator.muted_sockets(None)), all);
    assert_eq!(live.correlator.muted_sockets(Some(row)), []);
    live.publish(&mut late, &mut subscribers[0], 5);
    assert_eq!(counts(&live.at(BROKER)), [5, 5, 5, 0, 0, 0]);

    live.unmute(row);
    assert_eq!(live.correlator.muted_sockets(None), []);
    live.publish(&mut late, &mut subscribers[0], 5);
    live.publish(&mut publisher, &mut subscribers[0], 5);
    live.wait(20);
    assert_eq!(counts(&live.at(BROKER)), [15, 15, 15, 0, 0, 0]);
}

#[test]
fn streams_that_ran_on_for_gigabytes_are_joined_again() {
    for jump in [1_u32 << 20, 1 << 30, 3 << 30, 0xFFFF_FF00] {
        let mut live = Live::new();
        let (mut publisher, mut subscribers) = house(&mut live.world, 1);
        live.publish(&mut publisher, &mut subscribers[0], 5);
        let row = live.at(BROKER).id;
        live.mute(row);
        for way in [&mut publisher.up, &mut subscribers[0].down] {
            way.next = Seq(way.next.0.wrapping_add(jump));
        }
        live.wait(1);
        live.unmute(row);
        live.publish(&mut publisher, &mut subscribers[0], 5);
        live.wait(10);
        assert_eq!(counts(&live.at(BROKER)), [10, 10, 10, 0, 0, 0], "{jump}");
    }
}

#[test]
fn muted_time_does_not_dilute_rates() {
    let mut live = Live::new();
    let (mut publisher, mut subscribers) = house(&mut live.world, 1);
    let second = |live: &mut Live, publisher: &mut Connection, subscriber: &mut Connection| {
        // Ten messages of 10 ms and 100 ms after them.
        for _ in 0..9 {
            live.publish(publisher, subscriber, 10);
        }
    };
    for _ in 0..5 {
        second(&mut live, &mut publisher, &mut subscribers[0]);
    }
    let row = live.at(BROKER).id;
    let before = live.at(BROKER).rate;
    live.mute(row);
    live.wait(60);
    let muted = live.at(BROKER);
    assert!(
        (muted.rate.msg_per_s / before.msg_per_s - 1.0).abs() < 1e-2,
        "{:?} {before:?}",
        muted.rate
    );
    assert!(muted.rate_now.msg_per_s > 1.0, "it is not said to be silent: {:?}", muted.rate_now);
    live.unmute(row);
    for _ in 0..5 {
        second(&mut live, &mut publisher, &mut subscribers[0]);
    }
    let after = live.at(BROKER);
    for rate in [after.rate, after.rate_active] {
        let share = rate.msg_per_s / before.msg_per_s;
        assert!((0.9..1.1).contains(&share), "{rate:?} {before:?}");
    }
}

#[test]
fn windows_open_and_close_for_a_muted_row_as_well() {
    use wirelap_events::Body;
    let mut live = Live::new();
    let (mut publisher, mut subscribers) = house(&mut live.world, 1);
    live.publish(&mut publisher, &mut subscribers[0], 5);
    let row = live.at(BROKER).id;
    live.mute(row);
    for _ in 0..3 {
        live.world.tell(Body::Window(false), &[]);
        live.wait(1);
        live.world.tell(Body::Window(true), &[]);
        live.wait(1);
    }
    live.world.tell(Body::Window(false), &[]);
    live.catch_up();
    let muted = live.at(BROKER).muted.unwrap();
    assert!(muted.now && muted.time < Nanos::from_millis(4_500), "{muted:?}");
    // The observation of everything pauses when the muting ends.
    live.unmute(row);
    live.wait(1);
    live.world.tell(Body::Window(true), &[]);
    live.publish(&mut publisher, &mut subscribers[0], 5);
    live.wait(10);
    assert_eq!(counts(&live.at(BROKER)), [10, 10, 10, 0, 0, 0]);
    assert_eq!(live.at(BROKER).muted.map(|muted| muted.time), Some(muted.time));
}

#[test]
fn datagrams_of_a_muted_row_are_left_out_as_well() {
    let mut live = Live::new();
    let near = end(&mut live.world, process(1, "pub"), "127.0.0.1:7411");
    let far = end(&mut live.world, process(2, "sub"), "127.0.0.1:7413");
    let mut number = 0_u32;
    let mut send = |live: &mut Live, count: u32| {
        for _ in 0..count {
            number += 1;
            let body = [&[0, 1, 0, 0], number.to_be_bytes().repeat(4).as_slice()].concat();
            let bytes = Message::new(true).data(0x0000_0b02, number.into(), &body).bytes;
            let way = flow("127.0.0.1:7411", "127.0.0.1:7413");
            datagram(&mut live.world, way, number.into(), near, &[far], &bytes, ALL);
            live.world.now += 1_000_000;
        }
        live.catch_up();
    };
    let only = |live: &Live| {
        let [group] = <[Group; 1]>::try_from(live.snapshot().groups).unwrap();
        group
    };
    send(&mut live, 10);
    let row = only(&live).id;
    assert!(live.mute(row));
    let before = only(&live);
    assert_eq!(counts(&before), [10, 10, 10, 0, 0, 0]);
    assert_eq!(live.correlator.muted_sockets(None).len(), 2);
    send(&mut live, 30);
    live.wait(10);
    assert_eq!(figures(only(&live)), figures(before));
    live.unmute(row);
    send(&mut live, 20);
    live.wait(20);
    assert_eq!(counts(&only(&live)), [30, 30, 30, 0, 0, 0]);
    assert_eq!(live.snapshot().notes, vec![]);
}

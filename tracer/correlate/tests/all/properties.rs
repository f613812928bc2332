//! Properties that hold whatever happens to the events.
//!
//! [`Played::new`] checks after every run that all segments telescope, that no time runs backwards, and
//! that counts and shares add up.

use crate::played::{Played, sent_bytes};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wirelap_correlate::Config;
use wirelap_events::{Body, PacketHook};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, plain, stamp};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{STEP, World, process};

/// Two-leg and one-leg traffic side by side.
pub fn traffic(messages: u32) -> World {
    let mut world = World::new();
    let broker = process(10, "broker");
    let to = "127.0.0.1:1883";
    let mut publisher = world.connect_mqtt(process(20, "pub"), "127.0.0.1:41000", broker, to);
    let mut subscriber = world.connect_mqtt(process(30, "sub"), "127.0.0.1:42000", broker, to);
    let mut pair =
        world.connect(process(1, "a"), "127.0.0.1:43000", process(2, "b"), "127.0.0.1:9000");
    for n in 0..messages {
        let bytes = publish("topic", &payload(stamp(n), 40));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
        world.message(&mut pair.up, &plain(stamp(n), 200));
        if n % 7 == 0 {
            let again = world.events[world.events.len() - 5].clone();
            world.now += STEP;
            world.events.push(OwnedEvent {
                event: wirelap_events::Event {
                    at: wirelap_events::Nanos(world.now),
                    ..again.event
                },
                ..again
            });
        }
    }
    world
}

/// The change that is made to an event.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Kept,
    Dropped,
    Doubled,
    /// Told this many events later.
    Late(usize),
    /// The event's clock is off by so many nanoseconds.
    Skewed(i64),
    /// Only so many bytes of it are captured.
    Cut(usize),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        20 => Just(Fate::Kept),
        1 => Just(Fate::Dropped),
        1 => Just(Fate::Doubled),
        1 => (1usize..30).prop_map(Fate::Late),
        1 => (-20_000i64..20_000).prop_map(Fate::Skewed),
        1 => (0usize..60).prop_map(Fate::Cut),
    ]
}

fn suffer(told: &[OwnedEvent], fates: &[Fate]) -> Vec<OwnedEvent> {
    let mut order: BTreeMap<(usize, usize), OwnedEvent> = BTreeMap::new();
    for (index, (told, fate)) in told.iter().zip(fates.iter().cycle()).enumerate() {
        let mut told = told.clone();
        let mut place = index;
        match *fate {
            Fate::Kept => {}
            Fate::Dropped => continue,
            Fate::Doubled => {
                order.insert((index + 1, usize::MAX - index), told.clone());
            }
            Fate::Late(by) => place += by,
            Fate::Skewed(by) => told.event.at.0 = told.event.at.0.saturating_add_signed(by),
            Fate::Cut(len) => told.payload.truncate(len),
        }
        order.insert((place, index), told);
    }
    order.into_values().collect()
}

#[test]
fn undisturbed_traffic_is_matched_to_the_last_message() {
    let world = traffic(50);
    let played = Played::of(&world);
    for group in &played.snapshot.groups {
        let counts = group.messages;
        assert_eq!((counts.sent, counts.delivered, counts.matched), (50, 50, 50));
    }
    let total: u64 = played.snapshot.groups.iter().map(|group| group.overhead.total()).sum();
    assert_eq!(total, sent_bytes(&world.events));
    assert_eq!(played.snapshot.groups.iter().map(|g| g.overhead.opaque).sum::<u64>(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn segments_telescope_whatever_is_lost_doubled_late_or_wrong(
        fates in prop::collection::vec(fate(), 40..400),
    ) {
        let told = suffer(&traffic(30).events, &fates);
        let played = Played::new(Config::default(), &told);
        for group in &played.snapshot.groups {
            prop_assert!(group.messages.matched <= group.messages.delivered);
        }
    }

    #[test]
    fn memory_limits_change_counts_but_break_nothing(
        fates in prop::collection::vec(fate(), 40..200),
        limit in 1usize..20,
    ) {
        let told = suffer(&traffic(20).events, &fates);
        let config = Config {
            max_flows: limit,
            max_messages: limit,
            max_marks: limit,
            max_threads: limit,
            ..Config::default()
        };
        Played::new(config, &told);
    }

    #[test]
    fn the_ledger_adds_up_whatever_is_sent_again_overtaken_or_lost(
        fates in prop::collection::vec(fate(), 40..400),
    ) {
        let world = traffic(30);
        // The first packets are whole and in order, so that the protocols are known.
        let (start, rest) = world.events.split_at(60);
        let told: Vec<OwnedEvent> = start.iter().cloned().chain(suffer(rest, &fates)).collect();
        let played = Played::new(Config::default(), &told);
        let groups = &played.snapshot.groups;
        prop_assert_eq!(groups.len(), 2);
        let total: u64 = groups.iter().map(|group| group.overhead.total()).sum();
        prop_assert_eq!(total, sent_bytes(&told));
        let packets: u64 = groups.iter().map(|group| group.overhead.packets).sum();
        let sent = told.iter().filter(|told| matches!(&told.event.body,
            Body::Packet(packet) if packet.hook == PacketHook::Xmit));
        prop_assert_eq!(packets, sent.count() as u64);
    }

    #[test]
    fn the_ledger_adds_up_to_the_device_at_every_moment(
        cut in 0usize..700,
        lost in prop::collection::vec(any::<bool>(), 64),
        snap in 0usize..300,
    ) {
        // Receptions, sends and reads may be lost; the device's own packets are all counted.
        let world = traffic(30);
        let told: Vec<OwnedEvent> = world.events.iter().take(cut.max(60)).enumerate()
            .filter(|(n, told)| {
                let counted = matches!(&told.event.body,
                    Body::Packet(packet) if packet.hook == PacketHook::Xmit);
                counted || !lost[n % 64]
            })
            .map(|(n, told)| {
                let mut told = told.clone();
                // The first packets are whole, so that the protocols are known.
                if n > 60 {
                    told.payload.truncate(snap);
                }
                told
            })
            .collect();
        let played = Played::new(Config::default(), &told);
        for snapshot in [&played.early, &played.snapshot] {
            let total: u64 = snapshot.groups.iter().map(|group| group.overhead.total()).sum();
            // A conversation whose protocol is not known yet has no row.
            let rows = snapshot.groups.len();
            if rows == 2 {
                prop_assert_eq!(total, sent_bytes(&told));
            } else {
                prop_assert!(total <= sent_bytes(&told));
            }
        }
    }
}

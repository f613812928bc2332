//! Connections that were open before the observation began.

use crate::brokered::BROKER;
use crate::played::Played;
use wirelap_events::Nanos;
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::compose::{payload, stamp};
use wirelap_test_support::world::{World, process};

#[test]
fn a_broker_found_open_is_joined_in_mid_stream() {
    let mut world = World::new();
    let broker = process(10, "mosquitto");
    let mut publisher = world.existing(process(20, "pub"), "127.0.0.1:41000", broker, BROKER);
    let mut subscriber = world.existing(process(30, "sub"), "127.0.0.1:42000", broker, BROKER);
    for n in 0..10 {
        let bytes = publish("topic", &payload(stamp(n), 64));
        world.message(&mut publisher.up, &bytes);
        world.message(&mut subscriber.down, &bytes);
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [10, 10, 10, 0]);
    assert!(played.deliveries.iter().all(|d| d.one_way() > Some(Nanos(0))));
}

/// Of a connection that was open before, a message is recognised only with later ones: long after it was passed on.
#[test]
fn what_is_recognised_late_is_not_the_origin_of_what_follows() {
    for pause in [200_000_000, 1_000_000_000, 10_000_000_000] {
        let mut world = World::new();
        let broker = process(10, "mosquitto");
        let mut subscriber = world.existing(process(30, "sub"), "127.0.0.1:42000", broker, BROKER);
        let mut publishers: Vec<_> = (0..8)
            .map(|n| {
                let from = format!("127.0.0.1:{}", 41_000 + n);
                world.existing(process(40 + n, "pub"), &from, broker, BROKER)
            })
            .collect();
        let mut true_time = None;
        for _ in 0..6 {
            for (n, publisher) in publishers.iter_mut().enumerate() {
                let bytes = publish(&format!("topic/{n}"), b"the same each time");
                let (sent, _) = world.message(&mut publisher.up, &bytes);
                let (_, read) = world.message(&mut subscriber.down, &bytes);
                true_time = true_time.or(read.since(sent));
                world.now += pause / 8;
            }
        }
        let played = Played::of(&world);
        let wrong = played.deliveries.iter().filter(|one| one.one_way() != true_time).count();
        assert_eq!(wrong, 0, "{pause}: {:?}", played.counts());
        let [sent, delivered, matched, _] = played.counts();
        assert_eq!((sent, delivered), (48, 48), "{pause}");
        assert!(matched >= 24, "{pause}: {matched}");
        assert!(played.group().messages.uncovered == delivered - matched, "{pause}");
    }
}

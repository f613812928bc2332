//! Holders of messages that a broker keeps: its subscribers, or the broker itself.

use crate::audience::{AMQP, Dialect, Fate, Watch, only, pass};
use wirelap_correlate::LagHolder;
use wirelap_test_support::compose::amqp;
use wirelap_test_support::world::World;

/// The holder of a message for a consumer that has acknowledged all others, if the broker has said that it lacks memory and if it has
/// not. The consumer may have had two messages without acknowledging them, and the last time it had one.
fn kept_by_the_broker(lacks_memory: bool) -> LagHolder {
    let mut world = World::new();
    let mut clients =
        [(20, "pub"), (31, "sub")].map(|(pid, name)| AMQP.join(&mut world, pid, name));
    let Dialect { published, delivered, .. } = AMQP;
    let [publisher, consumer] = &mut clients;
    let mut watch = Watch::new(world);
    for n in 0..21 {
        // Two messages at once, but for the last, which comes alone.
        let both = 2 * n..(2 * n + 2).min(41);
        let world = &mut watch.world;
        both.clone().for_each(|n| _ = world.message(&mut publisher.up, &published(n)));
        both.clone().for_each(|n| _ = world.message(&mut consumer.down, &delivered(n)));
        both.for_each(|n| {
            _ = world.message(&mut consumer.up, &amqp::ack(1, u64::from(n) + 1, false));
        });
        watch.take(100);
    }
    watch.world.message(&mut publisher.up, &published(41));
    if lacks_memory {
        let blocked = amqp::frame(1, 0, b"\0\x0a\0\x3c\x03low");
        watch.world.message(&mut publisher.down, &blocked);
    }
    // Later messages tell how old the kept one is; they lie unread at the broker.
    for n in 42..52 {
        watch.take(100);
        pass(&mut watch.world, &mut publisher.up, &published(n), Fate::Unread);
    }
    let slow = watch.take(3_000);
    let lag = only(&slow).now.unwrap();
    assert_eq!((lag.unsent, lag.unread), (1, 0));
    lag.holder
}

#[test]
fn what_a_broker_without_memory_keeps_is_its_own_doing() {
    assert_eq!(kept_by_the_broker(true), LagHolder::Broker);
    // Without a lack of memory, it is not known that the consumer had nothing to acknowledge.
    assert_eq!(kept_by_the_broker(false), LagHolder::Subscriber);
}

//! Holders of messages for a Kafka consumer that is behind.

use super::house;
use crate::audience::Watch;
use wirelap_correlate::LagHolder;
use wirelap_test_support::compose::kafka::{
    at_offset, batch, fetch_from, fetched, produce_acked, produced, record,
};
use wirelap_test_support::world::{Connection, World};

/// The last request of a consumer that got twenty messages.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// Is for more of them, and waits.
    Waits,
    /// Was answered with nothing.
    Answered,
    /// Is for another topic, and waits.
    OfAnotherTopic,
}

/// The holder of the messages that come in the three seconds after the last request.
fn holder(last: Last) -> LagHolder {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    let one = |n: usize| at_offset(batch(1, &record(format!("value {n}").as_bytes())), n);
    let send = |world: &mut World, producer: &mut Connection, n: usize| {
        world.message(&mut producer.up, &produce_acked(0, n, "t", &one(n)));
        world.message(&mut producer.down, &produced(0, n, "t", Ok(n)));
    };
    for n in 0..20 {
        world.message(&mut consumer.up, &fetch_from(n, "t", n));
        send(&mut world, &mut producer, n);
        world.message(&mut consumer.down, &fetched(n, "t", &one(n)));
    }
    let mut watch = Watch::new(world);
    watch.take(100);
    let topic = if last == Last::OfAnotherTopic { "other" } else { "t" };
    watch.world.message(&mut consumer.up, &fetch_from(20, topic, 20));
    if last == Last::Answered {
        watch.world.message(&mut consumer.down, &fetched(20, "t", &[]));
    }
    for n in 20..50 {
        send(&mut watch.world, &mut producer, n);
        watch.take(20);
    }
    let slow = watch.take(3_000);
    let [one] = &slow.listed[..] else { panic!("{slow:?}") };
    assert_eq!(one.topic.as_deref(), Some("t-0"));
    let lag = one.now.unwrap();
    assert_eq!((lag.unsent, lag.unread), (30, 0));
    lag.holder
}

#[test]
fn who_does_not_ask_holds_itself_up() {
    assert_eq!(holder(Last::Waits), LagHolder::Broker);
    assert_eq!(holder(Last::Answered), LagHolder::Subscriber);
    assert_eq!(holder(Last::OfAnotherTopic), LagHolder::Subscriber);
}

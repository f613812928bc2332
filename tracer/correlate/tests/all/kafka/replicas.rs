//! Brokers that copy the log of another one.

use super::house;
use crate::one_side::{acknowledge, host};
use crate::played::Played;
use wirelap_correlate::Config;
use wirelap_events::{Nanos, Pid, ReplicaWait};
use wirelap_test_support::compose::kafka::{
    at_offset, batch, fetch, fetch_from, fetched, produce_acked, record,
};
use wirelap_test_support::world::{World, process};

/// A request of the follower with the number 2, which stands behind the header of the request.
fn copy_from(n: usize) -> Vec<u8> {
    let mut request = fetch_from(n, "t", n);
    request[20..24].copy_from_slice(&[0, 0, 0, 2]);
    request
}

/// The servers that a leader waited for, where its follower asks so many milliseconds after it has the answer before; and those of the
/// leader's host alone.
fn awaited(late_ms: u64) -> [Vec<Option<ReplicaWait>>; 2] {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    let (leader, other) = (process(10, "java"), process(40, "java"));
    let mut follower = world.connect(other, "10.0.0.2:40040", leader, "10.0.0.1:9092");
    world.message(&mut follower.up, &copy_from(0));
    for n in 0..20 {
        let records = at_offset(batch(1, &record(format!("value {n}").as_bytes())), n);
        world.message(&mut consumer.up, &fetch(n));
        world.message(&mut producer.up, &produce_acked(0, n, "t", &records));
        world.message(&mut follower.down, &fetched(n, "t", &records));
        acknowledge(&mut world, &follower.down, &follower.up, 1);
        world.now += late_ms * 1_000_000;
        world.message(&mut follower.up, &copy_from(n + 1));
        world.message(&mut consumer.down, &fetched(n, "t", &records));
    }
    let elsewhere = follower.up.from.0;
    let here = host(&world.events, |id| id != elsewhere);
    [&world.events[..], &here].map(|events| {
        let played = Played::new(Config::default(), events);
        assert_eq!(played.counts(), [20, 20, 20, 0]);
        let legs = played.deliveries.iter().map(|delivery| &delivery.legs[1]);
        legs.map(|leg| leg.circumstances.permission.replica).collect()
    })
}

#[test]
fn a_follower_on_another_host_that_asks_late_is_counted_and_not_named() {
    let [whole, here] = awaited(10);
    let named = |wait: &Option<ReplicaWait>| wait.unwrap().server.map(|server| server.pid);
    assert!(whole.iter().all(|wait| named(wait) == Some(Pid(40))), "{whole:?}");
    assert!(here.iter().all(|wait| named(wait).is_none()), "{here:?}");
    let is_late = |wait: &Option<ReplicaWait>| {
        let time = wait.unwrap().time;
        time > Nanos::from_millis(9) && time < Nanos::from_millis(11)
    };
    assert!(whole.iter().chain(&here).all(is_late), "{here:?}");
    let [whole, here] = awaited(1);
    assert!(whole.iter().chain(&here).all(Option::is_none), "{here:?}");
}

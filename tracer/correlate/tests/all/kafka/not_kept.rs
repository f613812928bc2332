//! Consumers that ask for records which the log has no more.

use super::house;
use crate::audience::Watch;
use crate::words::words;
use wirelap_correlate::{Severity, VerdictKind};
use wirelap_events::Nanos;
use wirelap_test_support::compose::kafka::{
    at_offset, batch, fetch_from, fetched, fetched_out_of_range, produce_acked, produced, record,
};
use wirelap_test_support::world::World;

/// A consumer that has read twenty records asks for the next one, and is told that the log does not have it. It goes on at `then`.
fn went_on_at(then: usize) -> (Option<(Severity, String)>, Vec<String>) {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    let one = |n: usize| at_offset(batch(1, &record(format!("value {n}").as_bytes())), n);
    for n in 0..40 {
        world.message(&mut producer.up, &produce_acked(0, n, "t", &one(n)));
        world.message(&mut producer.down, &produced(0, n, "t", Ok(n)));
        if n < 20 {
            world.message(&mut consumer.up, &fetch_from(n, "t", n));
            world.message(&mut consumer.down, &fetched(n, "t", &one(n)));
        }
    }
    // It asks twice before it is told: the second answer says the same.
    for n in [40, 41] {
        world.message(&mut consumer.up, &fetch_from(n, "t", 20));
        world.message(&mut consumer.down, &fetched_out_of_range(n, "t"));
    }
    for n in then..40 {
        world.message(&mut consumer.up, &fetch_from(n + 42, "t", n));
        world.message(&mut consumer.down, &fetched(n + 42, "t", &one(n)));
    }
    let mut watch = Watch::new(world);
    watch.take(100);
    let mut groups = watch.correlator.snapshot(Nanos(watch.world.now)).groups;
    assert_eq!(groups.len(), 1);
    let group = groups.remove(0);
    let mut all = group.why.verdicts.iter();
    let said = all.find(|one| one.kind == VerdictKind::NeverDelivered);
    let refused = group.refusals.listed.iter().map(|one| one.reason.to_string()).collect();
    (said.map(|one| (one.severity, words(one))), refused)
}

#[test]
fn what_the_log_had_no_more_is_counted_at_who_asked_for_it() {
    let (said, refused) = went_on_at(35);
    let (severity, text) = said.unwrap();
    assert_eq!(severity, Severity::Problem);
    let whole = "15 records were passed over by consumer (pid 30)";
    assert!(text.starts_with(whole), "{text}");
    assert!(refused[0].starts_with("OFFSET_OUT_OF_RANGE"), "{refused:?}");
}

#[test]
fn who_goes_back_has_lost_nothing() {
    let (said, refused) = went_on_at(10);
    assert_eq!((said, refused.len()), (None, 1));
}

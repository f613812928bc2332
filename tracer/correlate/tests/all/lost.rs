//! Messages that are called lost, and messages of which that is not known.

use crate::brokered::house;
use crate::played::Played;
use crate::words::words;
use wirelap_correlate::{Severity, VerdictKind};
use wirelap_test_support::compose::mqtt::publish;
use wirelap_test_support::world::{Connection, World};

/// The verdict on messages that were never delivered.
fn never(played: &Played) -> Option<(Severity, String)> {
    let verdicts = &played.group().why.verdicts;
    let found = verdicts.iter().find(|verdict| verdict.kind == VerdictKind::NeverDelivered)?;
    Some((found.severity, words(found)))
}

/// A message with a number goes to the broker, and on to this subscriber.
fn pass(world: &mut World, from: &mut Connection, to: Option<&mut Connection>, topic: &str, n: u8) {
    let bytes = publish(topic, &[n; 20]);
    world.message(&mut from.up, &bytes);
    if let Some(to) = to {
        world.message(&mut to.down, &bytes);
    }
}

#[test]
fn what_lies_between_messages_that_came_was_lost() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    for n in 0..100 {
        let to = (n % 10 != 5).then_some(&mut subscribers[0]);
        pass(&mut world, &mut publisher, to, "t", n);
    }
    let (severity, evidence) = never(&Played::of(&world)).unwrap();
    assert_eq!(severity, Severity::Problem);
    let lost = "10 of 100 messages were read by the broker and passed on to nobody";
    assert!(evidence.starts_with(lost), "{evidence}");
}

#[test]
fn a_topic_that_nobody_is_seen_to_get_is_not_lost() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    for n in 0..100 {
        pass(&mut world, &mut publisher, Some(&mut subscribers[0]), "wanted", n);
        pass(&mut world, &mut publisher, None, "unwanted", n);
    }
    assert_eq!(never(&Played::of(&world)), None);
}

#[test]
fn what_came_before_the_first_subscriber_or_after_the_last_is_not_lost() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    for n in 0..120 {
        let to = (40..80).contains(&n).then_some(&mut subscribers[0]);
        pass(&mut world, &mut publisher, to, "t", n);
    }
    assert_eq!(never(&Played::of(&world)), None);
}

/// The broker gives topic and content another form, or the subscriber's connection cannot be read that far.
#[test]
fn what_could_not_be_matched_is_not_lost() {
    let mut world = World::new();
    let (mut publisher, mut subscribers) = house(&mut world, 1);
    for n in 0..100 {
        pass(&mut world, &mut publisher, None, "t", n);
        world.message(&mut subscribers[0].down, &publish("bridged/t", &[n; 21]));
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [100, 100, 0, 100]);
    assert_eq!(never(&played), None);
}

#[test]
fn where_nobody_gets_anything_that_is_worth_a_note() {
    let mut world = World::new();
    let (mut publisher, _) = house(&mut world, 1);
    for n in 0..100 {
        pass(&mut world, &mut publisher, None, "t", n);
    }
    let (severity, evidence) = never(&Played::of(&world)).unwrap();
    assert_eq!(severity, Severity::Note);
    assert!(evidence.ends_with("nobody seems to subscribe"), "{evidence}");
}

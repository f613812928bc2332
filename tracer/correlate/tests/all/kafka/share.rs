//! Share groups: only the records that the broker assigns to a member are its messages.

use super::house;
use crate::played::Played;
use wirelap_test_support::compose::kafka::{
    at_offset, batch, produce_acked, produced, record_at, share_fetch, share_fetch_in,
    share_fetched, share_fetched_in,
};
use wirelap_test_support::world::{Connection, World, process};

const TOPIC: [u8; 16] = [7; 16];

/// A batch of ten different records at an offset.
fn ten(first: usize) -> Vec<u8> {
    let records: Vec<u8> =
        (0..10).flat_map(|n| record_at(n, format!("value {}", first + n).as_bytes())).collect();
    at_offset(batch(10, &records), first)
}

/// Sends batches of ten records at offsets from 0 on.
fn send(world: &mut World, producer: &mut Connection, batches: usize) {
    for n in 0..batches {
        world.message(&mut producer.up, &produce_acked(0, n, "t", &ten(10 * n)));
        world.message(&mut producer.down, &produced(0, n, "t", Ok(10 * n)));
    }
}

/// A member's request, and its response.
fn give(
    world: &mut World,
    member: &mut Connection,
    id: usize,
    batches: &[u8],
    acquired: &[(usize, usize, u8)],
) {
    world.message(&mut member.up, &share_fetch(id, "g"));
    world.message(&mut member.down, &share_fetched(id, TOPIC, batches, acquired));
}

/// Two members are sent the same batches, and each is given half of the records.
#[test]
fn a_member_gets_what_it_is_assigned() {
    let mut world = World::new();
    let (mut producer, mut member) = house(&mut world);
    let broker = process(10, "java");
    let mut other =
        world.connect(process(31, "other"), "127.0.0.1:40031", broker, "127.0.0.1:9092");
    send(&mut world, &mut producer, 4);
    for n in 0..4 {
        let first = 10 * n;
        give(
            &mut world,
            &mut member,
            n,
            &ten(first),
            &[(first, first + 1, 1), (first + 5, first + 7, 1)],
        );
        give(
            &mut world,
            &mut other,
            n,
            &ten(first),
            &[(first + 2, first + 4, 1), (first + 8, first + 9, 1)],
        );
    }
    let played = Played::of(&world);
    assert_eq!(played.counts(), [40, 40, 40, 0]);
    assert_eq!(played.group().messages.duplicates, 0);
}

/// Kafka 4.0 has version 0, for early access.
#[test]
fn the_first_version_has_no_lock_timeout() {
    let mut world = World::new();
    let (mut producer, mut member) = house(&mut world);
    send(&mut world, &mut producer, 2);
    for n in 0..2 {
        let acquired = [(10 * n, 10 * n + 9, 1)];
        world.message(&mut member.up, &share_fetch_in(0, n, "g"));
        let response = share_fetched_in(0, n, TOPIC, &ten(10 * n), &acquired);
        world.message(&mut member.down, &response);
    }
    assert_eq!(Played::of(&world).counts(), [20, 20, 20, 0]);
}

/// A record that a member released, or did not accept in time, is given again.
#[test]
fn records_that_are_given_again_are_duplicates() {
    let mut world = World::new();
    let (mut producer, mut member) = house(&mut world);
    send(&mut world, &mut producer, 1);
    give(&mut world, &mut member, 1, &ten(0), &[(0, 9, 1)]);
    give(&mut world, &mut member, 2, &ten(0), &[(3, 4, 2)]);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [10, 10, 10, 0]);
    assert_eq!(played.group().messages.duplicates, 2);
}

/// The assignment of the member is at the end of a response, however long that is.
#[test]
fn a_long_response_is_awaited() {
    let mut world = World::new();
    let (mut producer, mut member) = house(&mut world);
    let records: Vec<u8> = (0..40).flat_map(|n| record_at(n, &[b'v'; 10_000])).collect();
    let long = at_offset(batch(40, &records), 0);
    world.message(&mut producer.up, &produce_acked(0, 1, "t", &long));
    world.message(&mut producer.down, &produced(0, 1, "t", Ok(0)));
    give(&mut world, &mut member, 1, &long, &[(0, 11, 1)]);
    give(&mut world, &mut member, 2, &long, &[(12, 39, 1)]);
    let played = Played::of(&world);
    assert_eq!(played.counts(), [40, 40, 40, 0]);
    assert_eq!(played.snapshot.trust.unread_messages, 0);
}

/// The end of a response was not captured: nobody knows which of its records are the member's.
#[test]
fn records_of_which_it_is_not_known_whose_they_are_are_told() {
    let mut world = World::new();
    let (mut producer, mut member) = house(&mut world);
    send(&mut world, &mut producer, 1);
    world.message(&mut member.up, &share_fetch(1, "g"));
    let response = share_fetched(1, TOPIC, &ten(0), &[(0, 9, 1)]);
    let cut = response.len() - 8;
    world.message(&mut member.down, &response[..cut]);
    member.down.advance(8);
    give(&mut world, &mut member, 2, &[], &[]);
    let played = Played::of(&world);
    assert_eq!((played.counts(), played.snapshot.trust.unread_messages), ([10, 0, 0, 0], 10));
}

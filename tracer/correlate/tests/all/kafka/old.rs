//! Messages of the formats before record batches.

use super::house;
use crate::played::Played;
use wirelap_test_support::compose::kafka::{
    old_compressed, old_fetch, old_fetched, old_message, old_produce, old_produced,
};
use wirelap_test_support::world::World;

/// Sends sets of messages with the `pack`ed messages of each, and has them fetched. Returns the counts and the unread messages.
fn passed(sets: usize, pack: impl Fn(usize, bool) -> Vec<u8>) -> ([u64; 4], u64) {
    let mut world = World::new();
    let (mut producer, mut consumer) = house(&mut world);
    for n in 0..sets {
        world.message(&mut consumer.up, &old_fetch(n, "old", 3 * n));
        world.message(&mut producer.up, &old_produce(n, "old", &pack(n, false)));
        world.message(&mut producer.down, &old_produced(n, "old", 3 * n));
        world.message(&mut consumer.down, &old_fetched(n, "old", &pack(n, true)));
    }
    let played = Played::of(&world);
    (played.counts(), played.snapshot.trust.unread_messages)
}

fn three(magic: u8, first: usize, set: usize) -> Vec<u8> {
    let value = |n: usize| format!("value {set} {n}");
    let message = |n: usize| old_message(magic, first + n, value(n).as_bytes());
    [message(0), message(1), message(2)].concat()
}

#[test]
fn old_messages_are_followed() {
    for magic in [0, 1] {
        let set = |n: usize, is_stored: bool| three(magic, if is_stored { 3 * n } else { 0 }, n);
        assert_eq!(passed(20, set), ([60, 60, 60, 0], 0), "version {magic}");
    }
}

/// In version 1 the offsets within are relative to the first (KIP-31).
#[test]
fn messages_in_a_compressed_message_are_followed() {
    for magic in [0, 1] {
        let set = |n: usize, is_stored: bool| {
            let first = if is_stored && magic == 0 { 3 * n } else { 0 };
            let last = if is_stored { 3 * n + 2 } else { 2 };
            old_compressed(magic, last, &three(magic, first, n))
        };
        assert_eq!(passed(20, set), ([60, 60, 60, 0], 0), "version {magic}");
    }
}

/// A message that the answer had no room for is fetched again.
#[test]
fn a_message_that_is_cut_off_is_none() {
    let set = |n: usize, is_stored: bool| {
        let mut set = three(1, if is_stored { 3 * n } else { 0 }, n);
        if is_stored {
            let more = old_message(1, 3 * n + 3, b"more");
            set.extend_from_slice(&more[..more.len() - 2]);
        }
        set
    };
    assert_eq!(passed(5, set), ([15, 15, 15, 0], 0));
}

#[test]
fn messages_that_cannot_be_opened_are_told() {
    let set = |n: usize, is_stored: bool| {
        let first = if is_stored { 3 * n } else { 0 };
        let mut set = old_compressed(1, first, &three(1, 0, n));
        // The compressed bytes say that they are longer than they are.
        set[34] = 0x7F;
        set
    };
    assert_eq!(passed(5, set), ([0, 0, 0, 0], 10));
}

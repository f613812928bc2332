//! Zenoh's messages that do not reach an application: their sender gives them up, or the getter's library has others in their place.

use crate::played::Played;
use wirelap_correlate::{Clause, Config, DoubtReason, GroupNote};
use wirelap_test_support::compose::zenoh::{SessionOption, batch, frame, opening, push};
use wirelap_test_support::compose::{varint, zenoh};
use wirelap_test_support::world::{Connection, World, process};

fn session() -> (World, Connection) {
    let mut world = World::new();
    let (from, to) = (process(10, "one"), process(20, "other"));
    let mut pair = world.connect(from, "127.0.0.1:40000", to, "127.0.0.1:7447");
    for (n, unit) in opening(SessionOption::Plain).iter().enumerate() {
        let way = if n % 2 == 0 { &mut pair.up } else { &mut pair.down };
        world.message(way, &batch(unit));
    }
    (world, pair)
}

fn clauses(played: &Played) -> Vec<Clause> {
    let verdicts = played.snapshot.groups.iter().flat_map(|group| &group.why.verdicts);
    verdicts.flat_map(|verdict| verdict.evidence.clone()).collect()
}

/// A fragment: its number, the ID of its extension if it has one, and a part of a message.
fn fragment(sn: usize, extension: Option<u8>, part: &[u8]) -> Vec<u8> {
    let header = if extension.is_some() { 0xE6 } else { 0x66 };
    batch(&[&[header][..], &varint(sn), extension.as_slice(), part].concat())
}

/// The ways in which it shows that a message was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The sender says so.
    Told,
    /// The sender means to say so, and sends a batch without messages.
    EmptyBatch,
    /// Another message begins in its place.
    NextMessage,
}

#[test]
fn messages_that_their_sender_gives_up_are_counted_and_doubted() {
    const FIRST: u8 = 2;
    const DROP: u8 = 3;
    for end in [End::Told, End::EmptyBatch, End::NextMessage] {
        let (mut world, mut pair) = session();
        let message = push("demo/big", &vec![b'x'; 50_000]);
        let mut sn = 0;
        for _ in 0..18 {
            let parts = [(Some(FIRST), &message[..4_000]), (None, &message[4_000..8_000])];
            let stop = (end == End::Told).then_some((Some(DROP), &[][..]));
            for (extension, part) in parts.into_iter().chain(stop) {
                world.message(&mut pair.up, &fragment(sn, extension, part));
                sn += 1;
            }
            if end == End::EmptyBatch {
                world.message(&mut pair.up, &batch(&[]));
                sn += 1;
            }
        }
        let last = frame(u32::try_from(sn).unwrap(), &push("demo/small", b"1"));
        world.message(&mut pair.up, &batch(&last));
        let played = Played::new(Config::default(), &world.events);
        let [group] = &played.snapshot.groups[..] else { panic!("{end:?}: not one row") };
        assert_eq!([group.messages.sent, group.uncertain.cut_short], [1, 18], "{end:?}");
        let doubts = group.doubts(&played.snapshot.trust);
        assert_eq!(doubts[0].reason, DoubtReason::CutShort { messages: 18 }, "{end:?}");
        assert!(clauses(&played).contains(&Clause::CutShort(18)), "{end:?}");
    }
}

/// A query, and three replies of two keys.
fn exchange(number: u8, consolidation: u8) -> [Vec<u8>; 2] {
    let key = |key: &str| [&[0][..], &varint(key.len()), key.as_bytes()].concat();
    let query = [&[0x3C, number][..], &key("demo/*"), &[0x23, consolidation]].concat();
    let reply = |name: &str, payload: &[u8]| {
        let head = [&[0x3B, number][..], &key(name), &[4, 1], &varint(payload.len())].concat();
        [head, payload.to_vec()].concat()
    };
    let replies = [("demo/a", b"one"), ("demo/a", b"two"), ("demo/b", b"six")];
    let replies = replies.map(|(name, payload)| reply(name, payload)).concat();
    [query, [replies, vec![0x1A, number]].concat()]
}

#[test]
fn replies_that_cross_and_replies_that_the_getter_gets_are_two_figures() {
    const NONE: u8 = 1;
    const LATEST: u8 = 3;
    for (consolidation, superseded) in
        [(LATEST, Some(GroupNote::Superseded { replies: 5 })), (NONE, None)]
    {
        let (mut world, mut pair) = session();
        for n in 0..5_u8 {
            let [query, replies] = exchange(n, consolidation);
            world.message(&mut pair.up, &zenoh::batch(&frame(n.into(), &query)));
            world.message(&mut pair.down, &zenoh::batch(&frame(n.into(), &replies)));
        }
        let played = Played::new(Config::default(), &world.events);
        let [group] = &played.snapshot.groups[..] else { panic!("not one row") };
        let what = format!("consolidation {consolidation}");
        assert_eq!([group.messages.sent, group.messages.delivered], [15; 2], "{what}");
        assert_eq!(group.doubts(&played.snapshot.trust), [], "{what}");
        let expected: Vec<_> = superseded.into_iter().collect();
        assert_eq!(group.notes, expected, "{what}");
    }
}

//! Entries that are packed are unpacked again, bit for bit; any other bytes are refused.

use crate::any;
use crate::round_trip::Held;
use proptest::prelude::*;
use wirelap_events::{Body, Nanos};
use wirelap_recording::{Note, RecordBlock, RecordPacker, RecordUnpacker, Unpacked};
use wirelap_test_support::event::OwnedEvent;
use wirelap_test_support::world::{World, process};

fn pack(packer: &mut RecordPacker, entries: &[Held]) -> Vec<u8> {
    for entry in entries {
        match entry {
            Held::Event(told) => packer.event(&told.event()),
            Held::Tick(at) => packer.tick(*at),
            Held::Note(subject, text) => packer.note(Note { subject, text }),
            Held::Known(_) | Held::TlsKeys(_) => panic!("agents send none"),
        }
    }
    let mut block = Vec::new();
    packer.move_to(&mut block);
    block
}

/// The entries of a block that can be read.
fn unpack(unpacker: &mut RecordUnpacker, block: &[u8]) -> Option<RecordBlock> {
    match unpacker.unpack(block)? {
        Unpacked::Records(block) => Some(block),
        Unpacked::Unreadable { .. } => None,
    }
}

fn held(mut block: RecordBlock) -> Vec<Held> {
    let mut all = Vec::new();
    while let Some(entry) = block.peek() {
        all.push(Held::of(&entry));
        block.advance();
    }
    all
}

fn entry() -> impl Strategy<Value = Held> {
    prop_oneof![
        8 => any::told().prop_map(Held::Event),
        1 => any::<u64>().prop_map(|at| Held::Tick(Nanos(at))),
        1 => (".{0,20}", ".{0,200}").prop_map(|(subject, text)| Held::Note(subject, text)),
    ]
}

/// Events of messages on one connection, whose payloads differ a little.
fn messages(count: usize) -> Vec<Held> {
    let mut world = World::new();
    let [sender, reader] = [(7, "sender"), (8, "reader")].map(|(pid, name)| process(pid, name));
    let mut pair = world.existing(sender, "10.0.0.1:40000", reader, "10.0.0.2:1883");
    for number in 0..count {
        let payload = format!("{{\"sensor\":\"engine\",\"number\":{number},\"unit\":\"celsius\"}}");
        world.message(&mut pair.up, payload.as_bytes());
    }
    world.events.into_iter().map(Held::Event).collect()
}

proptest! {
    #[test]
    fn any_entries_come_back(blocks in prop::collection::vec(prop::collection::vec(entry(), 0..30), 1..5)) {
        let (mut packer, mut unpacker) = (RecordPacker::default(), RecordUnpacker::default());
        for entries in blocks {
            // Entries that came before are of use: the same entries are told again.
            for _ in 0..2 {
                let block = pack(&mut packer, &entries);
                let unpacked = unpack(&mut unpacker, &block);
                prop_assert_eq!(unpacked.map(held), Some(entries.clone()));
            }
        }
    }

    #[test]
    fn payloads_of_any_length_come_back(
        told in any::told().prop_filter("a packet", |told| matches!(told.event.body, Body::Packet(_))),
        pieces in prop::collection::vec((prop::collection::vec(any::<u8>(), 1..400), 1_usize..300), 1..20),
    ) {
        let (mut packer, mut unpacker) = (RecordPacker::default(), RecordUnpacker::default());
        for (piece, times) in pieces {
            let payload = piece.repeat(times);
            let entries = [Held::Event(OwnedEvent { payload, ..told.clone() })];
            let block = pack(&mut packer, &entries);
            let unpacked = unpack(&mut unpacker, &block);
            prop_assert_eq!(unpacked.map(held), Some(entries.to_vec()));
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = RecordUnpacker::default().unpack(&bytes);
        // A number of records that is possible, and no literals.
        let _ = RecordUnpacker::default().unpack(&[&[0, 0, 0, 0, 0, 0, 0, 0, 99, 0], bytes.as_slice()].concat());
    }

    #[test]
    fn damage_does_no_harm(at in any::<prop::sample::Index>(), change in 1..=255_u8) {
        let mut block = pack(&mut RecordPacker::default(), &messages(20));
        let at = at.index(block.len());
        let mut unpacker = RecordUnpacker::default();
        let _ = unpacker.unpack(&block[..at]);
        block[at] ^= change;
        let _ = RecordUnpacker::default().unpack(&block);
    }
}

/// Nobody has to read the records of so many bytes to know that there are too many.
#[test]
fn a_block_with_too_many_records_is_refused() {
    let mut block = vec![0; 8];
    block.extend([0xFF; 9]);
    block.extend([1, 0]);
    block.extend([0; 1_000]);
    assert!(RecordUnpacker::default().unpack(&block).is_none());
}

/// Whoever has missed a block, or comes later, reads on where the packer begins again.
#[test]
fn what_follows_a_missing_block_is_unreadable_until_it_begins_again() {
    let mut packer = RecordPacker::default();
    let entries = messages(5);
    let mut blocks: Vec<Vec<u8>> = (0..3).map(|_| pack(&mut packer, &entries)).collect();
    packer.begin_again();
    blocks.extend((0..2).map(|_| pack(&mut packer, &entries)));
    let read = |from: &[usize]| -> Vec<Option<u64>> {
        let mut unpacker = RecordUnpacker::default();
        let each = from.iter().map(|&at| match unpacker.unpack(&blocks[at]).unwrap() {
            Unpacked::Records(block) => {
                assert_eq!(held(block), entries);
                None
            }
            Unpacked::Unreadable { events } => Some(events),
        });
        each.collect()
    };
    let events = u64::try_from(entries.len()).unwrap();
    assert_eq!(read(&[0, 1, 2, 3, 4]), [None; 5]);
    assert_eq!(read(&[0, 2, 3, 4]), [None, Some(events), None, None]);
    assert_eq!(
        read(&[1, 2, 3, 4]),
        [Some(0), Some(0), None, None],
        "it has missed nothing that it had begun"
    );
}

#[test]
fn a_half_leg_takes_few_bytes() {
    let entries = messages(2_000);
    let (mut packer, mut packed, mut plain) = (RecordPacker::default(), 0, 0);
    let mut unpacker = RecordUnpacker::default();
    // As an agent sends them: some messages at once.
    for some in entries.chunks(60) {
        let block = pack(&mut packer, some);
        packed += block.len();
        plain += unpack(&mut unpacker, &block).unwrap().len();
    }
    // A message of this world is two half-legs.
    let [packed, plain] = [packed, plain].map(|bytes| bytes / 4_000);
    assert!(plain > 100 && packed < 8, "{plain} {packed}");
}

use super::*;
use proptest::prelude::*;

const PLACE: FragmentPlace = (PacketHook::Rx, IfIndex(1));

fn fragment(id: u32, start: usize, len: usize, is_last: bool) -> Fragment {
    let [src, dst] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(IpAddr::from);
    let [start, len] = [start, len].map(|bytes| u32::try_from(bytes).unwrap());
    let datagram = FragmentedDatagram { src, dst, id, protocol: 17 };
    Fragment { datagram, header: 20, start, len, is_last }
}

/// The bytes behind the header of a datagram, if it was completed.
fn add(
    table: &mut FragmentTable,
    ms: u64,
    fragment: &Fragment,
    captured: &[u8],
) -> Option<Vec<u8>> {
    let whole = table.add(Nanos::from_millis(ms), PLACE, fragment, captured, 34)?;
    assert_eq!(whole.bytes[..4], [0x45, 0, whole.bytes[2], whole.bytes[3]]);
    assert_eq!(u32::from(u16::from_be_bytes([whole.bytes[2], whole.bytes[3]])), whole.original);
    Some(whole.bytes[20..].to_vec())
}

fn incomplete(with_ports: u64, without_ports: u64) -> IncompleteDatagrams {
    IncompleteDatagrams { with_ports, without_ports }
}

#[test]
fn parts_that_overlap_are_refused_and_copies_are_not() {
    let bytes = [7; 32];
    let mut table = FragmentTable::default();
    assert_eq!(add(&mut table, 1_000, &fragment(1, 0, 16, false), &bytes[..16]), None);
    assert_eq!(add(&mut table, 1_000, &fragment(1, 0, 16, false), &bytes[..16]), None);
    assert_eq!(add(&mut table, 1_000, &fragment(1, 16, 8, true), &bytes[..8]), Some(vec![7; 24]));
    // The same datagram as another device shows it.
    assert_eq!(add(&mut table, 1_000, &fragment(1, 16, 8, true), &bytes[..8]), None);
    let overlaps = [
        [fragment(2, 0, 16, false), fragment(2, 8, 16, true)],
        [fragment(3, 8, 16, false), fragment(3, 0, 16, false)],
        [fragment(4, 8, 8, false), fragment(4, 0, 24, true)],
        [fragment(5, 8, 8, true), fragment(5, 16, 8, false)],
        [fragment(6, 16, 8, false), fragment(6, 8, 8, true)],
    ];
    for parts in overlaps {
        for part in parts {
            assert_eq!(add(&mut table, 1_000, &part, &bytes[..part.len as usize]), None);
        }
        // Not even if the rest comes later.
        assert_eq!(
            add(&mut table, 1_000, &fragment(parts[0].datagram.id, 0, 32, true), &bytes),
            None
        );
    }
    table.give_up(Nanos::from_millis(60_000));
    assert_eq!(table.take_incomplete(), incomplete(5, 0));
}

#[test]
fn what_does_not_come_is_counted_once_and_not_kept_for_ever() {
    let mut table = FragmentTable::default();
    add(&mut table, 1_000, &fragment(1, 0, 8, false), &[1; 8]);
    add(&mut table, 1_000, &fragment(2, 8, 8, false), &[1; 8]);
    add(&mut table, 30_999, &fragment(3, 0, 8, false), &[1; 8]);
    assert_eq!(table.take_incomplete(), incomplete(0, 0));
    add(&mut table, 31_001, &fragment(3, 8, 8, true), &[1; 8]);
    assert_eq!(table.take_incomplete(), incomplete(1, 1));
    // Lengths that cannot be.
    for impossible in [fragment(9, 0, 0, false), fragment(9, 8, 7, false)] {
        add(&mut table, 31_001, &impossible, &[]);
    }
    add(&mut table, 31_001, &fragment(9, 65_528, 64, true), &[0; 64]);
    assert_eq!(table.take_incomplete(), incomplete(0, 3));
    table.give_up(Nanos::from_millis(60_000));
    assert_eq!(table.take_incomplete(), incomplete(0, 0));
}

#[test]
fn what_the_ends_of_a_capture_cut_is_not_missing() {
    let mut table = FragmentTable::default();
    table.begin(Nanos::from_millis(500));
    // The beginning was before, and is missing of a later one.
    add(&mut table, 600, &fragment(1, 8, 8, true), &[1; 8]);
    add(&mut table, 601, &fragment(2, 8, 8, true), &[1; 8]);
    // The end is missing, and may come later.
    add(&mut table, 900, &fragment(3, 0, 8, false), &[1; 8]);
    add(&mut table, 950, &fragment(4, 0, 8, false), &[1; 8]);
    table.give_up(Nanos::from_millis(1_001));
    assert_eq!(table.take_incomplete(), incomplete(1, 1));
}

#[test]
fn memory_is_bounded() {
    let mut table = FragmentTable::default();
    for id in 0..10_000 {
        add(&mut table, 1_000, &fragment(id, 60_000, 8, false), &[1; 8]);
        assert!(table.bytes <= MAX_BYTES + 70_000 && table.known.len() <= MAX_DATAGRAMS);
    }
    table.give_up(Nanos::from_millis(60_000));
    assert_eq!(table.take_incomplete(), incomplete(0, 10_000));
}

#[test]
fn a_datagram_ends_where_the_first_byte_was_not_captured() {
    let mut table = FragmentTable::default();
    add(&mut table, 1_000, &fragment(1, 16, 8, true), &[2; 8]);
    let whole = add(&mut table, 1_000, &fragment(1, 0, 16, false), &[1; 12]);
    assert_eq!(whole, Some(vec![1; 12]));
}

proptest! {
    #[test]
    fn a_datagram_is_put_together_from_any_parts_in_any_order(
        len in 9_usize..3_000,
        cuts in prop::collection::btree_set(1_usize..375, 1..20),
        order in prop::collection::vec(any::<prop::sample::Index>(), 20),
        others in prop::collection::vec((0_usize..100, 1_usize..100), 0..10),
    ) {
        let bytes: Vec<u8> = (0..=250).cycle().take(len).collect();
        let inner = cuts.into_iter().map(|cut| cut * 8).filter(|&cut| cut < len);
        let cuts: Vec<usize> = std::iter::once(0).chain(inner).chain([len]).collect();
        let mut parts: Vec<(usize, usize)> = cuts.windows(2).map(|w| (w[0], w[1])).collect();
        for (at, index) in order.iter().enumerate().take(parts.len()) {
            let other = index.index(parts.len());
            parts.swap(at, other);
        }
        let mut table = FragmentTable::default();
        for (id, (start, units)) in others.into_iter().enumerate() {
            let id = u32::try_from(id).unwrap() + 10;
            add(&mut table, 1_000, &fragment(id, start * 8, units * 8, false), &vec![0; units * 8]);
        }
        let (&last, first) = parts.split_last().unwrap();
        for &(start, end) in first {
            let part = fragment(1, start, end - start, end == len);
            prop_assert_eq!(add(&mut table, 1, &part, &bytes[start..end]), None);
        }
        let part = fragment(1, last.0, last.1 - last.0, last.1 == len);
        prop_assert_eq!(add(&mut table, 1, &part, &bytes[last.0..last.1]), Some(bytes));
    }
}

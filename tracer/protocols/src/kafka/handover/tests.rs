//! Tests of `handover`.

use super::*;

const PARTITION: PartitionKey = (7, 0);

/// Two consumers, each with its group.
fn two(groups: [u64; 2], committed: i64) -> (HandoverTable, [ConsumerId; 2]) {
    let mut table = HandoverTable::default();
    let readers = [table.reader(), table.reader()];
    table.set_offset(PARTITION, groups[0], -1);
    table.begins(PARTITION, readers[0], 0);
    table.reaches(PARTITION, readers[0], 100, false);
    table.set_offset(PARTITION, groups[1], committed);
    table.begins(PARTITION, readers[1], committed.max(0));
    (table, readers)
}

#[test]
fn what_the_one_before_was_sent_is_counted_whoever_is_first_to_say_more() {
    let (mut table, [before, after]) = two([1, 1], 40);
    table.reaches(PARTITION, after, 70, false);
    assert_eq!(table.take_found(), 0, "the other may go on reading: another group");
    table.reaches(PARTITION, before, 100, true);
    assert_eq!(table.take_found(), 30);
    table.reaches(PARTITION, after, 300, false);
    assert_eq!((table.take_found(), table.take_found()), (30, 0));
    // An answer that was under way still came.
    table.reaches(PARTITION, before, 101, true);
    assert_eq!(table.take_found(), 1);
}

#[test]
fn only_another_member_of_the_group_takes_over() {
    let takes_over = |groups: [u64; 2], same: bool| {
        let mut table = HandoverTable::default();
        let [before, mut after] = [table.reader(), table.reader()];
        table.set_offset(PARTITION, groups[0], -1);
        assert_eq!(table.begins(PARTITION, before, 0), None, "nobody read it before");
        table.reaches(PARTITION, before, 100, false);
        table.set_offset(PARTITION, groups[1], 90);
        if same {
            after = before;
        }
        table.begins(PARTITION, after, 90).and_then(|taken| taken.read_before)
    };
    // It hangs, perhaps, and nobody sees that it reads no more.
    assert_eq!(takes_over([1, 1], false), Some(100));
    assert_eq!(takes_over([1, 2], false), None);
    assert_eq!(takes_over([1, 1], true), None);
    // A commit tells of which group it is, whether it has left or not.
    let mut table = HandoverTable::default();
    let [before, after] = [table.reader(), table.reader()];
    table.begins(PARTITION, before, 0);
    table.commits(PARTITION, 1, 0);
    table.reaches(PARTITION, before, 100, false);
    table.set_offset(PARTITION, 1, 0);
    let taken = table.begins(PARTITION, after, 0).and_then(|taken| taken.read_before);
    assert_eq!(taken, Some(100));
    // Seen to leave, it may have been a member since before the observation began.
    let mut table = HandoverTable::default();
    let [before, after] = [table.reader(), table.reader()];
    table.begins(PARTITION, before, 10);
    table.set_offset(PARTITION, 1, 90);
    let mut begins = |has_left| {
        table.reaches(PARTITION, before, 100, has_left);
        table.begins(PARTITION, after, 90).and_then(|taken| taken.read_before)
    };
    assert_eq!((begins(false), begins(true)), (None, Some(100)));
}

#[test]
fn a_topic_whose_name_becomes_known_keeps_its_readers() {
    let mut table = HandoverTable::default();
    let [before, after] = [table.reader(), table.reader()];
    table.begins((99, 0), before, 0);
    table.reaches((99, 0), before, 100, true);
    table.set_offset(PARTITION, 1, -1);
    table.rename((99, 0), PARTITION);
    let taken = table.begins(PARTITION, after, 150).unwrap();
    assert_eq!((taken.passed_over, taken.is_same_group), (50, false));
}

/// A consumer was sent the records before 100 and is gone. The next one begins at 150.
#[test]
fn who_begins_behind_the_last_record_of_a_group_without_an_offset_leaves_some_to_nobody() {
    let passed = |groups: [Option<u64>; 2], committed: i64, other: Option<i64>| {
        let mut table = HandoverTable::default();
        let [before, after, third] = [table.reader(), table.reader(), table.reader()];
        groups[0].iter().for_each(|&group| table.set_offset(PARTITION, group, -1));
        table.begins(PARTITION, before, 0);
        table.reaches(PARTITION, before, 100, true);
        if let Some(to) = other {
            table.set_offset(PARTITION, 9, 20);
            table.begins(PARTITION, third, 20);
            table.reaches(PARTITION, third, to, false);
        }
        groups[1].iter().for_each(|&group| table.set_offset(PARTITION, group, committed));
        let taken = table.begins(PARTITION, after, 150)?;
        Some((taken.passed_over, taken.is_same_group))
    };
    assert_eq!(passed([Some(1), Some(1)], -1, None), Some((50, true)));
    assert_eq!(passed([Some(1), Some(1)], -1, Some(140)), Some((50, true)), "another group's");
    // Somebody has read the rest and said so.
    assert_eq!(passed([Some(1), Some(1)], 150, None), Some((0, true)));
    // The group of the first was not seen.
    assert_eq!(passed([None, Some(1)], -1, None), Some((50, false)));
    assert_eq!(passed([None, Some(1)], -1, Some(140)), Some((10, false)));
    assert_eq!(passed([None, Some(1)], -1, Some(150)), Some((0, false)));
}

#[test]
fn another_group_reads_the_same_again() {
    let (mut table, [before, after]) = two([1, 2], -1);
    table.reaches(PARTITION, before, 100, true);
    table.reaches(PARTITION, after, 100, false);
    assert_eq!(table.take_found(), 0);
}

#[test]
fn who_is_in_no_group_takes_nothing_over() {
    let mut table = HandoverTable::default();
    let [before, after] = [table.reader(), table.reader()];
    for reader in [before, after] {
        table.begins(PARTITION, reader, 0);
        table.reaches(PARTITION, reader, 100, true);
    }
    assert_eq!(table.take_found(), 0);
}

#[test]
fn one_from_before_hands_over_what_its_group_has_committed() {
    let mut table = HandoverTable::default();
    let [before, after] = [table.reader(), table.reader()];
    table.begins(PARTITION, before, 500);
    table.reaches(PARTITION, before, 600, true);
    table.set_offset(PARTITION, 1, 590);
    table.begins(PARTITION, after, 590);
    table.reaches(PARTITION, after, 620, false);
    assert_eq!(table.take_found(), 10);
}

/// Response with the offset of group 'g' in partition 3 of topic 't': 590.
fn answer(version: i16) -> Vec<u8> {
    let (is_compact, has_groups) = (version >= 6, version >= 8);
    let mut bytes = vec![0; if version >= 3 { 4 } else { 0 }];
    let count = |bytes: &mut Vec<u8>| {
        bytes.extend_from_slice(if is_compact { &[2] } else { &[0, 0, 0, 1] });
    };
    let text = |bytes: &mut Vec<u8>, name: u8| {
        bytes.extend_from_slice(if is_compact { &[2] } else { &[0, 1] });
        bytes.push(name);
    };
    let tags = |bytes: &mut Vec<u8>| bytes.extend(is_compact.then_some(0));
    if has_groups {
        count(&mut bytes);
        text(&mut bytes, b'g');
    }
    count(&mut bytes);
    match version {
        10.. => bytes.extend_from_slice(&[7; 16]),
        _ => text(&mut bytes, b't'),
    }
    count(&mut bytes);
    bytes.extend_from_slice(&3_i32.to_be_bytes());
    bytes.extend_from_slice(&590_i64.to_be_bytes());
    bytes.extend_from_slice(&[0; 4][..if version >= 5 { 4 } else { 0 }]);
    text(&mut bytes, b'm');
    bytes.extend_from_slice(&[0, 0]);
    tags(&mut bytes);
    tags(&mut bytes);
    bytes.extend_from_slice(&[0, 0]);
    tags(&mut bytes);
    if has_groups {
        tags(&mut bytes);
    }
    bytes
}

#[test]
fn every_version_tells_what_is_committed() {
    let group = hash(&b"g"[..]);
    for version in 1..=10 {
        let handovers = Handovers::default();
        let call = ApiCall { key: super::super::apis::OFFSET_FETCH, version };
        let bytes = answer(version);
        let body = KafkaFields::new(&bytes, bytes.len() as u64).flexible(call.is_flexible());
        let asked = (version < 8).then_some(group);
        learn(&handovers, call, body, asked, |id| u64::from(id[0]));
        let topic = if version < 10 { hash(&b"t"[..]) } else { 7 };
        let table = handovers.open();
        let offsets = table.partitions.get(&(topic, 3)).map(|partition| partition.offsets.clone());
        assert_eq!(offsets, Some(VecDeque::from([(group, 590)])), "version {version}");
    }
}

#[test]
fn the_group_is_that_of_the_request_until_the_response_names_one() {
    let of = |version, bytes: &[u8]| {
        let call = ApiCall { key: super::super::apis::OFFSET_FETCH, version };
        let body = KafkaFields::new(bytes, bytes.len() as u64).flexible(call.is_flexible());
        asked_for(call, body)
    };
    let group = Some(hash(&b"g"[..]));
    assert_eq!((of(5, b"\0\x01g"), of(7, b"\x02g"), of(8, b"\x02g")), (group, group, None));
    assert_eq!((of(5, b"\0\x09g"), of(5, b"")), (None, None));
}

#[test]
fn all_is_bounded() {
    let mut table = HandoverTable::default();
    for index in 0..5000 {
        let reader = table.reader();
        table.set_offset((7, index), 1, 0);
        table.begins((7, index), reader, 0);
        table.begins(PARTITION, reader, 0);
        table.set_offset(PARTITION, reader.0, 0);
    }
    assert_eq!(table.partitions.len(), MAX_PARTITIONS);
    let partition = &table.partitions[&PARTITION];
    assert_eq!((partition.spans.len(), partition.offsets.len()), (READERS, MAX_OFFSETS));
}

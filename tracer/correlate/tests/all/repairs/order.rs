//! Messages that were sent again: when each was handed on, and what waited for them.

use super::*;

#[test]
fn a_repaired_single_datagram_left_when_it_was_first_sent() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    let (sent, _) = net.send(way(7413), &[], &[data(1)]);
    net.send(way(7413), &[to], &[data(2)]);
    net.rest(150);
    let (_, read) = net.send(way(7413), &[to], &[data(1)]);
    let played = net.play();
    assert_eq!(played.counts(), [2, 2, 2, 0]);
    assert_eq!(played.group().messages.duplicates, 0, "it was needed");
    let leg = &played.deliveries[1].legs[0];
    assert_eq!(played.deliveries[1].one_way(), read[0].since(sent));
    assert!(leg.times.get(Stage::Lost).unwrap() < sent + Nanos::from_millis(1));
    assert!(leg.circumstances.loss.resent);
}

fn data(number: u32) -> Vec<u8> {
    let mut bytes = vec![0x15, 5];
    bytes.extend((24 + 60u16).to_le_bytes());
    bytes.extend([0, 0, 16, 0, 0, 0, 0, 0]);
    bytes.extend(WRITER.to_be_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend([0, 1, 0, 0]);
    bytes.extend([7; 60]);
    bytes
}

/// A `HEARTBEAT` of the writer, little-endian.
fn heartbeat(first: u32, last: u32) -> Vec<u8> {
    let mut bytes = vec![0x07, 1, 28, 0, 0, 0, 0, 0];
    bytes.extend(WRITER.to_be_bytes());
    for number in [first, last] {
        bytes.extend(0u32.to_le_bytes());
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(1u32.to_le_bytes());
    bytes
}

/// Reads of samples 1, 2 (in fragments) and 3, of which the first comes when it is sent again: when each was handed on.
fn handed_on(is_reliable: bool) -> (Vec<Nanos>, [Nanos; 3]) {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    net.send(way(7413), &[to], &[data(1)]);
    if is_reliable {
        net.send(way(7413), &[to], &[heartbeat(1, 1)]);
    }
    net.send(way(7413), &[], &[data(2)]);
    net.sample(way(7413), to, 3, &[]);
    let third = Nanos(net.world.now);
    let (_, fourth) = net.send(way(7413), &[to], &[data(4)]);
    net.rest(150);
    let (_, second) = net.send(way(7413), &[to], &[data(2)]);
    let played = net.play();
    assert_eq!(played.counts(), [4, 4, 4, 0]);
    let reads = played.deliveries.iter().map(|d| d.legs[0].times.get(Stage::Read).unwrap());
    let mut reads: Vec<Nanos> = reads.skip(1).collect();
    reads.sort();
    (reads, [second[0], third, fourth[0]])
}

#[test]
fn what_a_reliable_reader_has_waits_for_what_was_sent_before() {
    let (reads, [second, ..]) = handed_on(true);
    assert_eq!(reads, [second, second, second]);
}

#[test]
fn a_best_effort_reader_waits_for_nothing() {
    let (reads, [second, third, fourth]) = handed_on(false);
    assert_eq!(reads, [third, fourth, second]);
}

#[test]
fn what_waited_for_something_that_never_came_was_delivered_nobody_knows_when() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    net.send(way(7413), &[to], &[data(1), heartbeat(1, 1)]);
    net.send(way(7413), &[], &[data(2)]);
    net.send(way(7413), &[to], &[data(3)]);
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (3, 2, 1));
}

/// The datagram of the second read is found out when the later reads are known: the later messages did not wait for it, whether its
/// writer says that it keeps all of its samples, or none but the last two.
#[test]
fn a_read_that_is_identified_late_holds_up_nothing() {
    identified_late(|_| 1);
    identified_late(|number| number.saturating_sub(1).max(1));
}

fn identified_late(first_kept: impl Fn(u32) -> u32) {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    let mut expected = Vec::new();
    for number in 1..=5 {
        net.packets += 1;
        let bytes = [header(), data(number), heartbeat(first_kept(number), number)].concat();
        let named = Reported { seen: true, ..ALL };
        let (packets, from) = (net.packets, net.from);
        let (_, reads) = datagram(&mut net.world, way(7413), packets, from, &[to], &bytes, named);
        expected.extend(reads);
        let read = net.world.events.last_mut().map(|event| &mut event.event.body);
        if let (2, Some(Body::Read(read))) = (number, read) {
            let len = u32::try_from(bytes.len()).unwrap();
            read.kind = ReadKind::Datagram { packet: None, seen: None, flow: None, len };
        }
    }
    let played = net.play();
    assert_eq!(played.counts(), [5, 5, 5, 0]);
    let reads = played.deliveries.iter().map(|d| d.legs[0].times.get(Stage::Read).unwrap());
    let mut reads: Vec<Nanos> = reads.collect();
    reads.sort();
    assert_eq!(reads, expected);
    assert!(played.deliveries.iter().all(|d| !d.legs[0].circumstances.loss.behind));
}

#[test]
fn a_reader_of_a_group_that_lacks_a_whole_message_gets_it_alone() {
    let mut net = Net::new();
    let group = flow("10.0.0.1:7411", "239.255.0.1:7401");
    let (a, b) = (net.reader(2, 7401), net.reader(3, 7401));
    let own = net.reader(3, 7415);
    net.send(group, &[a, b], &[data(1)]);
    let (sent, _) = net.send(group, &[a], &[data(2)]);
    net.rest(150);
    let (_, read) = net.send(way(7415), &[own], &[data(2)]);
    net.send(group, &[a, b], &[data(3)]);
    let played = net.play();
    assert_eq!(played.counts(), [3, 6, 6, 0]);
    let late = played.deliveries.iter().filter_map(wirelap_events::Delivery::one_way).max();
    assert_eq!(late, read[0].since(sent));
}

#[test]
fn a_datagram_that_was_first_sent_unseen_took_nobody_knows_how_long() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for number in [1, 3, 2] {
        net.send(way(7413), &[to], &[data(number)]);
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (3, 3, 2));
}

#[test]
fn who_joins_late_is_sent_old_messages_again_and_they_count_once() {
    let mut net = Net::new();
    let (early, late) = (net.reader(2, 7413), net.reader(3, 7415));
    for number in 1..=10 {
        net.send(way(7413), &[early], &[data(number)]);
        net.rest(10);
    }
    net.rest(8_000);
    for number in 11..=12 {
        net.send(way(7413), &[early], &[data(number)]);
        net.send(way(7415), &[late], &[data(number)]);
    }
    for number in 1..=10 {
        net.send(way(7415), &[late], &[data(number)]);
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered), (12, 24));
    assert_eq!(counts.matched + counts.uncovered, 24);
    assert_eq!(counts.duplicates, 0);
}

//! Messages in fragments, some of which are lost, and sent again or not.

use super::*;

#[test]
fn samples_that_came_whole_are_delivered_with_their_last_fragment() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    let mut expected = Vec::new();
    for number in 1..=3 {
        let sent = net.sample(way(7413), to, number, &[]);
        expected.push(Nanos(net.world.now).since(sent));
    }
    let played = net.play();
    assert_eq!(played.counts(), [3, 3, 3, 0]);
    assert!(played.deliveries.iter().map(wirelap_events::Delivery::one_way).eq(expected));
    assert_eq!(verdicts(&played), []);
    assert_eq!(played.group().messages.duplicates, 0);
}

#[test]
fn a_sample_with_a_hole_is_not_delivered_whichever_fragment_is_missing() {
    for hole in 0..PARTS {
        let mut net = Net::new();
        let to = net.reader(2, 7413);
        for number in 1..=20 {
            let lost: &[u32] = if number % 2 == 0 { &[hole] } else { &[] };
            net.sample(way(7413), to, number, lost);
        }
        let played = net.play();
        let counts = played.group().messages;
        assert_eq!((counts.sent, counts.delivered, counts.matched), (20, 10, 10), "hole {hole}");
        assert_eq!(verdicts(&played), [VerdictKind::NeverDelivered], "hole {hole}");
    }
}

#[test]
fn a_full_buffer_is_the_cause_and_whose_it_is_is_told() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for number in 1..=10 {
        net.sample(way(7413), to, number, &[3]);
        net.dropped(way(7413));
    }
    let played = net.play();
    assert_eq!(played.group().messages.delivered, 0);
    assert_eq!(verdicts(&played), [VerdictKind::QueueOverflow]);
    let (task, comm) = played.group().why.verdicts[0].process.unwrap();
    assert_eq!((task.pid.0, comm.as_str()), (2, "sub"));
}

#[test]
fn what_is_sent_again_completes_the_sample_and_its_loss_is_the_networks() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    let sent = net.sample(way(7413), to, 1, &[1, 4]);
    net.rest(300);
    net.part(way(7413), &[to], 1, 4);
    let (again, read) = net.part(way(7413), &[to], 1, 1);
    let played = net.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    let delivery = &played.deliveries[0];
    assert_eq!(delivery.one_way(), read[0].since(sent));
    let times = delivery.legs[0].times;
    assert_eq!(times.get(Stage::Send), Some(sent));
    assert!(times.get(Stage::Lost).unwrap() < sent + Nanos::from_millis(1), "first sent then");
    assert!(times.get(Stage::Rx).unwrap() > again, "and came when it was sent again");
    assert!(delivery.legs[0].circumstances.loss.resent);
    let overhead = played.group().overhead;
    let repeats = overhead.detail.parts()[wirelap_correlate::Part::Repeats];
    assert_eq!(repeats, (SAMPLE - 4 * PART + PART) as u64);
}

#[test]
fn what_is_sent_again_to_one_who_has_it_is_no_delivery() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    net.sample(way(7413), to, 1, &[]);
    net.rest(10);
    net.sample(way(7413), to, 1, &[]);
    net.rest(3_000);
    net.sample(way(7413), to, 1, &[]);
    let played = net.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(verdicts(&played), []);
}

#[test]
fn fragments_overtake_each_other_and_several_are_in_one_datagram() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for number in 1..=2 {
        let part = |part| submessage(WRITER, number, part);
        let other = submessage(WRITER + 0x100, number, 2);
        net.send(way(7413), &[to], &[part(0), part(1), other]);
        net.send(way(7413), &[to], &[part(4)]);
        let readers: &[End] = if number == 1 { &[to] } else { &[] };
        net.send(way(7413), readers, &[part(2), part(3)]);
    }
    net.rest(20);
    net.send(way(7413), &[to], &[submessage(WRITER, 2, 3)]);
    let (_, read) = net.send(way(7413), &[to], &[submessage(WRITER, 2, 2)]);
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.delivered, counts.matched), (2, 2));
    assert_eq!(played.deliveries[1].legs[0].times.get(Stage::Read), Some(read[0]));
}

#[test]
fn each_of_several_readers_is_followed() {
    let mut net = Net::new();
    let (a, b) = (net.reader(2, 7413), net.reader(3, 7415));
    for number in 1..=10 {
        for part in 0..PARTS {
            net.part(way(7413), &[a], number, part);
            let to: &[End] = if number > 4 && part == 2 { &[] } else { &[b] };
            net.part(way(7415), to, number, part);
        }
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (10, 14, 14));
}

#[test]
fn a_group_is_repaired_one_by_one() {
    let mut net = Net::new();
    let group = flow("10.0.0.1:7411", "239.255.0.1:7401");
    let (a, b) = (net.reader(2, 7401), net.reader(3, 7401));
    // The socket on which the second one hears what is for itself.
    let own = net.reader(3, 7415);
    let mut sent = None;
    for part in 0..PARTS {
        let to: &[End] = if part == 1 { &[a] } else { &[a, b] };
        let (at, _) = net.part(group, to, 1, part);
        sent.get_or_insert(at);
    }
    net.rest(200);
    let (_, read) = net.part(way(7415), &[own], 1, 1);
    let played = net.play();
    assert_eq!(played.group().messages.delivered, 2);
    assert_eq!(played.counts()[..3], [1, 2, 2]);
    let late = played.deliveries.iter().filter_map(wirelap_events::Delivery::one_way).max();
    assert_eq!(late, read[0].since(sent.unwrap()));
}

#[test]
fn a_fragment_lost_before_anything_saw_it_is_a_message_that_was_sent() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    net.sample(way(7413), to, 1, &[]);
    for number in 2..=4 {
        for part in (0..PARTS).filter(|&part| part != 0) {
            net.part(way(7413), &[to], number, part);
        }
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.matched), (4, 1, 1));
}

#[test]
fn a_sample_that_began_before_it_was_looked_is_none() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for part in 2..PARTS {
        net.part(way(7413), &[to], 7, part);
    }
    net.sample(way(7413), to, 8, &[]);
    // Of the first one, and of one before: repairs of what is not known.
    net.part(way(7413), &[to], 7, 1);
    net.part(way(7413), &[to], 6, 3);
    let played = net.play();
    assert_eq!(played.counts(), [1, 1, 1, 0]);
    assert_eq!(verdicts(&played), []);
}

#[test]
fn what_lost_events_may_have_hidden_is_not_said_to_be_lost() {
    let mut net = Net::new();
    let to = net.reader(2, 7413);
    for number in 1..=10 {
        net.sample(way(7413), to, number, &[2]);
        net.world.tell(
            Body::Lost(LostEvents { probe: Probe::Read, count: 1, cause: LossCause::RingFull }),
            &[],
        );
    }
    let played = net.play();
    let counts = played.group().messages;
    assert_eq!((counts.sent, counts.delivered, counts.uncovered), (10, 0, 0));
    assert_eq!(counts.never_read, 10);
    assert_eq!(verdicts(&played), []);
}

//! Tests of what is known of subscribers' progress.

use super::gaps::Gaps;
use super::table::{LagTable, MAX_PAIRS, MAX_TOPICS, Pair, ROOM_MADE_FROM, TopicKey};
use wirelap_events::{GroupId, Nanos, TopicId};
use wirelap_figures::ReaderGroup;
use wirelap_flow::{Direction, Way};
use wirelap_limits::lag::IDLE_AFTER;
use wirelap_protocols::Side;

const TOPIC: TopicKey = (GroupId(0), 7);

fn way(serial: u64) -> Way {
    Way { direction: Direction { index: 0, serial, side: Side::B }, subscription: 0 }
}

fn at(n: u64) -> Nanos {
    Nanos::from_millis(n * 100)
}

/// A topic of so many messages, each of which is passed on as `pass` says.
fn published(messages: u64, mut pass: impl FnMut(&mut LagTable, u64)) -> LagTable {
    let mut table = LagTable::default();
    for n in 1..=messages {
        assert_eq!(table.published(TOPIC, at(n)), Some(n));
        pass(&mut table, n);
    }
    table
}

/// Message `n` is sent to a subscriber when it is published.
fn send(table: &mut LagTable, serial: u64, n: u64) {
    table.sent(way(serial), TOPIC, (None, n), at(n));
}

fn unsent(table: &LagTable, serial: u64, now: u64) -> Option<(u64, Nanos)> {
    let key = (way(serial).id(), 7);
    table.unsent(key, table.pair(key).unwrap(), at(now))
}

#[test]
fn a_subscriber_is_behind_by_what_came_after_its_last() {
    let table = published(50, |table, n| {
        send(table, 1, n);
        if n <= 30 {
            send(table, 2, n);
        }
    });
    assert_eq!(unsent(&table, 1, 50), None);
    let (messages, since) = unsent(&table, 2, 50).unwrap();
    assert_eq!(messages, 20);
    assert!(since >= at(31) && since <= at(33), "{since}");
}

#[test]
fn who_gets_a_share_is_not_behind() {
    let mut table = published(50, |table, n| send(table, n % 2, n));
    table.published(TOPIC, at(51));
    assert_eq!((unsent(&table, 0, 60), unsent(&table, 1, 60)), (None, None));
}

#[test]
fn what_was_dropped_once_does_not_make_it_a_share() {
    let mut table = published(2_000, |table, n| {
        if !(100..1_900).contains(&n) {
            send(table, 1, n);
        }
    });
    table.published(TOPIC, at(2_001));
    assert_eq!(unsent(&table, 1, 2_002).map(|(messages, _)| messages), Some(1));
}

#[test]
fn what_comes_late_is_counted_in_order() {
    let mut table = published(100, |table, n| {
        if n <= 4 {
            send(table, 1, n);
        } else if n % 5 == 0 {
            table.sent_late(way(1), TOPIC, None, at(n));
        }
    });
    assert_eq!(unsent(&table, 1, 100).map(|(messages, _)| messages), Some(76));
    // About a topic that nobody was seen to publish to, nothing is known.
    table.sent_late(way(2), (GroupId(0), 8), None, at(100));
    assert!(table.pair((way(2).id(), 8)).is_none());
}

#[test]
fn the_last_subscription_of_a_connection_counts() {
    let mut table = published(60, |table, n| {
        // Each fetch of twenty subscribes anew.
        let subscription = u32::try_from(1 + (n - 1) / 20).unwrap();
        table.sent(Way { subscription, ..way(1) }, TOPIC, (None, n), at(n));
    });
    table.drop_superseded(at(60));
    let left: Vec<u32> = table.pairs().map(|(((_, subscription), _), _)| subscription).collect();
    assert_eq!(left, [3]);
    // A subscriber that gets too little to tell is not kept for ever.
    table.published(TOPIC, at(61));
    table.sent(Way { subscription: 4, ..way(1) }, TOPIC, (None, 61), at(61));
    table.sweep(at(62), |_, _| false, |_| false);
    assert_eq!(table.pairs.len(), 2);
    table.sweep(at(62) + IDLE_AFTER, |_, _| false, |_| false);
    assert_eq!(table.pairs.len(), 1);
}

#[test]
fn memory_is_bounded() {
    let mut table = LagTable::default();
    for n in 0..70_000 {
        let topic = (GroupId(0), n);
        if let Some(number) = table.published(topic, at(n)) {
            table.sent(way(n), topic, (None, number), at(n));
        }
        table.sent(way(n), TOPIC, (None, 1), at(n));
    }
    assert_eq!((table.topics.len(), table.pairs.len()), (MAX_TOPICS, MAX_PAIRS));
    table.sweep(at(70_000), |pair, _| pair.direction.serial % 2 == 0, |_| false);
    assert!(table.topics.len() < MAX_TOPICS && table.pairs.len() < MAX_PAIRS);
}

/// The first message that is awaited, of a hundred of a topic.
fn awaited(table: &mut LagTable, now: u64) -> Option<u64> {
    table.sweep(at(now), |_, _| false, |_| false);
    (1..=100).find(|&number| table.is_awaited(TOPIC, number))
}

#[test]
fn who_gets_only_what_is_not_known_may_get_all_that_is() {
    let mut table = published(100, |table, n| table.sent_late(way(1), TOPIC, None, at(n)));
    assert_eq!(awaited(&mut table, 100), Some(1));
    // The lag is not known.
    let key = (way(1).id(), 7);
    assert_eq!(unsent(&table, 1, 100), None);
    assert_eq!(table.next(key), None);
    // The first that is known has come.
    for number in 1..=20 {
        table.sent(way(1), TOPIC, (None, number), at(100 + number));
    }
    assert_eq!(awaited(&mut table, 120), Some(21));
    assert_eq!(unsent(&table, 1, 120).map(|(messages, _)| messages), Some(80));
    assert_eq!(table.next(key), Some(21));
}

#[test]
fn who_gets_nothing_any_more_is_waited_for_no_longer() {
    let mut table = published(100, |table, n| {
        if n == 1 {
            table.sent_late(way(1), TOPIC, None, at(n));
        }
    });
    assert_eq!(awaited(&mut table, 100), Some(1));
    assert_eq!(awaited(&mut table, 700), None);
}

#[test]
fn topics_that_come_and_go_do_not_add_up() {
    let topic = |n| (GroupId(0), n);
    // The subscriber has got all but the last message, and stays behind.
    let mut table = published(50, |table, n| {
        if n < 50 {
            send(table, 1, n);
        }
    });
    let mut most = (0, 0);
    for n in 100..60_000 {
        for _ in 0..20 {
            let number = table.published(topic(n), at(n)).unwrap();
            table.sent(way(2), topic(n), (None, number), at(n));
        }
        table.published(TOPIC, at(n));
        if n.is_multiple_of(100) {
            table.sweep(at(n), |_, _| false, |_| false);
        }
        most = (most.0.max(table.pairs.len()), most.1.max(table.topics.len()));
    }
    assert!(most.0 <= ROOM_MADE_FROM + 100 && most.1 <= MAX_TOPICS, "{most:?}");
    assert_eq!(unsent(&table, 1, 60_000).map(|(messages, _)| messages), Some(59_901));
    // Those of the last minute are there.
    assert!((59_450..60_000).all(|n| table.pair((way(2).id(), n)).is_some()));
}

#[test]
fn of_a_group_what_is_newer_than_all_got_is_awaited() {
    let shares = |table: &mut LagTable, n: u64| {
        if n > 40 {
            table.sent(way(n % 2), TOPIC, (None, n - 40), at(n));
        }
    };
    let mut table = published(100, shares);
    assert_eq!(awaited(&mut table, 100), Some(61));
    // A subscriber that gets all, and is not behind, awaits nothing.
    let mut table = published(100, |table, n| send(table, 3, n));
    assert_eq!(awaited(&mut table, 100), None);
}

/// Those of three subscribers that are still followed after messages of which the first gets thirty, and then the second gets
/// the rest.
fn followed(groups: [Option<u32>; 3]) -> Vec<u64> {
    let mut table = published(60, |table, n| {
        send(table, u64::from(n > 30), n);
        send(table, 2, n);
    });
    let group = |pair: &Pair| groups[usize::try_from(pair.direction.serial).unwrap()];
    table.drop_handed_over(at(60), |pair| group(pair).map(TopicId));
    let mut left: Vec<u64> = table.pairs().map(|(_, pair)| pair.direction.serial).collect();
    left.sort_unstable();
    left
}

#[test]
fn only_another_member_of_the_group_takes_over() {
    assert_eq!(followed([Some(1), Some(1), Some(2)]), [1, 2]);
    assert_eq!(followed([Some(1), Some(2), Some(3)]), [0, 1, 2]);
    assert_eq!(followed([None, Some(1), Some(2)]), [0, 1, 2]);
    assert_eq!(followed([None; 3]), [0, 1, 2]);
}

/// The misses found for subscribers of which each gets those of five hundred messages that `gets` says, in the group
/// given.
fn missed(groups: &[ReaderGroup], gets: impl Fn(usize, u64) -> bool) -> Vec<(u64, u64, bool)> {
    let mut table = LagTable::default();
    for n in 1..=500 {
        let at = Nanos::from_millis(n * 20);
        let number = table.published(TOPIC, at).unwrap();
        for (which, &group) in groups.iter().enumerate().filter(|&(which, _)| gets(which, n)) {
            if let Some(pair) = table.sent(way(which as u64), TOPIC, (None, number), at) {
                pair.gaps.read_in(group);
            }
        }
        if n == 300 {
            table.sweep(at, |pair, _| pair.direction.serial == LEAVES, |_| false);
        }
    }
    let found = table.find_gaps(Nanos::from_millis(15_000), |_| true);
    found.iter().map(|(_, _, one)| (one.messages, one.whole, one.others_got)).collect()
}

/// The subscriber that leaves after three hundred messages.
const LEAVES: u64 = 5;

const UNKNOWN: ReaderGroup = ReaderGroup::Unknown;
const ALONE: ReaderGroup = ReaderGroup::None;
const SHARED: ReaderGroup = ReaderGroup::Named(TopicId(1));

#[test]
fn what_others_get_and_one_does_not_was_dropped() {
    let drops = |which, n| which == 0 || !(100..400).contains(&n) || n % 3 == 0;
    assert_eq!(missed(&[UNKNOWN; 2], drops), [(200, 470, true)]);
    assert_eq!(missed(&[ALONE; 2], drops), [(200, 470, true)]);
    // The other one is in a group, and may get no more than a share.
    assert_eq!(missed(&[SHARED, UNKNOWN], drops), [(200, 470, false)]);
    assert_eq!(missed(&[UNKNOWN, SHARED], drops), []);
    // Nobody else is there: they may be on their way to the broker.
    assert_eq!(missed(&[UNKNOWN], |_, n| drops(1, n)), [(200, 470, false)]);
}

#[test]
fn who_gets_a_share_has_missed_nothing() {
    assert_eq!(missed(&[UNKNOWN; 3], |which, n| which == 0 || n % 2 == which as u64 - 1), []);
    // One got all until the other came.
    let comes = |which: usize, n| match which {
        0 => true,
        _ if n < 200 => which == 1,
        _ => n % 2 == which as u64 - 1,
    };
    assert_eq!(missed(&[UNKNOWN; 3], comes), []);
    // And what the other one got until it left was its share, too.
    let leaves = |which: usize, n| match which {
        0 => true,
        1 => !(200..300).contains(&n) || n % 2 == 0,
        5 => (200..300).contains(&n) && n % 2 == 1,
        _ => false,
    };
    assert_eq!(missed(&[UNKNOWN; 6], leaves), []);
    let other_leaves = |which: usize, n| which != 5 && leaves(which, n) || which == 5 && n < 300;
    assert_eq!(missed(&[UNKNOWN; 6], other_leaves), [(50, 470, true)]);
    // A group of two is no matter of who is in none.
    let mut all = missed(&[UNKNOWN, SHARED, SHARED, ALONE], |which, n| match which {
        1 | 2 => n % 2 == which as u64 - 1,
        3 => n != 300,
        _ => true,
    });
    all.sort_unstable();
    assert_eq!(all, [(1, 470, true)]);
}

/// A broker drops three of five messages for one subscriber from the first on.
#[test]
fn who_never_got_all_has_missed_what_nobody_shares_with_it() {
    let drops = |which, n| which == 0 || n % 5 < 2;
    assert_eq!(missed(&[UNKNOWN; 2], drops), [(300, 500, true)]);
    assert_eq!(missed(&[ALONE; 2], drops), [(300, 500, true)]);
    assert_eq!(missed(&[UNKNOWN, SHARED], drops), []);
    // Nobody got all, or a third one gets the others.
    assert_eq!(missed(&[UNKNOWN], |_, n| drops(1, n)), []);
    assert_eq!(missed(&[UNKNOWN; 3], |which, n| drops(which, n) != (which == 2)), []);
}

#[test]
fn what_nobody_got_is_no_ones_loss() {
    assert_eq!(missed(&[ALONE; 2], |_, n| n != 300), []);
}

#[test]
fn what_comes_in_another_order_or_twice_is_not_missed() {
    let mut gaps = Gaps::after(0);
    for n in 1..=100 {
        gaps.got(n - 1, n, Nanos(n));
    }
    let mut last = 100;
    for n in [102, 101, 105, 104, 103, 105] {
        gaps.got(last, n, Nanos(1_000));
        last = last.max(n);
    }
    assert_eq!(gaps.count(Nanos::from_millis(5_000)), 0);
    gaps.got(105, 111, Nanos::from_millis(5_000));
    assert_eq!(gaps.count(Nanos::from_millis(5_500)), 0, "they may still come");
    assert_eq!(gaps.count(Nanos::from_millis(9_000)), 5);
}

#[test]
fn who_subscribes_again_has_missed_nothing_meanwhile() {
    let mut gaps = Gaps::after(0);
    for n in 1..=100 {
        gaps.got(n - 1, n, Nanos(n));
    }
    gaps.begin_again(500);
    for n in 500..=600 {
        gaps.got(if n == 500 { 100 } else { n - 1 }, n, Nanos(n));
    }
    assert_eq!(gaps.count(Nanos::from_millis(9_000)), 0);
}

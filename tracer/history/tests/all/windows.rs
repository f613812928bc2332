//! Windows against what was put in.

use crate::live::{Live, SINCE};
use proptest::prelude::*;
use wirelap_events::{GroupId, Nanos, Total};
use wirelap_history::{Bins, FigureWindow, SessionHistory};

/// Room for everything.
const ROOM: usize = 48 << 20;

/// So many milliseconds after the snapshot before, and what was delivered meanwhile: row, latency, dwell.
type Step = (u64, Vec<(u32, u64, u64)>);

fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    let message = (0u32..3, 1_000u64..50_000_000, 0u64..1_000_000);
    let messages = prop_oneof![
        1 => Just(Vec::new()).boxed(),
        3 => prop::collection::vec(message, 0..12).boxed(),
    ];
    prop::collection::vec((100u64..900, messages), 1..count)
}

/// Every window has exactly what was delivered in its extent.
fn check(live: &Live, longest: Nanos) {
    for window in FigureWindow::ALL {
        let (from, to) = live.history.extent(window);
        assert_eq!(to, live.now);
        if let Some(length) = window.length() {
            assert!(to - from <= length, "{window:?} is never longer than its name");
            let whole = live.now - SINCE;
            assert!(
                to - from + longest >= length.min(whole),
                "{window:?} is shorter by a slice at most"
            );
        }
        let snapshot = live.history.snapshot(window);
        assert_eq!(snapshot.groups.len(), live.groups.len());
        for (group, latest) in snapshot.groups.iter().zip(&live.groups) {
            assert_eq!(group.id, latest.id);
            let inside = live.between(group.id.0, from, to);
            let exact: Bins = inside.iter().map(|one| one.one_way).collect();
            assert_eq!(live.history.one_way(group.id, window), exact, "{window:?} {:?}", group.id);
            let row = live.history.row(group.id, window);
            let dwell: Bins = inside.iter().map(|one| one.dwell).collect();
            assert_eq!(row.map(|row| row.dwell.clone()).unwrap_or_default(), dwell);
            let matched = inside.len() as u64;
            assert_eq!(row.map_or(0, |row| row.sched_gap.count()), matched);
            assert_eq!(group.messages.matched, matched);
            let is_whole = window == FigureWindow::SinceMark && live.history.marked().is_none();
            if is_whole || window == FigureWindow::SinceStart {
                continue;
            }
            assert_eq!(group.one_way, exact.summary());
            assert!(group.segments.iter().all(|segment| segment.count == matched));
            let shares: f64 = group.segments.iter().map(|segment| segment.share).total();
            assert!(matched == 0 || (shares - 1.0).abs() < 1e-9);
            if to > from {
                let rate = matched as f64 / (to - from).as_secs_f64();
                assert!((group.rate_now.msg_per_s - rate).abs() < 1e-6);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn windows_have_exactly_what_was_delivered_in_their_extent(
        steps in steps(240),
        mark in 0usize..240,
        bytes in prop_oneof![Just(0), Just(30_000), Just(ROOM)],
    ) {
        let mut live = Live::new(3, bytes, 4);
        for (index, (after, messages)) in steps.into_iter().enumerate() {
            for (group, one_way, dwell) in messages {
                live.deliver(group, one_way, dwell);
            }
            live.tick(Nanos::from_millis(after));
            if index == mark {
                live.history.mark();
                prop_assert_eq!(live.history.marked(), Some(live.now));
            }
            if index % 7 == 0 {
                check(&live, if bytes < ROOM { Nanos::from_millis(1_900) } else { Nanos::from_millis(900) });
            }
        }
    }
}

#[test]
fn a_row_that_turns_out_to_be_a_part_of_another_is_in_it_from_then_on() {
    let mut live = Live::new(2, ROOM, 4);
    for _ in 0..40 {
        live.deliver(0, 1_000_000, 10);
        live.deliver(1, 3_000_000, 10);
        live.tick(Nanos::from_millis(250));
    }
    live.history.mark();
    let part = live.groups.remove(1);
    live.groups[0].messages += part.messages;
    live.snapshot.united = vec![(GroupId(1), GroupId(0))];
    live.tick(Nanos::from_millis(250));
    let count = |live: &Live, window| {
        let group = &live.history.snapshot(window).groups[0];
        let bins = live.history.one_way(GroupId(0), window);
        (group.messages.matched, bins.count(), bins.max())
    };
    let all = |live: &Live| -> u64 {
        let columns = live.history.over_time(GroupId(0), (SINCE, live.now), 5);
        columns.iter().map(|column| column.one_way.count()).sum()
    };
    assert_eq!(count(&live, FigureWindow::SinceMark), (0, 0, Nanos(0)));
    assert_eq!(count(&live, FigureWindow::Second), (6, 6, Nanos(3_000_000)));
    assert_eq!(count(&live, FigureWindow::Minute), (80, 80, Nanos(3_000_000)));
    assert_eq!(all(&live), 80);
    assert_eq!(live.history.seconds(GroupId(0), (SINCE, live.now))[3].one_way.count(), 8);
    assert_eq!(live.history.messages().slowest(GroupId(0)).count(), 64);
    for _ in 0..400 {
        live.deliver(0, 2_000_000, 10);
        live.tick(Nanos::from_millis(250));
    }
    assert_eq!(count(&live, FigureWindow::Minute), (240, 240, Nanos(2_000_000)));
    assert_eq!(all(&live), 480);
}

#[test]
fn without_an_update_there_is_nothing() {
    let history = SessionHistory::default();
    for window in FigureWindow::ALL {
        assert!(history.snapshot(window).groups.is_empty());
        assert_eq!(history.extent(window), (Nanos(0), Nanos(0)));
        assert_eq!(history.one_way(GroupId(0), window).count(), 0);
    }
    assert_eq!(history.over_time(GroupId(0), (Nanos(0), Nanos(0)), 3).len(), 3);
    assert_eq!((history.log().iter().len(), history.reaches_back()), (0, Nanos(0)));
}

//! Hours in bounded memory.

use crate::live::{Live, SINCE};
use wirelap_events::{GroupId, Nanos};
use wirelap_history::FigureWindow;
use wirelap_test_support::random::Random;

const HOUR: Nanos = Nanos::from_millis(3_600_000);

/// So many hours of rows with so many messages a second each.
fn hours(hours: u64, rows: u32, each: u64, bytes: usize) -> Live {
    let mut live = Live::new(rows, bytes, 4);
    let mut random = Random::new(7);
    let mut most = 0;
    while live.now < SINCE + HOUR * hours {
        for row in 0..rows {
            for _ in 0..each {
                let one_way = 50_000 << random.below(8);
                live.deliver(row, one_way + random.number() % one_way, 10_000);
            }
        }
        live.tick(Nanos::from_millis(1_000));
        // Their times are of no use here.
        live.delivered.clear();
        most = most.max(live.history.bytes());
    }
    assert!(most <= bytes, "{most} bytes");
    live
}

#[test]
fn a_day_is_kept() {
    let live = hours(25, 3, 5, 48 << 20);
    let reach = live.history.reaches_back();
    assert!(reach >= HOUR * 24, "{reach}");
    assert!(reach <= HOUR * 24 + Nanos::from_millis(61_000), "{reach}");
    assert!(live.history.bytes() < 10 << 20, "{}", live.history.bytes());
    let day = live.history.over_time(GroupId(1), (live.now - HOUR * 24, live.now), 24);
    for hour in &day {
        let delivered = hour.one_way.count();
        assert!(delivered.abs_diff(3_600 * 5) <= 60 * 5, "{delivered}");
    }
    assert_eq!(live.history.snapshot(FigureWindow::Minute).groups[2].messages.matched, 60 * 5);
    let all = live.history.one_way(GroupId(0), FigureWindow::SinceStart);
    assert_eq!(all.count(), live.groups[0].messages.matched);
}

#[test]
fn beyond_the_budget_the_oldest_go_and_windows_stay() {
    let live = hours(3, 8, 20, 4 << 20);
    let reach = live.history.reaches_back();
    assert!(reach < HOUR * 3, "{reach}");
    assert!(reach > Nanos::from_millis(20 * 60_000), "{reach}");
    for window in [FigureWindow::Second, FigureWindow::TenSeconds, FigureWindow::Minute] {
        let (from, to) = live.history.extent(window);
        let matched = live.history.snapshot(window).groups[7].messages.matched;
        assert_eq!(Nanos::from_millis(matched * 50), to - from);
        assert_eq!(live.history.one_way(GroupId(7), window).count(), matched);
    }
}

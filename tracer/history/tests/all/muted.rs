//! Rows that the user has muted.

use crate::live::Live;
use wirelap_correlate::Muted;
use wirelap_events::{GroupId, Nanos};
use wirelap_history::{FigureWindow, LogEvent};

/// A quarter of a second.
const QUARTER: Nanos = Nanos::from_millis(250);

/// Some quarters in which the first row delivers so many messages each.
fn run(live: &mut Live, quarters: u64, messages: u64) {
    for _ in 0..quarters {
        for _ in 0..messages {
            live.deliver(0, 1_000_000, 10_000);
        }
        live.publish(QUARTER);
        live.take();
    }
}

#[test]
fn windows_of_a_muted_row_stay_and_its_rate_after_it_is_of_the_rest() {
    let mut live = Live::new(2, 48 << 20, 64);
    run(&mut live, 80, 25);
    let of = |live: &Live, window| {
        let groups = live.history.snapshot(window).groups.clone();
        groups.into_iter().find(|group| group.id == GroupId(0)).unwrap()
    };
    let windows = [FigureWindow::Second, FigureWindow::TenSeconds, FigureWindow::Minute];
    let before = windows.map(|window| of(&live, window));
    assert!((before[1].rate_now.msg_per_s - 100.0).abs() < 1e-6);
    for quarter in 0..80 {
        live.groups[0].muted = Some(Muted { now: true, time: Nanos(QUARTER.0 * quarter) });
        run(&mut live, 1, 0);
    }
    for (window, before) in windows.into_iter().zip(&before) {
        let muted = of(&live, window);
        assert!(muted.is_muted());
        assert_eq!(muted.messages, before.messages);
        assert_eq!((muted.one_way, muted.rate_now), (before.one_way, before.rate_now));
    }
    live.groups[0].muted = Some(Muted { now: false, time: Nanos(QUARTER.0 * 80) });
    run(&mut live, 20, 25);
    let after = of(&live, FigureWindow::TenSeconds);
    assert_eq!(after.messages.delivered, 500);
    assert!((after.rate_now.msg_per_s - 100.0).abs() < 6.0, "{:?}", after.rate_now);
    let events: Vec<_> = live.history.log().iter().map(|entry| entry.event.clone()).collect();
    let has = |event| events.contains(&event);
    assert!(has(LogEvent::RowMuted) && has(LogEvent::RowUnmuted));
    assert!(!has(LogEvent::RowSilent), "{events:?}");
}

//! No size, no key and no course of time makes drawing distributions and comparisons fail.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::{KeyCode, KeyEvent};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use wirelap_correlate::snapshot::{Group, Snapshot};
use wirelap_events::{GroupId, Nanos, Segment};
use wirelap_history::{RowSlice, SegmentSlice, Slice, Update};
use wirelap_test_pipeline::histories;
use wirelap_tui::{App, Theme, render};

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..10, 1_000u64..100_000_000, any::<u64>()]
}

prop_compose! {
    fn row()(
        id in 0u32..3, one_way in prop::collection::vec(time(), 0..80), gaps in prop::collection::vec(time(), 0..30),
        segments in prop::collection::vec((0usize..4, prop::sample::select(&Segment::ALL[..]), time(), 1u64..9), 0..5),
    ) -> RowSlice {
        let segment = |(leg, segment, sum, count)| SegmentSlice {
            leg, segment, sum, count, times: [sum].into_iter().collect(),
        };
        RowSlice {
            group: GroupId(id),
            one_way: one_way.into_iter().collect(),
            dwell: gaps.iter().copied().collect(),
            sched_gap: gaps.into_iter().collect(),
            segments: segments.into_iter().map(segment).collect(),
            ..RowSlice::default()
        }
    }
}

/// Updates that follow each other, after short and long times.
fn updates() -> impl Strategy<Value = Vec<Update>> {
    let step = prop_oneof![Just(250_000_000u64), 0u64..3_000_000_000, 0u64..100_000_000_000_000];
    let one = (step, prop::collection::vec(row(), 0..3), 0u32..4);
    (time(), prop::collection::vec(one, 1..60)).prop_map(|(since, all)| {
        let since = Nanos(since);
        let mut from = since;
        let update = |(step, mut rows, groups): (u64, Vec<RowSlice>, u32)| {
            let to = from + Nanos(step);
            rows.sort_by_key(|row| row.group);
            rows.dedup_by_key(|row| row.group);
            let group = |id| Group {
                id: GroupId(id),
                middleware: "日本\x1b語".repeat(20),
                ..Group::default()
            };
            let groups = (0..groups).map(group).collect();
            let snapshot = Arc::new(Snapshot { at: to, since, groups, ..Snapshot::default() });
            let slice = Slice { from, to, rows, ..Slice::default() };
            from = to;
            Update { snapshot, slice }
        };
        all.into_iter().map(update).collect()
    })
}

fn key() -> impl Strategy<Value = KeyEvent> {
    let letters = prop::sample::select("45mtT jkv".chars().collect::<Vec<_>>());
    let arrows = prop::sample::select(vec![KeyCode::Left, KeyCode::Right, KeyCode::PageDown]);
    prop_oneof![letters.prop_map(KeyCode::Char), arrows].prop_map(Into::into)
}

fn draw(app: &App, width: u16, height: u16) -> Result<(), TestCaseError> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render::screen(frame, app, Theme::DARK)).unwrap();
    for cell in terminal.backend().buffer().content() {
        prop_assert!(!cell.symbol().contains(char::is_control));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_course_of_time_is_drawn(
        updates in updates(), keys in prop::collection::vec(key(), 1..20), width in 0u16..=250, height in 0u16..=80,
    ) {
        let mut app = App::new();
        let each = updates.len().div_ceil(keys.len());
        for (some, key) in updates.chunks(each).zip(keys.iter().cycle()) {
            some.iter().cloned().for_each(|update| app.take(update));
            app.refresh();
            app.on_key(*key);
            draw(&app, width, height)?;
        }
        for key in keys {
            app.on_key(key);
            draw(&app, width, height)?;
        }
    }
}

#[test]
fn every_size_is_drawn() {
    let mut app = App::new();
    let press = |app: &mut App, keys: &str| {
        keys.chars().for_each(|key| drop(app.on_key(KeyCode::Char(key).into())));
    };
    for update in histories::five(0..20, None) {
        app.take(update);
    }
    app.refresh();
    press(&mut app, "jjm");
    for update in histories::five(20..30, None) {
        app.take(update);
    }
    app.refresh();
    for keys in ["5", ">", ">", "4", " j j "] {
        match keys {
            ">" => drop(app.on_key(KeyCode::Right.into())),
            keys => press(&mut app, keys),
        }
        for width in (0..=250).step_by(3) {
            for height in [0, 1, 9, 10, 13, 14, 17, 24, 29, 35, 80] {
                draw(&app, width, height).unwrap();
            }
        }
    }
}

//! The view "by name" as text at three sizes, in every state.

#![allow(missing_docs, reason = "a test")]

mod views;

use crossterm::event::KeyCode;
use views::{SIZES, app, press, text};
use wirelap_correlate::Dimension;
use wirelap_correlate::snapshot::{
    Breakdown, BreakdownRow, Lag, LagHolder, MutedExtent, SlowSubscriber, SlowSubscribers,
    Snapshot, Summary,
};
use wirelap_events::{GroupId, Nanos};
use wirelap_test_pipeline::snapshots;
use wirelap_tui::App;

fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(app, (width, height)));
    }
}

fn keys(text: &str) -> Vec<KeyCode> {
    let key = |c| if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
    text.chars().map(key).collect()
}

fn summary(count: u64, p50: u64) -> Summary {
    Summary {
        count,
        min: Nanos(p50 / 2),
        p50: Nanos(p50),
        p90: Nanos(p50 * 2),
        p99: Nanos(p50 * 3),
        p999: Nanos(p50 * 5),
        max: Nanos(p50 * 70),
    }
}

fn row(names: [Option<&str>; 2], sent: u64, delivered: u64, p50: u64) -> BreakdownRow {
    BreakdownRow {
        names: names.iter().map(|name| name.map(str::to_owned)).collect(),
        sent,
        delivered,
        matched: delivered,
        payload_bytes: delivered * 64,
        one_way: if delivered > 0 { summary(delivered, p50) } else { Summary::default() },
        clock_error: Nanos(0),
        muted: MutedExtent::None,
    }
}

fn slow(client: &str, topic: &str, holder: LagHolder, is_now: bool) -> SlowSubscriber {
    let counts = match holder {
        LagHolder::Subscriber => (1_214, 0, 20),
        LagHolder::Network => (0, 412, 0),
        LagHolder::Broker => (3_456_789, 0, 0),
    };
    let (unsent, in_network, unread) = counts;
    let lag = Lag { unsent, in_network, unread, oldest: Nanos::from_millis(12_345), holder };
    SlowSubscriber {
        group: GroupId(2),
        client: Some(client.to_owned()).filter(|client| !client.is_empty()),
        process: Some("python3 (4711)".into()),
        address: ([127, 0, 0, 1], 40_123).into(),
        topic: Some(topic.into()),
        now: is_now.then_some(lag),
        most: lag,
        most_at: Nanos::from_millis(161_000),
    }
}

fn by_name(rows: Vec<BreakdownRow>) -> Snapshot {
    let breakdown = Breakdown {
        by: vec![Dimension::Topic, Dimension::Client],
        since: Nanos::from_millis(112_000),
        rows,
        ..Breakdown::default()
    };
    Snapshot { breakdown: Some(breakdown), ..snapshots::five(83) }
}

fn usual() -> Snapshot {
    by_name(vec![
        row([Some("plant/line1/temperature"), Some("plc-7")], 12_345, 0, 0),
        row([Some("plant/line1/temperature"), Some("logger")], 0, 12_345, 48_100),
        row([Some("plant/line1/temperature"), None], 0, 12_301, 51_000),
        row([Some("plant/line2/pressure"), Some("plc-8")], 1_234, 0, 0),
        row([Some("plant/line2/pressure"), Some("logger")], 0, 1_234, 3_400_000),
    ])
}

#[test]
fn rows_by_topic_and_client() {
    let mut app = app([usual()], &keys("gj"));
    check("normal", &app);
    press(&mut app, &keys("ooooo"));
    let sorted = text(&app, (80, 24));
    let first = sorted.lines().find(|line| line.contains("plant/")).unwrap();
    assert!(first.contains("plant/line2") && sorted.contains("P99▼"), "{sorted}");
}

#[test]
fn muted_rows_are_marked() {
    let mut snapshot = usual();
    let rows = &mut snapshot.breakdown.as_mut().unwrap().rows;
    (rows[1].muted, rows[3].muted) = (MutedExtent::Whole, MutedExtent::Part);
    let mut app = app([snapshot], &keys("gj"));
    check("muted", &app);
    press(&mut app, &keys("jj"));
    let part = text(&app, (80, 24));
    assert!(part.contains("client plc-8"), "{part}");
    assert!(part.contains("muted in part: it counts only what is of other rows"), "{part}");
}

#[test]
fn subscribers_that_are_behind_are_below() {
    let mut snapshot = usual();
    snapshot.slow = SlowSubscribers {
        behind: 2,
        listed: vec![
            slow("logger", "plant/line1/temperature", LagHolder::Subscriber, true),
            slow("screen", "plant/line2/pressure", LagHolder::Network, true),
            slow("", "plant/line2/pressure", LagHolder::Broker, false),
        ],
        more: 0,
    };
    let mut app = app([snapshot], &keys("g"));
    check("slow", &app);
    press(&mut app, &keys("1"));
    assert!(text(&app, (80, 24)).contains("! 2 subscribers behind (g)"));
}

#[test]
fn nothing_was_asked_for() {
    let mut app = app([snapshots::five(83)], &keys("g"));
    check("choice", &app);
    press(&mut app, &keys("g k \n"));
    let waiting = text(&app, (80, 24));
    assert!(waiting.contains("counted by client, topic from now on"), "{waiting}");
    let mut other = views::app([snapshots::five(83)], &keys("g"));
    press(&mut other, &[KeyCode::Esc]);
    check("unasked", &other);
}

#[test]
fn no_message_yet() {
    check("empty", &app([by_name(Vec::new())], &keys("g")));
}

#[test]
fn a_filter() {
    let mut filtered = app([usual()], &keys("g/LINE2\n"));
    check("filtered", &filtered);
    press(&mut filtered, &keys("/%\n"));
    let none = text(&filtered, (80, 24));
    assert!(none.contains("No name has “LINE2%”"), "{none}");
}

#[test]
fn long_names_and_large_numbers() {
    let long = "a-very-long-segment-of-a-topic/".repeat(12);
    let wide = "温度センサー/".repeat(30);
    let mut rows: Vec<BreakdownRow> = (0..256)
        .map(|n| {
            let topic = format!("{n}/{long}");
            row([Some(&topic), Some(&wide)], u64::MAX >> (n % 60), u64::MAX >> 8, 1 << (n % 50))
        })
        .collect();
    rows.push(row([Some("\u{1b}[2Jcontrol\n"), Some("")], 1, 1, u64::MAX >> 8));
    let mut snapshot = by_name(rows);
    if let Some(breakdown) = &mut snapshot.breakdown {
        breakdown.rest = row([None, None], 123_456_789_012, 987_654_321, 1_000);
        breakdown.rest_rows = 131_072;
        breakdown.is_crowded = true;
    }
    snapshot.slow = SlowSubscribers {
        behind: 300,
        listed: (0..64).map(|_| slow(&wide, &long, LagHolder::Broker, true)).collect(),
        more: 4_000,
    };
    let mut app = app([snapshot], &keys("gjjj"));
    check("extreme", &app);
    press(&mut app, &[KeyCode::End]);
    assert!(text(&app, (120, 40)).contains("·[2Jcontrol·"));
}

#[test]
fn times_between_hosts_have_a_limit_or_the_error_beside_them() {
    let mut rows =
        vec![row([Some("a"), None], 10, 10, 90_000), row([Some("b"), None], 10, 10, 2_000_000)];
    for row in &mut rows {
        row.clock_error = Nanos(120_000);
    }
    let shown = text(&app([by_name(rows)], &keys("g")), SIZES[SIZES.len() - 1]);
    assert!(shown.contains("CLOCKS") && shown.contains("± 120 µs"), "{shown}");
    assert!(shown.contains("≤ 210 µs") && shown.contains("2.00 ms"), "{shown}");
}

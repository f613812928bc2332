//! The view of single messages as text at three sizes, in every state.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use wirelap_correlate::snapshot::Snapshot;
use wirelap_events::{Delivery, Stamp, TopicId};
use wirelap_history::{KeptMessage, MessageFate, Slice, Update};
use wirelap_test_pipeline::deliveries::{self, MadeUp};
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{Action, App, ReplayState, ScreenRequest, Theme, render};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];
/// From the clock of the made-up messages to the wall clock, in nanoseconds.
const WALL: i64 = 1_700_000_000_000_000_000;

fn message(delivery: Delivery, fate: MessageFate) -> KeptMessage {
    let one_way = delivery.one_way().filter(|_| fate == MessageFate::Delivered);
    KeptMessage { delivery: Arc::new(delivery), one_way, cause: None, fate }
}

fn warm_up(number: u32) -> Delivery {
    let mut delivery = deliveries::ordinary(number);
    delivery.stamp = delivery.stamp.map(|stamp| Stamp { warmup: true, ..stamp });
    delivery
}

/// Messages of every kind.
fn messages() -> Vec<KeptMessage> {
    let delivered = deliveries::all().into_iter().map(|MadeUp { delivery, cause }| KeptMessage {
        cause,
        ..message(delivery, MessageFate::Delivered)
    });
    delivered
        .chain([
            message(deliveries::undelivered(44), MessageFate::Undelivered { at_end: false }),
            message(deliveries::undelivered(45), MessageFate::Undelivered { at_end: true }),
            message(warm_up(46), MessageFate::Aside),
            message(deliveries::undelivered(47), MessageFate::Aside),
        ])
        .collect()
}

fn app(snapshot: Snapshot, messages: Vec<KeptMessage>, keys: &[KeyCode]) -> App {
    let mut app = App::new();
    let topics = vec![
        (TopicId(0), "plant/line-3/temperature".into()),
        (TopicId(1), "中間件/\u{1b}[2Jメッセージ/with a name that goes on and on".into()),
    ];
    let (from, to) = (snapshot.since, snapshot.at);
    let slice = Slice { from, to, messages, topics, ..Slice::default() };
    app.take(Update { snapshot: Arc::new(snapshot), slice });
    app.refresh();
    app.set_wall(Some(WALL));
    // The brokered row, and its messages.
    for key in [KeyCode::Down, KeyCode::Down, KeyCode::Char('6')].iter().chain(keys) {
        app.on_key((*key).into());
    }
    app
}

fn text(app: &App, (width, height): (u16, u16), color: bool) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render::screen(frame, app, theme(color))).unwrap();
    terminal.backend().to_string()
}

/// Compares the screen at all three sizes with the stored ones. Bars have their letters.
fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        let name = format!("{name}-{width}x{height}");
        insta::assert_snapshot!(name, text(app, (width, height), false));
    }
}

fn opened(number: usize) -> App {
    let mut keys = vec![KeyCode::Down; number];
    keys.push(KeyCode::Enter);
    app(snapshots::five(83), messages(), &keys)
}

#[test]
fn the_slowest_messages() {
    check("slowest", &app(snapshots::five(83), messages(), &[KeyCode::Down, KeyCode::Down]));
}

#[test]
fn the_other_lists() {
    for (presses, name) in [(1, "latest"), (2, "undelivered"), (3, "others")] {
        let app = app(snapshots::five(83), messages(), &vec![KeyCode::Char('n'); presses]);
        insta::assert_snapshot!(format!("{name}-80x24"), text(&app, (80, 24), false));
    }
}

#[test]
fn empty_lists_say_so() {
    for presses in 0..4 {
        let app = app(snapshots::five(83), Vec::new(), &vec![KeyCode::Char('n'); presses]);
        insta::assert_snapshot!(format!("empty-{presses}-80x24"), text(&app, (80, 24), false));
    }
    let nothing = app(snapshots::empty(0), Vec::new(), &[]);
    assert!(text(&nothing, (80, 24), true).contains("No middleware traffic seen yet"));
}

#[test]
fn a_message_that_waited_for_a_cpu() {
    check("contended", &opened(2));
}

#[test]
fn a_message_that_an_acknowledgement_delayed() {
    check("delayed", &opened(1));
}

#[test]
fn a_message_that_was_lost_once() {
    check("lost", &opened(0));
}

#[test]
fn an_undelivered_message() {
    let keys = ['n', 'n', '\n'].map(|c| if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
    check("undelivered-one", &app(snapshots::five(83), messages(), &keys));
}

#[test]
fn extreme_names_and_numbers() {
    let extreme = || vec![message(deliveries::extreme(), MessageFate::Delivered)];
    check("extreme", &app(snapshots::five(83), extreme(), &[]));
    check("extreme-one", &app(snapshots::degraded(), extreme(), &[KeyCode::Enter]));
}

#[test]
fn the_facts_below_can_be_scrolled_to() {
    let mut app = opened(2);
    for _ in 0..3 {
        app.on_key(KeyCode::PageDown.into());
    }
    insta::assert_snapshot!("scrolled-80x24", text(&app, (80, 24), false));
}

fn press(app: &mut App, keys: &str) -> Vec<Action> {
    keys.chars().map(|c| app.on_key(KeyCode::Char(c).into())).collect()
}

fn numbers(app: &App) -> Vec<u32> {
    app.listed().iter().filter_map(|message| Some(message.delivery.stamp?.seq)).collect()
}

#[test]
fn a_text_filters_messages_and_not_rows() {
    for (filter, expected) in [
        ("CPU", vec![41]),
        ("against delayed", vec![42]),
        ("#39", vec![39]),
        ("line-3", numbers(&app(snapshots::five(83), messages(), &[]))),
        ("mosquitto", numbers(&app(snapshots::five(83), messages(), &[]))),
        ("nothing has this", vec![]),
    ] {
        let mut app = app(snapshots::five(83), messages(), &[]);
        press(&mut app, "/");
        press(&mut app, filter);
        app.on_key(KeyCode::Enter.into());
        assert_eq!(numbers(&app), expected, "{filter}");
        assert_eq!(app.rows().len(), 5, "the rows are not filtered");
    }
}

#[test]
fn enter_opens_a_message_and_esc_goes_back() {
    let mut app = app(snapshots::five(83), messages(), &[KeyCode::Enter]);
    assert_eq!(app.message().unwrap().delivery.stamp.unwrap().seq, 43);
    app.on_key(KeyCode::Esc.into());
    assert!(app.message().is_none());
    assert_eq!(app.view(), wirelap_tui::View::Messages);
    app.on_key(KeyCode::Esc.into());
    assert_eq!(app.view(), wirelap_tui::View::Overview);
}

#[test]
fn an_open_message_stays_while_others_come() {
    let mut app = opened(2);
    let slice = Slice { messages: messages(), ..Slice::default() };
    app.take(Update { snapshot: Arc::new(snapshots::five(84)), slice });
    app.refresh();
    assert_eq!(app.message().unwrap().delivery.stamp.unwrap().seq, 41);
}

#[test]
fn neighbours_are_stepped_to() {
    let mut app = opened(2);
    press(&mut app, ",");
    // The made-up messages do not begin in the order of their numbers.
    assert_eq!(app.message().unwrap().delivery.stamp.unwrap().seq, 47);
    press(&mut app, "..");
    assert_eq!(app.message().unwrap().delivery.stamp.unwrap().seq, 42);
}

#[test]
fn the_filter_of_the_selected_leg_is_copied_and_shown() {
    let mut app = opened(2);
    let Action::Copy(first) = press(&mut app, "y").remove(0) else { panic!("nothing copied") };
    assert_eq!(
        first,
        "ip.addr == 127.0.0.1 && tcp.port == 40020 && tcp.port == 1883 \
         && frame.time_epoch >= 1700000105.999990000 && frame.time_epoch <= 1700000106.003428000"
    );
    assert_eq!(app.status(), Some(first.as_str()));
    press(&mut app, "n");
    let Action::Copy(second) = press(&mut app, "y").remove(0) else { panic!("nothing copied") };
    assert!(second.contains("tcp.port == 1883 && tcp.port == 40022"), "{second}");
    app.on_key(KeyCode::Left.into());
    let Action::Copy(again) = press(&mut app, "y").remove(0) else { panic!("nothing copied") };
    assert_eq!(again, first);
}

#[test]
fn an_export_asks_for_the_message_that_is_shown() {
    let mut app = opened(2);
    let shown = Arc::clone(&app.message().unwrap().delivery);
    assert_eq!(press(&mut app, "e"), [Action::Request(ScreenRequest::Export(shown))]);
    let mut nothing = self::app(snapshots::five(83), Vec::new(), &[]);
    assert_eq!(press(&mut nothing, "ey,.\n"), vec![Action::Redraw; 5][..5]);
}

fn theme(color: bool) -> Theme {
    if color { Theme::DARK } else { Theme::NONE }
}

#[test]
fn the_slowest_message_of_all_rows_is_found_where_its_row_is_filtered_out() {
    let mut app = app(snapshots::five(83), messages(), &[KeyCode::Esc]);
    let slowest = messages().into_iter().max_by_key(|message| message.one_way).unwrap();
    let other = app.rows().find(|row| row.id != slowest.group()).unwrap().middleware.clone();
    app.on_key(KeyCode::Char('/').into());
    for letter in other.chars() {
        app.on_key(KeyCode::Char(letter).into());
    }
    app.on_key(KeyCode::Enter.into());
    assert_ne!(app.selected().unwrap().id, slowest.group());
    app.set_replay(Some(ReplayState::default()));
    app.on_key(KeyCode::Char('!').into());
    assert!(app.select_slowest());
    assert_eq!(app.selected().unwrap().id, slowest.group());
    let listed = app.listed();
    let selected = listed[app.message_position(&listed)];
    assert_eq!(selected.delivery.message, slowest.delivery.message);
    assert!(!app.select_slowest());
}

//! The workloads that can be started, at three sizes, in every state.

#![allow(missing_docs, reason = "a test")]

use crossterm::event::KeyCode;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::sync::Arc;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, ExperimentChoice, ExperimentSetting, Experiments, render};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

fn setting(name: &str, value: &str, values: &[&str], words: &str) -> ExperimentSetting {
    ExperimentSetting {
        name: name.into(),
        value: value.into(),
        values: values.iter().map(|&value| value.into()).collect(),
        words: words.into(),
    }
}

fn choice(middleware: &str, about: &str) -> ExperimentChoice {
    ExperimentChoice {
        middleware: middleware.into(),
        about: about.into(),
        rate: 1_000.0,
        payload: 64,
        ..ExperimentChoice::default()
    }
}

fn choices() -> Vec<ExperimentChoice> {
    let mut mqtt = choice("mqtt", "MQTT through a broker");
    mqtt.settings = vec![
        setting("broker", "mosquitto", &["rumqttd", "mosquitto"], "what is between them"),
        setting("qos", "1", &["0", "1", "2"], "MQTT quality of service"),
        setting("nodelay", "false", &["true", "false"], "TCP_NODELAY"),
        setting("keep.alive", "5", &[], "seconds between two keep-alives"),
    ];
    mqtt.running = Some("mosquitto, 1 k msg/s, 64 B, qos 1, nodelay off".into());
    mqtt.pin = vec![0, 1];
    let mut pico = choice("zenoh-pico", "Zenoh for small devices");
    pico.unavailable = Some("zenoh-pico cannot be run here: build it, and use --pico-bin".into());
    let mut long = choice("a-middleware-with-a-name-that-is-far-too-long-日本語", "words\x1b[2J");
    long.running = Some("starting: ".repeat(40));
    vec![choice("tcp", "plain TCP, the baseline"), mqtt, pico, long]
}

fn app(known: Experiments, keys: &[KeyCode]) -> App {
    let mut app = App::new();
    app.update(Arc::new(snapshots::five(83)));
    app.on_key(KeyCode::Char('x').into());
    app.set_experiments(known);
    for key in keys {
        app.on_key((*key).into());
    }
    app
}

fn text(app: &App, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render::screen(frame, app, app.theme())).unwrap();
    terminal.backend().to_string()
}

fn check(name: &str, app: &App) {
    for (width, height) in SIZES {
        insta::assert_snapshot!(format!("{name}-{width}x{height}"), text(app, (width, height)));
    }
}

#[test]
fn a_list_of_what_runs_what_can_and_what_cannot() {
    check("list", &app(Experiments::Of(choices()), &[KeyCode::Down]));
}

#[test]
fn a_form_of_settings() {
    let keys = [KeyCode::Down, KeyCode::Enter, KeyCode::Down, KeyCode::Down, KeyCode::Down];
    check("form", &app(Experiments::Of(choices()), &keys));
}

#[test]
fn without_workloads_it_says_why() {
    let why = "no workloads can be started, because wirelap was started with --watch-only";
    let shown = text(&app(Experiments::None(why.into()), &[]), (80, 24));
    assert!(shown.contains("started with --watch-only"), "{shown}");
    let shown = text(&app(Experiments::Reading, &[]), (80, 24));
    assert!(shown.contains("Looking up what is installed"), "{shown}");
    assert!(text(&app(Experiments::Of(Vec::new()), &[]), (80, 24)).contains("no middleware"));
}

fn key() -> impl Strategy<Value = KeyCode> {
    prop_oneof![
        any::<char>().prop_map(KeyCode::Char),
        prop::sample::select(vec![
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::Enter,
            KeyCode::Tab,
            KeyCode::Backspace,
            KeyCode::Delete,
            KeyCode::End,
            KeyCode::PageUp,
            KeyCode::Char('x'),
        ]),
    ]
}

proptest! {
    /// No key and no size makes drawing fail, and nothing from outside steers the terminal.
    #[test]
    fn any_keys_are_drawn(
        keys in prop::collection::vec(key(), 0..40), width in 1u16..=250, height in 1u16..=80,
        known in 0usize..5,
    ) {
        let mut app = app(Experiments::Of(choices()), &[]);
        for (at, key) in keys.into_iter().enumerate() {
            app.on_key(key.into());
            if at % 7 == 3 {
                // What can be started changes while the user looks.
                app.set_experiments(Experiments::Of(choices()[..known.min(4)].to_vec()));
            }
        }
        let shown = text(&app, (width, height));
        prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()));
    }
}

//! The terminal is given back however the screen ends. Each case runs [`run`] in a child of its own
//! on a pseudo-terminal that `script` (Debian: bsdutils) makes, and reads what the terminal got.

#![allow(missing_docs, reason = "a test")]

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use wirelap_correlate::snapshot::Snapshot;
use wirelap_tui::{App, ScreenEnd, ScreenOptions, Theme, TuiError, render, run};

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const SHOW_CURSOR: &str = "\x1b[?25h";

const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// Runs one of the `child_…` functions below on a pseudo-terminal with `keys` typed.
fn on_terminal(child: &str, keys: &str) -> Output {
    let test = std::env::current_exe().unwrap();
    let command = format!(
        "stty cols 80 rows 24 && '{}' --exact {child} --ignored --nocapture",
        test.display()
    );
    let mut script = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script is installed (Debian: bsdutils)");
    let mut stdin = script.stdin.take().unwrap();
    stdin.write_all(keys.as_bytes()).unwrap();
    // Kept open: at its end `script` would hang up.
    let output = script.wait_with_output().unwrap();
    drop(stdin);
    output
}

/// The text that was printed after the alternate screen had been left for the first time.
fn after_leaving(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let entered = text.find(ENTER).expect("the alternate screen was entered");
    let left = text.find(LEAVE).expect("the alternate screen was left");
    assert!(entered < left);
    assert!(text[left..].contains(SHOW_CURSOR), "the cursor is shown again");
    assert!(text.contains(MOUSE_ON), "the mouse was asked for");
    let last_on = text.rfind("\x1b[?1000h").unwrap_or(0);
    assert!(text.rfind(MOUSE_OFF).is_some_and(|off| off > last_on), "the mouse is given back");
    text[left..].to_owned()
}

/// Asserts that the child found its terminal cooked again.
fn assert_cooked(after: &str) {
    assert!(after.contains("raw mode: false"), "{after:?}");
}

fn say_mode() {
    println!("raw mode: {}", crossterm::terminal::is_raw_mode_enabled().unwrap());
}

#[test]
fn a_key_ends_the_screen() {
    let output = on_terminal("child_until_key", "jq");
    assert!(output.status.success());
    assert_cooked(&after_leaving(&output));
}

#[test]
#[ignore = "child of a_key_ends_the_screen"]
fn child_until_key() {
    let outcome = run(ScreenOptions::default(), &mut Arc::<Snapshot>::default, &|| false);
    assert!(matches!(outcome, Ok(ScreenEnd::Quit)));
    say_mode();
}

#[test]
fn the_stop_flag_ends_the_screen() {
    let output = on_terminal("child_until_stopped", "");
    assert!(output.status.success());
    assert_cooked(&after_leaving(&output));
}

#[test]
#[ignore = "child of the_stop_flag_ends_the_screen"]
fn child_until_stopped() {
    let taken = std::cell::Cell::new(0);
    let mut source = || {
        taken.set(taken.get() + 1);
        Arc::<Snapshot>::default()
    };
    let outcome = run(ScreenOptions::default(), &mut source, &|| taken.get() > 1);
    assert!(matches!(outcome, Ok(ScreenEnd::Stopped)));
    say_mode();
}

#[test]
fn a_click_on_the_last_line_gives_its_key() {
    // A press of the left button in the last line.
    let press = format!("\x1b[<0;{};24M", column_of("q quit"));
    let output = on_terminal("child_until_key", &press);
    assert!(output.status.success());
    assert_cooked(&after_leaving(&output));
}

/// The column at which the last line of the screen has a text, counted from 1.
fn column_of(text: &str) -> usize {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| render::screen(frame, &App::new(), Theme::NONE)).unwrap();
    let buffer = terminal.backend().buffer();
    let line: String = (0..80).map(|x| buffer[(x, 23)].symbol()).collect();
    line[..line.find(text).unwrap()].chars().count() + 1
}

#[test]
fn without_the_mouse_the_terminal_keeps_it() {
    let output = on_terminal("child_without_mouse", "q");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("\x1b[?1000h"));
}

#[test]
#[ignore = "child of without_the_mouse_the_terminal_keeps_it"]
fn child_without_mouse() {
    let options = ScreenOptions { mouse: false, ..ScreenOptions::default() };
    let outcome = run(options, &mut Arc::<Snapshot>::default, &|| false);
    assert!(matches!(outcome, Ok(ScreenEnd::Quit)));
}

#[test]
fn a_panic_is_told_on_the_restored_terminal() {
    let output = on_terminal("child_panics", "");
    let after = after_leaving(&output);
    assert!(after.contains("the source failed"), "{after:?}");
    assert_cooked(&after);
}

#[test]
#[ignore = "child of a_panic_is_told_on_the_restored_terminal"]
fn child_panics() {
    let result = std::panic::catch_unwind(|| {
        run(ScreenOptions::default(), &mut || panic!("the source failed"), &|| false)
    });
    assert!(result.is_err());
    say_mode();
}

#[test]
fn another_threads_panic_ends_the_screen() {
    let output = on_terminal("child_thread_panics", "");
    assert!(output.status.success());
    let after = after_leaving(&output);
    assert!(after.contains("the tracer failed"), "{after:?}");
    assert_cooked(&after);
}

#[test]
#[ignore = "child of another_threads_panic_ends_the_screen"]
fn child_thread_panics() {
    let mut source = || {
        let failed = std::thread::spawn(|| panic!("the tracer failed")).join();
        assert!(failed.is_err());
        Arc::<Snapshot>::default()
    };
    let outcome = run(ScreenOptions::default(), &mut source, &|| false);
    assert!(matches!(outcome, Err(TuiError::Panicked)));
    say_mode();
}

#[test]
fn without_a_terminal_nothing_is_changed() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_without_terminal", "--ignored", "--nocapture"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success());
    assert!(!String::from_utf8_lossy(&output.stdout).contains('\x1b'));
}

#[test]
#[ignore = "child of without_a_terminal_nothing_is_changed"]
fn child_without_terminal() {
    let outcome = run(ScreenOptions::default(), &mut || unreachable!("not asked"), &|| false);
    assert!(matches!(outcome, Err(TuiError::NotATerminal)));
}

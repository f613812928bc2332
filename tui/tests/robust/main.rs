//! No size and no snapshot makes drawing fail.

#![allow(missing_docs, reason = "a test")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made-up figures")]

mod anything;

use anything::snapshot;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;
use std::sync::Arc;
use wirelap_test_pipeline::snapshots;
use wirelap_tui::{App, Theme, render};

fn key() -> impl Strategy<Value = KeyEvent> {
    prop_oneof![
        prop::sample::select("?hpoOrbwjkJKGgz tTmv1234567890:/n,.cd".chars().collect::<Vec<_>>())
            .prop_map(KeyCode::Char),
        prop::sample::select(vec![
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::PageDown,
            KeyCode::PageUp,
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::End
        ]),
    ]
    .prop_map(Into::into)
}

/// An action of the user.
#[derive(Clone, Copy, Debug)]
enum Input {
    Key(KeyEvent),
    Mouse(MouseEvent),
}

fn mouse() -> impl Strategy<Value = MouseEvent> {
    let kind = prop::sample::select(vec![
        MouseEventKind::Down(MouseButton::Left),
        MouseEventKind::Down(MouseButton::Right),
        MouseEventKind::Drag(MouseButton::Left),
        MouseEventKind::Up(MouseButton::Left),
        MouseEventKind::ScrollDown,
        MouseEventKind::ScrollUp,
        MouseEventKind::Moved,
    ]);
    // Terminals report positions outside of the screen as well: after it was made smaller.
    let position = prop_oneof![0u16..250, Just(u16::MAX)];
    (kind, position, 0u16..=81).prop_map(|(kind, column, row)| MouseEvent {
        kind,
        column,
        row,
        modifiers: KeyModifiers::NONE,
    })
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![key().prop_map(Input::Key), mouse().prop_map(Input::Mouse)]
}

fn act(app: &mut App, input: Input, (width, height): (u16, u16)) {
    match input {
        Input::Key(key) => app.on_key(key),
        Input::Mouse(event) => app.on_mouse(event, Rect::new(0, 0, width, height)),
    };
}

/// Draws, and looks for characters that would steer a real terminal.
fn draw(app: &App, width: u16, height: u16, theme: Theme) -> Result<(), TestCaseError> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| render::screen(frame, app, theme)).unwrap();
    for cell in terminal.backend().buffer().content() {
        prop_assert!(!cell.symbol().contains(char::is_control));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_screen_of_any_snapshot_is_drawn(
        snapshots in prop::collection::vec(snapshot(), 1..3),
        inputs in prop::collection::vec(input(), 0..16),
        width in 0u16..=250, height in 0u16..=80, theme in prop::sample::select(Theme::ALL.to_vec()),
    ) {
        let mut app = App::new();
        for snapshot in snapshots {
            app.update(Arc::new(snapshot));
            for input in &inputs {
                act(&mut app, *input, (width, height));
                draw(&app, width, height, theme)?;
            }
        }
        draw(&app, width, height, theme)?;
    }

    #[test]
    fn plain_lines_keep_to_their_width(snapshot in snapshot(), width in 0u16..=250) {
        let text = wirelap_tui::plain(&snapshot, width);
        prop_assert!(text.ends_with('\n'));
        for line in text.lines() {
            prop_assert!(!line.contains(char::is_control), "{:?}", line);
            prop_assert!(unicode_width::UnicodeWidthStr::width(line) <= usize::from(width.max(40)));
        }
    }
}

#[test]
fn every_size_is_drawn() {
    for snapshot in [snapshots::many(40), snapshots::degraded(), snapshots::empty(0)] {
        for keys in ["", "?", "\n", "w", "x", "7", "8", "9", "0", "g", "g\n"] {
            let mut app = App::new();
            app.update(Arc::new(snapshot.clone()));
            for key in keys.chars() {
                let key = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
                app.on_key(key.into());
            }
            for width in (0..=250).step_by(3) {
                for height in [0, 1, 9, 10, 13, 14, 24, 29, 30, 80] {
                    draw(&app, width, height, Theme::DARK).unwrap();
                }
            }
        }
    }
}

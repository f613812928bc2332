//! The state of a replay in the first line of the screen.
//!
//! ```text
//!  wirelap  ▶ 2×  00:00:12 of 00:01:30  ━━━━━━━━━────────────────  reading 43 %
//!  wirelap  ‖ 1×  1.20 s of 1.20 s  ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━  at the end: space plays
//! ```

use crate::app::{ReadShare, ReplayState};
use crate::text;
use crate::theme::Theme;
use ratatui::text::Span;
use wirelap_events::Nanos;

/// The widest and the narrowest progress bar, in columns.
const BAR: (usize, usize) = (40, 6);

/// Length of a trace below which times have three digits.
const SHORT: Nanos = Nanos::from_millis(60_000);

/// The state, in at most `room` columns; the bar gives way first, then the words behind it.
pub fn spans(replay: &ReplayState, room: usize, theme: Theme) -> Vec<Span<'static>> {
    let mark = if replay.playing { "▶" } else { "‖" };
    let speed = format!("  {mark} {}  ", speed(replay.speed));
    let times = times(replay);
    let after = after(replay);
    let mut left = room.saturating_sub(text::width(&speed) + text::width(&times));
    let mut spans = vec![Span::styled(speed, theme.heading()), Span::raw(times)];
    let words = text::width(&after) + 2;
    let shows_words = !after.is_empty() && words <= left;
    if shows_words {
        left -= words;
    }
    if left >= BAR.1 + 2 {
        let columns = (left - 2).min(BAR.0);
        let done = filled(replay, columns);
        spans.push(Span::raw("  "));
        spans.push(Span::styled("━".repeat(done), theme.heading()));
        spans.push(Span::styled("─".repeat(columns - done), theme.dim()));
    }
    if shows_words {
        spans.push(Span::styled(format!("  {after}"), theme.dim()));
    }
    spans
}

/// Number of the bar's columns that are behind the position.
fn filled(replay: &ReplayState, columns: usize) -> usize {
    let length = u128::from(replay.length.0.max(1));
    let done = columns as u128 * u128::from(replay.at.0) / length;
    usize::try_from(done).unwrap_or(columns).min(columns)
}

/// `2×`, or `1/4×`.
fn speed(speed: f64) -> String {
    if speed >= 1.0 { format!("{speed:.0}×") } else { format!("1/{:.0}×", 1.0 / speed) }
}

/// `00:00:12 of 00:01:30`, or `350 ms of 1.20 s`.
fn times(replay: &ReplayState) -> String {
    if replay.length < SHORT {
        // The width stays while the trace plays.
        return format!(
            "{} of {}",
            text::right(&text::time(replay.at), 7),
            text::time(replay.length)
        );
    }
    format!("{} of {}", text::clock(replay.at), text::clock(replay.length))
}

/// The share of the files that is read, or what can be done at the end.
fn after(replay: &ReplayState) -> String {
    match replay.reading {
        Some(ReadShare::Of(share)) => format!("reading {}", text::percent(share)),
        Some(ReadShare::Unknown) => "reading".into(),
        None if !replay.playing && replay.at == replay.length => "at the end: space plays".into(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(replay: &ReplayState, room: usize) -> String {
        let theme = Theme::DARK;
        spans(replay, room, theme).iter().map(|span| span.content.to_string()).collect()
    }

    #[test]
    fn a_narrow_line_keeps_the_times() {
        let replay = ReplayState {
            playing: true,
            speed: 2.0,
            at: Nanos::from_millis(45_000),
            length: Nanos::from_millis(90_000),
            reading: Some(ReadShare::Of(0.43)),
        };
        assert_eq!(line(&replay, 0), "  ▶ 2×  00:00:45 of 00:01:30");
        assert_eq!(line(&replay, 44), "  ▶ 2×  00:00:45 of 00:01:30  reading 43 %");
        let whole = "  ▶ 2×  00:00:45 of 00:01:30  ━━━━━─────  reading 43 %";
        assert_eq!(line(&replay, 54), whole);
        for room in 0..200 {
            assert!(text::width(&line(&replay, room)) <= room.max(28), "{room}");
        }
    }

    #[test]
    fn the_times_of_a_short_trace_have_three_digits() {
        let (at, length) = (Nanos::from_millis(350), Nanos::from_millis(1_200));
        let replay = ReplayState { speed: 0.25, at, length, ..ReplayState::default() };
        assert_eq!(line(&replay, 30), "  ‖ 1/4×   350 ms of 1.20 s");
        let ended = ReplayState { at: length, ..replay };
        assert!(line(&ended, 80).ends_with("at the end: space plays"));
    }
}

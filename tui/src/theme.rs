//! Colours, and the letters that mark segments where there are no colours.

use ratatui::style::{Color, Modifier, Style};
use wirelap_events::Segment;

/// The style of each thing on the screen. Colour alone never carries meaning: segments have letters, warnings a `!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Whether colours are used. Bold, dim and reverse video are always used.
    pub color: bool,
}

impl Theme {
    /// Uses colours unless the environment variable `NO_COLOR` is set and not empty (<https://no-color.org>).
    pub fn from_env() -> Theme {
        Theme { color: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    /// Whether the ground is light.
    pub const fn is_light(self) -> bool {
        false
    }

    /// The next theme.
    #[must_use]
    pub fn next(self) -> Theme {
        Theme { color: !self.color }
    }

    fn colored(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    /// The style of the program's name and of headings.
    pub fn heading(self) -> Style {
        self.colored(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// The style of less important text.
    pub fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The style of warnings.
    pub fn warning(self) -> Style {
        self.colored(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// The style of the state that a key has set: paused.
    pub fn state(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// The style of the selected row.
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The style of a sparkline.
    pub fn spark(self) -> Style {
        self.colored(Color::Cyan)
    }

    /// The style of a segment in a bar.
    pub fn segment(self, segment: Segment) -> Style {
        if !self.color {
            return Style::new();
        }
        Style::new().fg(Color::Black).bg(segment_color(segment))
    }
}

/// A segment's colour in the 256-colour palette. All are light enough for black letters, and neighbours differ clearly;
/// the scheduler's two segments are red, the broker's dwell is violet.
fn segment_color(segment: Segment) -> Color {
    Color::Indexed(match segment {
        Segment::ClientTx => 252,
        Segment::Write => 180,
        Segment::SocketTx => 220,
        Segment::Loss => 199,
        Segment::Qdisc => 208,
        Segment::Wire => 77,
        Segment::StackRx => 80,
        Segment::Wakeup => 217,
        Segment::RunQueue => 203,
        Segment::Handoff => 175,
        Segment::Busy => 248,
        Segment::Read => 111,
        Segment::ClientRx => 255,
        Segment::BrokerDwell => 141,
    })
}

/// The letter that marks a segment in a bar.
pub const fn letter(segment: Segment) -> char {
    match segment {
        Segment::ClientTx => 'c',
        Segment::Write => 'w',
        Segment::SocketTx => 't',
        Segment::Loss => 'l',
        Segment::Qdisc => 'q',
        Segment::Wire => 'W',
        Segment::StackRx => 's',
        Segment::Wakeup => 'k',
        Segment::RunQueue => 'r',
        Segment::Handoff => 'h',
        Segment::Busy => 'b',
        Segment::Read => 'd',
        Segment::ClientRx => 'C',
        Segment::BrokerDwell => 'B',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_segment_has_a_letter_and_a_colour_of_its_own() {
        let letters: HashSet<_> = Segment::ALL.into_iter().map(letter).collect();
        let colors: HashSet<_> = Segment::ALL.into_iter().map(segment_color).collect();
        assert_eq!(letters.len(), Segment::ALL.len());
        assert_eq!(colors.len(), Segment::ALL.len());
    }

    #[test]
    fn without_colour_no_style_has_any() {
        let theme = Theme { color: false };
        let styles =
            [theme.heading(), theme.warning(), theme.spark(), theme.segment(Segment::Wire)];
        assert!(styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
    }
}

//! The time that figures are of.

use strum::VariantArray;
use wirelap_events::Nanos;
use wirelap_events::all_variants;

/// The time that figures are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, VariantArray)]
pub enum FigureWindow {
    /// The last second.
    Second,
    /// The last ten seconds.
    TenSeconds,
    /// The last minute.
    Minute,
    /// Since the beginning.
    #[default]
    SinceStart,
    /// Since the user has set the mark.
    SinceMark,
}

impl FigureWindow {
    /// All windows, the shortest first.
    pub const ALL: [FigureWindow; FigureWindow::VARIANTS.len()] = all_variants();

    /// The name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            FigureWindow::Second => "last 1 s",
            FigureWindow::TenSeconds => "last 10 s",
            FigureWindow::Minute => "last 1 min",
            FigureWindow::SinceStart => "since start",
            FigureWindow::SinceMark => "since mark",
        }
    }

    /// The longest time that it can have; `None` if it has a fixed beginning.
    pub const fn length(self) -> Option<Nanos> {
        match self {
            FigureWindow::Second => Some(Nanos(1_000_000_000)),
            FigureWindow::TenSeconds => Some(Nanos(10_000_000_000)),
            FigureWindow::Minute => Some(Nanos(60_000_000_000)),
            FigureWindow::SinceStart | FigureWindow::SinceMark => None,
        }
    }

    /// The next window; after the last one the first.
    #[must_use]
    pub fn next(self) -> FigureWindow {
        self.step(1)
    }

    /// The window before; before the first one the last.
    #[must_use]
    pub fn previous(self) -> FigureWindow {
        self.step(FigureWindow::ALL.len().saturating_sub(1))
    }

    fn step(self, by: usize) -> FigureWindow {
        let at = FigureWindow::ALL.iter().position(|window| *window == self).unwrap_or_default();
        let next = at.saturating_add(by).checked_rem(FigureWindow::ALL.len()).unwrap_or_default();
        FigureWindow::ALL[next]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_is_reached_in_both_directions() {
        let mut seen = vec![FigureWindow::default()];
        while seen.len() < FigureWindow::ALL.len() {
            let last = seen[seen.len() - 1];
            assert_eq!(last.next().previous(), last);
            seen.push(last.next());
        }
        assert!(FigureWindow::ALL.iter().all(|window| seen.contains(window)));
    }
}

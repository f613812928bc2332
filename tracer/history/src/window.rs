//! The time that figures are of.

use wirelap_events::Nanos;

/// The time that figures are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Window {
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

impl Window {
    /// All windows, the shortest first.
    pub const ALL: [Window; 5] =
        [Window::Second, Window::TenSeconds, Window::Minute, Window::SinceStart, Window::SinceMark];

    /// The name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Window::Second => "last 1 s",
            Window::TenSeconds => "last 10 s",
            Window::Minute => "last 1 min",
            Window::SinceStart => "since start",
            Window::SinceMark => "since mark",
        }
    }

    /// The longest time that it can have; `None` if it has a fixed beginning.
    pub const fn length(self) -> Option<Nanos> {
        match self {
            Window::Second => Some(Nanos(1_000_000_000)),
            Window::TenSeconds => Some(Nanos(10_000_000_000)),
            Window::Minute => Some(Nanos(60_000_000_000)),
            Window::SinceStart | Window::SinceMark => None,
        }
    }

    /// The next window; after the last one the first.
    #[must_use]
    pub fn next(self) -> Window {
        self.step(1)
    }

    /// The window before; before the first one the last.
    #[must_use]
    pub fn previous(self) -> Window {
        self.step(Window::ALL.len().saturating_sub(1))
    }

    fn step(self, by: usize) -> Window {
        let at = Window::ALL.iter().position(|window| *window == self).unwrap_or_default();
        let next = at.saturating_add(by).checked_rem(Window::ALL.len()).unwrap_or_default();
        Window::ALL[next]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_window_is_reached_in_both_directions() {
        let mut seen = vec![Window::default()];
        while seen.len() < Window::ALL.len() {
            let last = seen[seen.len() - 1];
            assert_eq!(last.next().previous(), last);
            seen.push(last.next());
        }
        assert!(Window::ALL.iter().all(|window| seen.contains(window)));
    }
}

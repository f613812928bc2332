//! The choices in the view "spread": the plot that is shown where there is no room for all of them, and the selected time.

use super::Motion;
use strum::VariantArray;
use wirelap_events::Nanos;
use wirelap_events::all_variants;

/// A plot of the distribution of latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, VariantArray)]
pub enum PlotKind {
    /// The heat map over time, with the throughput.
    #[default]
    OverTime,
    /// Latency by percentile.
    Percentiles,
    /// Messages by latency.
    Histogram,
}

impl PlotKind {
    /// All plots, from the left to the right.
    pub const ALL: [PlotKind; PlotKind::VARIANTS.len()] = all_variants();

    /// The name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            PlotKind::OverTime => "over time",
            PlotKind::Percentiles => "percentiles",
            PlotKind::Histogram => "histogram",
        }
    }
}

/// The state of the view "spread".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpreadState {
    plot: PlotKind,
    /// The column of the heat map where a selection with the mouse began.
    anchor: Option<(Nanos, Nanos)>,
    span: Option<(Nanos, Nanos)>,
}

impl SpreadState {
    /// The plot that is shown alone.
    pub fn plot(self) -> PlotKind {
        self.plot
    }

    /// The time that the user selected in place of the window.
    pub fn span(self) -> Option<(Nanos, Nanos)> {
        self.span
    }

    /// Begins a selection in a column of the heat map; what was selected before is not any more.
    pub fn begin_span(&mut self, column: (Nanos, Nanos)) {
        self.anchor = Some(column);
        self.span = None;
    }

    /// Selects from where the selection began up to a column, both included. Returns whether anything has changed.
    pub fn extend_span(&mut self, (from, to): (Nanos, Nanos)) -> bool {
        let Some((first, last)) = self.anchor else { return false };
        let span = Some((first.min(from), last.max(to)));
        std::mem::replace(&mut self.span, span) != span
    }

    /// Ends the selection. Returns whether there was one.
    pub fn clear_span(&mut self) -> bool {
        self.anchor = None;
        self.span.take().is_some()
    }

    /// Shows the next plot; after the last one the first.
    pub fn next(&mut self) {
        let at = PlotKind::ALL.iter().position(|plot| *plot == self.plot).unwrap_or_default();
        self.plot = PlotKind::ALL[(at + 1) % PlotKind::ALL.len()];
    }

    /// Shows the plot beside the present one; there is none beside the outermost ones.
    pub fn go(&mut self, motion: Motion) {
        let at = PlotKind::ALL.iter().position(|plot| *plot == self.plot).unwrap_or_default();
        let to = match motion {
            Motion::Left => at.saturating_sub(1),
            Motion::Right => at.saturating_add(1).min(PlotKind::ALL.len() - 1),
            _ => at,
        };
        self.plot = PlotKind::ALL[to];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_selected_in_both_directions() {
        let column = |second: u64| (Nanos(second), Nanos(second + 1));
        let mut state = SpreadState::default();
        assert!(!state.extend_span(column(5)));
        state.begin_span(column(5));
        assert_eq!(state.span(), None);
        assert!(state.extend_span(column(8)));
        assert!(!state.extend_span(column(8)));
        assert_eq!(state.span(), Some((Nanos(5), Nanos(9))));
        assert!(state.extend_span(column(2)));
        assert_eq!(state.span(), Some((Nanos(2), Nanos(6))));
        assert!(state.clear_span());
        assert!(!state.clear_span());
        assert!(!state.extend_span(column(2)));
    }

    #[test]
    fn the_arrows_stop_at_the_ends() {
        let mut state = SpreadState::default();
        let mut go = |motion| {
            state.go(motion);
            state.plot()
        };
        assert_eq!(go(Motion::Left), PlotKind::OverTime);
        assert_eq!(go(Motion::Right), PlotKind::Percentiles);
        assert_eq!(go(Motion::Right), PlotKind::Histogram);
        assert_eq!(go(Motion::Right), PlotKind::Histogram);
        assert_eq!(go(Motion::Up), PlotKind::Histogram);
        assert_eq!(go(Motion::Left), PlotKind::Percentiles);
        state.next();
        state.next();
        assert_eq!(state.plot(), PlotKind::OverTime);
    }
}

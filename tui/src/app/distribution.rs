//! Which plot of the distribution is shown where there is no room for all of them.

use super::Motion;

/// A plot of the distribution of latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Plot {
    /// The heat map over time, with the throughput.
    #[default]
    OverTime,
    /// Latency by percentile.
    Percentiles,
    /// Messages by latency.
    Histogram,
}

impl Plot {
    /// All plots, from the left to the right.
    pub const ALL: [Plot; 3] = [Plot::OverTime, Plot::Percentiles, Plot::Histogram];

    /// The name on the screen.
    pub const fn name(self) -> &'static str {
        match self {
            Plot::OverTime => "over time",
            Plot::Percentiles => "percentiles",
            Plot::Histogram => "histogram",
        }
    }
}

/// The state of the view "spread".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distribution {
    plot: Plot,
}

impl Distribution {
    /// The plot that is shown alone.
    pub fn plot(self) -> Plot {
        self.plot
    }

    /// Shows the next plot; after the last one the first.
    pub fn next(&mut self) {
        let at = Plot::ALL.iter().position(|plot| *plot == self.plot).unwrap_or_default();
        self.plot = Plot::ALL[(at + 1) % Plot::ALL.len()];
    }

    /// Shows the plot beside the present one; there is none beside the outermost ones.
    pub fn go(&mut self, motion: Motion) {
        let at = Plot::ALL.iter().position(|plot| *plot == self.plot).unwrap_or_default();
        let to = match motion {
            Motion::Left => at.saturating_sub(1),
            Motion::Right => at.saturating_add(1).min(Plot::ALL.len() - 1),
            _ => at,
        };
        self.plot = Plot::ALL[to];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arrows_stop_at_the_ends() {
        let mut state = Distribution::default();
        let mut go = |motion| {
            state.go(motion);
            state.plot()
        };
        assert_eq!(go(Motion::Left), Plot::OverTime);
        assert_eq!(go(Motion::Right), Plot::Percentiles);
        assert_eq!(go(Motion::Right), Plot::Histogram);
        assert_eq!(go(Motion::Right), Plot::Histogram);
        assert_eq!(go(Motion::Up), Plot::Histogram);
        assert_eq!(go(Motion::Left), Plot::Percentiles);
        state.next();
        state.next();
        assert_eq!(state.plot(), Plot::OverTime);
    }
}

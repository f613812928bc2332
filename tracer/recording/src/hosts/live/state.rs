//! Facts about one host's clock.

use wirelap_events::{ClockStep, Nanos};

/// Kind of evidence that a clock's difference is from, and the number of samples of it. Of a path over several hosts, that of
/// its weakest part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// Packets that both hosts saw.
    Packets(usize),
    /// Questions over the control stream.
    Ping(usize),
    /// Statements of the hosts' kernels.
    Stated(usize),
}

impl ClockSource {
    /// Number of the samples.
    pub fn samples(self) -> usize {
        let (ClockSource::Packets(samples)
        | ClockSource::Ping(samples)
        | ClockSource::Stated(samples)) = self;
        samples
    }

    /// The weaker of two: a statement rather than a question, a question rather than packets, then the one of fewer samples.
    pub(super) fn weaker(self, other: ClockSource) -> ClockSource {
        let weakness = |source: ClockSource| {
            let kind = match source {
                ClockSource::Packets(_) => 0,
                ClockSource::Ping(_) => 1,
                ClockSource::Stated(_) => 2,
            };
            (kind, std::cmp::Reverse(source.samples()))
        };
        if weakness(other) > weakness(self) { other } else { self }
    }
}

/// Knowledge about a host's clock, as of the last refresh.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum HostClockState {
    /// Nothing leads from the reference clock to this one.
    #[default]
    Unknown,
    /// Its difference from the reference clock.
    Known {
        /// The host's clock less the reference clock, in nanoseconds, at the last refresh.
        offset_ns: i64,
        /// By how much faster the host's clock runs, in millionths.
        drift_ppm: f64,
        /// Largest error of `drift_ppm`.
        drift_within_ppm: f64,
        /// Largest error of the offset if the fastest packets take equally long in both directions.
        within: Nanos,
        /// Largest error of the offset, until the next refresh.
        at_most: Nanos,
        /// The hosts whose clocks are in between, from the reference on.
        through: Vec<usize>,
        /// The evidence.
        from: ClockSource,
    },
    /// The clock was set, and it is not known yet how it is since.
    Stepped(ClockStep),
}

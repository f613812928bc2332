//! Rates of a time that was observed in windows.

use super::by_second::RatesBySecond;
use crate::stats::figures::Rate;
use crate::stats::windows::TracedWindow;
use wirelap_events::Nanos;

/// Half of the interval in which 95 % of estimates are, in standard deviations.
const HALF_WIDTH: f64 = 1.96;

/// The same where the deviation itself is estimated, from one value more than `freedom`: a quantile of Student's distribution, by its expansion
/// (Abramowitz and Stegun, 26.7.5), which is 1 % too small for two degrees of freedom.
fn half_width(freedom: f64) -> f64 {
    [2.37, 2.82, 2.55].iter().rev().fold(0.0, |sum, term| (sum + term) / freedom) + HALF_WIDTH
}

/// Sums over windows, from which the rate of the time that they stand for is made. Those of a part of the time are the difference of
/// two.
///
/// A window stands for the time since the one before: what was not observed had the rate of what was. How far the rate may be off is
/// estimated in two ways, of which the larger counts: from how many messages came at once, as if they had come at random times
/// (messages of one read are one event, however many they are), and from how the rates of the windows differ. To this comes the share of
/// what was sent in windows and not seen to be delivered: of some protocols, a delivery can be read only if its request was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSums {
    /// The time that the windows stand for, and their own.
    seconds: f64,
    traced: f64,
    /// Deliveries and payload bytes of that time, with those that were not observed.
    messages: f64,
    bytes: f64,
    /// Reads that were observed.
    reads: f64,
    variance: f64,
    windows: f64,
    /// Messages that were seen in windows between pauses, and how many of those that were sent in them were not seen to be delivered,
    /// beyond those that were delivered and not seen to be sent.
    sampled: f64,
    missing: f64,
    /// Sums over the times between windows: their squares, alone, with the rate and with its
    /// square.
    gaps: [f64; 3],
}

/// Messages that were read in one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCount {
    /// Messages read.
    pub messages: u64,
    /// Bytes of their payload.
    pub bytes: u64,
    /// Reads that brought them, and the sum of the squares of how many each brought.
    pub reads: u64,
    /// Sum of the squares of how many messages each read brought.
    pub squares: u64,
}

impl RateSums {
    /// Returns the sums of one window for a row whose first delivery was read at `first`: the time before is none
    /// of its own.
    pub fn of(window: &TracedWindow, count: WindowCount, first: Nanos) -> RateSums {
        let start = window.start.max(first);
        let traced = (window.end - start).as_secs_f64();
        if window.end <= start {
            return RateSums::default();
        }
        let gap = (start - window.since.max(first)).as_secs_f64();
        // The first delivery opens the time, which the others fill.
        let opens = u64::from(first >= window.start && count.messages > 0);
        let (seen, times) = (count.messages.saturating_sub(opens) as f64, gap / traced);
        let rate = seen / traced;
        let squares = gap * gap;
        RateSums {
            seconds: traced + gap,
            traced,
            messages: seen * (1.0 + times),
            bytes: count.bytes as f64 * (1.0 + times),
            reads: count.reads as f64,
            variance: times * (times + 1.0) * count.squares as f64,
            windows: if gap > 0.0 { 1.0 } else { 0.0 },
            sampled: if gap > 0.0 { seen } else { 0.0 },
            missing: 0.0,
            gaps: [squares, squares * rate, squares * rate * rate],
        }
    }

    /// With so many messages that were sent in windows, and not seen to be delivered.
    #[must_use]
    pub fn with_missing(self, missing: u64) -> RateSums {
        RateSums { missing: missing as f64, ..self }
    }

    /// Adds what another row has of the same time. Both may differ from window to window in the same way.
    pub fn join(&mut self, other: &RateSums) {
        let (seconds, traced) = (self.seconds.max(other.seconds), self.traced.max(other.traced));
        let windows = self.windows.max(other.windows);
        let spread = (self.spread().sqrt() + other.spread().sqrt()).powi(2);
        let squares = self.gaps[0].max(other.gaps[0]);
        self.add(other);
        (self.seconds, self.traced, self.windows) = (seconds, traced, windows);
        let mean = self.mean();
        self.gaps = [squares, squares * mean, squares * mean * mean + spread];
    }

    fn mean(&self) -> f64 {
        if self.seconds > 0.0 { self.messages / self.seconds } else { 0.0 }
    }

    /// Squared deviation of the messages of the times between windows from those of the mean rate.
    fn spread(&self) -> f64 {
        let (mean, [squares, with_rate, with_square]) = (self.mean(), self.gaps);
        (with_square - 2.0 * mean * with_rate + mean * mean * squares).max(0.0)
    }

    /// Adds the time that a window stands for, which ended at `end`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "seconds of an observation, which are not negative"
    )]
    /// Adds the rates of its windows to those by second.
    pub fn add_to(&self, rates: &mut RatesBySecond, end: Nanos) {
        rates.add(end - Nanos((self.seconds * 1e9) as u64), end, self.mean());
    }

    /// True if a part of the time was not observed.
    pub fn is_sampled(&self) -> bool {
        self.windows > 0.0
    }

    /// True if nothing was delivered.
    pub fn is_empty(&self) -> bool {
        self.messages <= 0.0
    }

    /// The time that the windows stand for, in seconds.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Number of reads to expect in the windows of another time, at the rate of this one.
    pub fn expected_reads(&self, of: &RateSums) -> f64 {
        if self.traced > 0.0 { self.reads / self.traced * of.traced } else { 0.0 }
    }

    /// With the first delivery, which opens the time, and the seconds before it.
    #[must_use]
    pub fn with_first(self, seconds_before: f64) -> RateSums {
        if self.seconds <= 0.0 || self.is_empty() {
            return self;
        }
        RateSums { seconds: self.seconds + seconds_before, messages: self.messages + 1.0, ..self }
    }

    /// The rate of the time that the windows stand for.
    pub fn rate(&self) -> Rate {
        if self.seconds <= 0.0 || self.is_empty() {
            let was_whole = self.seconds > 0.0 && !self.is_sampled();
            let error = if was_whole { 0.0 } else { f64::INFINITY };
            return Rate { error, ..Rate::default() };
        }
        // One window says nothing of how windows differ.
        let of_windows = if self.windows > 1.0 {
            let freedom = self.windows - 1.0;
            (self.spread() * self.windows / freedom).sqrt() * half_width(freedom)
        } else if self.is_sampled() {
            f64::INFINITY
        } else {
            0.0
        };
        let half = of_windows.max(HALF_WIDTH * self.variance.sqrt());
        Rate {
            msg_per_s: self.mean(),
            payload_bit_per_s: self.bytes * 8.0 / self.seconds,
            error: half / self.messages + self.missing_share(),
        }
    }

    /// The share of the messages of windows that should have been delivered, and perhaps were.
    pub fn missing_share(&self) -> f64 {
        if self.missing > 0.0 { self.missing / (self.missing + self.sampled) } else { 0.0 }
    }

    /// Adds those of a later time.
    pub fn add(&mut self, other: &RateSums) {
        self.seconds += other.seconds;
        self.traced += other.traced;
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.reads += other.reads;
        self.variance += other.variance;
        self.windows += other.windows;
        self.sampled += other.sampled;
        self.missing += other.missing;
        self.gaps.iter_mut().zip(other.gaps).for_each(|(sum, gap)| *sum += gap);
    }

    /// Those of the time since an earlier one of which these are the sums.
    #[must_use]
    pub fn since(self, earlier: &RateSums) -> RateSums {
        let mut gaps = self.gaps;
        gaps.iter_mut().zip(earlier.gaps).for_each(|(sum, gap)| *sum = (*sum - gap).max(0.0));
        let least = |mine: f64, theirs: f64| (mine - theirs).max(0.0);
        RateSums {
            seconds: least(self.seconds, earlier.seconds),
            traced: least(self.traced, earlier.traced),
            messages: least(self.messages, earlier.messages),
            bytes: least(self.bytes, earlier.bytes),
            reads: least(self.reads, earlier.reads),
            variance: least(self.variance, earlier.variance),
            windows: least(self.windows, earlier.windows),
            sampled: least(self.sampled, earlier.sampled),
            missing: least(self.missing, earlier.missing),
            gaps,
        }
    }
}

//! A host's clock against its oscillator (`CLOCK_MONOTONIC_RAW`), which nobody steers: it tells exactly when a clock is steered, and
//! when it is not.

use wirelap_events::Nanos;

/// Two readings of both clocks differ by so many nanoseconds by chance.
const READING: f64 = 300.0;

/// Changes of a rate that count for nothing, in nanoseconds a second: an oscillator's own are larger in a few seconds.
const TOLERANCE: f64 = 500.0;

/// Shortest and longest interval of two readings from which a rate is found, in seconds.
const SHORTEST: f64 = 0.15;
const LONGEST: f64 = 3.0;

/// A clock is steady that was not steered for so long.
const LONG: Nanos = Nanos::from_millis(800);

/// Part of a new rate in the mean.
const NEW: f64 = 0.25;

/// Rate of a clock against its oscillator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steadiness {
    /// The last reading: the clock's time, and by how much the oscillator's is ahead.
    last: Option<(Nanos, i64)>,
    /// By how much the oscillator gains, in nanoseconds a second.
    rate: Option<f64>,
    /// Since when that is so.
    since: Option<Nanos>,
}

impl Steadiness {
    /// Takes in a reading of both clocks.
    pub fn add(&mut self, at: Nanos, ahead: i64) {
        let Some((before, ahead_before)) = self.last else {
            self.last = Some((at, ahead));
            return;
        };
        let seconds = at.since(before).map_or(-1.0, Nanos::as_secs_f64);
        if (0.0..SHORTEST).contains(&seconds) {
            return;
        }
        self.last = Some((at, ahead));
        if !(SHORTEST..LONGEST).contains(&seconds) {
            (self.rate, self.since) = (None, None);
            return;
        }
        let rate = ahead.saturating_sub(ahead_before) as f64 / seconds;
        let is_same = |known: &f64| (rate - known).abs() * seconds <= READING + TOLERANCE * seconds;
        if let Some(known) = self.rate.filter(is_same) {
            self.rate = Some(known + (rate - known) * NEW);
            self.since.get_or_insert(before);
        } else {
            (self.rate, self.since) = (Some(rate), None);
        }
    }

    /// The clock's time since which its rate against the oscillator is the same; `None` if it is not, or not for long, or not known.
    pub fn since(&self) -> Option<Nanos> {
        let (last, _) = self.last?;
        self.since.filter(|since| last - *since >= LONG)
    }

    /// The clock's time of the last reading.
    pub fn until(&self) -> Option<Nanos> {
        Some(self.last?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_steady_until_it_is_steered_and_again_afterwards() {
        let mut clock = Steadiness::default();
        let mut ahead = 5_000;
        let mut at = Nanos(1_000_000_000);
        let mut read = |rate: i64, noise: i64| {
            at += Nanos::from_millis(250);
            ahead += rate / 4;
            clock.add(at, ahead + noise);
            clock.since().is_some()
        };
        let mut read_all =
            |rate| [0, 50, -50, 0, 50, -50].map(|noise| if read(rate, noise) { '+' } else { '-' });
        assert_eq!(read_all(-12_000), ['-', '-', '-', '-', '-', '+']);
        assert_eq!(read_all(-2_000), ['-', '-', '-', '-', '+', '+']);
        assert_eq!(read_all(-500_000), ['-', '-', '-', '-', '+', '+']);
    }
}

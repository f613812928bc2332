//! The interval of a rate that was counted.

use statrs::distribution::{Beta, ContinuousCDF};

/// The 95 % interval of Clopper and Pearson for the probability of what happened `count` of `of` times.
pub fn interval(count: u64, of: u64) -> (f64, f64) {
    let (happened, not) = (count as f64, of.saturating_sub(count) as f64);
    let at = |a: f64, b: f64, share| Beta::new(a, b).map(|beta| beta.inverse_cdf(share));
    let low = at(happened, not + 1.0, 0.025).unwrap_or(0.0);
    let high = at(happened + 1.0, not, 0.975).unwrap_or(1.0);
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_intervals() {
        // Zero of 100: 1 − 0.025^(1/100).
        let (low, high) = interval(0, 100);
        assert!(low <= 0.0 && (high - 0.036_217).abs() < 1e-4, "{low} {high}");
        let (low, high) = interval(5, 100);
        assert!((low - 0.016_432).abs() < 1e-4 && (high - 0.112_835).abs() < 1e-4, "{low} {high}");
        let (low, high) = interval(3, 3);
        assert!((low - 0.292_402).abs() < 1e-4 && high >= 1.0, "{low} {high}");
        assert_eq!(interval(0, 0), (0.0, 1.0));
    }
}

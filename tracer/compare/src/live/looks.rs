//! The factor by which an interval must be wider if it is looked at all the time.

use crate::statistics::interval::{Spread, degrees_of_freedom};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use wirelap_events::Total;

/// The interval is relatively the narrowest after so many seconds.
const NARROWEST_AFTER: f64 = 60.0;

/// The time at which the bound is the narrowest, in units of its own clock, for error probabilities of about 1 %.
const CLOCK: f64 = 11.0;

/// More resemblance of successive blocks cannot be told from a steady change.
const MOST_RESEMBLANCE: f64 = 0.9;

/// The factor by which an interval of 95 % at one look is widened, so that it is wrong with the probability `error` at any of all looks.
pub fn factor(spreads: &[Spread], seconds: usize, error: f64) -> f64 {
    let (Ok(normal), Ok(student)) =
        (Normal::new(0.0, 1.0), StudentsT::new(0.0, 1.0, degrees_of_freedom(spreads)))
    else {
        return f64::INFINITY;
    };
    let outside = 1.0 - normal.cdf(bound(seconds, error));
    let wanted = student.inverse_cdf(1.0 - outside);
    let factor = wanted / student.inverse_cdf(0.975);
    if factor.is_finite() { factor.max(1.0) } else { f64::INFINITY }
}

/// The number of standard deviations that a mean of independent values never leaves, with the probability 1 − `error`.
fn bound(seconds: usize, error: f64) -> f64 {
    let clock = seconds as f64 * CLOCK / NARROWEST_AFTER;
    let error = error.clamp(1e-9, 0.5);
    ((1.0 + 1.0 / clock.max(1e-3)) * ((clock + 1.0) / (error * error)).ln()).sqrt()
}

/// The factor by which an interval is widened because successive blocks resemble each other, from how much they did. Independent blocks
/// have about 1.
pub fn for_dependence(sides: &[&[f64]]) -> f64 {
    let (mut together, mut alone, mut blocks) = (0.0, 0.0, 0.0);
    for side in sides {
        let mean = side.iter().total::<f64>() / side.len() as f64;
        together += side.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).total::<f64>();
        alone += side.iter().map(|one| (one - mean).powi(2)).total::<f64>();
        blocks += side.len() as f64;
    }
    // The estimate of n values is too small by about 1/n, because their own mean is subtracted.
    let resemblance: f64 = together / alone + sides.len() as f64 / blocks;
    if !resemblance.is_finite() {
        return 1.0;
    }
    let resemblance = resemblance.clamp(0.0, MOST_RESEMBLANCE);
    ((1.0 + resemblance) / (1.0 - resemblance)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_resemble_their_neighbours_are_worth_less() {
        let slow: Vec<f64> = (0..40).map(|n| (f64::from(n) / 6.0).sin()).collect();
        let alternating: Vec<f64> = (0..40).map(|n| f64::from(n % 2)).collect();
        assert!(for_dependence(&[&slow, &slow]) > 3.0);
        assert!((for_dependence(&[&alternating]) - 1.0).abs() < 1e-9);
        assert!((for_dependence(&[&[1.0; 9]]) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_bound_that_is_looked_at_for_ever_is_wider_and_nearly_constant() {
        let bounds = [10, 60, 600, 6_000].map(|seconds| bound(seconds, 0.05));
        assert!(bounds.iter().all(|bound| (2.9..5.0).contains(bound)), "{bounds:?}");
        assert!(bounds[1] < bounds[0] && bounds[1] < bounds[2] && bounds[2] < bounds[3]);
    }

    #[test]
    fn few_blocks_need_a_wider_interval() {
        let spread = |n: u32| Spread::of(&(0..n).map(f64::from).collect::<Vec<_>>());
        let few = factor(&[spread(5), spread(5)], 60, 0.01);
        let many = factor(&[spread(50), spread(50)], 60, 0.01);
        assert!(few > many && many > 1.5 && few < 6.0, "{few} {many}");
    }

    #[test]
    fn a_mean_leaves_its_bound_at_any_time_about_as_rarely_as_said() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut left = 0;
        for _ in 0..400 {
            let (mut sum, mut out) = (0.0, false);
            for n in 1..=600_u32 {
                sum += (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
                out |= n >= 5 && sum.abs() / f64::from(n).sqrt() > bound(n as usize, 0.05);
            }
            left += u32::from(out);
        }
        assert!(left <= 28, "{left} of 400");
    }
}

//! Intervals from bootstrap draws.
//!
//! The percentiles of a bootstrap of few repetitions are too close together: for `n` values they make the interval of a normal
//! distribution whose variance is too small by `(n − 1) / n`. They are widened by that and by the quotient of Student's and the
//! normal quantile, so that their width is that of Student's interval (Hesterberg, What Teachers Should Know About the
//! Bootstrap, 2015, section 3.5). The degrees of freedom are Welch's, because one side may vary more than the other.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use wirelap_events::Total;

/// From here to there, in logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The precision of a sample's mean: the sample's size and the variance of its mean.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    count: f64,
    variance: f64,
}

impl Spread {
    /// The spread of a sample.
    pub fn of(values: &[f64]) -> Spread {
        let count = values.len() as f64;
        let mean = values.iter().total::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).total();
        Spread { count, variance: squares / (count - 1.0).max(1.0) / count }
    }

    /// The variance of the mean.
    pub fn variance(&self) -> f64 {
        self.variance
    }
}

/// The interval that holds the true difference with this probability. `draws` are sorted, `centre` is the difference as it was
/// measured, `spreads` are those of the samples that it was measured with: two sides, or the differences of pairs.
pub fn around(centre: f64, draws: &[f64], spreads: &[Spread], probability: f64) -> Interval {
    let outside = (1.0 - probability) / 2.0;
    let widening = widening(spreads, 1.0 - outside);
    let below = percentile(draws, outside, false) - centre;
    let above = percentile(draws, outside, true) - centre;
    Interval { low: centre + widening * below.min(0.0), high: centre + widening * above.max(0.0) }
}

/// Student's interval of the mean of a sample.
pub fn of_mean(values: &[f64], probability: f64) -> Interval {
    let spread = Spread::of(values);
    let mean = values.iter().total::<f64>() / spread.count;
    let student = StudentsT::new(0.0, 1.0, (spread.count - 1.0).max(1.0));
    let quantile = student.map_or(0.0, |student| student.inverse_cdf(0.5 + probability / 2.0));
    let half = quantile * spread.variance.sqrt();
    Interval { low: mean - half, high: mean + half }
}

/// The draw that a share of the draws is below, or above if `from_above`. Symmetric, so that opposite draws have opposite
/// percentiles.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A share of a length.
fn percentile(sorted: &[f64], share: f64, from_above: bool) -> f64 {
    let skip = (share * sorted.len() as f64).floor() as usize;
    let mut draws = sorted.iter();
    let draw = if from_above { draws.nth_back(skip) } else { draws.nth(skip) };
    draw.copied().unwrap_or_default()
}

fn widening(spreads: &[Spread], quantile: f64) -> f64 {
    let least = spreads.iter().map(|spread| spread.count).fold(f64::INFINITY, f64::min);
    let (Ok(student), Ok(normal)) =
        (StudentsT::new(0.0, 1.0, degrees_of_freedom(spreads)), Normal::new(0.0, 1.0))
    else {
        return 1.0;
    };
    (least / (least - 1.0).max(1.0)).sqrt() * student.inverse_cdf(quantile)
        / normal.inverse_cdf(quantile)
}

/// Those of Welch and Satterthwaite; all of them if nothing varies.
pub fn degrees_of_freedom(spreads: &[Spread]) -> f64 {
    let (mut variance, mut fourth, mut all) = (0.0, 0.0, 0.0);
    for spread in spreads {
        let freedom = (spread.count - 1.0).max(1.0);
        variance += spread.variance;
        fourth += spread.variance.powi(2) / freedom;
        all += freedom;
    }
    let freedom = variance.powi(2) / fourth;
    if freedom.is_finite() { freedom.clamp(1.0, all) } else { all }
}

#[cfg(test)]
mod tests {
    use super::super::bootstrap::{Drawing, differences};
    use super::*;

    fn interval(a: &[f64], b: &[f64], probability: f64) -> Interval {
        let (left, right): (Vec<&f64>, Vec<&f64>) = (a.iter().collect(), b.iter().collect());
        let drawn = differences((&left, &right), Drawing::Independent, 20_000, 3);
        let mut draws: Vec<f64> = drawn.into_iter().map(|[d]| d).collect();
        draws.sort_by(f64::total_cmp);
        let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len() as f64;
        let spreads = [Spread::of(a), Spread::of(b)];
        around(mean(b) - mean(a), &draws, &spreads, probability)
    }

    #[test]
    fn the_width_is_that_of_students_interval() {
        let a: Vec<f64> = (0..8).map(f64::from).collect();
        let b: Vec<f64> = (0..8).map(|i| f64::from(i) + 5.0).collect();
        let got = interval(&a, &b, 0.95);
        // t(0.975, 14) = 2.1448; the variance is 6, of the difference of the means 2 · 6 / 8.
        let want = 2.1448 * 1.5_f64.sqrt();
        assert!((got.high - 5.0 - want).abs() < 0.1 && (5.0 - got.low - want).abs() < 0.1);
        let narrower = interval(&a, &b, 0.9);
        assert!(narrower.low > got.low && narrower.high < got.high);
    }

    #[test]
    fn about_95_of_100_intervals_hold_the_truth() {
        let mut rng = fastrand::Rng::with_seed(11);
        let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let mut hold = 0;
        for _ in 0..400 {
            let a: Vec<f64> = (0..5).map(|_| normal()).collect();
            let b: Vec<f64> = (0..5).map(|_| normal()).collect();
            let (left, right): (Vec<&f64>, Vec<&f64>) = (a.iter().collect(), b.iter().collect());
            let drawn = differences((&left, &right), Drawing::Independent, 400, 5);
            let mut draws: Vec<f64> = drawn.into_iter().map(|[d]| d).collect();
            draws.sort_by(f64::total_cmp);
            let centre = b.iter().sum::<f64>() / 5.0 - a.iter().sum::<f64>() / 5.0;
            let got = around(centre, &draws, &[Spread::of(&a), Spread::of(&b)], 0.95);
            hold += i32::from(got.low <= 0.0 && 0.0 <= got.high);
        }
        assert!((368..=396).contains(&hold), "{hold} of 400");
    }

    #[test]
    fn the_interval_of_a_mean_is_students() {
        // t(0.975, 2) = 4.3027; the variance of the mean is 1/3.
        let got = of_mean(&[1.0, 2.0, 3.0], 0.95);
        assert!((got.high - 2.0 - 4.3027 / 3_f64.sqrt()).abs() < 1e-3, "{got:?}");
        assert!((got.high + got.low - 4.0).abs() < 1e-9);
    }

    #[test]
    fn values_that_never_vary_have_no_width() {
        let got = interval(&[2.0, 2.0, 2.0], &[2.0, 2.0], 0.95);
        assert_eq!((got.low, got.high), (0.0, 0.0));
    }
}

//! The two-sided signed-rank test of Wilcoxon for pairs, with the exact distribution: if the sides do not differ, each
//! difference is as likely to have the other sign.

use super::ranks;
use wirelap_events::{Size, Total};

/// The share of all choices of signs that are at least as one-sided as these. Differences of zero have no sign and are left
/// out.
pub fn p_value(differences: &[f64]) -> f64 {
    let signed: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    let sizes: Vec<f64> = signed.iter().map(|d| d.abs()).collect();
    let ranks = ranks::doubled(&sizes);
    let positive = signed.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, rank)| rank);
    let total = Size::sum(ranks.iter().copied()).0;
    // The mean is half of the total, so distances are taken twice.
    let distance = |sum: usize| (Size(2) * sum).0.abs_diff(total);
    let seen = distance(Size::sum(positive.copied()).0);
    if ranks.len() > ranks::EXACT_UP_TO {
        let squares: f64 = ranks.iter().map(|&rank| (rank as f64).powi(2)).total();
        return ranks::normal_p(seen as f64, squares);
    }
    let ways = choices(&ranks, total);
    let at_least = ways.iter().enumerate().filter(|(sum, _)| distance(*sum) >= seen);
    at_least.map(|(_, ways)| ways).total::<f64>() / ways.iter().total::<f64>()
}

/// The smallest p-value that so many pairs can have: all differences have the same sign.
pub fn smallest_p(pairs: usize) -> f64 {
    (1..pairs).fold(1.0, |p, _| p / 2.0)
}

/// The number of choices of signs, by the sum of the positive ranks.
fn choices(ranks: &[usize], total: usize) -> Vec<f64> {
    let mut ways = vec![0.0; total.saturating_add(1)];
    ways[0] = 1.0;
    for &rank in ranks {
        for sum in (rank..ways.len()).rev() {
            let before: f64 = ways[sum.saturating_sub(rank)];
            ways[sum] += before;
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-12, "{got} is not {want}");
    }

    #[test]
    fn extremes_are_two_of_all_choices() {
        near(p_value(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 32.0);
        near(p_value(&[-1.0, -2.0, -3.0, -4.0, -5.0]), 2.0 / 32.0);
        near(smallest_p(5), 2.0 / 32.0);
        near(smallest_p(1), 1.0);
        near(smallest_p(0), 1.0);
    }

    #[test]
    fn one_small_difference_of_the_other_sign() {
        // Sums of 0 or 1 and of 14 or 15: four of 32.
        near(p_value(&[-1.0, 2.0, 3.0, 4.0, 5.0]), 4.0 / 32.0);
    }

    #[test]
    fn ties_and_zeros() {
        // Ranks 1.5, 1.5, 3: the sums 0 and 6 of 8 choices are as one-sided.
        near(p_value(&[2.0, 2.0, 0.0, 5.0]), 2.0 / 8.0);
        near(p_value(&[-2.0, 2.0]), 1.0);
        near(p_value(&[0.0, 0.0]), 1.0);
        near(p_value(&[]), 1.0);
    }

    #[test]
    fn the_normal_distribution_continues_the_exact_one() {
        let signs = |n: i32| -> Vec<f64> {
            (1..=n).map(|i| f64::from(if i % 3 == 0 { -i } else { i })).collect()
        };
        let (exact, normal) = (p_value(&signs(60)), p_value(&signs(61)));
        assert!((exact - normal).abs() < 0.02, "{exact} and {normal}");
    }
}

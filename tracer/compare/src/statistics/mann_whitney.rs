//! The two-sided rank test of Mann, Whitney and Wilcoxon for two independent samples, with the exact distribution: all ways
//! to divide the ranks between the sides are equally likely if the sides do not differ.

use super::ranks;
use wirelap_events::{Size, Total};

/// The share of divisions of the ranks that are at least as uneven as this one. Equal values share their rank.
pub fn p_value(a: &[f64], b: &[f64]) -> f64 {
    let (small, large) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if small.is_empty() {
        return 1.0;
    }
    let all: Vec<f64> = small.iter().chain(large).copied().collect();
    let ranks = ranks::doubled(&all);
    let sum = Size::sum(ranks.iter().copied().take(small.len())).0;
    let mean = ((Size(all.len()) + 1) * small.len()).0;
    let distance = sum.abs_diff(mean);
    if all.len() > ranks::EXACT_UP_TO {
        return ranks::normal_p(distance as f64, variance(&ranks, small.len()));
    }
    let ways = divisions(&ranks, small.len());
    let at_least = ways.iter().enumerate().filter(|(sum, _)| sum.abs_diff(mean) >= distance);
    at_least.map(|(_, ways)| ways).total::<f64>() / ways.iter().total::<f64>()
}

/// The smallest p-value that samples of these sizes can have: all values of one side above all of the other.
pub fn smallest_p(a: usize, b: usize) -> f64 {
    // The number of ways to choose `a` of all, factor by factor.
    let ways = (1..=a).map(|i| (b as f64 + i as f64) / i as f64).fold(1.0, |ways, f| ways * f);
    (2.0 / ways).min(1.0)
}

/// The number of ways to choose `chosen` of the ranks, by the sum of the chosen.
fn divisions(ranks: &[usize], chosen: usize) -> Vec<f64> {
    let sums = (Size::sum(ranks.iter().copied()) + 1).0;
    // By how many are chosen, then by their sum.
    let mut ways = vec![vec![0.0; sums]; chosen.saturating_add(1)];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for count in (1..=chosen).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            let (Some(before), Some(after)) = (fewer.last(), more.first_mut()) else { continue };
            for (to, from) in after.iter_mut().skip(rank).zip(before) {
                *to += *from;
            }
        }
    }
    ways.pop().unwrap_or_default()
}

fn variance(ranks: &[usize], chosen: usize) -> f64 {
    let (n, chosen) = (ranks.len() as f64, chosen as f64);
    let squares: f64 = ranks.iter().map(|&rank| (rank as f64 - n - 1.0).powi(2)).total();
    chosen * (n - chosen) / (n * (n - 1.0)) * squares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-12, "{got} is not {want}");
    }

    fn range(from: u32, to: u32) -> Vec<f64> {
        (from..to).map(f64::from).collect()
    }

    #[test]
    fn extremes_are_two_of_all_divisions() {
        near(p_value(&range(0, 3), &range(3, 6)), 0.1);
        near(p_value(&range(5, 10), &range(0, 5)), 2.0 / 252.0);
        near(p_value(&range(0, 1), &range(1, 2)), 1.0);
        near(smallest_p(3, 3), 0.1);
        near(smallest_p(5, 5), 2.0 / 252.0);
        near(smallest_p(2, 8), 2.0 / 45.0);
    }

    #[test]
    fn a_table_value() {
        // Ranks 1, 2, 3, 5 of 8: U = 1; 2 * (1 + 1) of 70 divisions are as uneven.
        near(p_value(&[1.0, 2.0, 3.0, 5.0], &[4.0, 6.0, 7.0, 8.0]), 4.0 / 70.0);
    }

    #[test]
    fn ties_are_permuted_with_the_ranks() {
        // Of the ten divisions of {1, 2.5, 2.5, 4, 5} into 2 and 3, the rank sums are
        // 3.5 ×2, 5, 6 and 6.5 ×2, 5, 7.5 ×2, 9 …; the mean is 6 and 3.5 and 9 are at least 2.5 away.
        near(p_value(&[1.0, 2.0], &[2.0, 3.0, 4.0]), 3.0 / 10.0);
        near(p_value(&[1.0; 4], &[1.0; 4]), 1.0);
    }

    #[test]
    fn sides_can_be_exchanged() {
        let (a, b) = ([1.0, 4.0, 4.0, 9.0], [2.0, 4.0, 7.0, 8.0, 10.0, 11.0]);
        near(p_value(&a, &b), p_value(&b, &a));
    }

    #[test]
    fn the_normal_distribution_continues_the_exact_one() {
        let shifted = |n: u32| -> (Vec<f64>, Vec<f64>) {
            let a = (0..n).map(|i| f64::from(i * 2)).collect();
            let b = (0..n).map(|i| f64::from(i * 2 + n / 2) + 0.5).collect();
            (a, b)
        };
        let ((a, b), (c, d)) = (shifted(30), shifted(31));
        let (exact, normal) = (p_value(&a, &b), p_value(&c, &d));
        assert!((exact - normal).abs() < 0.02, "{exact} and {normal}");
    }
}

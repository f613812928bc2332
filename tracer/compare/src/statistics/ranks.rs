//! Ranks in which equal values share the mean of their ranks.

/// Up to this many values, distributions of ranks are exact; above, normal.
pub const EXACT_UP_TO: usize = 60;

/// Twice the rank of each value, 2 for the smallest. Twice, because the mean of the ranks of equal values can be a half.
pub fn doubled(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0; values.len()];
    let mut first = 0_usize;
    for equal in order.chunk_by(|&i, &j| values[i].total_cmp(&values[j]).is_eq()) {
        let end = first.saturating_add(equal.len());
        for &index in equal {
            ranks[index] = first.saturating_add(end).saturating_add(1);
        }
        first = end;
    }
    ranks
}

/// The two-sided p-value of a distance from the mean, for a normal distribution.
pub fn normal_p(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    statrs::function::erf::erfc(distance / (2.0 * variance).sqrt()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(doubled(&[30.0, 10.0, 20.0, 20.0]), [8, 2, 5, 5]);
        assert_eq!(doubled(&[7.0; 3]), [4, 4, 4]);
        assert!(doubled(&[]).is_empty());
    }
}

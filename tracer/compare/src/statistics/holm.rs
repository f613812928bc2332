//! Holm's correction: the probability that any of several tests alarms falsely stays that of one test.

/// The adjusted p-values, in the order of `p`.
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut adjusted = vec![1.0; p.len()];
    let mut largest: f64 = 0.0;
    for (&index, tests) in order.iter().zip((1..=p.len()).rev()) {
        largest = largest.max(p[index] * tests as f64).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worked_example() {
        // 0.005 × 4, 0.01 × 3, then 0.03 × 2, and 0.04 × 1 not below the one before.
        let got = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (got, want) in got.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - want).abs() < 1e-12, "{got} is not {want}");
        }
        assert!((adjusted(&[0.4, 0.9])[1] - 0.9).abs() < 1e-12);
        assert!(adjusted(&[]).is_empty());
    }
}

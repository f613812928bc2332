//! The bootstrap in two levels: repetitions are drawn with replacement, then each drawn repetition draws its own blocks.

use fastrand::Rng;
use std::cmp::Ordering;

/// A repetition with `K` figures, as natural logarithms.
pub trait Redraw<const K: usize> {
    /// The repetition's figures.
    fn logs(&self) -> [f64; K];

    /// The repetition's figures, if other blocks of its messages had been seen. The same figures if it has no blocks.
    fn redraw(&self, rng: &mut Rng) -> [f64; K];
}

/// A figure without blocks.
impl Redraw<1> for f64 {
    fn logs(&self) -> [f64; 1] {
        [*self]
    }

    fn redraw(&self, _: &mut Rng) -> [f64; 1] {
        [*self]
    }
}

/// The way in which the repetitions of the sides belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawing {
    /// Each side draws its own repetitions.
    Independent,
    /// Pairs are drawn: repetition n of one side with repetition n of the other.
    Pairs,
}

/// A seed for each result, so that the intervals of a result do not depend on the other results (FNV-1a).
pub fn seed_of(seed: u64, name: &str) -> u64 {
    name.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Draws of the logarithm of B/A, as the difference of the means of the logarithms.
///
/// The result is the same with opposite sign if the sides are exchanged: the random numbers are given out in an order of the
/// sides that does not depend on which is A.
pub fn differences<const K: usize, R: Redraw<K>>(
    (a, b): (&[&R], &[&R]),
    drawing: Drawing,
    draws: usize,
    seed: u64,
) -> Vec<[f64; K]> {
    let exchange = order(a, b).is_gt();
    let (first, second) = if exchange { (b, a) } else { (a, b) };
    let mut rng = Rng::with_seed(seed);
    (0..draws)
        .map(|_| {
            let difference = match drawing {
                Drawing::Independent => {
                    let (from, to) = (mean(first, &mut rng), mean(second, &mut rng));
                    each(|k| to[k] - from[k])
                }
                Drawing::Pairs => mean_of_pairs(first, second, &mut rng),
            };
            if exchange { difference.map(|d| -d) } else { difference }
        })
        .collect()
}

fn order<const K: usize, R: Redraw<K>>(a: &[&R], b: &[&R]) -> Ordering {
    let logs = |side: &[&R]| -> Vec<f64> { side.iter().flat_map(|one| one.logs()).collect() };
    let (a, b) = (logs(a), logs(b));
    let different = a.iter().zip(&b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
    different.unwrap_or(a.len().cmp(&b.len()))
}

fn each<const K: usize>(of: impl FnMut(usize) -> f64) -> [f64; K] {
    std::array::from_fn(of)
}

/// The mean of as many repetitions as there are, drawn with replacement.
fn mean<const K: usize, R: Redraw<K>>(side: &[&R], rng: &mut Rng) -> [f64; K] {
    let mut sum = [0.0; K];
    for _ in side {
        let drawn = side[rng.usize(..side.len())].redraw(rng);
        sum.iter_mut().zip(drawn).for_each(|(sum, one)| *sum += one);
    }
    sum.map(|sum| sum / side.len() as f64)
}

fn mean_of_pairs<const K: usize, R: Redraw<K>>(
    first: &[&R],
    second: &[&R],
    rng: &mut Rng,
) -> [f64; K] {
    let pairs = first.len().min(second.len());
    let mut sum = [0.0; K];
    for _ in 0..pairs {
        let pair = rng.usize(..pairs);
        let (from, to) = (first[pair].redraw(rng), second[pair].redraw(rng));
        for (sum, (from, to)) in sum.iter_mut().zip(from.into_iter().zip(to)) {
            *sum += to - from;
        }
    }
    sum.map(|sum| sum / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(a: &[f64], b: &[f64], drawing: Drawing) -> Vec<f64> {
        let (a, b): (Vec<&f64>, Vec<&f64>) = (a.iter().collect(), b.iter().collect());
        differences((&a, &b), drawing, 4_000, 7).into_iter().map(|[d]| d).collect()
    }

    fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        (mean, (squares / values.len() as f64).sqrt())
    }

    #[test]
    fn the_spread_is_that_of_the_difference_of_two_means() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [11.0, 12.0, 13.0, 14.0]);
        let (mean, deviation) = mean_and_deviation(&draw(&a, &b, Drawing::Independent));
        // The variance of each side is 1.25; of a mean of four 1.25/4, of the difference twice that.
        assert!((mean - 10.0).abs() < 0.05 && (deviation - 0.625_f64.sqrt()).abs() < 0.03);
        let (mean, deviation) = mean_and_deviation(&draw(&a, &b, Drawing::Pairs));
        assert!((mean - 10.0).abs() < 1e-9 && deviation < 1e-9, "pairs differ by the same");
    }

    #[test]
    fn exchanged_sides_give_the_opposite() {
        let (a, b) = ([1.0, 5.0, 3.0], [2.0, 2.5, 9.0, 4.0]);
        for drawing in [Drawing::Independent, Drawing::Pairs] {
            let (forth, back) = (draw(&a, &b, drawing), draw(&b, &a, drawing));
            assert!(forth.iter().zip(back).all(|(f, b)| (f + b).abs() < 1e-12));
        }
    }

    #[test]
    fn seeds_differ_by_name_and_by_seed() {
        let seeds = [seed_of(1, "tcp"), seed_of(1, "udp"), seed_of(2, "tcp")];
        assert!(seeds[0] != seeds[1] && seeds[0] != seeds[2]);
        assert_eq!(seed_of(1, "tcp"), seeds[0]);
    }
}

//! The one-way latencies of a repetition in blocks of successive messages, prepared for drawing blocks with replacement.

use fastrand::Rng;
use wirelap_correlate::Histogram;
use wirelap_events::Count;

/// The quantiles of one-way latency that are compared.
pub const QUANTILES: [f64; 3] = [0.5, 0.99, 0.999];

/// More blocks are not used. A run writes at most 15.
const MOST: usize = 64;

/// The blocks of a repetition, as one table: a row for each value, a column for each block.
#[derive(Clone, Debug)]
pub struct BlockTable {
    /// The logarithm of each value that occurs in any block, the smallest first.
    logs: Vec<f64>,
    /// Number of messages of each block that have this value or a smaller one.
    up_to: Vec<Count>,
    /// The number of blocks.
    count: usize,
    /// Messages of each block.
    messages: Vec<Count>,
}

impl BlockTable {
    /// Decodes the blocks; `None` if there are fewer than two, because then there is nothing to draw.
    pub fn decode(encoded: &[String]) -> Option<BlockTable> {
        let decoded = encoded.iter().take(MOST).filter_map(|text| Histogram::decode(text));
        let blocks: Vec<Vec<(u64, u64)>> = decoded
            .map(|block| block.values().collect())
            .filter(|b: &Vec<_>| !b.is_empty())
            .collect();
        if blocks.len() < 2 {
            return None;
        }
        let mut values: Vec<u64> = blocks.iter().flatten().map(|(value, _)| *value).collect();
        values.sort_unstable();
        values.dedup();
        let count = blocks.len();
        let mut up_to = Vec::with_capacity(values.len().saturating_mul(count));
        let mut rest: Vec<_> = blocks.iter().map(|block| block.iter().peekable()).collect();
        let mut messages = vec![Count(0); count];
        for &value in &values {
            for (rest, sum) in rest.iter_mut().zip(&mut messages) {
                if let Some((_, more)) = rest.next_if(|(next, _)| *next == value) {
                    *sum += *more;
                }
                up_to.push(*sum);
            }
        }
        let logs = values.iter().map(|&value| (value.max(1) as f64).ln()).collect();
        Some(BlockTable { logs, up_to, count, messages })
    }

    /// The logarithms of the quantiles of as many blocks as there are, drawn with replacement and put together.
    pub fn redraw(&self, rng: &mut Rng) -> [f64; QUANTILES.len()] {
        let mut times = [Count(0); MOST];
        for _ in 0..self.count {
            times[rng.usize(..self.count)] += 1;
        }
        let sum = |of: &[Count]| {
            Count::sum(of.iter().zip(&times).map(|(count, times)| *count * times.0)).0
        };
        let all = sum(&self.messages);
        QUANTILES.map(|quantile| self.first(|row| sum(row) >= rank(quantile, all)))
    }

    /// The first value whose row is such. All later ones must be, too.
    fn first(&self, such: impl Fn(&[Count]) -> bool) -> f64 {
        let rows: &[Count] = &self.up_to;
        let (mut low, mut high) = (0_usize, self.logs.len().saturating_sub(1));
        while low < high {
            let middle = low.midpoint(high);
            if such(rows.chunks(self.count.max(1)).nth(middle).unwrap_or_default()) {
                high = middle;
            } else {
                low = middle.saturating_add(1);
            }
        }
        self.logs.get(low).copied().unwrap_or_default()
    }
}

/// The position of a quantile among so many sorted values, from 1.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // `as` saturates.
fn rank(quantile: f64, of: u64) -> u64 {
    ((quantile * of as f64).ceil() as u64).clamp(1, of.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(values: impl IntoIterator<Item = u64>) -> String {
        let mut histogram = Histogram::new(3);
        values.into_iter().for_each(|value| histogram.add(value));
        histogram.encode().unwrap()
    }

    #[test]
    fn equal_blocks_always_give_the_quantiles_of_one() {
        let block = encoded((1..=1000).map(|n| n * 1000));
        let blocks = BlockTable::decode(&[block.clone(), block.clone(), block]).unwrap();
        let mut rng = Rng::with_seed(1);
        for _ in 0..20 {
            for (log, want) in blocks.redraw(&mut rng).into_iter().zip([500e3, 990e3, 999e3]) {
                assert!((log.exp() / want - 1.0).abs() < 0.002, "{} is not {want}", log.exp());
            }
        }
    }

    #[test]
    fn unequal_blocks_give_what_a_merged_histogram_gives() {
        let texts = [encoded([1000; 10]), encoded([2000; 10]), encoded([3000; 20])];
        let blocks = BlockTable::decode(&texts).unwrap();
        let mut seen: Vec<String> = Vec::new();
        let mut rng = Rng::with_seed(2);
        for _ in 0..200 {
            seen.push(format!("{:.0}", blocks.redraw(&mut rng)[0].exp() / 1000.0));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, ["1", "2", "3"]);
    }

    #[test]
    fn one_block_or_damaged_ones_are_none() {
        assert!(BlockTable::decode(&[encoded([5])]).is_none());
        assert!(BlockTable::decode(&["x".into(), encoded([5])]).is_none());
        assert!(BlockTable::decode(&[]).is_none());
    }
}

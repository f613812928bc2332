//! The one-way latency of successive messages, in blocks.

use wirelap_events::Nanos;
use wirelap_report::Samples;

/// Number of blocks of messages at which each two of them become one.
const MAX_BLOCKS: usize = 16;

/// The messages of a block at first.
const FIRST_BLOCK: u64 = 64;

/// The one-way latency of successive messages, in blocks of as many messages each. Neighbours resemble each other, so a
/// comparison draws whole blocks and not single messages.
#[derive(Clone, Debug)]
pub struct LatencyBlocks {
    done: Vec<Samples>,
    open: Samples,
    /// Messages in a block. Doubled when there are too many blocks.
    length: u64,
}

impl Default for LatencyBlocks {
    fn default() -> LatencyBlocks {
        LatencyBlocks {
            done: Vec::with_capacity(MAX_BLOCKS),
            open: Samples::new(),
            length: FIRST_BLOCK,
        }
    }
}

impl LatencyBlocks {
    /// Adds the next message's latency.
    pub fn add(&mut self, time: Nanos) {
        self.open.add(time);
        if self.open.count() < self.length {
            return;
        }
        self.done.push(std::mem::take(&mut self.open));
        if self.done.len() == MAX_BLOCKS {
            for index in 0..MAX_BLOCKS / 2 {
                let second = self.done.remove(index.saturating_add(1));
                self.done[index].merge(&second);
            }
            self.length = self.length.saturating_mul(2);
        }
    }

    /// The whole blocks, in order of time. What is left at the end is in none, unless it is all there is.
    pub fn iter(&self) -> impl Iterator<Item = &Samples> {
        let rest = Some(&self.open).filter(|open| self.done.is_empty() && open.count() > 0);
        self.done.iter().chain(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_of_successive_messages_and_of_equal_length() {
        let mut blocks = LatencyBlocks::default();
        for n in 1..=10_000 {
            blocks.add(Nanos(n));
        }
        let all: Vec<&Samples> = blocks.iter().collect();
        assert!((MAX_BLOCKS as u64 / 2..MAX_BLOCKS as u64).contains(&(all.len() as u64)));
        let length = all[0].count();
        assert!(all.iter().all(|block| block.count() == length), "{length}");
        assert!(10_000 - all.len() as u64 * length < length);
        let ends = all.windows(2).map(|pair| (pair[0].quantile(1.0), pair[1].quantile(0.0)));
        assert!(ends.into_iter().all(|(last, next)| last < next));
    }

    #[test]
    fn few_messages_are_one_block() {
        let mut blocks = LatencyBlocks::default();
        blocks.add(Nanos(7));
        assert_eq!(blocks.iter().map(Samples::count).collect::<Vec<_>>(), [1]);
        assert_eq!(LatencyBlocks::default().iter().count(), 0);
    }
}

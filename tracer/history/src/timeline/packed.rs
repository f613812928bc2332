//! Figures as bytes: small numbers take one byte.

use crate::bins::Bins;
use wirelap_events::Count;

/// Writes numbers, each as its 7-bit groups from the lowest on, all but the last with the highest bit set.
#[derive(Debug, Default)]
pub struct PackedWriter {
    bytes: Vec<u8>,
}

impl PackedWriter {
    /// The number of bytes so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// All bytes.
    pub fn finish(self) -> Box<[u8]> {
        self.bytes.into()
    }

    /// A number.
    pub fn number(&mut self, value: u64) {
        let mut rest = value;
        while rest > 0x7f {
            self.bytes.push(low_byte(rest) | 0x80);
            rest >>= 7;
        }
        self.bytes.push(low_byte(rest));
    }

    /// Bins: each as the distance from the one before it, and its count.
    pub fn bins(&mut self, bins: &Bins) {
        self.number(bins.count());
        if bins.count() == 0 {
            return;
        }
        let (min, range) = (bins.min().0, (bins.max() - bins.min()).0);
        for number in [bins.sum(), min, range, bins.counts().len() as u64] {
            self.number(number);
        }
        let mut previous = 0;
        for &(bin, count) in bins.counts() {
            self.number(u64::from(bin.saturating_sub(std::mem::replace(&mut previous, bin))));
            self.number(count.0);
        }
    }
}

/// Reads what a [`PackedWriter`] wrote. Behind the end, everything is 0.
#[derive(Clone, Debug)]
pub struct PackedReader<'a> {
    rest: &'a [u8],
}

impl<'a> PackedReader<'a> {
    /// Reads from the first byte on.
    pub fn new(bytes: &'a [u8]) -> PackedReader<'a> {
        PackedReader { rest: bytes }
    }

    /// A number.
    pub fn number(&mut self) -> u64 {
        let mut value = 0u64;
        for shift in (0..u64::BITS).step_by(7) {
            let Some((&byte, rest)) = self.rest.split_first() else { break };
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        value
    }

    /// A number that a smaller type has room for; 0 if it has not.
    pub fn small<T: TryFrom<u64> + Default>(&mut self) -> T {
        T::try_from(self.number()).unwrap_or_default()
    }

    /// Bins.
    pub fn bins(&mut self) -> Bins {
        let count = self.number();
        if count == 0 {
            return Bins::default();
        }
        let (sum, min) = (self.number(), self.number());
        let max = min.saturating_add(self.number());
        let many = self.small::<usize>().min(self.rest.len());
        let mut bin = 0u16;
        let mut counts = Vec::with_capacity(many);
        for _ in 0..many {
            bin = bin.saturating_add(self.small());
            counts.push((bin, Count(self.number())));
        }
        Bins::from_parts(counts, Count(count), Count(sum), (min, max))
    }
}

#[allow(clippy::cast_possible_truncation)] // The other bits are written after these.
fn low_byte(number: u64) -> u8 {
    number as u8 & 0x7f
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(numbers: Vec<u64>, values: Vec<u64>, cut in 0u32..64) {
            let bins: Bins = values.iter().map(|value| value >> cut).collect();
            let mut writer = PackedWriter::default();
            for &number in &numbers {
                writer.number(number);
            }
            writer.bins(&bins);
            writer.number(7);
            let bytes = writer.finish();
            let mut reader = PackedReader::new(&bytes);
            for number in numbers {
                prop_assert_eq!(reader.number(), number);
            }
            prop_assert_eq!(reader.bins(), bins);
            prop_assert_eq!((reader.number(), reader.number()), (7, 0));
        }

        #[test]
        fn any_bytes_can_be_read(bytes: Vec<u8>) {
            let mut reader = PackedReader::new(&bytes);
            reader.bins();
            reader.small::<u8>();
            reader.number();
        }
    }

    #[test]
    fn bins_take_few_bytes() {
        let mut writer = PackedWriter::default();
        writer.bins(&(0..50u64).map(|n| 1_000_000 + n * 20_000).collect());
        assert!(writer.len() < 90, "{}", writer.len());
    }
}

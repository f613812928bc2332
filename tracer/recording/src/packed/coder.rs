//! Bits ↔ bytes: a bit that was expected takes a small part of a bit (arithmetic coding).
//!
//! Encoder and decoder hold the same interval of numbers. Each bit divides it in proportion to the two probabilities, and its part becomes
//! the next interval. Leading bytes that both ends of the interval share are written. Bytes that nobody can expect stand beside that.

/// The most steps by which a probability is learnt; afterwards, old bits count less and less.
const MOST_STEPS: u8 = 60;

/// Probability of a bit, learnt from the bits before.
#[derive(Clone, Copy, Debug)]
pub struct BitModel {
    /// Probability that the bit is set, of 65,536.
    set: u16,
    /// Number of bits that it was learnt from, up to [`MOST_STEPS`].
    steps: u8,
}

impl Default for BitModel {
    fn default() -> BitModel {
        BitModel { set: 1 << 15, steps: 0 }
    }
}

/// The part of the difference by which a probability changes at each step, of 65,536.
const RATES: [i32; MOST_STEPS as usize + 1] = {
    let mut rates = [0; MOST_STEPS as usize + 1];
    // The first bit counts for more than half, and each later one for less.
    let (mut step, mut tenths) = (0, 16);
    while step < rates.len() {
        rates[step] = 655_360 / tenths;
        step += 1;
        tenths += 10;
    }
    rates
};

impl BitModel {
    fn learn(&mut self, bit: bool) {
        let target = if bit { 65_535 } else { 0 };
        let rate = RATES.get(usize::from(self.steps)).copied().unwrap_or_default();
        let set = i32::from(self.set);
        let change = i32::wrapping_sub(target, set).wrapping_mul(rate) >> 16;
        self.set = u16::try_from(set.wrapping_add(change)).unwrap_or_default().clamp(16, 65_519);
        self.steps = self.steps.saturating_add(1).min(MOST_STEPS);
    }
}

/// One direction of the code. Models are written once for both: what is handed in counts for an encoder only, and what comes out is the same.
pub trait BitCoder {
    /// Codes a bit by its probability.
    fn bit(&mut self, model: &mut BitModel, bit: bool) -> bool;

    /// Codes a bit that is as likely set as not.
    fn even_bit(&mut self, bit: bool) -> bool;
}

/// Codes the lowest `bits` bits of a number, the highest first. `tree` has a model for each beginning.
pub fn tree<C: BitCoder>(coder: &mut C, tree: &mut [BitModel], bits: u32, number: usize) -> usize {
    let mut node = 1_usize;
    for bit in (0..bits).rev() {
        let Some(model) = tree.get_mut(node) else { return 0 };
        let is_set = coder.bit(model, number >> bit & 1 == 1);
        node = node << 1 | usize::from(is_set);
    }
    node & !(usize::MAX << bits)
}

/// The interval of numbers that what was coded so far has left.
#[derive(Debug)]
struct Interval {
    low: u32,
    high: u32,
}

impl Interval {
    const WHOLE: Interval = Interval { low: 0, high: u32::MAX };

    /// The last number of the part of a bit that is set, which has this share of 65,536.
    fn middle(&self, share: u16) -> u32 {
        let part = u64::from(self.high.wrapping_sub(self.low)).wrapping_mul(share.into()) >> 16;
        // The part is smaller than the interval.
        self.low.wrapping_add(u32::try_from(part).unwrap_or_default())
    }

    fn narrow(&mut self, middle: u32, bit: bool) {
        if bit {
            self.high = middle;
        } else {
            self.low = middle.wrapping_add(1);
        }
    }

    /// The byte that both ends begin with, which is then left behind.
    fn settled(&mut self) -> Option<u8> {
        let [first, ..] = self.high.to_be_bytes();
        let is_settled = (self.low ^ self.high) >> 24 == 0;
        is_settled.then(|| {
            self.low <<= 8;
            self.high = self.high << 8 | 0xFF;
            first
        })
    }
}

/// Bits → bytes.
#[derive(Debug)]
pub struct BitEncoder {
    interval: Interval,
    pub bytes: Vec<u8>,
    /// Bytes that stand beside the coded ones.
    pub literals: Vec<u8>,
}

impl Default for BitEncoder {
    fn default() -> BitEncoder {
        BitEncoder { interval: Interval::WHOLE, bytes: Vec::new(), literals: Vec::new() }
    }
}

impl BitEncoder {
    fn narrow(&mut self, middle: u32, bit: bool) {
        self.interval.narrow(middle, bit);
        while let Some(byte) = self.interval.settled() {
            self.bytes.push(byte);
        }
    }

    /// Ends the bytes, so that what follows is read alone.
    pub fn end(&mut self) {
        // The ends of the interval begin with different bytes: the higher one, and zeros, lies between them. A decoder reads zeros behind the end.
        let [first, ..] = self.interval.high.to_be_bytes();
        self.bytes.push(first);
        self.interval = Interval::WHOLE;
    }
}

impl BitCoder for BitEncoder {
    #[inline]
    fn bit(&mut self, model: &mut BitModel, bit: bool) -> bool {
        let middle = self.interval.middle(model.set);
        model.learn(bit);
        self.narrow(middle, bit);
        bit
    }

    #[inline]
    fn even_bit(&mut self, bit: bool) -> bool {
        self.narrow(self.interval.middle(1 << 15), bit);
        bit
    }
}

/// Bytes → bits.
#[derive(Debug)]
pub struct BitDecoder<'a> {
    interval: Interval,
    /// The number that the bytes begin, which lies in the interval.
    number: u32,
    bytes: &'a [u8],
    /// Bytes that were read behind the end.
    overrun: usize,
    literals: &'a [u8],
}

impl<'a> BitDecoder<'a> {
    pub fn new(bytes: &'a [u8], literals: &'a [u8]) -> BitDecoder<'a> {
        let interval = Interval::WHOLE;
        let mut decoder = BitDecoder { interval, number: 0, bytes, overrun: 0, literals };
        for _ in 0..4 {
            decoder.shift();
        }
        decoder
    }

    /// True if more was read than an encoder has written.
    pub fn is_overrun(&self) -> bool {
        self.overrun > 4
    }

    /// The next bytes that stand beside the coded ones.
    pub fn literals(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.literals.split_at_checked(len)?;
        self.literals = rest;
        Some(taken)
    }

    fn shift(&mut self) {
        let byte = if let [byte, rest @ ..] = self.bytes {
            self.bytes = rest;
            *byte
        } else {
            self.overrun = self.overrun.saturating_add(1);
            0
        };
        self.number = self.number << 8 | u32::from(byte);
    }

    fn read(&mut self, middle: u32) -> bool {
        let bit = self.number <= middle;
        self.interval.narrow(middle, bit);
        while self.interval.settled().is_some() {
            self.shift();
        }
        bit
    }
}

impl BitCoder for BitDecoder<'_> {
    #[inline]
    fn bit(&mut self, model: &mut BitModel, _: bool) -> bool {
        let bit = self.read(self.interval.middle(model.set));
        model.learn(bit);
        bit
    }

    #[inline]
    fn even_bit(&mut self, _: bool) -> bool {
        self.read(self.interval.middle(1 << 15))
    }
}

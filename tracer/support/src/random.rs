//! Random numbers that are the same each time (xorshift64*).

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of this number.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Any byte.
    pub fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[4]
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        let end = (end as u64).max(1);
        usize::try_from((self.number() >> 11) % end).unwrap_or_default()
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// So many bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.byte()).collect()
    }

    /// Fills `bytes`, eight at once.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let number = self.number().to_le_bytes();
            chunk.copy_from_slice(&number[..chunk.len()]);
        }
    }

    /// A number at which something may break: the edge of an integer type, or one of any size.
    pub fn extreme(&mut self) -> u64 {
        const EDGES: [u64; 13] = [
            0,
            1,
            0x7F,
            0xFF,
            0x7FFF,
            0xFFFF,
            0x7FFF_FFFF,
            0xFFFF_FFFF,
            1 << 32,
            u64::MAX / 2,
            u64::MAX / 2 + 1,
            u64::MAX - 1,
            u64::MAX,
        ];
        if self.one_in(4) {
            self.number() >> self.below(64)
        } else {
            EDGES[self.below(EDGES.len())]
        }
    }
}

//! Numbers by the values that stood in the same place before.

use super::coder::{BitCoder, BitModel, tree};

/// Number of values that are remembered for each place.
const REMEMBERED: usize = 8;

/// Number of values that are remembered of all places together.
const RECENT: usize = 32;

/// Size of numbers of one kind: their length in bits, and the bits below the first one.
#[derive(Clone, Debug)]
pub struct NumberModel {
    lengths: [BitModel; 128],
    second: [BitModel; 65],
    third: [[BitModel; 2]; 65],
}

impl Default for NumberModel {
    fn default() -> NumberModel {
        let bit = BitModel::default();
        NumberModel { lengths: [bit; 128], second: [bit; 65], third: [[bit; 2]; 65] }
    }
}

impl NumberModel {
    pub fn code<C: BitCoder>(&mut self, coder: &mut C, number: u64) -> u64 {
        let length = 64_u32.wrapping_sub(number.leading_zeros()) as usize;
        let length = tree(coder, &mut self.lengths, 7, length).min(64);
        let mut coded = u64::from(length > 0);
        let second = self.second.get_mut(length).filter(|_| length > 1);
        let Some(second) = second else { return coded };
        let mut left = length.wrapping_sub(2);
        let is_set = coder.bit(second, number >> left & 1 == 1);
        coded = coded << 1 | u64::from(is_set);
        let third = self.third.get_mut(length).filter(|_| left > 0);
        if let Some(third) = third {
            left = left.wrapping_sub(1);
            let is_set = coder.bit(&mut third[usize::from(is_set)], number >> left & 1 == 1);
            coded = coded << 1 | u64::from(is_set);
        }
        for bit in (0..left).rev() {
            coded = coded << 1 | u64::from(coder.even_bit(number >> bit & 1 == 1));
        }
        coded
    }

    pub fn code_signed<C: BitCoder>(&mut self, coder: &mut C, number: i64) -> i64 {
        unfold(self.code(coder, fold(number)))
    }
}

/// 0, -1, 1, -2 … → 0, 1, 2, 3 ….
fn fold(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

fn unfold(folded: u64) -> i64 {
    (folded >> 1 ^ (folded & 1).wrapping_neg()).cast_signed()
}

/// A value of the record of the same subject before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Field {
    value: u64,
    /// The last change that was one.
    change: u64,
    /// Way in which the value was last found: as it was, changed as before, otherwise.
    outcome: u8,
}

impl Field {
    fn set(&mut self, value: u64, outcome: u8) -> u64 {
        if outcome > 0 {
            self.change = value.wrapping_sub(self.value);
        }
        self.value = value;
        self.outcome = outcome;
        value
    }
}

/// Values that were seen in any place.
#[derive(Debug, Default)]
pub struct Anywhere {
    /// Sequence numbers of TCP.
    pub sequences: Recent,
    /// Addresses in the memory of the kernel.
    pub addresses: Recent,
    /// Numbers that were new in their place.
    pub numbers: Recent,
}

/// Knowledge of one place in records, of all subjects.
#[derive(Clone, Debug, Default)]
pub struct Place {
    same: [BitModel; 3],
    repeated: [BitModel; 3],
    is_remembered: BitModel,
    which: [BitModel; REMEMBERED],
    recent: RecentModel,
    is_near: BitModel,
    is_remaining: BitModel,
    number: NumberModel,
    remembered: [u64; REMEMBERED],
}

impl Place {
    /// Codes a number of which earlier ones tell something.
    pub fn unsigned<C: BitCoder>(
        &mut self,
        coder: &mut C,
        field: &mut Field,
        numbers: &mut Recent,
        value: u64,
    ) -> u64 {
        let before = usize::from(field.outcome);
        if coder.bit(&mut self.same[before], value == field.value) {
            field.outcome = 0;
            return field.value;
        }
        let repeated = field.value.wrapping_add(field.change);
        if coder.bit(&mut self.repeated[before], value == repeated) {
            return field.set(repeated, 1);
        }
        let which = self.remembered.iter().position(|known| *known == value);
        let (value, which) = if coder.bit(&mut self.is_remembered, which.is_some()) {
            let which = tree(coder, &mut self.which, 3, which.unwrap_or(0));
            (self.remembered[which], which)
        } else if let Some(value) = self.recent.code(coder, numbers, value) {
            (value, REMEMBERED - 1)
        } else {
            let value = self.afresh(coder, field.value, value);
            numbers.push(value);
            (value, REMEMBERED - 1)
        };
        self.remembered[..=which].rotate_right(1);
        self.remembered[0] = value;
        field.set(value, 2)
    }

    /// Codes a number as such, or as the difference to another one if that is smaller.
    fn afresh<C: BitCoder>(&mut self, coder: &mut C, near: u64, value: u64) -> u64 {
        let difference = fold(value.wrapping_sub(near).cast_signed());
        if coder.bit(&mut self.is_near, difference < value) {
            near.wrapping_add_signed(unfold(self.number.code(coder, difference)))
        } else {
            self.number.code(coder, value)
        }
    }

    /// Codes a number that others tell nothing of.
    pub fn signed<C: BitCoder>(&mut self, coder: &mut C, value: i64) -> i64 {
        self.number.code_signed(coder, value)
    }

    /// Codes a time or a duration in a record of the time `at`. `remaining` is the time from the last one that stands before it in the
    /// record to `at`, without the durations between: a thread's wait is often that of a single other thread.
    pub fn time<C: BitCoder>(
        &mut self,
        coder: &mut C,
        field: &mut Field,
        (at, remaining): (u64, &mut u64),
        value: u64,
    ) -> u64 {
        let before = usize::from(field.outcome);
        if coder.bit(&mut self.same[before], value == field.value) {
            field.outcome = 0;
            return field.value;
        }
        let ago = at.wrapping_sub(value);
        let is_near = coder.bit(&mut self.is_near, fold(ago.cast_signed()) < value);
        let given = if is_near { ago } else { value };
        let length = if coder.bit(&mut self.is_remaining, given == *remaining) {
            *remaining
        } else {
            self.signed(coder, given.cast_signed()).cast_unsigned()
        };
        if is_near {
            *remaining = length;
            field.set(at.wrapping_sub(length), 2)
        } else {
            *remaining = remaining.wrapping_sub(length);
            field.set(length, 2)
        }
    }

    /// Codes a number that may have been seen in another place. `recent` has the numbers of its kind, and `numbers` those that were new.
    pub fn shared<C: BitCoder>(
        &mut self,
        coder: &mut C,
        field: &mut Field,
        (recent, numbers): (&mut Recent, &mut Recent),
        value: u64,
    ) -> u64 {
        let value = match self.recent.code(coder, recent, value) {
            Some(value) => field.set(value, 2),
            None => self.unsigned(coder, field, numbers, value),
        };
        recent.push(value);
        value
    }
}

/// Age of the numbers of a place that were seen elsewhere.
#[derive(Clone, Debug, Default)]
struct RecentModel {
    is_recent: BitModel,
    ago: [BitModel; RECENT],
}

impl RecentModel {
    fn code<C: BitCoder>(&mut self, coder: &mut C, recent: &Recent, value: u64) -> Option<u64> {
        let ago = recent.ago(value);
        let is_recent = coder.bit(&mut self.is_recent, ago.is_some());
        is_recent.then(|| recent.value(tree(coder, &mut self.ago, 5, ago.unwrap_or(0))))
    }
}

/// The values that were seen last.
#[derive(Debug, Default)]
pub struct Recent {
    values: [u64; RECENT],
    next: usize,
}

impl Recent {
    pub fn push(&mut self, value: u64) {
        self.values[self.next] = value;
        self.next = self.next.wrapping_add(1) % RECENT;
    }

    /// Number of values that were seen since the last time that this one was; `None` if there are too many.
    fn ago(&self, value: u64) -> Option<usize> {
        (0..RECENT).find(|ago| self.value(*ago) == value)
    }

    fn value(&self, ago: usize) -> u64 {
        self.values[self.next.wrapping_sub(1).wrapping_sub(ago) % RECENT]
    }
}

//! The payload sizes of a run: single sizes, and ranges of powers of two.

/// A wanted payload size, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadSizes {
    /// This size in bytes.
    Bytes(usize),
    /// The powers of two from `first` to `last`, both included. Those that a middleware does not carry are left out for it.
    PowersOfTwo {
        /// No smaller size.
        first: usize,
        /// No larger size.
        last: usize,
    },
}

impl PayloadSizes {
    /// The sizes in bytes, the smallest first.
    pub fn sizes(self) -> Vec<usize> {
        match self {
            PayloadSizes::Bytes(size) => vec![size],
            PayloadSizes::PowersOfTwo { first, last } => (0..usize::BITS)
                .map(|exponent| 1 << exponent)
                .filter(|size| (first..=last).contains(size))
                .collect(),
        }
    }
}

/// The sizes that a middleware is measured with.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CarriedSizes {
    /// The sizes in the order of the list, each once.
    pub sizes: Vec<usize>,
    /// Sizes that the middleware does not carry, and that need not be refused.
    pub left_out: Vec<usize>,
}

/// The wanted sizes up to `limit` for a middleware that carries at most `most` bytes. A single size counts even if it is too
/// large, so that the plan can refuse it, unless the middleware is only one of `all`.
pub fn carried(
    wanted: &[PayloadSizes],
    limit: Option<usize>,
    most: usize,
    is_of_all: bool,
) -> CarriedSizes {
    let mut carried = CarriedSizes::default();
    for payload in wanted {
        let may_be_left_out = is_of_all || matches!(payload, PayloadSizes::PowersOfTwo { .. });
        for size in payload.sizes() {
            if limit.is_some_and(|limit| size > limit) {
                continue;
            }
            let list = if may_be_left_out && size > most {
                &mut carried.left_out
            } else {
                &mut carried.sizes
            };
            if !list.contains(&size) {
                list.push(size);
            }
        }
    }
    carried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_middleware_does_not_carry_is_left_out_of_ranges_and_of_all() {
        let range = PayloadSizes::PowersOfTwo { first: 8, last: 64 };
        let found = carried(&[PayloadSizes::Bytes(16), range], None, 20, false);
        assert_eq!((found.sizes, found.left_out), (vec![16, 8], vec![32, 64]));
        let found = carried(&[PayloadSizes::Bytes(100), range], None, 20, false);
        assert_eq!(found.sizes, [100, 8, 16], "refused later");
        let found = carried(&[PayloadSizes::Bytes(100), PayloadSizes::Bytes(8)], None, 20, true);
        assert_eq!((found.sizes, found.left_out), (vec![8], vec![100]));
        let found = carried(&[PayloadSizes::Bytes(100), range], Some(32), 1000, false);
        assert_eq!((found.sizes, found.left_out), (vec![8, 16, 32], vec![]));
    }
}

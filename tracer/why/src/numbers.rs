//! Numbers that a publisher gives its messages: those that are seen on the way.

use wirelap_events::Saturate;

/// The numbers seen since observation was last interrupted, and what was missing before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// The smallest and the largest.
    span: Option<(u32, u32)>,
    seen: u64,
    before: Missing,
}

/// Numbers between others that were seen, and were not seen themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Number of numbers that were not seen.
    pub missing: u64,
    /// Number of numbers in all.
    pub whole: u64,
}

impl Missing {
    /// Adds another's.
    pub fn add(&mut self, other: Missing) {
        self.missing.grow(other.missing);
        self.whole.grow(other.whole);
    }
}

impl Numbers {
    /// A message with this number is seen for the first time.
    pub fn see(&mut self, number: u32) {
        let (least, most) = self.span.unwrap_or((number, number));
        self.span = Some((least.min(number), most.max(number)));
        self.seen.grow(1);
    }

    /// Nothing is seen for a while: what is missing meanwhile tells nothing.
    pub fn interrupt(&mut self) {
        *self = Numbers { before: self.missing(), ..Numbers::default() };
    }

    /// Numbers missing so far.
    pub fn missing(&self) -> Missing {
        let Some((least, most)) = self.span else { return self.before };
        let whole = u64::from(most.saturating_sub(least)) + 1;
        Missing {
            missing: self.before.missing.saturating_add(whole.saturating_sub(self.seen)),
            whole: self.before.whole.saturating_add(whole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_count_and_interruptions_do_not() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.missing(), Missing::default());
        for number in [5, 7, 6, 10] {
            numbers.see(number);
        }
        assert_eq!(numbers.missing(), Missing { missing: 2, whole: 6 });
        numbers.interrupt();
        numbers.see(1000);
        numbers.see(1001);
        assert_eq!(numbers.missing(), Missing { missing: 2, whole: 8 });
    }
}

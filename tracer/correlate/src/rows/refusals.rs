//! Refusals of the servers of a row, by the reason that they gave.

use wirelap_events::Saturate;

/// Reasons that are told apart.
const MAX_REASONS: usize = 8;

/// Times that a server has given a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, in the server's or its protocol's words.
    pub reason: Box<str>,
    /// Number of times.
    pub times: u64,
}

/// Everything that servers have refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// The first reasons, in the order in which they came.
    pub listed: Vec<Refusal>,
    /// Number of times for other reasons.
    pub more: u64,
}

impl Refusals {
    /// Adds some times for a reason.
    pub fn add(&mut self, reason: &str, times: u64) {
        let has_room = self.listed.len() < MAX_REASONS;
        match self.listed.iter_mut().find(|known| *known.reason == *reason) {
            Some(known) => known.times.grow(times),
            None if has_room => self.listed.push(Refusal { reason: reason.into(), times }),
            None => self.more.grow(times),
        }
    }

    /// Adds those of another row.
    pub fn absorb(&mut self, other: Refusals) {
        for one in other.listed {
            self.add(&one.reason, one.times);
        }
        self.more.grow(other.more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_bounded() {
        let mut all = Refusals::default();
        for n in 0..20 {
            all.add(&format!("reason {}", n % 10), 1);
        }
        let mut other = Refusals::default();
        other.add("reason 0", 5);
        all.absorb(other);
        assert_eq!((all.listed.len(), all.listed[0].times, all.more), (MAX_REASONS, 7, 4));
    }
}

//! Length of the pauses between sampling windows.

use wirelap_events::Nanos;

/// No pause is longer than so much, unless windows always have to wait, or are far apart.
const LONGEST_PAUSE: Nanos = Nanos::from_millis(5_000);

/// If windows always have to wait, each pause pays for so much of what is owed.
const PAID: u64 = 8;

/// The pauses after sampling windows. Each window has one in the same proportion, so that the probes see for the same share of the time.
/// After a long window it is spread over several, because nothing is known of what happens in a pause.
#[derive(Debug, Default)]
pub struct SamplingPauses {
    /// State of the random numbers that make pauses longer and shorter; `None` if all are the same.
    chance: Option<u64>,
    /// Those that belong to windows which are over, and have not been made yet.
    owed: Nanos,
}

impl SamplingPauses {
    /// Pauses that are longer or shorter by up to a half, by chance.
    pub fn irregular(seed: u64) -> SamplingPauses {
        SamplingPauses { chance: Some(seed), ..SamplingPauses::default() }
    }

    /// The pause after a window that was open for `age`, where the probes see for `open` of `every`.
    pub fn after(&mut self, age: Nanos, open: Nanos, every: Nanos) -> Nanos {
        self.owed += pause(open, every, age);
        let usual = usual_pause(open, every);
        let most = LONGEST_PAUSE.max(usual + usual).max(Nanos(self.owed.0 / PAID));
        let paid = self.owed.min(most);
        self.owed -= paid;
        vary(&mut self.chance, paid)
    }
}

/// The pause after a window that did not wait.
pub fn usual_pause(open: Nanos, every: Nanos) -> Nanos {
    pause(open, every, open)
}

/// The pause that belongs to a window which was open for so long.
fn pause(open: Nanos, every: Nanos, age: Nanos) -> Nanos {
    let whole = u128::from(age.0).saturating_mul(u128::from((every - open).0));
    let pause = whole.checked_div(u128::from(open.0)).unwrap_or(u128::MAX);
    Nanos(u64::try_from(pause).unwrap_or(u64::MAX))
}

/// A time that is longer or shorter by up to a half, by the next number of a sequence (xorshift64), if there is one.
fn vary(chance: &mut Option<u64>, time: Nanos) -> Nanos {
    let Some(number) = chance else { return time };
    let mut next = (*number).max(1);
    next ^= next << 13;
    next ^= next >> 7;
    next ^= next << 17;
    *number = next;
    let part = u128::from(time.0).saturating_mul(u128::from(next >> 32)) >> 32;
    Nanos(time.0 / 2) + Nanos(u64::try_from(part).unwrap_or(u64::MAX))
}

//! The clock that events carry.

use rustix::time::ClockId;
use std::sync::OnceLock;
use wirelap_events::{Nanos, clock};

/// The present time, as BPF programs read it: independent of the time namespace that this process is in.
pub fn now() -> Nanos {
    static AHEAD: OnceLock<i64> = OnceLock::new();
    let ahead = *AHEAD.get_or_init(|| {
        std::fs::read_to_string(clock::OFFSETS).map_or(0, |text| clock::offset(&text))
    });
    let time = rustix::time::clock_gettime(ClockId::Monotonic);
    let part = |value: i64| u64::try_from(value).unwrap_or_default();
    let own = part(time.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(time.tv_nsec));
    Nanos(own.saturating_sub_signed(ahead))
}

/// Largest error of the wall clock, as the kernel estimates it (adjtimex(2), `maxerror`); `None` while nothing disciplines the clock.
#[allow(unsafe_code)]
pub fn max_error() -> Option<Nanos> {
    // SAFETY: all-zero is a valid `timex`, with which the call only reads (`modes` is 0); it writes into this value alone.
    let (state, clock) = unsafe {
        let mut clock: libc::timex = std::mem::zeroed();
        (libc::adjtimex(&raw mut clock), clock)
    };
    let micros = u64::try_from(clock.maxerror).ok()?;
    let is_disciplined =
        state >= 0 && state != libc::TIME_ERROR && clock.status & libc::STA_UNSYNC == 0;
    is_disciplined.then(|| Nanos(micros.saturating_mul(1_000)))
}

/// The difference from the monotonic clock to the wall clock in nanoseconds.
pub fn wall_offset() -> i64 {
    offset(ClockId::Realtime).1
}

/// The present time, and the nanoseconds by which the oscillator's clock, which nobody steers, is ahead of it.
pub fn oscillator() -> (Nanos, i64) {
    offset(ClockId::MonotonicRaw)
}

/// The present time, and the difference from it to another clock in nanoseconds. The quickest of several readings is used, because this
/// thread may lose the CPU between reading the two clocks.
fn offset(clock: ClockId) -> (Nanos, i64) {
    let readings = (0..8).map(|_| {
        let before = now();
        let time = rustix::time::clock_gettime(clock);
        let took = now() - before;
        let other = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
        let at = before + Nanos(took.0 / 2);
        (took, at, other.saturating_sub_unsigned(at.0))
    });
    readings.min_by_key(|&(took, ..)| took).map_or((now(), 0), |(_, at, offset)| (at, offset))
}

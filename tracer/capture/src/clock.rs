//! The clock that events carry.

use std::sync::OnceLock;
use wirelap_events::{Nanos, clock};

/// The present time, as BPF programs read it: independent of the time namespace that this process is in.
pub fn now() -> Nanos {
    static AHEAD: OnceLock<i64> = OnceLock::new();
    let ahead = *AHEAD.get_or_init(|| {
        std::fs::read_to_string(clock::OFFSETS).map_or(0, |text| clock::offset(&text))
    });
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
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

/// The difference from the monotonic clock to the wall clock in nanoseconds. The quickest of several readings is used, because
/// this thread may lose the CPU between reading the two clocks.
pub fn wall_offset() -> i64 {
    let readings = (0..8).map(|_| {
        let before = now();
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        let took = now() - before;
        let wall = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
        (took, wall.saturating_sub_unsigned(before.0.saturating_add(took.0 / 2)))
    });
    readings.min_by_key(|&(took, _)| took).map_or(0, |(_, offset)| offset)
}

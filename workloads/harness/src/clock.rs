//! The kernel's `CLOCK_MONOTONIC`, the clock of its events, in whatever time namespace this process is.

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::sync::OnceLock;
use wirelap_events::{Nanos, clock};

const SECOND: u64 = 1_000_000_000;

/// Time by which this process's clock is ahead, in nanoseconds.
fn ahead() -> i64 {
    static AHEAD: OnceLock<i64> = OnceLock::new();
    *AHEAD.get_or_init(|| {
        std::fs::read_to_string(clock::OFFSETS).map_or(0, |text| clock::offset(&text))
    })
}

/// The time now.
#[inline]
pub fn now() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither is negative on this clock.
    let own = now.tv_sec.unsigned_abs() * SECOND + now.tv_nsec.unsigned_abs();
    Nanos(own.saturating_sub_signed(ahead()))
}

/// Sleeps until `at`, or less when a signal comes; not at all if `at` is past.
pub fn sleep_until(at: Nanos) {
    let own = at.0.saturating_add_signed(ahead());
    let (Ok(tv_sec), Ok(tv_nsec)) = (i64::try_from(own / SECOND), i64::try_from(own % SECOND))
    else {
        return;
    };
    let slept = clock_nanosleep_absolute(ClockId::Monotonic, &Timespec { tv_sec, tv_nsec });
    debug_assert!(matches!(slept, Ok(()) | Err(Errno::INTR)));
}

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

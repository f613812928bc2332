//! State of a host's clock, for the user.

use wirelap_events::HostClock;
use wirelap_recording::hosts::live::{ClockSource, HostClockState, LiveClocks};

/// State of a clock, for the user.
pub fn clock_state(clocks: &LiveClocks, clock: usize) -> HostClock {
    if clock == 0 {
        return HostClock::Own;
    }
    match clocks.state(clock) {
        HostClockState::Unknown => HostClock::Unknown,
        HostClockState::Stepped(step) => HostClock::Stepped(step),
        HostClockState::Known {
            offset_ns,
            drift_ppm,
            drift_within_ppm,
            within,
            at_most,
            from,
            through: _,
        } => {
            let (ClockSource::Packets(samples)
            | ClockSource::Ping(samples)
            | ClockSource::Stated(samples)) = from;
            let samples = samples as u64;
            HostClock::Known { offset_ns, drift_ppm, drift_within_ppm, within, at_most, samples }
        }
    }
}

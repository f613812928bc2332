//! Cost of tracing up to a time, and in the time between two.

use wirelap_events::Nanos;

/// Cost of tracing up to a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostReading {
    /// The time.
    pub at: Nanos,
    /// CPU time of wirelap's own process.
    pub own: Nanos,
    /// CPU time in the probes; `None` if it is not known.
    pub probes: Option<Nanos>,
    /// CPU time of the traced programs, that in the probes included.
    pub programs: Nanos,
    /// Time in which CPUs of this machine did nothing, all CPUs together; `None` if it is not known.
    pub idle: Option<Nanos>,
    /// Events.
    pub events: u64,
    /// Windows that were opened.
    pub windows: u64,
}

/// Cost of tracing in a time, per second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TracingSpending {
    /// CPU time of wirelap's own process, as a share of one core.
    pub own: f64,
    /// CPU time in the probes, as a share of one core; `None` if it is not known.
    pub probes: Option<f64>,
    /// CPU time of the traced programs, as a share of one core.
    pub programs: f64,
    /// CPUs that did nothing; `None` if that is not known.
    pub idle: Option<f64>,
    /// Events a second.
    pub events_per_s: f64,
}

impl CostReading {
    /// Cost of tracing since an earlier time, per second.
    pub fn since(&self, earlier: &CostReading) -> TracingSpending {
        let time = (self.at - earlier.at).as_secs_f64();
        if time <= 0.0 {
            return TracingSpending::default();
        }
        let share = |now: Nanos, then: Nanos| (now - then).as_secs_f64() / time;
        TracingSpending {
            own: share(self.own, earlier.own),
            probes: self.probes.zip(earlier.probes).map(|(now, then)| share(now, then)),
            programs: share(self.programs, earlier.programs),
            idle: self.idle.zip(earlier.idle).map(|(now, then)| share(now, then)),
            events_per_s: self.events.saturating_sub(earlier.events) as f64 / time,
        }
    }
}

/// So many events are enough to know what one costs.
const KNOWN_FROM: u64 = 20_000;

/// The CPU time in the probes: counted by the kernel at first, which costs time itself, and then by the number of events.
#[derive(Debug)]
pub struct ProbeTime<C> {
    /// The kernel counts as long as this is there.
    count: Option<C>,
    /// Time that the kernel has counted, and the number of events in it.
    counted: (Nanos, u64),
}

impl<C> ProbeTime<C> {
    /// The kernel counts from now on, if it does at all.
    pub fn new(count: Option<C>) -> ProbeTime<C> {
        ProbeTime { count, counted: (Nanos(0), 0) }
    }

    /// The time up to now, with so many events; `run_time` is what the kernel has counted. `None` if it did not.
    pub fn read(&mut self, events: u64, run_time: impl FnOnce() -> Nanos) -> Option<Nanos> {
        if self.count.is_some() {
            self.counted = (run_time(), events);
            if events >= KNOWN_FROM {
                self.count = None;
            }
        }
        let (time, counted) = self.counted;
        if time == Nanos(0) {
            return None;
        }
        let since = u128::from(events.saturating_sub(counted)).saturating_mul(u128::from(time.0));
        let since = since.checked_div(u128::from(counted)).unwrap_or_default();
        Some(time + Nanos(u64::try_from(since).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_between() {
        let second = Nanos::from_millis(1_000);
        let earlier =
            CostReading { at: second, own: second, probes: None, ..CostReading::default() };
        let now = CostReading {
            at: second * 3,
            own: second + Nanos::from_millis(200),
            probes: Some(second),
            programs: second,
            idle: Some(second * 2),
            events: 5_000,
            windows: 1,
        };
        let spending = now.since(&earlier);
        assert_eq!((spending.own, spending.probes), (0.1, None));
        assert_eq!((spending.programs, spending.events_per_s), (0.5, 2_500.0));
        let earlier = CostReading { probes: Some(Nanos(0)), idle: Some(second), ..earlier };
        assert_eq!((now.since(&earlier).probes, now.since(&earlier).idle), (Some(0.5), Some(0.5)));
        assert_eq!(now.since(&now), TracingSpending::default());
    }

    #[test]
    fn the_kernel_counts_until_the_cost_of_an_event_is_known() {
        let mut time = ProbeTime::new(Some(()));
        assert_eq!(time.read(10, || Nanos(3_000)), Some(Nanos(3_000)));
        assert_eq!(time.read(KNOWN_FROM, || Nanos(5_000_000)), Some(Nanos(5_000_000)));
        assert!(time.count.is_none());
        let later = time.read(KNOWN_FROM + 1_000, || panic!("nothing is counted any more"));
        assert_eq!(later, Some(Nanos(5_250_000)));
        assert_eq!(ProbeTime::<()>::new(None).read(10, || Nanos(3_000)), None);
    }
}

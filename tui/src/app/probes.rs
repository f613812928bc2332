//! The state of the view of the probes: chosen hooks, events of each probe in the last minutes, and what the tracer used.

use std::collections::VecDeque;
use wirelap_correlate::Snapshot;
use wirelap_events::{Nanos, Probe};

/// The least time between two points.
const APART: Nanos = Nanos::from_millis(1_000);

/// The most points that are kept.
const KEPT: usize = 240;

/// The chosen hooks and settings with which the probes are attached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeSetup {
    /// The chosen hook of each observation; empty if that is not known, as in a replay.
    pub hooks: Vec<ProbeHook>,
    /// The size of the ring buffer in bytes; `None` if there is none.
    pub ring_bytes: Option<u64>,
    /// The text of TLS is read from the memory of programs.
    pub reads_tls: bool,
}

/// An observation and the hook that was chosen for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeHook {
    /// The observation.
    pub observation: String,
    /// The hook; `None` if this kernel has none.
    pub hook: Option<String>,
    /// The measurements that are missing without a hook, and the remedy.
    pub without: String,
}

/// The activity of the probes in a short time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProbePoint {
    /// Length of the time.
    pub length: Nanos,
    /// Events of each probe.
    pub events: [u64; Probe::ALL.len()],
    /// CPU time of wirelap's own process.
    pub cpu: Nanos,
    /// Resident memory of that process at the end of the time, in bytes.
    pub rss_bytes: u64,
}

impl ProbePoint {
    /// Events a second of a probe.
    pub fn rate(&self, probe: Probe) -> f64 {
        self.events[probe as usize] as f64 / self.length.as_secs_f64().max(1e-9)
    }

    /// CPU time over wall time of wirelap's own process, 1.0 for one core.
    pub fn cpu_share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.length.as_secs_f64().max(1e-9)
    }
}

/// Counts since the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct ProbeCounts {
    at: Nanos,
    events: [u64; Probe::ALL.len()],
    cpu: Nanos,
}

impl ProbeCounts {
    fn of(snapshot: &Snapshot) -> ProbeCounts {
        let mut events = [0; Probe::ALL.len()];
        for one in &snapshot.trust.reported {
            events[one.probe as usize] = one.events;
        }
        ProbeCounts { at: snapshot.at, events, cpu: snapshot.trust.tracer.cpu_time }
    }
}

/// The activity of the probes in the last minutes.
#[derive(Clone, Debug, Default)]
pub struct ProbeHistory {
    points: VecDeque<ProbePoint>,
    last: Option<ProbeCounts>,
}

impl ProbeHistory {
    /// Takes what a newer snapshot says.
    pub fn take(&mut self, snapshot: &Snapshot) {
        let now = ProbeCounts::of(snapshot);
        if now.at == Nanos(0) {
            return;
        }
        let Some(last) = self.last.filter(|last| last.at <= now.at) else {
            // The first snapshot, or a replay that was moved back.
            *self = ProbeHistory { points: VecDeque::new(), last: Some(now) };
            return;
        };
        if now.at - last.at < APART {
            return;
        }
        let mut events = [0; Probe::ALL.len()];
        for (events, (now, last)) in events.iter_mut().zip(now.events.iter().zip(last.events)) {
            *events = now.saturating_sub(last);
        }
        if self.points.len() >= KEPT {
            self.points.pop_front();
        }
        self.points.push_back(ProbePoint {
            length: now.at - last.at,
            events,
            cpu: now.cpu - last.cpu,
            rss_bytes: snapshot.trust.tracer.rss_now_bytes,
        });
        self.last = Some(now);
    }

    /// The activity of the probes in each of the last times, the oldest first.
    pub fn points(&self) -> impl DoubleEndedIterator<Item = &ProbePoint> + '_ {
        self.points.iter()
    }

    /// The latest activity of the probes; `None` in the first second.
    pub fn newest(&self) -> Option<&ProbePoint> {
        self.points.back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::snapshot::ProbeEvents;

    fn snapshot(ms: u64, events: u64) -> Snapshot {
        let mut snapshot = Snapshot { at: Nanos::from_millis(ms), ..Snapshot::default() };
        snapshot.trust.reported = vec![ProbeEvents { probe: Probe::Rx, events, filtered: None }];
        snapshot.trust.tracer.cpu_time = Nanos::from_millis(events);
        snapshot
    }

    #[test]
    fn rates_are_those_of_the_last_second() {
        let mut history = ProbeHistory::default();
        assert_eq!(history.newest(), None);
        for (ms, events) in [(0, 9), (1_000, 50), (1_250, 60), (3_000, 450)] {
            history.take(&snapshot(ms, events));
        }
        let newest = history.newest().unwrap();
        assert!((newest.rate(Probe::Rx) - 200.0).abs() < 1e-9);
        assert!((newest.cpu_share() - 0.2).abs() < 1e-9);
        assert_eq!(newest.events[Probe::Xmit as usize], 0);
        assert_eq!(history.points().count(), 1);
    }

    #[test]
    fn a_replay_that_was_moved_back_begins_anew_and_memory_is_bounded() {
        let mut history = ProbeHistory::default();
        (1..1_000).for_each(|second| history.take(&snapshot(second * 1_000, second)));
        assert_eq!(history.points().count(), KEPT);
        history.take(&snapshot(5_000, 5));
        assert_eq!(history.newest(), None);
    }
}

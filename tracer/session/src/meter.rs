//! Measures the CPU time and memory of a process over a period, and keeps how both changed.

use crate::machine::{ProcessUsage, now, usage};
use std::time::Duration;
use wirelap_events::{Nanos, Total};

/// The most points of a series. When it is full, each two of them become one.
const MOST_POINTS: usize = 120;

/// The shortest part of the period with a point of its own. In a shorter one, a process may well have had a whole CPU.
const SHORTEST: Duration = Duration::from_millis(50);

/// CPU time and memory of a process in one part of the period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UsagePoint {
    /// End of the part, from the start of the period.
    pub at: Duration,
    /// CPU time in the part.
    pub cpu: Duration,
    /// The length of the part.
    pub wall: Duration,
    /// The most resident memory of the part's samples, in bytes.
    pub rss_bytes: u64,
}

/// Measures the CPU time and memory of a process over a period.
#[derive(Clone, Debug)]
pub struct Meter {
    pid: u32,
    started: Nanos,
    first: ProcessUsage,
    last: ProcessUsage,
    last_at: Nanos,
    peak_rss: u64,
    ended: bool,
    series: UsageSeries,
}

impl Meter {
    /// Starts to measure now; `None` if there is no such process.
    pub fn start(pid: u32) -> Option<Meter> {
        let (first, started) = (usage(pid)?, now());
        let (last, peak_rss, series) = (first, first.rss_bytes, UsageSeries::default());
        Some(Meter { pid, started, first, last, last_at: started, peak_rss, ended: false, series })
    }

    /// Takes a sample, which ends the measured period until the next sample.
    pub fn sample(&mut self) {
        let Some(usage) = usage(self.pid) else {
            self.ended = true;
            return;
        };
        let at = now();
        self.series.add(UsagePoint {
            at: duration(at - self.started),
            cpu: usage.cpu.saturating_sub(self.last.cpu),
            wall: duration(at - self.last_at),
            rss_bytes: usage.rss_bytes,
        });
        (self.last, self.last_at) = (usage, at);
        self.peak_rss = self.peak_rss.max(usage.rss_bytes);
    }

    /// CPU time divided by wall time, from the start to the last sample; 1.0 is one core.
    pub fn cpu_share(&self) -> f64 {
        let wall = self.wall().as_secs_f64();
        if wall > 0.0 { self.cpu().as_secs_f64() / wall } else { 0.0 }
    }

    /// Major page faults in a second, from the start to the last sample.
    pub fn major_faults(&self) -> f64 {
        let wall = self.wall().as_secs_f64();
        let faults = self.last.major_faults.saturating_sub(self.first.major_faults);
        if wall > 0.0 { faults as f64 / wall } else { 0.0 }
    }

    /// True if there was no such process any more at the last sample.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The time from the start to the last sample.
    pub fn wall(&self) -> Nanos {
        self.last_at - self.started
    }

    /// CPU time from the start to the last sample.
    pub fn cpu(&self) -> Duration {
        self.last.cpu.saturating_sub(self.first.cpu)
    }

    /// The most resident memory of all samples, in bytes.
    pub fn peak_rss(&self) -> u64 {
        self.peak_rss
    }

    /// The resident memory at the last sample, in bytes.
    pub fn rss(&self) -> u64 {
        self.last.rss_bytes
    }

    /// The resident memory at the start, in bytes.
    pub fn rss_at_start(&self) -> u64 {
        self.first.rss_bytes
    }

    /// The parts of the period in order, up to the one that `end` is in.
    pub fn series_until(&self, end: Nanos) -> &[UsagePoint] {
        let end = duration(end - self.started);
        let points = self.series.points.as_slice();
        let later = points.iter().position(|point| point.at.saturating_sub(point.wall) >= end);
        &points[..later.unwrap_or(points.len()).max(1).min(points.len())]
    }
}

/// CPU time divided by wall time of some parts of a period; `None` without parts.
pub fn cpu_share(parts: &[UsagePoint]) -> Option<f64> {
    let sum = |of: fn(&UsagePoint) -> Duration| -> f64 {
        parts.iter().map(|part| of(part).as_secs_f64()).total()
    };
    let wall = sum(|part| part.wall);
    (wall > 0.0).then(|| sum(|part| part.cpu) / wall)
}

fn duration(time: Nanos) -> Duration {
    Duration::from_nanos(time.0)
}

/// Points of equal numbers of samples, so that a long period has no more of them than a short one.
#[derive(Clone, Debug)]
struct UsageSeries {
    points: Vec<UsagePoint>,
    /// Samples in a point.
    length: usize,
    /// Samples in the last point.
    filled: usize,
}

impl Default for UsageSeries {
    fn default() -> UsageSeries {
        UsageSeries { points: Vec::with_capacity(MOST_POINTS), length: 1, filled: 0 }
    }
}

impl UsageSeries {
    fn add(&mut self, sample: UsagePoint) {
        match self.points.last_mut() {
            Some(last) if sample.wall < SHORTEST => {
                *last = together(*last, sample);
                return;
            }
            Some(last) if self.filled < self.length => {
                *last = together(*last, sample);
                self.filled = self.filled.saturating_add(1);
                return;
            }
            _ => {}
        }
        if self.points.len() == MOST_POINTS {
            let pairs = self.points.chunks(2);
            self.points = pairs.filter_map(|pair| pair.iter().copied().reduce(together)).collect();
            self.length = self.length.saturating_mul(2);
        }
        self.points.push(sample);
        self.filled = 1;
    }
}

/// Two neighbouring parts of the period as one.
fn together(a: UsagePoint, b: UsagePoint) -> UsagePoint {
    UsagePoint {
        at: b.at,
        cpu: a.cpu.saturating_add(b.cpu),
        wall: a.wall.saturating_add(b.wall),
        rss_bytes: a.rss_bytes.max(b.rss_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_and_time_passes() {
        let before = now();
        let mut meter = Meter::start(std::process::id()).unwrap();
        meter.sample();
        assert!(meter.peak_rss() > 0);
        assert!(now() > before);
        assert_eq!(meter.series_until(Nanos(u64::MAX)).len(), 1);
    }

    #[test]
    fn a_process_that_never_was_has_no_meter() {
        assert!(Meter::start(u32::MAX).is_none());
    }

    #[test]
    fn what_comes_after_the_end_does_not_count() {
        let mut meter = Meter::start(std::process::id()).unwrap();
        let tenth = Duration::from_millis(100);
        for (at, cpu) in [(1, 80), (2, 60), (3, 40), (4, 0), (5, 0)] {
            let cpu = Duration::from_millis(cpu);
            meter.series.add(UsagePoint { at: tenth * at, cpu, wall: tenth, rss_bytes: 1 });
        }
        let of = |millis| {
            let parts = meter.series_until(meter.started + Nanos::from_millis(millis));
            (parts.len(), cpu_share(parts).unwrap())
        };
        for (end, count, share) in [(0, 1, 0.8), (100, 1, 0.8), (250, 3, 0.6), (900, 5, 0.36)] {
            let (parts, found) = of(end);
            assert!(parts == count && (found - share).abs() < 1e-9, "{end}: {parts}, {found}");
        }
        assert_eq!(cpu_share(&[]), None);
    }

    #[test]
    fn a_short_part_belongs_to_the_one_before() {
        let mut series = UsageSeries::default();
        let part = |at, wall, cpu| {
            let [at, wall, cpu] = [at, wall, cpu].map(Duration::from_millis);
            UsagePoint { at, cpu, wall, rss_bytes: 1 }
        };
        series.add(part(100, 100, 10));
        series.add(part(101, 1, 1));
        series.add(part(201, 100, 50));
        assert_eq!(series.points, [part(101, 101, 11), part(201, 100, 50)]);
    }

    #[test]
    fn a_long_series_keeps_its_sums_and_its_end() {
        let mut series = UsageSeries::default();
        let second = Duration::from_secs(1);
        for n in 1..=1000u32 {
            let (at, rss_bytes) = (second.saturating_mul(n), u64::from(n % 700));
            series.add(UsagePoint { at, cpu: second / 2, wall: second, rss_bytes });
        }
        let points = &series.points;
        assert!((MOST_POINTS / 2..=MOST_POINTS).contains(&points.len()), "{}", points.len());
        let sum = |of: fn(&UsagePoint) -> Duration| points.iter().map(of).sum::<Duration>();
        assert_eq!(
            (sum(|point| point.cpu), sum(|point| point.wall)),
            (second * 500, second * 1000)
        );
        assert_eq!(points.last().unwrap().at, second * 1000);
        assert_eq!(points.iter().map(|point| point.rss_bytes).max(), Some(699));
        assert!(points.is_sorted_by_key(|point| point.at));
    }
}

//! The counters of the probes, and the events that tell what was lost.

use super::Capture;
use super::maps::map_error;
use crate::{CaptureError, clock};
use aya::maps::PerCpuArray;
use std::time::{Duration, Instant};
use wirelap_events::{Body, Cpu, Event, LossCause, LostEvents, Probe};

/// Time between two readings of the counters of lost events.
const LOSS_CHECK: Duration = Duration::from_millis(20);

/// The counters of a probe since it was attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeCounters {
    /// The probe.
    pub probe: Probe,
    /// Events that [`Capture::poll`] has given to its caller.
    pub emitted: u64,
    /// Number of times that the probe ran for something that the filter excludes.
    pub filtered: u64,
    /// Events lost because the ring buffer was full.
    pub lost: u64,
    /// Runs of its programs that the kernel has skipped, of all processes: so many events may be missing besides.
    pub skipped: u64,
    /// Events that were not reported, or without their payload, because their socket is muted.
    pub muted: u64,
}

impl ProbeCounters {
    /// Events that are missing, as far as it is known: each run that was skipped counts as one.
    pub fn missing(&self) -> u64 {
        self.lost.saturating_add(self.skipped)
    }
}

impl Capture {
    /// The counters of each probe.
    pub fn counters(&self) -> Vec<ProbeCounters> {
        let sums = self.read_counters().unwrap_or_default();
        let skipped = self.counts.skipped.of(&self.ebpf);
        Probe::ALL
            .into_iter()
            .map(|probe| {
                let [filtered, lost, muted] = sums[probe as usize];
                let emitted = self.counts.emitted[probe as usize];
                let skipped = skipped[probe as usize];
                ProbeCounters { probe, emitted, filtered, lost, skipped, muted }
            })
            .collect()
    }

    /// Gives a [`Body::Lost`] to `sink` for each probe that has lost events since its last one, or whose runs were skipped.
    pub(super) fn report_lost(
        &mut self,
        sink: &mut dyn FnMut(&Event<'_>),
    ) -> Result<usize, CaptureError> {
        let now = Instant::now();
        if now < self.counts.next_loss_check {
            return Ok(0);
        }
        self.counts.next_loss_check = now + LOSS_CHECK;
        let sums = self.read_counters()?;
        let skipped = self.counts.skipped.at(now, &self.ebpf);
        let mut count = 0;
        for (probe, ([_, lost, _], reported)) in
            Probe::ALL.into_iter().zip(sums.into_iter().zip(&mut self.counts.lost))
        {
            let counts =
                [(LossCause::RingFull, lost), (LossCause::RunSkipped, skipped[probe as usize])];
            for ((cause, now), reported) in counts.into_iter().zip(reported) {
                let more = now.saturating_sub(*reported);
                if more > 0 {
                    *reported = now;
                    let body = Body::Lost(LostEvents { probe, count: more, cause });
                    sink(&Event { at: clock::now(), cpu: Cpu(0), body });
                    count += 1;
                }
            }
        }
        Ok(count)
    }

    /// The counters `filtered`, `lost` and `muted` of each probe, summed over the CPUs.
    fn read_counters(&self) -> Result<[[u64; 3]; Probe::ALL.len()], CaptureError> {
        let map = self.ebpf.map("counters").ok_or(CaptureError::NoMap("counters"))?;
        let map: PerCpuArray<_, [u64; 3]> =
            PerCpuArray::try_from(map).map_err(map_error("counters"))?;
        let mut sums = [[0; 3]; Probe::ALL.len()];
        for (index, sum) in (0..).zip(&mut sums) {
            let values = map.get(&index, 0).map_err(map_error("counters"))?;
            for value in values.iter() {
                sum.iter_mut().zip(value).for_each(|(sum, value)| *sum += value);
            }
        }
        Ok(sums)
    }
}

//! Times at which the probes report: in windows, within a budget, and in turns.

use super::SessionThread;
use crate::keeper::{BudgetKeeper, CpuTimes};
use crate::machine;
use crate::meter::Meter;
use crate::regulator::Windows;
use crate::sampling::{Sampling, TracedTime};
use crate::windows::{SamplingWindows, WindowChange};
use std::time::Duration;
use wirelap_capture::CaptureError;
use wirelap_correlate::DeliverySink;
use wirelap_events::Nanos;
use wirelap_hosts::HostSampling;

impl<S: DeliverySink> SessionThread<S> {
    /// Opens and ends windows and phases whose time has come.
    pub(super) fn pace(&mut self) -> Result<(), CaptureError> {
        let correlator = &self.correlator;
        let change = |windows: &mut SamplingWindows| {
            windows.change(machine::now(), |from, to| correlator.waited_for(from, to))
        };
        if let Some(change) = self.windows.as_mut().and_then(change) {
            self.change_window(change)?;
        }
        self.alternate()
    }

    /// Tells when the first part of the present window ends, if there is one.
    fn tell_first_part(&mut self) {
        let ends = self.windows.as_ref().and_then(SamplingWindows::first_part_ends);
        if let (Some(ends), Some(probes)) = (ends, self.capture.probes_mut()) {
            probes.wait_for_messages(ends);
        }
    }

    /// Opens or ends a window. With a budget, the probes are detached between windows.
    fn change_window(&mut self, change: WindowChange) -> Result<(), CaptureError> {
        let Some(probes) = self.capture.probes_mut() else { return Ok(()) };
        match (&mut self.budget.keeper, change) {
            (_, WindowChange::Prepare) => probes.attach_paused()?,
            (Some(keeper), WindowChange::Open) => {
                keeper.opened();
                probes.attach_again()?;
            }
            (Some(_), WindowChange::Close) => probes.detach()?,
            (None, WindowChange::Open) => probes.set_window(true)?,
            (None, WindowChange::Close) => probes.set_window(false)?,
        }
        if change == WindowChange::Open {
            self.tell_first_part();
        }
        Ok(())
    }

    /// Changes how much of the time is traced, if the budget asks for it.
    pub(super) fn keep_budget(&mut self) -> Result<(), CaptureError> {
        let cpu = self.cpu_times();
        let (Some(keeper), Some(probes)) = (&mut self.budget.keeper, self.capture.probes()) else {
            return Ok(());
        };
        match keeper.judge(machine::now(), cpu, probes, self.behind) {
            None => {}
            Some(Windows::Whole) => {
                self.windows = None;
                self.change_window(WindowChange::Open)?;
            }
            Some(Windows::Cut { open, every }) => {
                if let Some(windows) = &mut self.windows {
                    windows.resize(open, every);
                } else {
                    self.windows = Some(bounded(open, every));
                    self.change_window(WindowChange::Close)?;
                }
            }
        }
        Ok(())
    }

    /// CPU times up to the last snapshot.
    fn cpu_times(&self) -> CpuTimes {
        let nanos = |time: Duration| Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let programs = self.usage.programs.values().map(|meter| nanos(meter.cpu()));
        CpuTimes {
            own: self.usage.own.as_ref().map_or(Nanos(0), |meter| nanos(meter.cpu())),
            programs: programs.fold(Nanos(0), |sum, time| sum + time),
        }
    }

    /// Attaches or detaches the probes when a phase is over. The time that this takes belongs to no phase.
    fn alternate(&mut self) -> Result<(), CaptureError> {
        let Some(alternation) = &mut self.alternation else { return Ok(()) };
        let Some(probes) = self.capture.probes_mut() else { return Ok(()) };
        if alternation.end(machine::now()) && !alternation.is_over() {
            match alternation.attached() {
                Some(detail) => probes.attach_part(detail)?,
                None => probes.detach()?,
            }
            alternation.begin(machine::now());
        }
        Ok(())
    }

    pub(super) fn begin(&mut self, traced: TracedTime) {
        self.usage.own = Meter::start(std::process::id());
        if let Some(hosts) = self.capture.hosts_mut() {
            match traced {
                TracedTime::Fixed(Sampling::Windows { open, every }) => {
                    hosts.sample(HostSampling::Windows { open, every });
                }
                TracedTime::HostBandwidth(bits) => hosts.sample(HostSampling::Bandwidth(bits)),
                TracedTime::Fixed(Sampling::Off) | TracedTime::Within(_) => {}
            }
            return;
        }
        match traced {
            TracedTime::Fixed(Sampling::Windows { open, every }) => {
                let now = machine::now();
                self.windows = Some(SamplingWindows::new(open, every, now).irregular(now.0));
                self.tell_first_part();
            }
            TracedTime::Within(budget) if !self.capture.is_packets() => {
                let (count, cpu) = (self.budget.run_time.take(), self.cpu_times());
                self.budget.keeper = Some(BudgetKeeper::new(budget, count, machine::now(), cpu));
            }
            // Packets alone are not sampled, and no connection carries them.
            TracedTime::Fixed(Sampling::Off)
            | TracedTime::Within(_)
            | TracedTime::HostBandwidth(_) => {}
        }
    }
}

/// Windows whose cost is bounded, from now on.
fn bounded(open: Duration, every: Duration) -> SamplingWindows {
    let now = machine::now();
    SamplingWindows::bounded(open, every, now).irregular(now.0)
}

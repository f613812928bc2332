//! Keeps a session within its budget: reads what it has spent, and says how much of the time is traced.

use crate::budget::Budget;
use crate::machine;
use crate::regulator::{Regulator, Windows};
use crate::spending::{CostReading, ProbeTime};
use std::sync::Arc;
use wirelap_capture::{Capture, RunTimeCount};
use wirelap_correlate::TracingBudget;
use wirelap_events::Nanos;

/// Keeps a session within its budget.
#[derive(Debug)]
pub struct BudgetKeeper {
    regulator: Regulator,
    probes: ProbeTime<Arc<RunTimeCount>>,
    /// Events that were taken in and windows that were opened so far.
    events: u64,
    windows: u64,
}

/// CPU time of the session and of its programs.
#[derive(Clone, Copy, Debug)]
pub struct CpuTimes {
    /// CPU time of wirelap's own process.
    pub own: Nanos,
    /// CPU time of the traced programs.
    pub programs: Nanos,
}

impl BudgetKeeper {
    /// All is traced at first. The kernel counts the probes' time with `count`, if it does.
    pub fn new(budget: Budget, count: Option<Arc<RunTimeCount>>, at: Nanos, cpu: CpuTimes) -> Self {
        let mut keeper = BudgetKeeper {
            regulator: Regulator::new(budget, CostReading::default()),
            probes: ProbeTime::new(count),
            events: 0,
            windows: 0,
        };
        keeper.regulator = Regulator::new(budget, keeper.reading(at, cpu, || Nanos(0)));
        keeper
    }

    /// Events were taken in.
    pub fn took(&mut self, events: usize) {
        self.events = self.events.saturating_add(events as u64);
    }

    /// A window was opened.
    pub fn opened(&mut self) {
        self.windows = self.windows.saturating_add(1);
    }

    /// The windows and pauses from now on, if they change.
    pub fn judge(
        &mut self,
        at: Nanos,
        cpu: CpuTimes,
        capture: &Capture,
        behind: Nanos,
    ) -> Option<Windows> {
        let reading = self.reading(at, cpu, || capture.run_time());
        self.regulator.judge(reading, behind)
    }

    fn reading(
        &mut self,
        at: Nanos,
        cpu: CpuTimes,
        run_time: impl FnOnce() -> Nanos,
    ) -> CostReading {
        CostReading {
            at,
            own: cpu.own,
            probes: self.probes.read(self.events, run_time),
            programs: cpu.programs,
            idle: machine::idle_time(),
            events: self.events,
            windows: self.windows,
        }
    }

    /// The budget and what was spent of it in the last period.
    pub fn shown(&self) -> TracingBudget {
        let spending = self.regulator.spending();
        let of_programs = |probes: f64| {
            if spending.programs > 0.0 { probes / spending.programs } else { 0.0 }
        };
        TracingBudget {
            share: self.regulator.budget().programs,
            own: spending.own,
            probes: spending.probes.map(of_programs),
        }
    }
}

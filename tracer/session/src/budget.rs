//! Budget of tracing, and how much of it is spent.

use crate::spending::TracingSpending;

/// The CPU time of the traced programs counts as at least this share of a core: a program that does next to nothing would not be
/// traced at all otherwise.
const IDLE_PROGRAMS: f64 = 0.05;

/// Share of each CPU that may be taken from the programs although all CPUs are busy.
const TAKEN: f64 = 0.02;

/// Share of a core that showing figures costs, about; pauses do not save it.
const SHOWING: f64 = 0.02;

/// CPUs of which a smaller share is idle are busy: programs that wait for each other are never seen to use all of them.
const SPARE: f64 = 0.25;

/// A load of so few events a second for each CPU is traced whole on busy CPUs, too: pauses would save next to nothing, and what is rare
/// would be missed.
const FEW: f64 = 5_000.0;

/// About the CPU time that the probes take for an event, in seconds, where it is not measured (docs/results/cost.md).
const PROBES: f64 = 0.3e-6;

/// Limits of the costs of tracing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// CPU time of wirelap's own process, as a share of one core.
    pub own: f64,
    /// Tracing takes only CPU time that nobody else wants, except for a small part of each of so many CPUs; 0 if it takes what it may.
    pub yields: usize,
    /// CPU time in the probes, as a share of that of the traced programs; `None` for no limit.
    pub programs: Option<f64>,
    /// Events a second.
    pub events_per_s: f64,
}

impl Budget {
    /// Only what wirelap can keep up with.
    pub const KEEPING_UP: Budget =
        Budget { own: 0.6, yields: 0, programs: None, events_per_s: 400_000.0 };

    /// The same, of CPU time that the programs leave on this machine.
    pub fn keeping_up() -> Budget {
        Budget { yields: crate::machine::cpus(), ..Budget::KEEPING_UP }
    }

    /// This share of a core, and of the traced programs' time.
    pub fn of(share: f64) -> Budget {
        Budget { own: share, programs: Some(share), ..Budget::KEEPING_UP }
    }

    /// Ratio of the cost of tracing to the CPU time that the programs leave and that may be taken from them all the same, if this
    /// share of the time is traced.
    pub fn of_what_is_left(&self, spending: &TracingSpending, share: f64) -> f64 {
        let cpus = self.yields as f64;
        let (Some(idle), 1..) = (spending.idle, self.yields) else { return 0.0 };
        if spending.events_per_s < FEW * cpus * share {
            return 0.0;
        }
        let probes = spending.probes.unwrap_or(PROBES * spending.events_per_s);
        let spent = spending.own + probes;
        let spare = SPARE * cpus;
        // Where nothing is idle, nobody knows how much the programs would use without tracing.
        let left = (idle + spent - spare).max(0.0) * (idle / spare).min(1.0);
        spent / (left + TAKEN * cpus + SHOWING)
    }

    /// Share of the budget that is spent by tracing a share of the time; above 1, it is exceeded.
    pub fn spent(&self, spending: &TracingSpending, share: f64) -> f64 {
        let programs = self
            .programs
            .zip(spending.probes)
            .map(|(budget, probes)| probes / (budget * spending.programs.max(IDLE_PROGRAMS)));
        let own = spending.own / self.own;
        let events = spending.events_per_s / self.events_per_s;
        let left = self.of_what_is_left(spending, share);
        programs.unwrap_or_default().max(own).max(events).max(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_busy_machine_only_a_little_is_taken_from_the_programs() {
        let budget = Budget { yields: 2, ..Budget::KEEPING_UP };
        let spending = |own, idle| TracingSpending {
            own,
            idle,
            events_per_s: 100_000.0,
            probes: Some(0.1),
            ..TracingSpending::default()
        };
        // Two busy CPUs: a fiftieth of each, and what it costs to show figures. Nearly busy ones; an
        // eighth, a quarter and half idle.
        for (own, idle, limit) in [
            (0.8, Some(0.0), 0.06),
            (0.1, Some(0.0), 0.06),
            (0.3, Some(0.1), 0.06),
            (0.6, Some(0.25), 0.06 + 0.45 / 2.0),
            (0.2, Some(0.5), 0.06 + 0.3),
            (0.5, Some(1.0), 0.06 + 1.1),
        ] {
            let spent = budget.spent(&spending(own, idle), 1.0);
            let expected = ((own + 0.1) / limit).max(own / 0.6).max(0.25);
            assert!((spent - expected).abs() < 1e-9, "{own}, {idle:?}: {spent}");
        }
        // It is not known what is idle.
        assert!((budget.spent(&spending(0.3, None), 1.0) - 0.5).abs() < 1e-9);
        let unyielding = Budget { programs: None, ..Budget::of(0.2) };
        assert!((unyielding.spent(&spending(0.4, Some(2.0)), 1.0) - 2.0).abs() < 1e-9);
    }
}

//! The share of the time that is traced, so that what it costs stays within a budget.

use crate::budget::Budget;
use crate::spending::{CostReading, TracingSpending};
use std::time::Duration;
use wirelap_events::Nanos;

/// The smallest share of the time that is traced.
const LEAST: f64 = 0.005;

/// From this share of the time on, all of it is traced: pauses would cost more than they save.
const WHOLE: f64 = 0.9;

/// Least time over which spending is judged.
const PERIOD: Nanos = Nanos::from_millis(1_000);

/// Least time over which spending that is far too much is judged.
const URGENT: Nanos = Nanos::from_millis(100);

/// A load that begins on busy CPUs is first traced for at most this share of the time: what it costs is not known yet, and the share grows
/// if it is little.
const FIRST: f64 = 0.05;

/// Events that are so much older than the clock are a sign that they come faster than they are taken.
const FAR_BEHIND: Nanos = Nanos::from_millis(400);

/// The share of traced time grows at most by this factor at once, because little was seen of what it will cost.
const GROWTH: f64 = 2.0;

/// As long as so much of the budget is spent, the share of traced time does not grow.
const ENOUGH: f64 = 0.8;

/// The shortest time from the start of one window to the start of the next: at each, the probes are attached.
const CYCLE: Duration = Duration::from_secs(2);

/// The shortest window.
const WINDOW: Duration = Duration::from_millis(20);

/// Chooses the share of the time that is traced.
#[derive(Debug)]
pub struct Regulator {
    budget: Budget,
    share: f64,
    /// Reading at the time when the share was chosen.
    since: CostReading,
    /// Reading at the time when the share was judged last.
    last: CostReading,
    /// True if the cost was far too much of what the programs leave when it was judged last.
    was_pressed: bool,
    spending: TracingSpending,
}

impl Regulator {
    /// All of the time is traced at first.
    pub fn new(budget: Budget, now: CostReading) -> Regulator {
        let spending = TracingSpending::default();
        Regulator { budget, share: 1.0, since: now, last: now, was_pressed: false, spending }
    }

    /// The budget.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The cost of tracing in the last period.
    pub fn spending(&self) -> TracingSpending {
        self.spending
    }

    /// Share of the budget that is spent where `spending` is that of `time`, and the taken events are `behind` the clock.
    fn spent(&self, spending: &TracingSpending, time: Nanos, behind: Nanos) -> f64 {
        // Events that wait in the ring buffer will take their time, too.
        let waiting = 1.0 + behind.as_secs_f64() / time.as_secs_f64().max(0.1);
        let spending_all = TracingSpending { own: spending.own * waiting, ..*spending };
        let spent = self.budget.spent(&spending_all, self.share);
        if behind > FAR_BEHIND && spending.events_per_s > self.budget.events_per_s / 4.0 {
            return spent.max(GROWTH);
        }
        spent
    }

    /// Judges what was spent until now; the taken events are so much older than the clock. Returns another share of the time that
    /// is to be traced, from a window and a pause, or all of it.
    pub fn judge(&mut self, now: CostReading, behind: Nanos) -> Option<Windows> {
        let time = now.at - self.since.at;
        let last = std::mem::replace(&mut self.last, now);
        let mut spending = now.since(&self.since);
        let mut spent = self.spent(&spending, time, behind);
        // A load that has just begun is judged by what it has cost since then.
        let recent = now.since(&last);
        let presses = self.budget.of_what_is_left(&recent, self.share) > GROWTH;
        // A moment of work for something else is no load.
        let begins = self.share >= 1.0 && presses && self.was_pressed;
        self.was_pressed = presses;
        if self.share >= 1.0 {
            let newest = self.spent(&recent, now.at - last.at, behind);
            if newest > GROWTH && newest > spent && (begins || !presses) {
                (spending, spent) = (recent, newest);
            }
        }
        // What is far too much is not waited for; what is too little was perhaps in no window.
        let enough = if spent > GROWTH { 1 } else { 2 };
        let opened = now.windows.saturating_sub(self.since.windows);
        let is_whole = opened >= enough || self.share >= 1.0;
        let is_known = begins || self.budget.of_what_is_left(&spending, self.share) <= GROWTH;
        let is_urgent =
            spent > GROWTH && self.share >= 1.0 && now.at - last.at >= URGENT && is_known;
        if !is_urgent && (time < PERIOD || !is_whole) {
            return None;
        }
        (self.since, self.spending) = (now, spending);
        let wanted = match spent {
            spent if spent > 1.0 => self.share / spent,
            spent if spent < ENOUGH => self.share * (ENOUGH / spent.max(0.01)).min(GROWTH),
            _ => self.share,
        };
        let share = match wanted {
            _ if begins => wanted.clamp(LEAST, FIRST),
            wanted if wanted >= WHOLE => 1.0,
            wanted => wanted.max(LEAST),
        };
        let is_changed = (share - self.share).abs() > f64::EPSILON;
        self.share = share;
        is_changed.then(|| Windows::of(share))
    }
}

/// Windows and pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Windows {
    /// No pauses.
    Whole,
    /// A window of the length `open` in each period `every`.
    Cut {
        /// The length of a window.
        open: Duration,
        /// From the start of one to the start of the next.
        every: Duration,
    },
}

impl Windows {
    fn of(share: f64) -> Windows {
        if share >= 1.0 {
            return Windows::Whole;
        }
        let every = CYCLE.max(WINDOW.div_f64(share));
        Windows::Cut { open: every.mul_f64(share), every }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small and positive"
    )]
    fn whole(number: f64) -> u64 {
        number as u64
    }

    /// A machine on which a traced second costs so much.
    struct Machine {
        reading: CostReading,
        /// A traced second.
        own: f64,
        probes: f64,
        events: f64,
        /// Each second, traced or not.
        base: f64,
        programs: f64,
    }

    impl Machine {
        fn new() -> Machine {
            let (own, probes, events) = (0.2, 0.1, 400_000.0);
            Machine {
                reading: CostReading::default(),
                own,
                probes,
                events,
                base: 0.0,
                programs: 1.0,
            }
        }

        /// A quarter of a second, of which this share is traced.
        fn quarter(&mut self, share: f64) -> CostReading {
            let quarter = |share: f64| Nanos(whole(share * 250e6));
            self.reading.at += quarter(1.0);
            self.reading.own += quarter(self.own * share + self.base);
            let probes = self.reading.probes.unwrap_or_default();
            self.reading.probes = Some(probes + quarter(self.probes * share));
            self.reading.programs += quarter(self.programs);
            self.reading.events += whole(self.events * share / 4.0);
            self.reading.windows += 1;
            self.reading
        }

        /// The share after so many seconds.
        fn settle(&mut self, regulator: &mut Regulator, seconds: usize) -> f64 {
            for _ in 0..seconds * 4 {
                let reading = self.quarter(regulator.share);
                regulator.judge(reading, Nanos(0));
            }
            regulator.share
        }
    }

    fn regulator(budget: Budget) -> Regulator {
        Regulator::new(budget, CostReading::default())
    }

    fn is_near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 0.25
    }

    #[test]
    fn what_fits_into_the_budget_is_traced_whole() {
        let (mut machine, mut regulator) = (Machine::new(), regulator(Budget::of(0.5)));
        machine.events = 1_000.0;
        assert!(machine.settle(&mut regulator, 5) >= 1.0);
        assert!(is_near(regulator.spending().own, 0.2), "{:?}", regulator.spending());
        assert!(is_near(regulator.spending().probes.unwrap(), 0.1));
    }

    #[test]
    fn each_limit_bounds_the_traced_share() {
        // By wirelap's own time, by the probes', and by events.
        for (budget, expected) in [
            (Budget { programs: None, ..Budget::of(0.02) }, 0.1),
            (Budget { own: 1.0, ..Budget::of(0.01) }, 0.1),
            (Budget { events_per_s: 40_000.0, ..Budget::KEEPING_UP }, 0.1),
        ] {
            let (mut machine, mut regulator) = (Machine::new(), regulator(budget));
            let share = machine.settle(&mut regulator, 20);
            assert!(is_near(share, expected), "{budget:?}: {share}");
            // Once there is less to do, all is traced again.
            (machine.own, machine.probes, machine.events) = (0.0, 0.0, 0.0);
            assert!(machine.settle(&mut regulator, 20) >= 1.0);
        }
    }

    #[test]
    fn without_the_probes_time_their_share_limits_nothing() {
        let (mut machine, mut regulator) = (Machine::new(), regulator(Budget::of(0.01)));
        (machine.own, machine.events) = (0.0, 0.0);
        for _ in 0..20 {
            let reading = CostReading { probes: None, ..machine.quarter(1.0) };
            assert_eq!(regulator.judge(reading, Nanos(0)), None);
        }
    }

    #[test]
    fn programs_that_do_nothing_are_traced_all_the_same() {
        let (mut machine, mut regulator) = (Machine::new(), regulator(Budget::of(0.01)));
        (machine.own, machine.probes, machine.events, machine.programs) =
            (0.001, 0.0004, 10.0, 0.001);
        assert!(machine.settle(&mut regulator, 5) >= 1.0);
    }

    #[test]
    fn what_cannot_be_saved_leaves_the_least_share() {
        let (mut machine, mut regulator) = (Machine::new(), regulator(Budget::of(0.01)));
        machine.base = 0.05;
        assert!(machine.settle(&mut regulator, 40) <= LEAST);
        assert!(regulator.spending().own > 0.05, "it is said: {:?}", regulator.spending());
    }

    #[test]
    fn a_sudden_load_is_not_waited_for() {
        let (mut machine, mut regulator) = (Machine::new(), regulator(Budget::KEEPING_UP));
        machine.events = 4e6;
        let windows = regulator.judge(machine.quarter(1.0), Nanos(0)).unwrap();
        let Windows::Cut { open, every } = windows else { panic!("{windows:?}") };
        assert!(is_near(open.as_secs_f64() / every.as_secs_f64(), 0.1), "{windows:?}");
        assert!(every >= CYCLE && open >= WINDOW, "{windows:?}");
    }

    #[test]
    fn a_load_that_has_just_begun_is_judged_by_what_it_costs() {
        let (mut machine, mut regulator) = (Machine::new(), regulator(Budget::KEEPING_UP));
        machine.events = 0.0;
        for _ in 0..3 {
            assert_eq!(regulator.judge(machine.quarter(1.0), Nanos(0)), None);
        }
        // Four times too many for a quarter of a second, which are half too few for a second.
        machine.events = 1.6e6;
        let windows = regulator.judge(machine.quarter(1.0), Nanos(0)).unwrap();
        let Windows::Cut { open, every } = windows else { panic!("{windows:?}") };
        assert!(is_near(open.as_secs_f64() / every.as_secs_f64(), 0.25), "{windows:?}");
    }

    #[test]
    fn a_load_that_begins_on_busy_cpus_is_traced_little_at_first() {
        let judged = |yields: usize, events: u64| {
            let at = |quarter: u64| CostReading {
                at: Nanos::from_millis(250) * quarter,
                own: Nanos::from_millis(100) * quarter,
                events: events * quarter,
                idle: Some(Nanos(0)),
                ..CostReading::default()
            };
            let budget = Budget { yields, ..Budget::KEEPING_UP };
            let mut regulator = Regulator::new(budget, at(0));
            [1, 2].map(|quarter| regulator.judge(at(quarter), Nanos(0)))
        };
        // A quarter of a second could be work for something else.
        let [None, Some(Windows::Cut { open, every })] = judged(2, 5_000) else {
            panic!("{:?}", judged(2, 5_000))
        };
        assert!(is_near(open.as_secs_f64() / every.as_secs_f64(), FIRST), "{open:?} {every:?}");
        // Few events, or no CPUs to yield.
        assert_eq!([judged(2, 2_000), judged(0, 5_000)], [[None; 2]; 2]);
    }

    #[test]
    fn what_still_waits_counts_and_far_too_much_is_judged_after_one_window() {
        let budget = Budget { own: 0.25, ..Budget::KEEPING_UP };
        let (mut machine, mut regulator) = (Machine::new(), regulator(budget));
        (machine.events, machine.own) = (1_000.0, 0.9);
        // Half of what came is still in the ring buffer: it will take as much again.
        let windows = regulator.judge(machine.quarter(1.0), Nanos::from_millis(250)).unwrap();
        let Windows::Cut { open, every } = windows else { panic!("{windows:?}") };
        assert!(is_near(open.as_secs_f64() / every.as_secs_f64(), 0.25 / 1.8), "{windows:?}");
        // That was too little: one window is enough to know.
        machine.own = 9.0;
        let share = regulator.share;
        for _ in 0..5 {
            let reading = CostReading { windows: 1, ..machine.quarter(share) };
            assert_eq!(regulator.judge(reading, Nanos(0)), None, "no window was opened");
        }
        let reading = CostReading { windows: 2, ..machine.quarter(share) };
        assert!(regulator.judge(reading, Nanos(0)).is_some());
    }

    #[test]
    fn events_that_wait_for_long_are_too_many() {
        let (mut machine, mut regulator) = (Machine::new(), regulator(Budget::KEEPING_UP));
        machine.events = 150_000.0;
        let late = FAR_BEHIND + Nanos(1);
        for _ in 0..3 {
            assert_eq!(regulator.judge(machine.quarter(1.0), late), None);
        }
        assert!(matches!(regulator.judge(machine.quarter(1.0), late), Some(Windows::Cut { .. })));
        // A reader that waits for a CPU while hardly anything happens is no reason.
        let (mut machine, mut regulator) = (Machine::new(), self::regulator(Budget::KEEPING_UP));
        machine.events = 1_000.0;
        for _ in 0..8 {
            assert_eq!(regulator.judge(machine.quarter(1.0), late), None);
        }
    }

    #[test]
    fn short_windows_are_rare() {
        let Windows::Cut { open, every } = Windows::of(LEAST) else { panic!("all is traced") };
        assert_eq!((open, every), (WINDOW, WINDOW * 200));
    }
}

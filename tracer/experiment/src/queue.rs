//! The trials that are still to be run. A middleware that has failed twice in a row is given up, so that a missing broker does
//! not cost a timeout for each of its trials.

use crate::trial::Trial;
use std::collections::{BTreeMap, VecDeque};
use wirelap_events::human::counted_as;

/// After this many failures in a row, a middleware is given up.
const FAILURES: u32 = 2;

/// The trials that are still to be run, in order.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: VecDeque<Trial>,
    /// Trials that were taken or given up so far.
    passed: usize,
    /// Failures in a row, by the trial's subject.
    failures: BTreeMap<String, u32>,
    /// Trials that were given up, by subject.
    given_up: BTreeMap<String, u64>,
}

impl Queue {
    /// The trials of a plan.
    pub fn new(trials: &[Trial]) -> Queue {
        Queue { waiting: trials.iter().cloned().collect(), ..Queue::default() }
    }

    /// Takes the next trial of a middleware that was not given up.
    pub fn next(&mut self) -> Option<Trial> {
        loop {
            let trial = self.waiting.pop_front()?;
            self.passed = self.passed.saturating_add(1);
            let subject = trial.subject();
            if !self.is_given_up(&subject) {
                return Some(trial);
            }
            let given_up = self.given_up.entry(subject).or_default();
            *given_up = given_up.saturating_add(1);
        }
    }

    /// Puts the trial that was taken last back to the front.
    pub fn put_back(&mut self, trial: &Trial) {
        self.passed = self.passed.saturating_sub(1);
        self.waiting.push_front(trial.clone());
    }

    /// The trials that will be run.
    pub fn waiting(&self) -> impl Iterator<Item = &Trial> {
        self.waiting.iter().filter(|trial| !self.is_given_up(&trial.subject()))
    }

    /// Adds trials at the end.
    pub fn extend(&mut self, trials: Vec<Trial>) {
        self.waiting.extend(trials);
    }

    /// Remembers whether a trial failed.
    pub fn record(&mut self, trial: &Trial, failed: bool) {
        let failures = self.failures.entry(trial.subject()).or_default();
        *failures = if failed { failures.saturating_add(1) } else { 0 };
    }

    /// True if the trials of a subject are not run any more.
    pub fn is_given_up(&self, subject: &str) -> bool {
        self.failures.get(subject).is_some_and(|&failures| failures >= FAILURES)
    }

    /// True if no trial is left that will be run, unless more are added.
    pub fn is_empty(&self) -> bool {
        self.waiting().next().is_none()
    }

    /// The number of the trial that was taken last, 1 for the first.
    pub fn number(&self) -> usize {
        self.passed
    }

    /// The number of all trials, with those that were taken or given up.
    pub fn total(&self) -> usize {
        self.passed.saturating_add(self.waiting.len())
    }

    /// Skipped trials, a sentence for each middleware and broker.
    pub fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.given_up.iter().map(|(subject, &trials)| {
            let trials = counted_as(trials, "further trial was", "further trials were");
            format!("{subject} failed twice in a row: {trials} skipped")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::tests::world;
    use crate::plan::plan;
    use crate::request::tests::request;

    fn queue(words: &str) -> Queue {
        Queue::new(&plan(&request(words), &world()).unwrap().trials)
    }

    #[test]
    fn a_middleware_that_fails_twice_in_a_row_is_given_up_and_the_others_go_on() {
        let mut queue = queue("latency --on tcp,mqtt --broker mosquitto --repeat 5 --seed 1");
        let (mut tcp, mut mqtt) = (0, 0);
        while let Some(trial) = queue.next() {
            let failed = trial.name() == "mqtt";
            *(if failed { &mut mqtt } else { &mut tcp }) += 1;
            queue.record(&trial, failed);
        }
        assert_eq!((tcp, mqtt), (5, 2));
        assert_eq!((queue.number(), queue.total()), (10, 10));
        let notes: Vec<_> = queue.notes().collect();
        assert_eq!(
            notes,
            ["mqtt (mosquitto) failed twice in a row: 3 further trials were skipped"]
        );
    }

    #[test]
    fn a_success_in_between_begins_the_count_anew() {
        let mut queue = queue("latency --on tcp --repeat 6");
        let mut ran = 0;
        while let Some(trial) = queue.next() {
            ran += 1;
            queue.record(&trial, ran % 2 == 0);
        }
        assert_eq!((ran, queue.notes().count()), (6, 0));
    }

    #[test]
    fn brokers_of_one_middleware_fail_apart() {
        let mut queue = queue("latency --on mqtt --broker rumqttd,mosquitto --repeat 4 --seed 2");
        let mut ran = Vec::new();
        while let Some(trial) = queue.next() {
            queue.record(&trial, trial.subject() == "mqtt (rumqttd)");
            ran.push(trial.subject());
        }
        let of = |name: &str| ran.iter().filter(|subject| *subject == name).count();
        assert_eq!((of("mqtt (rumqttd)"), of("mqtt (mosquitto)")), (2, 4));
    }

    #[test]
    fn the_last_trial_that_will_be_run_is_known() {
        let mut queue = queue("latency --on tcp --repeat 4");
        for _ in 0..2 {
            assert!(!queue.is_empty());
            let trial = queue.next().unwrap();
            queue.record(&trial, true);
        }
        assert!(queue.is_empty(), "the two that are left are given up");
        assert!(queue.next().is_none());
    }
}

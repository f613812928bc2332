//! Makes results of the records of trials: pools the repetitions of one middleware, payload size and rate. All figures are made
//! of what the report has of each repetition, so that a run that was resumed has those of a run that was not interrupted.

mod clients;
mod merged;
mod notes;
mod outcome;
mod pooled;
mod record;
mod repetition;
mod requests;
mod round_trip;
mod why;

pub use clients::topology;
pub use outcome::rate;
pub use pooled::{AtRate, at_rate};
pub use record::TrialRecord;

use crate::ab::Variant;
use crate::trial::Trial;
use std::collections::BTreeMap;
use wirelap_report::RunResult;

/// Properties that trials share which are repetitions of each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ResultKey {
    middleware: String,
    broker: Option<String>,
    variant: Option<Variant>,
    payload: usize,
    /// The bits of the rate, which are in the order of rates above 0.
    rate: Option<u64>,
}

fn key(trial: &Trial) -> ResultKey {
    ResultKey {
        middleware: trial.name().to_owned(),
        broker: trial.broker.as_ref().map(|broker| broker.name().to_owned()),
        variant: trial.variant,
        payload: trial.payload,
        rate: rate(trial).map(f64::to_bits),
    }
}

/// The order of results: the names of the middlewares and the payload sizes as tables show them.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The names of the middlewares.
    pub middlewares: &'a [String],
    /// The payload sizes in bytes.
    pub payloads: &'a [usize],
}

/// The results of a run while it goes on: a result is made anew only if it has another repetition since.
#[derive(Debug, Default)]
pub struct Results {
    made: BTreeMap<ResultKey, (Vec<RepetitionStamp>, RunResult)>,
    /// The results in the file of a run that is resumed, with a repetition of each that was taken over.
    earlier: BTreeMap<ResultKey, RunResult>,
}

/// Position of a repetition, and whether its cost of tracing is known: one of them changes if its record changes.
type RepetitionStamp = (u32, bool);

impl Results {
    /// Remembers the result of a file that a trial was taken over from.
    pub fn resume(&mut self, trial: &Trial, result: &RunResult) {
        self.earlier.entry(key(trial)).or_insert_with(|| result.clone());
    }

    /// One result for each middleware, broker, variant, payload size and rate. Middlewares and sizes are in the order of the
    /// lists, rates ascend, and the two variants stand side by side.
    pub fn pool(&mut self, records: &[TrialRecord], order: Order<'_>) -> Vec<RunResult> {
        let mut groups: BTreeMap<ResultKey, Vec<&TrialRecord>> = BTreeMap::new();
        for record in records {
            groups.entry(key(&record.trial)).or_default().push(record);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(key, _)| {
            let middleware = order.middlewares.iter().position(|name| *name == key.middleware);
            let payload = order.payloads.iter().position(|&size| size == key.payload);
            (middleware, payload, key.rate, key.variant)
        });
        groups.into_iter().map(|(key, records)| self.result(key, &records)).collect()
    }

    fn result(&mut self, key: ResultKey, records: &[&TrialRecord]) -> RunResult {
        let stamp = |record: &&TrialRecord| {
            let one = &record.repetition;
            (one.position, one.trust.tracer.slowdown.is_some())
        };
        let stamps: Vec<RepetitionStamp> = records.iter().map(stamp).collect();
        if let Some((made_of, result)) = self.made.get(&key)
            && *made_of == stamps
        {
            return result.clone();
        }
        let result = pooled::result(records, self.earlier.get(&key));
        self.made.insert(key, (stamps, result.clone()));
        result
    }
}

#[cfg(test)]
mod tests;

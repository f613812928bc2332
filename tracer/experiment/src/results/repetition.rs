//! One repetition, with what a later comparison needs.

use super::outcome::{is_partial, ledger, messages, throughput};
use super::round_trip::{self, rtt_half};
use crate::ground_truth::Records;
use crate::measure::Outcome;
use crate::pacing::Pacing;
use crate::workload_processes::RoleProcess;
use wirelap_report::{
    Histograms, IdleUse, ProcessUse, Repetition, Samples, SegmentHistogram, TimeSpent,
};
use wirelap_session::machine::Meter;

/// A repetition at its `position` in the order of the run.
pub fn of(position: u32, outcome: &Outcome) -> Repetition {
    let messages = messages(outcome);
    let ledger = ledger(outcome);
    Repetition {
        number: outcome.trial.repetition,
        position,
        partial: is_partial(outcome) || messages.delivered < messages.sent.div_ceil(2),
        messages,
        throughput: throughput(outcome, messages.delivered),
        one_way_ns: outcome.tally.one_way.distribution(),
        rtt_half_ns: rtt_half(&[outcome]),
        histograms: histograms(outcome),
        time_spent: TimeSpent::from(&outcome.evidence.time_spent()),
        byte_deliveries: ledger.deliveries,
        wire_bytes: ledger.total(),
        processes: outcome
            .processes
            .iter()
            .map(|process| process_use(process, messages.delivered))
            .collect(),
    }
}

fn histograms(outcome: &Outcome) -> Histograms {
    let tally = &outcome.tally;
    let (actual, intended) = outcome.records.as_ref().map(Records::times).unwrap_or_default();
    let segments = tally.segments.iter().filter_map(|(leg, segment, samples)| {
        Some(SegmentHistogram {
            leg,
            segment: segment.name().to_owned(),
            total_ns: samples.sum().0,
            histogram: samples.histogram()?,
        })
    });
    Histograms {
        one_way_ns: tally.one_way.histogram(),
        one_way_blocks_ns: tally.blocks.iter().filter_map(Samples::histogram).collect(),
        rtt_half_ns: round_trip::histogram(outcome),
        publish_to_deliver_ns: actual.histogram(),
        intended_to_deliver_ns: intended
            .histogram()
            .filter(|_| matches!(outcome.trial.pacing, Pacing::Rate(_))),
        segments: segments.collect(),
    }
}

fn process_use(process: &RoleProcess, delivered: u64) -> ProcessUse {
    let meter = process.meter.as_ref();
    let per_message = |ns: f64| (delivered > 0).then(|| ns / delivered as f64);
    ProcessUse {
        role: process.role.name().to_owned(),
        name: process.name.clone(),
        cpu_share: meter.map(Meter::cpu_share),
        cpu_ns_per_message: meter.and_then(|meter| per_message(meter.cpu().as_nanos() as f64)),
        rss_bytes: meter.map(Meter::peak_rss),
        idle: process.idle.as_ref().map(|meter| IdleUse {
            seconds: meter.wall().as_secs_f64(),
            cpu_share: meter.cpu_share(),
            rss_bytes: meter.peak_rss(),
        }),
    }
}

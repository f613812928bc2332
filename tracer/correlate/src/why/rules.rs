//! From evidence to verdicts.
//!
//! A kind of cause becomes a verdict when it takes both enough time and enough of the whole, of the message
//! near the median or of what the slowest lost beyond it. The limits are in [`rule`]; each has a test with a
//! scenario on either side.

use super::breakdown::{Breakdown, Cell, Sums};
use super::evidence::{Evidence, Finding};
use super::explanation::{
    Cause, Severity, Tail, TailRow, TypicalRow, Verdict, VerdictKind as Kind,
};
use super::losses;
use super::remedy::remedy;
use super::sentences;
use std::collections::BTreeMap;
use wirelap_events::{Comm, MAX_LEGS, Nanos, Segment, TaskId};

/// Fewer messages than this tell nothing about a median.
const ENOUGH: u64 = 20;

/// A thread that is on a CPU so much of the time has no room left.
const SATURATED: f64 = 0.8;

/// From when on a cause is worth a verdict: time, and part of the whole.
struct Rule {
    median: (Nanos, f64),
    tail: (Nanos, f64),
}

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// `None` for kinds that are not about time.
fn rule(kind: Kind) -> Option<Rule> {
    let (median, tail) = match kind {
        Kind::NagleDelayedAck | Kind::Corked => ((us(500), 0.15), (ms(2), 0.15)),
        // A broker that is polled answers within a millisecond or two where it is set to.
        Kind::FetchWait | Kind::SenderBatching => ((ms(3), 0.3), (ms(10), 0.3)),
        Kind::ReceiveWindow | Kind::CongestionWindow | Kind::Pacing | Kind::SendBuffer => {
            ((us(200), 0.2), (ms(1), 0.25))
        }
        Kind::LateWrite => ((us(500), 0.25), (ms(2), 0.25)),
        Kind::Retransmission => ((us(200), 0.1), (ms(1), 0.2)),
        Kind::QdiscQueueing => ((us(100), 0.2), (ms(1), 0.25)),
        Kind::RunQueueContention => ((us(150), 0.25), (ms(1), 0.3)),
        Kind::IdleWakeup => ((us(200), 0.5), (ms(5), 0.5)),
        Kind::SoftirqDeferral => ((us(100), 0.25), (ms(1), 0.3)),
        Kind::BrokerCpuBound => ((us(300), 0.3), (ms(2), 0.4)),
        Kind::BrokerStalled | Kind::ClientStalled => ((us(300), 0.25), (ms(2), 0.25)),
        Kind::ReaderBusy => ((us(300), 0.3), (ms(2), 0.3)),
        Kind::Unexplained => ((ms(1), 0.4), (ms(3), 0.5)),
        Kind::QueueOverflow
        | Kind::NeverDelivered
        | Kind::Duplicates
        | Kind::Upkeep
        | Kind::SharedMemory => return None,
    };
    Some(Rule { median, tail })
}

/// Idle CPUs are worth a note from here on.
const IDLE_NOTE: (Nanos, f64) = (us(10), 0.3);

/// The middle and the slowest messages of a row.
struct Measured<'a> {
    evidence: &'a Evidence,
    middle: Sums,
    median: f64,
    tail: Option<Sums>,
    /// Mean of what the slowest took longer than the middle.
    excess: f64,
}

/// A cause's part of the two.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_field_names)] // The same two figures of two sets of messages.
struct Share {
    median: f64,
    median_share: f64,
    tail: f64,
    tail_share: f64,
    /// What a message near the median takes in all.
    whole: f64,
}

impl<'a> Measured<'a> {
    fn new(evidence: &'a Evidence) -> Measured<'a> {
        let breakdown = &evidence.breakdown;
        let messages = breakdown.messages();
        let middle = breakdown.middle();
        let median = middle.mean_latency();
        // One in a hundred, and of few messages at least ten, but never so many that they are no tail.
        let count = (messages / 100).max(10).min(messages / 10);
        let tail = (count > 0).then(|| breakdown.slowest(count));
        let excess = tail.as_ref().map_or(0.0, |tail| tail.mean_latency() - median);
        Measured { evidence, middle, median, tail, excess }
    }

    /// The part of all cells that `fit`.
    fn share(&self, fits: impl Fn(&Cell) -> bool) -> Share {
        let mut share = Share { whole: self.median, ..Share::default() };
        for (slot, _) in self.evidence.breakdown.cells().iter().enumerate().filter(|(_, c)| fits(c))
        {
            let median = self.middle.mean(slot);
            share.median += median;
            share.tail += self.tail.as_ref().map_or(0.0, |tail| tail.mean(slot) - median);
        }
        share.median_share = ratio(share.median, self.median);
        share.tail_share = ratio(share.tail, self.excess);
        share
    }

    fn verdict(&self, leg: usize, kind: Kind) -> Option<Verdict> {
        let finding = self.evidence.finding(leg, kind)?;
        let share = self.share(|cell| cell.leg == leg && cell.cause == Cause::Of(kind));
        let severity = self.severity(kind, finding, share)?;
        let process = finding.task.map(|task| (task, self.name(task)));
        Some(Verdict {
            kind,
            severity,
            leg: leg_number(leg),
            segment: Some(finding.segment()),
            process,
            evidence: sentences::of(self.evidence, kind, finding),
            remedy: remedy(kind, &self.evidence.setting, finding.segment(), finding.at_broker),
            ..share.verdict()
        })
    }

    fn name(&self, task: TaskId) -> Comm {
        self.evidence.setting.names.get(&task.pid).copied().unwrap_or_default()
    }

    fn severity(&self, kind: Kind, finding: &Finding, share: Share) -> Option<Severity> {
        let rule = rule(kind)?;
        let enough = self.evidence.breakdown.messages() >= ENOUGH;
        if !enough {
            return None;
        }
        let is_grave =
            share.passes(&rule) && (kind != Kind::BrokerCpuBound || self.is_bound(finding, share));
        let full = matches!(
            kind,
            Kind::ReaderBusy
                | Kind::BrokerCpuBound
                | Kind::SendBuffer
                | Kind::ReceiveWindow
                | Kind::CongestionWindow
                | Kind::Pacing
                | Kind::QdiscQueueing
        );
        if is_grave {
            // Whoever sends as fast as possible fills whatever is slowest.
            let saturating = self.evidence.setting.saturating && full;
            return Some(if saturating { Severity::Note } else { Severity::Problem });
        }
        let (time, part) = IDLE_NOTE;
        (kind == Kind::IdleWakeup && share.median >= time.0 as f64 && share.median_share >= part)
            .then_some(Severity::Note)
    }

    /// A broker that works on a message is short of CPU if it works all the time, or very long.
    fn is_bound(&self, finding: &Finding, share: Share) -> bool {
        let busy = finding.task.and_then(|task| self.evidence.setting.busy.get(&task.tid));
        busy.is_some_and(|&busy| busy >= SATURATED)
            || share.median >= ms(2).0 as f64
            || share.tail >= ms(5).0 as f64
    }

    /// Time that no rule has a word for.
    fn unexplained(&self) -> impl Iterator<Item = Verdict> + '_ {
        let rule = rule(Kind::Unexplained);
        let segments = (0..MAX_LEGS).flat_map(|leg| Segment::ALL.map(|segment| (leg, segment)));
        segments.filter_map(move |(leg, segment)| {
            let share = self.share(|cell| {
                cell.leg == leg && cell.segment == segment && cell.cause == Cause::Ordinary
            });
            let passes = rule.as_ref().is_some_and(|rule| share.passes(rule));
            (passes && self.evidence.breakdown.messages() >= ENOUGH).then(|| Verdict {
                leg: leg_number(leg),
                segment: Some(segment),
                evidence: vec![format!(
                    "{} of it in {} on leg {}, and nothing that was seen says why",
                    Nanos::from_f64(share.median.max(share.tail)),
                    segment.name(),
                    leg + 1
                )],
                remedy: remedy(Kind::Unexplained, &self.evidence.setting, segment, false),
                ..share.verdict()
            })
        })
    }

    /// Keep-alives and discovery are seen beside slow messages much more than beside others.
    fn upkeep(&self) -> Option<Verdict> {
        let tail = self.tail.as_ref()?;
        let all = self.evidence.breakdown.all();
        let slow = ratio(tail.beside_upkeep, tail.messages);
        let usual = ratio(all.beside_upkeep, all.messages);
        let is_it = slow >= 0.5 && usual <= 0.2 && slow >= 5.0 * usual && self.excess >= 1e6;
        (is_it && self.evidence.breakdown.messages() >= 5 * ENOUGH).then(|| Verdict {
            kind: Kind::Upkeep,
            tail: Nanos::from_f64(self.excess * slow),
            tail_share: slow,
            evidence: vec![format!(
                "a keep-alive or discovery frame was beside {:.0} % of the slowest messages, and beside {:.1} % of all",
                slow * 100.0,
                usual * 100.0
            )],
            remedy: remedy(Kind::Upkeep, &self.evidence.setting, Segment::Wire, false),
            ..Share::default().verdict()
        })
    }
}

impl Share {
    fn passes(&self, rule: &Rule) -> bool {
        let enough = |time: f64, share: f64, limit: (Nanos, f64)| {
            time >= limit.0.0 as f64 && share >= limit.1
        };
        // A tail that is hardly longer than the rest is none.
        let stands_out = self.tail >= self.whole / 2.0;
        enough(self.median, self.median_share, rule.median)
            || stands_out && enough(self.tail, self.tail_share, rule.tail)
    }

    fn verdict(&self) -> Verdict {
        Verdict {
            kind: Kind::Unexplained,
            severity: Severity::Problem,
            leg: None,
            segment: None,
            process: None,
            median: Nanos::from_f64(self.median),
            median_share: self.median_share.clamp(0.0, 1.0),
            tail: Nanos::from_f64(self.tail),
            tail_share: self.tail_share.clamp(0.0, 1.0),
            evidence: Vec::new(),
            remedy: String::new(),
        }
    }
}

fn leg_number(leg: usize) -> Option<u8> {
    u8::try_from(leg + 1).ok()
}

/// Whole nanoseconds.
#[allow(clippy::cast_possible_truncation)] // `as` saturates.
fn signed(ns: f64) -> i64 {
    ns.round() as i64
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Every verdict, the gravest first.
pub fn verdicts(evidence: &Evidence) -> Vec<Verdict> {
    let measured = Measured::new(evidence);
    let legs = (0..MAX_LEGS).flat_map(|leg| Kind::ALL.map(|kind| (leg, kind)));
    let mut found: Vec<Verdict> =
        legs.filter_map(|(leg, kind)| measured.verdict(leg, kind)).collect();
    found.extend(measured.unexplained());
    found.extend(measured.upkeep());
    found.extend(losses::verdicts(evidence, measured.median));
    let weight = |verdict: &Verdict| verdict.median_share.max(verdict.tail_share);
    found.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then(weight(b).total_cmp(&weight(a))).then(a.kind.cmp(&b.kind))
    });
    found
}

/// What the message near the median was made of.
pub fn typical(breakdown: &Breakdown) -> Vec<TypicalRow> {
    if breakdown.messages() == 0 {
        return Vec::new();
    }
    let middle = breakdown.middle();
    let mut rows: BTreeMap<(usize, bool, Segment), f64> = BTreeMap::new();
    for (slot, cell) in breakdown.cells().iter().enumerate() {
        // The dwell lies before the leg that it counts to.
        let place = (cell.leg, cell.segment != Segment::BrokerDwell, cell.segment);
        *rows.entry(place).or_default() += middle.mean(slot);
    }
    let row = |((leg, _, segment), mean): ((usize, bool, Segment), f64)| TypicalRow {
        leg: leg_number(leg).unwrap_or(u8::MAX),
        segment,
        mean: Nanos::from_f64(mean),
    };
    rows.into_iter().map(row).filter(|row| row.mean > Nanos(0)).collect()
}

/// The slowest 1 % and 0.1 %, as far as there are ten of them.
pub fn tails(breakdown: &Breakdown) -> Vec<Tail> {
    let middle = breakdown.middle();
    [(0.01, 100), (0.001, 1000)]
        .into_iter()
        .filter_map(|(share, one_in)| tail(breakdown, &middle, share, one_in))
        .collect()
}

fn tail(breakdown: &Breakdown, middle: &Sums, share: f64, one_in: u64) -> Option<Tail> {
    let messages = breakdown.messages() / one_in;
    if messages < 10 {
        return None;
    }
    let slowest = breakdown.slowest(messages);
    let excess = slowest.mean_latency() - middle.mean_latency();
    if excess < 1.0 {
        return None;
    }
    let mut rows: Vec<TailRow> = breakdown
        .cells()
        .iter()
        .enumerate()
        .map(|(slot, cell)| {
            let more = slowest.mean(slot) - middle.mean(slot);
            TailRow {
                leg: leg_number(cell.leg).unwrap_or(u8::MAX),
                segment: cell.segment,
                cause: cell.cause,
                excess_ns: signed(more),
                share: more / excess,
            }
        })
        .filter(|row| row.excess_ns != 0)
        .collect();
    rows.sort_by_key(|row| (-row.excess_ns, row.leg, row.segment, row.cause));
    Some(Tail { share, messages, least: slowest.least, excess: Nanos::from_f64(excess), rows })
}

//! Verdicts about messages that are lost, or come twice, and about what cannot be seen.

use super::evidence::{Evidence, Losses};
use super::explanation::{Severity, Verdict, VerdictKind as Kind};
use super::numbers::Missing;
use super::remedy::remedy;
use wirelap_events::{Nanos, Segment};

/// One in so many messages may be missing at the ends of an observation.
const TOLERATED: u64 = 1000;

/// A library that keeps a message for less is not waiting for more of them.
const LINGER: Nanos = Nanos::from_millis(3);

/// Every verdict of this sort. `median` is what a message takes, in nanoseconds.
pub fn verdicts(evidence: &Evidence, median: f64) -> Vec<Verdict> {
    let found = [
        overflow(evidence),
        never(evidence),
        duplicates(evidence),
        shared(evidence),
        batching(evidence, median),
    ];
    found.into_iter().flatten().collect()
}

fn verdict(evidence: &Evidence, kind: Kind, severity: Severity, clauses: Vec<String>) -> Verdict {
    Verdict {
        kind,
        severity,
        leg: None,
        segment: None,
        process: None,
        median: Nanos(0),
        median_share: 0.0,
        tail: Nanos(0),
        tail_share: 0.0,
        evidence: clauses,
        remedy: remedy(kind, &evidence.setting, Segment::Wire, false),
    }
}

impl Losses {
    /// Numbers of messages that are missing on the publisher's way out, while others before and after them
    /// are not, and that nobody got.
    fn unsent(&self) -> Option<(u64, u64)> {
        let Missing { missing, whole } = self.skipped;
        (missing * 100 > whole && self.missing().is_some()).then_some((missing, whole))
    }

    /// Deliveries that are missing, of those that are due.
    fn missing(&self) -> Option<(u64, u64)> {
        let told = self.told?;
        let missing = told.due.saturating_sub(told.delivered);
        (missing * TOLERATED > told.due).then_some((missing, told.due))
    }
}

/// Packets or messages that found a queue full. What TCP sends again is not lost.
fn overflow(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let mut clauses = Vec::new();
    let mut clause = |count: u64, one: &str, many: &str| {
        if count > 0 {
            clauses.push(counted(count, one, many));
        }
    };
    clause(
        losses.socket_drops,
        "packet was thrown away because the receiving socket's buffer was full",
        "packets were thrown away because the receiving socket's buffer was full",
    );
    clause(
        if losses.resent == 0 { losses.queue_drops } else { 0 },
        "packet was thrown away because a queue of the device was full",
        "packets were thrown away because a queue of the device was full",
    );
    clauses.extend(losses.unsent().map(|(missing, whole)| {
        format!(
            "{missing} of {whole} messages were published and never reached a socket: the library threw them away, as at a high-water mark"
        )
    }));
    if clauses.is_empty() {
        return None;
    }
    clauses.extend(losses.missing().map(did_not_arrive));
    Some(verdict(evidence, Kind::QueueOverflow, Severity::Problem, clauses))
}

fn did_not_arrive((missing, due): (u64, u64)) -> String {
    format!("{missing} of {due} deliveries did not take place, by the workloads' own count")
}

/// Messages that nobody got, and no full queue explains.
fn never(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let explained = losses.socket_drops > 0 || losses.unsent().is_some();
    let mut clauses: Vec<String> =
        losses.missing().filter(|_| !explained).map(did_not_arrive).into_iter().collect();
    let mut severity = Severity::Problem;
    if !evidence.setting.sampled && losses.sent > 0 {
        let sent = losses.sent;
        if losses.unread * TOLERATED > sent && !explained {
            clauses.push(format!("{} of {sent} messages were sent and never read", losses.unread));
        }
        if losses.swallowed * TOLERATED > sent {
            clauses.push(format!(
                "{} of {sent} messages were read by the broker and passed on to nobody",
                losses.swallowed
            ));
            if clauses.len() == 1 && losses.delivered == 0 {
                severity = Severity::Note;
                clauses.push("nobody seems to subscribe".into());
            }
        }
    }
    (!clauses.is_empty()).then(|| verdict(evidence, Kind::NeverDelivered, severity, clauses))
}

fn duplicates(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let few = losses.duplicates < 3;
    if few || losses.duplicates * TOLERATED <= losses.sent.max(losses.delivered) {
        return None;
    }
    let clauses = vec![format!(
        "{} of {} messages were sent or delivered again by the protocol",
        losses.duplicates,
        losses.sent.max(losses.duplicates)
    )];
    Some(verdict(evidence, Kind::Duplicates, Severity::Problem, clauses))
}

fn shared(evidence: &Evidence) -> Option<Verdict> {
    let shared = evidence.losses.shared;
    let clause = counted(
        shared,
        "message has its payload in shared memory: only where it lies is on the network",
        "messages have their payload in shared memory: only where it lies is on the network",
    );
    (shared > 0).then(|| verdict(evidence, Kind::SharedMemory, Severity::Note, vec![clause]))
}

/// Our own workloads tell when they published: a library that waits for more before it sends.
fn batching(evidence: &Evidence, median: f64) -> Option<Verdict> {
    let [before, _] = evidence.outside.as_ref()?;
    let waited = before.quantile(0.5);
    let whole = waited as f64 + median;
    let share = if whole > 0.0 { waited as f64 / whole } else { 0.0 };
    // A library whose socket takes nothing more waits for that.
    let is_pushed_back = evidence.pushed_back() >= waited as f64 / 5.0;
    if waited < LINGER.0 || share < 0.3 || before.count() < 20 || is_pushed_back {
        return None;
    }
    let clauses = vec![format!(
        "{} from publish to the send call in the median, {} at the 99th percentile, before {} on the way",
        Nanos(waited),
        Nanos(before.quantile(0.99)),
        Nanos::from_f64(median)
    )];
    let severity = if evidence.setting.saturating { Severity::Note } else { Severity::Problem };
    Some(Verdict {
        leg: Some(1),
        segment: Some(Segment::ClientTx),
        median: Nanos(waited),
        median_share: share,
        ..verdict(evidence, Kind::SenderBatching, severity, clauses)
    })
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

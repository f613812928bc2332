//! Verdicts about messages that are lost, or come twice, and about what cannot be seen.

use super::evidence::Evidence;
use super::explanation::{Severity, Verdict, VerdictKind as Kind};
use super::remedy::remedy;
use wirelap_events::{Nanos, Segment};

/// One in so many messages may be missing at the ends of an observation.
const TOLERATED: u64 = 1000;

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
        remedy: remedy(kind, &evidence.setting, Segment::Wire),
    }
}

/// Packets that found a queue full. TCP sends them again, so that only what is lost for good counts here.
fn overflow(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    let mut clauses = Vec::new();
    if losses.socket_drops > 0 {
        clauses.push(counted(
            losses.socket_drops,
            "packet was",
            "packets were",
            "thrown away because the receiving socket's buffer was full",
        ));
    }
    if losses.queue_drops > 0 && losses.resent == 0 {
        clauses.push(counted(
            losses.queue_drops,
            "packet was",
            "packets were",
            "thrown away because a queue of the device was full",
        ));
    }
    if losses.unsent > 0 && losses.unsent * TOLERATED >= losses.sent {
        clauses.push(counted(losses.unsent, "message was", "messages were", "published and never reached a socket: the client library threw them away, as at a high-water mark"));
    }
    let missing = (losses.sent + losses.unsent).saturating_sub(losses.delivered);
    if !clauses.is_empty() && losses.delivered < losses.sent + losses.unsent {
        clauses
            .push(format!("{missing} of {} messages did not arrive", losses.sent + losses.unsent));
    }
    (!clauses.is_empty())
        .then(|| verdict(evidence, Kind::QueueOverflow, Severity::Problem, clauses))
}

/// Messages that nobody got, and no full queue explains.
fn never(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    if evidence.setting.sampled || losses.sent == 0 {
        return None;
    }
    let mut clauses = Vec::new();
    let mut severity = Severity::Problem;
    if losses.unread * TOLERATED > losses.sent {
        clauses.push(format!(
            "{} of {} messages were sent and never read",
            losses.unread, losses.sent
        ));
    }
    if losses.swallowed * TOLERATED > losses.sent {
        clauses.push(format!(
            "{} of {} messages were read by the broker and passed on to nobody",
            losses.swallowed, losses.sent
        ));
        if losses.unread == 0 && losses.swallowed == losses.sent {
            severity = Severity::Note;
            clauses.push("nobody seems to subscribe".into());
        }
    }
    (!clauses.is_empty()).then(|| verdict(evidence, Kind::NeverDelivered, severity, clauses))
}

fn duplicates(evidence: &Evidence) -> Option<Verdict> {
    let losses = &evidence.losses;
    if losses.duplicates * TOLERATED <= losses.sent.max(losses.delivered) {
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
        "message has its",
        "messages have their",
        "payload in shared memory: only where it lies is on the network",
    );
    (shared > 0).then(|| verdict(evidence, Kind::SharedMemory, Severity::Note, vec![clause]))
}

/// Our own workloads tell when they published: a library that waits for more before it sends.
fn batching(evidence: &Evidence, median: f64) -> Option<Verdict> {
    let [before, _] = evidence.outside.as_ref()?;
    let waited = before.quantile(0.5);
    let whole = waited as f64 + median;
    let share = if whole > 0.0 { waited as f64 / whole } else { 0.0 };
    if waited < Nanos::from_millis(3).0 || share < 0.3 || before.count() < 20 {
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

fn counted(count: u64, one: &str, many: &str, what: &str) -> String {
    format!("{count} {} {what}", if count == 1 { one } else { many })
}

//! Sums of the time of messages by latency, and findings by place.

use super::breakdown::Breakdown;
use super::finding::{Finding, FindingKey};
use super::kind::VerdictKind;
use super::timeline::Timeline;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use wirelap_events::{Nanos, Pid, Segment};

/// Findings that are told apart by process; beyond, those of a kind on a leg are one.
const FINDINGS: usize = 512;

/// Sums and findings of some messages of a row.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub breakdown: Breakdown,
    findings: FxHashMap<FindingKey, Box<Finding>>,
    /// All messages, by when they were read.
    pub when: Timeline,
    /// The largest errors of the segments that lie between two hosts, by leg.
    errors: Vec<(usize, Segment, Nanos)>,
}

impl Gathered {
    /// Notes the error of a segment that lies between two hosts.
    pub fn note_error(&mut self, leg: usize, segment: Segment, error: Nanos) {
        match self.errors.iter_mut().find(|known| (known.0, known.1) == (leg, segment)) {
            Some((_, _, most)) => *most = error.max(*most),
            None => self.errors.push((leg, segment, error)),
        }
    }

    /// The largest error of a segment of a leg: above 0 if it lies between two hosts.
    pub fn error_of(&self, leg: usize, segment: Segment) -> Nanos {
        let known = self.errors.iter().find(|known| (known.0, known.1) == (leg, segment));
        known.map_or(Nanos(0), |known| known.2)
    }

    /// The finding of a place, made when first used.
    pub fn finding_mut(&mut self, (leg, kind, pid): FindingKey) -> &mut Finding {
        let is_full = self.findings.len() >= FINDINGS;
        let pid =
            if is_full && !self.findings.contains_key(&(leg, kind, pid)) { Pid(0) } else { pid };
        self.findings.entry((leg, kind, pid)).or_default()
    }

    pub fn finding(&self, place: FindingKey) -> Option<&Finding> {
        self.findings.get(&place).map(|finding| &**finding)
    }

    /// The findings of a kind on a leg, what took most time first.
    pub fn findings(&self, leg: usize, kind: VerdictKind) -> Vec<(Pid, &Finding)> {
        let all = self.findings.iter();
        let mut found: Vec<(Pid, &Finding)> = all
            .filter(|((on, of, _), _)| (*on, *of) == (leg, kind))
            .map(|((_, _, pid), finding)| (*pid, &**finding))
            .collect();
        found.sort_by_key(|(pid, finding)| (Reverse(finding.whole()), *pid));
        found
    }

    /// Every finding.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        self.findings.values().map(|finding| &**finding)
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Gathered) {
        self.breakdown.merge(&other.breakdown);
        self.when.merge(&other.when);
        for &(leg, segment, error) in &other.errors {
            self.note_error(leg, segment, error);
        }
        for (place, finding) in &other.findings {
            self.finding_mut(*place).merge(finding);
        }
    }
}

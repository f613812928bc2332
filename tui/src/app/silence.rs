//! Since when a row has been silent: rows that delivered messages and no longer do.

use std::collections::HashMap;
use wirelap_correlate::snapshot::{Group, Snapshot};
use wirelap_events::{GroupId, Nanos};

/// A row is not silent before this time without a delivery.
const LEAST: Nanos = Nanos::from_millis(3_000);

/// A row is not silent before this many of the times that usually pass between two of its deliveries have been observed.
const USUAL_GAPS: f64 = 5.0;

/// A row is not silent before it was observed for this long without a delivery: with sampling, most of the time nobody looks.
const LEAST_OBSERVED: Nanos = Nanos::from_millis(500);

/// The time of the last delivery of each row. It has an entry for each row of the latest snapshot, and no other.
#[derive(Debug, Default)]
pub struct LastDeliveries {
    rows: HashMap<GroupId, LastDelivery>,
    now: Nanos,
    /// Time for which observation has been paused until now, by sampling.
    paused: Nanos,
}

#[derive(Clone, Copy, Debug)]
struct LastDelivery {
    delivered: u64,
    at: Nanos,
    /// Time for which observation had been paused by then.
    paused: Nanos,
}

/// A row without deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// The time of the last delivery.
    pub since: Nanos,
    /// The time since then.
    pub lasts: Nanos,
}

impl LastDeliveries {
    /// Takes in a snapshot that is not older than those before.
    pub fn add(&mut self, snapshot: &Snapshot) {
        self.now = snapshot.at;
        self.paused = snapshot.trust.paused;
        let before = std::mem::take(&mut self.rows);
        let row = |group: &Group| {
            let delivered = group.messages.delivered;
            let is_known = |last: &&LastDelivery| last.delivered == delivered && !group.is_muted();
            let known = before.get(&group.id).filter(is_known);
            let (at, paused) = match (known, before.contains_key(&group.id)) {
                (Some(last), _) => (last.at, last.paused),
                (None, true) => (snapshot.at, snapshot.trust.paused),
                // When the pauses were is not known: all may have been since.
                (None, false) => (first_seen(group, snapshot.at), Nanos(0)),
            };
            (group.id, LastDelivery { delivered, at, paused })
        };
        self.rows = snapshot.groups.iter().map(row).collect();
    }

    /// Since when the row has been silent; `None` if it is not, or never delivered anything.
    pub fn silence(&self, group: &Group) -> Option<Silence> {
        let last =
            self.rows.get(&group.id).filter(|last| last.delivered > 0 && !group.is_muted())?;
        let lasts = self.now - last.at;
        let observed = lasts - (self.paused - last.paused);
        // Where a part of the time is observed, there may be so much less.
        let rate = &group.rate_active;
        let least = rate.msg_per_s * (1.0 - rate.error).max(0.0);
        let is_unknown = rate.error > 0.0 && least <= 0.0;
        let usual = USUAL_GAPS / least;
        let is_usual = is_unknown || (usual.is_finite() && observed.0 as f64 <= usual * 1e9);
        (lasts >= LEAST && observed >= LEAST_OBSERVED && !is_usual)
            .then_some(Silence { since: last.at, lasts })
    }
}

/// The time of the last delivery of a row that is seen for the first time: the seconds without deliveries at the end of its
/// history have passed since then.
fn first_seen(group: &Group, now: Nanos) -> Nanos {
    let idle = group.history.iter().rev().take_while(|point| point.delivered == 0).count();
    if idle == group.history.len() {
        return now;
    }
    now - Nanos::from_millis(1_000) * idle as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::snapshot::{HistoryPoint, Rate};

    fn snapshot(seconds: u64, delivered: u64, rate: f64) -> Snapshot {
        let mut group = Group::default();
        group.messages.delivered = delivered;
        group.rate_active = Rate { msg_per_s: rate, ..Rate::default() };
        Snapshot {
            at: Nanos::from_millis(1_000 * seconds),
            groups: vec![group],
            ..Snapshot::default()
        }
    }

    fn silence(snapshots: &[Snapshot]) -> Option<u64> {
        let mut last = LastDeliveries::default();
        for snapshot in snapshots {
            last.add(snapshot);
        }
        let group = &snapshots.last()?.groups[0];
        last.silence(group).map(|silence| silence.lasts.0 / 1_000_000_000)
    }

    #[test]
    fn a_row_is_silent_when_its_deliveries_have_ended() {
        let at = |seconds, delivered| snapshot(seconds, delivered, 100.0);
        assert_eq!(silence(&[at(10, 5), at(12, 5)]), None);
        assert_eq!(silence(&[at(10, 5), at(13, 5)]), Some(3));
        assert_eq!(silence(&[at(10, 5), at(13, 5), at(14, 6)]), None);
        assert_eq!(silence(&[at(10, 0), at(99, 0)]), None, "it never delivered anything");
        assert_eq!(silence(&[at(10, 5), at(14, 3)]), None, "it is another row by now");
    }

    #[test]
    fn a_slow_row_is_not_silent_between_two_messages() {
        let slow = |seconds| snapshot(seconds, 5, 0.1);
        assert_eq!(silence(&[slow(10), slow(50)]), None);
        assert_eq!(silence(&[slow(10), slow(71)]), Some(61));
    }

    #[test]
    fn a_sampled_row_is_not_silent_where_nobody_looked() {
        // 50 ms of each second are observed.
        let sampled = |seconds: u64, delivered| {
            let mut snapshot = snapshot(seconds, delivered, 100.0);
            snapshot.trust.paused = Nanos::from_millis(950 * seconds);
            snapshot
        };
        assert_eq!(silence(&[sampled(10, 5), sampled(11, 6), sampled(20, 6)]), None);
        assert_eq!(silence(&[sampled(10, 5), sampled(11, 6), sampled(22, 6)]), Some(11));
        let slow = |seconds| {
            let mut slow = sampled(seconds, 5);
            slow.groups[0].rate_active.msg_per_s = 2.0;
            slow
        };
        assert_eq!(silence(&[sampled(10, 4), slow(11), slow(60)]), None, "2.45 s were observed");
    }

    #[test]
    fn a_sampled_row_whose_rate_is_not_known_is_not_silent() {
        let sampled = |seconds: u64, delivered, error| {
            let mut snapshot = snapshot(seconds, delivered, 100.0);
            snapshot.trust.paused = Nanos::from_millis(800 * seconds);
            snapshot.groups[0].rate_active.error = error;
            snapshot
        };
        let silent =
            |error| silence(&[sampled(9, 4, error), sampled(10, 5, error), sampled(20, 5, error)]);
        let found = [0.0, 0.9, 0.99, 1.5, f64::INFINITY].map(silent);
        assert_eq!(found, [Some(10), Some(10), None, None, None]);
    }

    #[test]
    fn a_row_that_was_silent_before_the_screen_looked_is_silent() {
        let point = |delivered| HistoryPoint { delivered, ..HistoryPoint::default() };
        let mut first = snapshot(20, 5, 100.0);
        first.groups[0].history = [3, 0, 0, 0, 0].map(point).to_vec();
        assert_eq!(silence(&[first.clone()]), Some(4));
        first.groups[0].history = vec![point(0)];
        assert_eq!(silence(&[first]), None);
    }
}

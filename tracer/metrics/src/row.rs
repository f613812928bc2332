//! The state of a row, for metrics.

use wirelap_correlate::trust::reliability;
use wirelap_correlate::{Counts, Group, Overhead, Reliability, Severity, Trust};
use wirelap_events::GroupId;
use wirelap_history::RowSlice;

/// The most bytes of a label's value.
const LABEL_BYTES: usize = 128;

/// A label of a metric.
pub type Label = (&'static str, String);

/// A verdict that holds now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeldVerdict {
    /// Its kind, by its name in JSON.
    pub kind: &'static str,
    /// Its gravity.
    pub severity: &'static str,
    /// Its leg, 1 for the first; 0 where it concerns no single one.
    pub leg: u8,
}

/// A row, as far as its figures only grow: they never fall, whatever a later snapshot has.
#[derive(Clone, Debug, Default)]
pub struct MeasuredRow {
    /// Its identity in the session.
    pub id: GroupId,
    /// Middleware, broker and address, and a number if another row has the same.
    pub labels: Vec<Label>,
    /// Its messages.
    pub counts: Counts,
    /// Bytes on the device.
    pub bytes: Overhead,
    /// Distributions of its followed messages.
    pub times: RowSlice,
    /// Messages that ought to have arrived by now.
    pub overdue: u64,
    /// Deliveries a second now.
    pub rate: f64,
    /// Trust in its figures.
    pub reliability: Reliability,
    /// The verdicts that hold now.
    pub verdicts: Vec<HeldVerdict>,
}

impl MeasuredRow {
    /// Takes over what a newer snapshot has of the row.
    pub fn update(&mut self, group: &Group, trust: &Trust) {
        self.id = group.id;
        self.labels = labels(group);
        self.counts = largest_counts(self.counts, group.messages);
        raise_bytes(&mut self.bytes, &group.overhead);
        self.overdue = group.why.open.iter().map(|open| open.messages).fold(0, u64::saturating_add);
        self.rate = if group.rate_now.is_known() { group.rate_now.msg_per_s } else { f64::NAN };
        self.reliability = reliability(&group.doubts(trust));
        self.verdicts.clear();
        for verdict in group.why.verdicts.iter().filter(|verdict| verdict.is_still_so()) {
            let severity = match verdict.severity {
                Severity::Problem => "problem",
                Severity::Note => "note",
            };
            let (kind, leg) = (verdict.kind.name(), verdict.leg.unwrap_or(0));
            let held = HeldVerdict { kind, severity, leg };
            if !self.verdicts.contains(&held) {
                self.verdicts.push(held);
            }
        }
    }
}

/// The labels by which a row is told from others.
fn labels(group: &Group) -> Vec<Label> {
    let address = group.endpoint.map(|endpoint| endpoint.to_string());
    let broker = group.broker.as_deref().unwrap_or_default();
    let named = [
        ("middleware", group.middleware.as_str()),
        ("broker", broker),
        ("address", address.as_deref().unwrap_or_default()),
    ];
    named.into_iter().map(|(name, value)| (name, shortened(value))).collect()
}

/// A text that is short enough for a label.
pub fn shortened(text: &str) -> String {
    text.get(..text.floor_char_boundary(LABEL_BYTES)).unwrap_or_default().to_owned()
}

/// The larger of each count.
fn largest_counts(a: Counts, b: Counts) -> Counts {
    Counts {
        sent: a.sent.max(b.sent),
        delivered: a.delivered.max(b.delivered),
        matched: a.matched.max(b.matched),
        uncovered: a.uncovered.max(b.uncovered),
        never_read: a.never_read.max(b.never_read),
        cut: a.cut.max(b.cut),
        unfinished: a.unfinished.max(b.unfinished),
        duplicates: a.duplicates.max(b.duplicates),
        retained: a.retained.max(b.retained),
        warmup: a.warmup.max(b.warmup),
    }
}

/// Raises each kind of bytes to that of a newer ledger.
fn raise_bytes(bytes: &mut Overhead, newer: &Overhead) {
    let all = [
        (&mut bytes.payload, newer.payload),
        (&mut bytes.protocol, newer.protocol),
        (&mut bytes.control, newer.control),
        (&mut bytes.opaque, newer.opaque),
        (&mut bytes.transport, newer.transport),
        (&mut bytes.network, newer.network),
        (&mut bytes.link, newer.link),
        (&mut bytes.retransmitted, newer.retransmitted),
        (&mut bytes.packets, newer.packets),
    ];
    for (mine, theirs) in all {
        *mine = theirs.max(*mine);
    }
}
